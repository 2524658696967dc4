//! What all lists do alike: moving, selecting, filtering, sorting, copying and exporting, whatever their rows are.
//!
//! A screen says in [`ListScreen`] what is particular about it; every such screen is a [`List`], which the keys and the mouse
//! work on. `A` is what the rows come from: the [`App`](super::App), or a made-up one in a test.

mod order;

pub use self::order::{Directed, FixedOrder, ListOrder, Sorting};
use super::cursor::{Cursor, Rows};
use super::filter::{Filter, Matching};
use crate::tui::columns::{Column, MARK_WIDTH, Placed, choose, place};
use lockscope_base::znode::{SessionId, ZnodePath};

/// What is particular about one list.
pub trait ListScreen<A>: Sync {
    /// The identity of a row, wherever it stands.
    type Id: Clone;
    /// What is shown of a row.
    type Row<'a>;
    /// What it can be sorted by; [`FixedOrder`] when there is no choice.
    type Order: ListOrder;
    /// What its rows show beside each other; `()` when they are lines of text.
    type Column: Copy + PartialEq + 'static;

    /// The columns that it can have; none when its rows are lines of text.
    fn columns(&self) -> &'static [Column<Self::Column>];
    /// The names of the columns that were chosen, in their order; `None`: all of them.
    fn chosen<'a>(&self, _: &'a A) -> Option<&'a [String]> {
        None
    }
    /// The order that sorts by a column.
    fn order_by(&self, _: Self::Column) -> Option<Self::Order> {
        None
    }
    /// Gives the columns that fit their places.
    fn place(&self, app: &A, width: u16) -> Vec<Placed<Self::Column>> {
        place(&choose(self.columns(), self.chosen(app)), MARK_WIDTH, width)
    }
    /// Looks into what a row shows, in a list that is searched and not filtered.
    fn search(&self, _: &A, _: &Self::Row<'_>, _: &mut Matching<'_>) {}
    /// The rows in their order, as they are shown.
    fn rows<'a>(&self, app: &'a A) -> impl Rows<Self::Id> + 'a;
    /// The row at a place. At most logarithmic.
    fn row<'a>(&self, app: &'a A, rank: usize) -> Option<Self::Row<'a>>;
    fn cursor<'a>(&self, app: &'a A) -> &'a Cursor<Self::Id>;
    fn cursor_mut<'a>(&self, app: &'a mut A) -> &'a mut Cursor<Self::Id>;
    /// What `y` copies of a row.
    fn copied(&self, app: &A, row: Self::Row<'_>) -> Option<String>;
    /// What `⏎` does with the selected row.
    fn open(&self, app: &mut A);

    /// What the rows must contain; `None` when they cannot be filtered.
    fn filter<'a>(&self, _: &'a A) -> Option<&'a Filter> {
        None
    }
    fn set_filter(&self, _: &mut A, _: Filter) {}
    /// What it is sorted by; `None` when there is no choice.
    fn order(&self, _: &A) -> Option<Sorting<Self::Order>> {
        None
    }
    fn sort(&self, _: &mut A, _: Sorting<Self::Order>) {}
    /// All rows as JSON, not only those that fit; else a sentence that says why not.
    fn exported(&self, _: &A) -> Result<String, String> {
        Err("This list cannot be exported.".to_owned())
    }
    /// What `x` deletes, when nothing is tagged: the selected row's nodes.
    fn deletable(&self, _: &A) -> Vec<ZnodePath> {
        Vec::new()
    }
    /// The session that the selected row belongs to, whose page can be opened.
    fn session(&self, _: &A) -> Option<SessionId> {
        None
    }
    /// The node that the selected row is about, which can be shown as it is.
    fn node(&self, _: &A) -> Option<ZnodePath> {
        None
    }
    /// Whether something in it changes with time alone.
    fn changes_with_time(&self, _: &A) -> bool {
        false
    }
    /// Makes rows anew that are not kept up change by change.
    fn list_again(&self, _: &mut A) {}
    /// Goes to the list on the left or the right of it; `false` when there is none.
    fn go_beside(&self, _: &mut A, _to_right: bool) -> bool {
        false
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    Nothing,
    /// A row, which is selected now.
    Row,
    /// The row that was selected already.
    SelectedRow,
}

/// A list, whatever its rows are. Every [`ListScreen`] is one.
pub trait List<A>: Sync {
    /// How many rows it lists.
    fn len(&self, app: &A) -> usize;
    /// The place of the selected row; `None` when there is none.
    fn at(&self, app: &A) -> Option<usize>;
    /// Moves the selection by some rows, and shows it: `height` rows show.
    fn step(&self, app: &mut A, by: isize, height: usize);
    /// Fastens the selection to the first or the last row.
    fn go_to_end(&self, app: &mut A, last: bool);
    /// Fastens the selection again after rows came, went or moved.
    fn settle(&self, app: &mut A, height: usize);
    /// Selects the row on a line of those that show.
    fn press(&self, app: &mut A, line: usize) -> Pressed;
    fn filter<'a>(&self, app: &'a A) -> Option<&'a Filter>;
    fn set_filter(&self, app: &mut A, filter: Filter);
    /// Sorts by the columns of these names, or by the next one that shows in so many columns of the terminal. The error is the word that
    /// is no column.
    fn sort_by(&self, app: &mut A, columns: Option<&str>, width: u16) -> Result<(), String>;
    /// Chooses what decides between equal rows: the column of that name, or the next one that shows, and behind the last one nothing.
    fn then_by(&self, app: &mut A, column: Option<&str>, width: u16) -> Result<(), String>;
    fn reverse(&self, app: &mut A);
    /// The names of what it can be sorted by.
    fn sort_names(&self) -> Vec<&'static str>;
    /// Why these cannot be the columns to sort by; `None` when they can.
    fn refuses_sorting(&self, columns: &str) -> Option<String>;
    /// The names of its columns.
    fn column_names(&self) -> Vec<String>;
    /// The name of what sorts by the column whose title stands there, and whether it is sorted by that already.
    fn title_at(&self, app: &A, x: u16, width: u16) -> Option<(&'static str, bool)>;
    /// Selects the next row that matches, or the one before; `None` when there is none, and whether it went on at the other end.
    fn find(&self, app: &mut A, filter: &Filter, step: Find, height: usize) -> Option<bool>;
    fn copied(&self, app: &A) -> Option<String>;
    fn exported(&self, app: &A) -> Result<String, String>;
    fn deletable(&self, app: &A) -> Vec<ZnodePath>;
    fn session(&self, app: &A) -> Option<SessionId>;
    fn node(&self, app: &A) -> Option<ZnodePath>;
    fn open(&self, app: &mut A);
    fn changes_with_time(&self, app: &A) -> bool;
    fn list_again(&self, app: &mut A);
    fn go_beside(&self, app: &mut A, to_right: bool) -> bool;
}

/// Where a search begins and goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Find {
    /// From where one is, that included.
    Here,
    Next,
    Previous,
}

/// The places in which one looks, from where one is: all of them once, around the end.
pub fn places_from(at: usize, len: usize, step: Find) -> impl Iterator<Item = usize> {
    (0..len).map(move |by| match step {
        Find::Here => (at + by) % len,
        Find::Next => (at + by + 1) % len,
        Find::Previous => (at + 2 * len - by - 1) % len,
    })
}

/// Works on the selection beside the rows.
fn with<A, S: ListScreen<A>>(list: &S, app: &mut A, work: impl FnOnce(&mut Cursor<S::Id>, &dyn Rows<S::Id>)) {
    let mut cursor = list.cursor(app).clone();
    work(&mut cursor, &list.rows(app));
    *list.cursor_mut(app) = cursor;
}

fn sort<A, S: ListScreen<A>>(list: &S, app: &mut A, sorting: Sorting<S::Order>) {
    list.sort(app, sorting);
    *list.cursor_mut(app) = Cursor::first();
}

/// What can be sorted by, of the columns that show in so many columns of the terminal; all when none of them shows.
fn shown_orders<A, S: ListScreen<A>>(list: &S, app: &A, width: u16) -> Vec<S::Order> {
    let shown: Vec<_> = list.place(app, width).into_iter().filter_map(|column| list.order_by(column.key)).collect();
    if shown.is_empty() { S::Order::ALL.to_vec() } else { shown }
}

/// What sorts by the column of that name: the order's own name, or the title of the column.
fn order_named<A, S: ListScreen<A>>(list: &S, name: &str) -> Option<S::Order> {
    let titled = || list.columns().iter().find(|column| column.name() == name.to_lowercase());
    S::Order::named(name).or_else(|| list.order_by(titled()?.key))
}

impl<A, S: ListScreen<A>> List<A> for S {
    fn len(&self, app: &A) -> usize {
        self.rows(app).len()
    }

    fn at(&self, app: &A) -> Option<usize> {
        let rank = self.cursor(app).rank();
        (rank < self.rows(app).len()).then_some(rank)
    }

    fn step(&self, app: &mut A, by: isize, height: usize) {
        with(self, app, |cursor, rows| {
            cursor.step(by, rows);
            cursor.reveal(rows, height);
        });
    }

    fn go_to_end(&self, app: &mut A, last: bool) {
        *self.cursor_mut(app) = if last { Cursor::last() } else { Cursor::first() };
    }

    fn settle(&self, app: &mut A, height: usize) {
        with(self, app, |cursor, rows| cursor.settle(rows, height));
    }

    fn press(&self, app: &mut A, line: usize) -> Pressed {
        let cursor = self.cursor(app);
        let rank = cursor.top() + line;
        if rank >= self.rows(app).len() {
            return Pressed::Nothing;
        }
        if rank == cursor.rank() {
            return Pressed::SelectedRow;
        }
        with(self, app, |cursor, rows| cursor.go(rank, rows));
        Pressed::Row
    }

    fn filter<'a>(&self, app: &'a A) -> Option<&'a Filter> {
        ListScreen::filter(self, app)
    }

    fn set_filter(&self, app: &mut A, filter: Filter) {
        ListScreen::set_filter(self, app, filter);
    }

    fn sort_by(&self, app: &mut A, columns: Option<&str>, width: u16) -> Result<(), String> {
        let Some(sorting) = self.order(app) else { return Ok(()) };
        let shown = shown_orders(self, app, width);
        let sorting = match columns {
            Some(names) => Sorting::read(names, |name| order_named(self, name))?,
            None => sorting.first.by.next(|order| shown.contains(&order)).map_or(sorting, Sorting::by),
        };
        sort(self, app, sorting);
        Ok(())
    }

    fn then_by(&self, app: &mut A, column: Option<&str>, width: u16) -> Result<(), String> {
        let Some(sorting) = self.order(app) else { return Ok(()) };
        let shown = shown_orders(self, app, width);
        let first = sorting.first.by;
        let then = if let Some(name) = column {
            Some(Sorting::read(name, |name| order_named(self, name))?.first)
        } else {
            let from = sorting.then.map_or(first, |then| then.by);
            let next = from.next(|order| order == first || shown.contains(&order));
            next.filter(|order| *order != first).map(|by| Directed { by, reversed: false })
        };
        sort(self, app, Sorting { then: then.filter(|then| then.by != first), ..sorting });
        Ok(())
    }

    fn reverse(&self, app: &mut A) {
        if let Some(sorting) = self.order(app) {
            sort(self, app, sorting.turned());
        }
    }

    fn sort_names(&self) -> Vec<&'static str> {
        S::Order::ALL.iter().map(|order| order.id()).collect()
    }

    fn refuses_sorting(&self, columns: &str) -> Option<String> {
        Sorting::read(columns, |name| order_named(self, name)).err()
    }

    fn column_names(&self) -> Vec<String> {
        self.columns().iter().map(Column::name).collect()
    }

    fn title_at(&self, app: &A, x: u16, width: u16) -> Option<(&'static str, bool)> {
        let sorting = self.order(app)?;
        let placed = self.place(app, width);
        let column = placed.iter().find(|column| (column.x..=column.x + column.width).contains(&x))?;
        let order = self.order_by(column.key)?;
        Some((order.id(), sorting.first.by == order))
    }

    fn find(&self, app: &mut A, filter: &Filter, step: Find, height: usize) -> Option<bool> {
        let (at, len) = (self.cursor(app).rank(), self.rows(app).len());
        let found = places_from(at, len, step).find(|rank| {
            let mut matching = filter.matching();
            if let Some(row) = self.row(app, *rank) {
                self.search(app, &row, &mut matching);
            }
            matching.passes()
        })?;
        with(self, app, |cursor, rows| {
            cursor.go(found, rows);
            cursor.reveal(rows, height);
        });
        Some(match step {
            Find::Here | Find::Next => found < at,
            Find::Previous => found > at,
        })
    }

    fn copied(&self, app: &A) -> Option<String> {
        ListScreen::copied(self, app, self.row(app, self.cursor(app).rank())?)
    }

    fn exported(&self, app: &A) -> Result<String, String> {
        ListScreen::exported(self, app)
    }

    fn deletable(&self, app: &A) -> Vec<ZnodePath> {
        ListScreen::deletable(self, app)
    }

    fn session(&self, app: &A) -> Option<SessionId> {
        ListScreen::session(self, app)
    }

    fn node(&self, app: &A) -> Option<ZnodePath> {
        ListScreen::node(self, app)
    }

    fn open(&self, app: &mut A) {
        ListScreen::open(self, app);
    }

    fn changes_with_time(&self, app: &A) -> bool {
        ListScreen::changes_with_time(self, app)
    }

    fn list_again(&self, app: &mut A) {
        ListScreen::list_again(self, app);
    }

    fn go_beside(&self, app: &mut A, to_right: bool) -> bool {
        ListScreen::go_beside(self, app, to_right)
    }
}

#[cfg(test)]
mod tests;
