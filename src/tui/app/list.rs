//! What all lists do alike: moving, selecting, filtering, sorting, copying and exporting, whatever their rows are.
//!
//! A screen says in [`ListScreen`] what is particular about it; every such screen is a [`List`], which the keys and the mouse
//! work on. `A` is what the rows come from: the [`App`](super::App), or a made-up one in a test.

use super::cursor::{Cursor, Rows};
use super::filter::Filter;
use crate::znode::{SessionId, ZnodePath};

/// A column that a list can be sorted by.
pub trait ListOrder: Copy + PartialEq + 'static {
    /// Every one, in the order in which `s` goes through them.
    const ALL: &'static [Self];
    /// Whether the sign of an order that is not reversed points down: its greatest values come first.
    const POINTS_DOWN: bool;

    /// The name on the command line and in the title.
    fn id(self) -> &'static str;

    /// The column whose name begins so.
    fn named(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        Self::ALL.iter().copied().find(|order| !name.is_empty() && order.id().starts_with(&name))
    }

    /// The column that `s` goes to from here.
    #[must_use]
    fn next(self) -> Self {
        let at = Self::ALL.iter().position(|order| *order == self).unwrap_or(0);
        Self::ALL.get((at + 1) % Self::ALL.len().max(1)).copied().unwrap_or(self)
    }
}

/// The order of a list whose rows have only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixedOrder {}

impl ListOrder for FixedOrder {
    const ALL: &'static [Self] = &[];
    const POINTS_DOWN: bool = false;

    fn id(self) -> &'static str {
        match self {}
    }
}

/// What is particular about one list.
pub trait ListScreen<A>: Sync {
    /// The identity of a row, wherever it stands.
    type Id: Clone;
    /// What is shown of a row.
    type Row<'a>;
    /// What it can be sorted by; [`FixedOrder`] when there is no choice.
    type Order: ListOrder;

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
    /// What it is sorted by, and whether that is reversed; `None` when there is no choice.
    fn order(&self, _: &A) -> Option<(Self::Order, bool)> {
        None
    }
    fn sort(&self, _: &mut A, _: Self::Order, _reversed: bool) {}
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
    /// Sorts by the column whose name begins so, or by the next one. The error lists the names.
    fn sort_by(&self, app: &mut A, column: Option<&str>) -> Result<(), String>;
    fn reverse(&self, app: &mut A);
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

/// Works on the selection beside the rows.
fn with<A, S: ListScreen<A>>(list: &S, app: &mut A, work: impl FnOnce(&mut Cursor<S::Id>, &dyn Rows<S::Id>)) {
    let mut cursor = list.cursor(app).clone();
    work(&mut cursor, &list.rows(app));
    *list.cursor_mut(app) = cursor;
}

fn sort<A, S: ListScreen<A>>(list: &S, app: &mut A, order: S::Order, reversed: bool) {
    list.sort(app, order, reversed);
    *list.cursor_mut(app) = Cursor::first();
}

impl<A, S: ListScreen<A>> List<A> for S {
    fn len(&self, app: &A) -> usize {
        self.rows(app).len()
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

    fn sort_by(&self, app: &mut A, column: Option<&str>) -> Result<(), String> {
        let Some((order, _)) = self.order(app) else { return Ok(()) };
        let order = match column {
            None => order.next(),
            Some(name) => S::Order::named(name)
                .ok_or_else(|| S::Order::ALL.iter().map(|order| order.id()).collect::<Vec<_>>().join(", "))?,
        };
        sort(self, app, order, false);
        Ok(())
    }

    fn reverse(&self, app: &mut A) {
        if let Some((order, reversed)) = self.order(app) {
            sort(self, app, order, !reversed);
        }
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
