//! The behaviour that all lists share, whatever their rows are: moving, selecting, filtering,
//! sorting, copying and exporting.
//!
//! A screen implements [`ListScreen`], which describes its rows. Every such screen is a [`List`],
//! which keys and mouse work on. `A` is the source of the rows: the [`App`](super::App), or a fake
//! in a test. The selection of a list is a [`Cursor`], which follows a row's identity and not its
//! position. A [`Sorting`] has the column to sort by, and a second one for rows that are equal in
//! the first.

use std::convert::Infallible;
use std::marker::PhantomData;

use serde::Serialize;

use super::filter::{Filter, Matching};
use crate::tui::screen::{Column, MARK_WIDTH, Placed, choose, place};
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_model::report::json;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod list_tests;

/// Rows in an order. Each row has an identity that stays the same when the row moves.
pub trait Rows<Id> {
    fn len(&self) -> usize;
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns the position of a row; `None` when the row is gone.
    fn rank(&self, id: &Id) -> Option<usize>;
    /// Returns the identity of the row at a position.
    fn id(&self, rank: usize) -> Option<Id>;
}

impl<Id, T: Rows<Id> + ?Sized> Rows<Id> for &T {
    fn len(&self) -> usize {
        (**self).len()
    }

    fn rank(&self, id: &Id) -> Option<usize> {
        (**self).rank(id)
    }

    fn id(&self, rank: usize) -> Option<Id> {
        (**self).id(rank)
    }
}

/// What the selection follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum ListAnchor<Id> {
    /// The first row, whichever that is.
    #[default]
    First,
    /// The last row, whichever that is.
    Last,
    /// This row, wherever it moves.
    On(Id),
}

/// The selected row of a list, and the visible part of the list.
///
/// The selection follows a row's identity: when rows before it come and go, it moves with its row,
/// and keeps its line on the screen where possible. When its row vanishes, the selection moves to
/// the row that is now at the same position.
#[derive(Clone, Debug)]
pub struct Cursor<Id> {
    anchor: ListAnchor<Id>,
    rank: usize,
    top: usize,
}

impl<Id> Cursor<Id> {
    pub fn first() -> Self {
        Self { anchor: ListAnchor::First, rank: 0, top: 0 }
    }

    pub fn last() -> Self {
        Self { anchor: ListAnchor::Last, rank: 0, top: 0 }
    }

    pub fn on(id: Id) -> Self {
        Self { anchor: ListAnchor::On(id), rank: 0, top: 0 }
    }

    /// Returns the position of the selected row.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the position of the first visible row.
    pub fn top(&self) -> usize {
        self.top
    }

    /// Returns whether the selection stays with the last row, whichever that is.
    pub fn follows_last(&self) -> bool {
        matches!(self.anchor, ListAnchor::Last)
    }

    pub fn selected(&self, rows: &(impl Rows<Id> + ?Sized)) -> Option<Id> {
        rows.id(self.rank)
    }

    /// Moves the selection by a number of rows, up to the first or last row.
    pub fn step(&mut self, by: isize, rows: &(impl Rows<Id> + ?Sized)) {
        self.go(self.rank.saturating_add_signed(by), rows);
    }

    /// Selects the row at this position, or the last row when there are fewer.
    pub fn go(&mut self, rank: usize, rows: &(impl Rows<Id> + ?Sized)) {
        self.rank = rank.min(rows.len().saturating_sub(1));
        self.anchor = rows.id(self.rank).map_or(ListAnchor::First, ListAnchor::On);
    }

    /// Finds the selected row again after rows came, went or moved, and keeps it within the
    /// `height` visible rows. Logarithmic when `rows` is.
    pub fn reanchor(&mut self, rows: &(impl Rows<Id> + ?Sized), height: usize) {
        let last = rows.len().saturating_sub(1);
        let before = self.rank;
        self.rank = match &self.anchor {
            ListAnchor::First => 0,
            ListAnchor::Last => last,
            ListAnchor::On(id) => rows.rank(id).unwrap_or_else(|| before.min(last)),
        };
        if let ListAnchor::On(id) = &mut self.anchor
            && let Some(now) = rows.id(self.rank)
        {
            *id = now;
        }
        if self.rank >= before {
            self.top += self.rank - before;
        } else {
            self.top = self.top.saturating_sub(before - self.rank);
        }
        self.scroll(rows.len(), height.max(1));
    }

    /// Moves the visible part as little as needed to show the selected row.
    fn scroll(&mut self, len: usize, height: usize) {
        self.top = self.top.min(len.saturating_sub(height));
        self.top = self.top.clamp((self.rank + 1).saturating_sub(height), self.rank);
    }

    /// Scrolls to the selected row after the user moved the selection, as little as needed.
    pub fn reveal(&mut self, rows: &(impl Rows<Id> + ?Sized), height: usize) {
        self.scroll(rows.len(), height.max(1));
    }
}

/// A column that a list can be sorted by.
pub trait ListOrder: Copy + PartialEq + 'static {
    /// The columns of the list.
    type Column: Copy + PartialEq + 'static;
    /// All orders, in the sequence in which `s` cycles through them: each with its name on the
    /// command line and in the title, and with the column that it sorts by.
    const TABLE: &'static [(Self, &'static str, Self::Column)];
    /// Whether an order that is not reversed puts the greatest values first. Its sign then points
    /// down.
    const POINTS_DOWN: bool;

    fn all() -> impl Iterator<Item = Self> {
        Self::TABLE.iter().map(|(order, ..)| *order)
    }

    fn id(self) -> &'static str {
        Self::TABLE.iter().find(|(order, ..)| *order == self).map_or("", |(_, id, _)| *id)
    }

    /// Returns the column with this name, or the first whose name starts with it. Ignores case.
    fn named(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let exact = Self::all().find(|order| order.id() == name);
        exact.or_else(|| Self::all().find(|order| !name.is_empty() && order.id().starts_with(&name)))
    }

    /// Returns the next column that passes. Wraps around after the last one and tries this column
    /// last.
    #[must_use]
    fn next(self, passes: impl Fn(Self) -> bool) -> Option<Self> {
        let at = Self::all().position(|order| order == self).unwrap_or(0);
        Self::all().skip(at + 1).chain(Self::all().take(at + 1)).find(|order| passes(*order))
    }
}

/// The order of a list that cannot be sorted: it has no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedOrder<C>(Infallible, PhantomData<C>);

impl<C: Copy + PartialEq + 'static> ListOrder for FixedOrder<C> {
    type Column = C;
    const TABLE: &'static [(Self, &'static str, C)] = &[];
    const POINTS_DOWN: bool = false;
}

/// One column, and whether its order is reversed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directed<O> {
    pub by: O,
    pub reversed: bool,
}

/// The columns that rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sorting<O> {
    pub first: Directed<O>,
    /// The column that decides between rows that are equal in the first.
    pub then: Option<Directed<O>>,
}

impl<O: ListOrder> Sorting<O> {
    /// Sorts by one column, in its usual direction.
    pub fn by(order: O) -> Self {
        Self { first: Directed { by: order, reversed: false }, then: None }
    }

    /// Returns whether a column is the first or the second.
    pub fn has(&self, order: O) -> bool {
        self.place_of(order).is_some()
    }

    /// Returns whether a column is the first (0) or the second (1), and whether it is reversed;
    /// `None` when it is neither.
    pub fn place_of(&self, order: O) -> Option<(usize, bool)> {
        let keys = [Some(self.first), self.then];
        keys.into_iter()
            .enumerate()
            .find_map(|(at, key)| key.filter(|key| key.by == order).map(|key| (at, key.reversed)))
    }

    /// Reverses both columns.
    #[must_use]
    pub fn turned(self) -> Self {
        let turn = |key: Directed<O>| Directed { reversed: !key.reversed, ..key };
        Self { first: turn(self.first), then: self.then.map(turn) }
    }

    /// Parses `held`, `held waiting` or `held,-lock`. The error is the word that is not a column,
    /// or the whole text when it has no column or more than two.
    pub fn read(text: &str, named: impl Fn(&str) -> Option<O>) -> Result<Self, String> {
        let mut keys = Vec::new();
        for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
            let (reversed, name) = word.strip_prefix('-').map_or((false, word), |name| (true, name));
            let by = named(name).ok_or_else(|| word.to_owned())?;
            if keys.iter().all(|key: &Directed<O>| key.by != by) {
                keys.push(Directed { by, reversed });
            }
        }
        match keys[..] {
            [first] => Ok(Self { first, then: None }),
            [first, then] => Ok(Self { first, then: Some(then) }),
            _ => Err(text.to_owned()),
        }
    }
}

/// What a cell asks of its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellNeed {
    /// No more than the column has.
    Nothing,
    /// As many columns of the terminal as it takes to tell rows apart.
    Columns(usize),
    /// A text that says little if all rows have the same. Empty where nothing need be said of it.
    Alike(&'static str),
    /// A value that is not known, beside those of [`Alike`](Self::Alike).
    Unknown,
    /// A value that the reader needs to see.
    Differs,
}

/// What the rows that were visible so far need of one column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ColumnNeed {
    columns: u16,
    alike: Option<&'static str>,
    some_unknown: bool,
    differs: bool,
}

/// What the rows that were visible so far need of the columns. It only grows while the same list is
/// shown in the same width, so columns do not flicker as values change.
#[derive(Clone, Debug, Default)]
pub struct ColumnNeeds {
    /// The needs of each column, in their order.
    columns: Vec<ColumnNeed>,
    /// The number of rows that were looked at at once.
    rows: usize,
}

impl ColumnNeeds {
    fn add(&mut self, at: usize, need: CellNeed) {
        let Some(column) = self.columns.get_mut(at) else { return };
        match need {
            CellNeed::Nothing => {}
            CellNeed::Columns(columns) => {
                column.columns = column.columns.max(u16::try_from(columns).unwrap_or(u16::MAX));
            }
            CellNeed::Alike(text) => {
                column.differs |= column.alike.is_some_and(|alike| alike != text);
                column.alike = Some(text);
            }
            CellNeed::Unknown => column.some_unknown = true,
            CellNeed::Differs => column.differs = true,
        }
    }

    /// The columns of the terminal that the column at this position needs.
    pub fn of(&self, at: usize) -> u16 {
        self.columns.get(at).map_or(0, |column| column.columns)
    }

    /// What all rows say in the column at this position, and whether some are not known; `None` when
    /// they differ, or when there is one row only.
    fn alike(&self, at: usize) -> Option<(&'static str, bool)> {
        let column = self.columns.get(at).filter(|column| self.rows > 1 && !column.differs)?;
        Some((column.alike?, column.some_unknown))
    }
}

/// A column that stands in the title, because it says the same in all rows.
#[derive(Clone, Debug)]
pub struct FoldedColumn {
    pub name: String,
    pub says: &'static str,
    /// Whether what it says is not known of some rows.
    pub some_unknown: bool,
}

/// The rows, columns and orders of one list.
pub trait ListScreen<A>: Sync {
    /// The identity of a row, which stays the same when the row moves.
    type Id: Clone;
    /// The contents of a row.
    type Row<'a>;
    /// The orders to sort by; [`FixedOrder`] when there is no choice.
    type Order: ListOrder<Column = Self::Column>;
    /// The columns of a row; `()` when rows are lines of text.
    type Column: Copy + PartialEq + 'static;

    /// Returns all possible columns; none when rows are lines of text.
    fn columns(&self) -> &'static [Column<Self::Column>];
    /// Returns the names of the chosen columns, in their order; `None` means all columns.
    fn chosen<'a>(&self, _: &'a A) -> Option<&'a [String]> {
        None
    }
    /// Returns the order that sorts by a column; `None` when there is none.
    fn order_by(&self, column: Self::Column) -> Option<Self::Order> {
        Self::Order::TABLE.iter().find(|(_, _, sorted)| *sorted == column).map(|(order, ..)| *order)
    }
    /// Places the columns that fit into `width`.
    fn place(&self, app: &A, width: u16) -> Vec<Placed<Self::Column>> {
        place(&self.fitted(app), MARK_WIDTH, width)
    }
    /// Returns what the visible rows need of the columns; `None` in a list that has no such columns.
    fn needs<'a>(&self, _: &'a A) -> Option<&'a ColumnNeeds> {
        None
    }
    /// Returns what a row needs of a column.
    fn need(&self, _: &A, _: &Self::Row<'_>, _: Self::Column) -> CellNeed {
        CellNeed::Nothing
    }
    /// Returns the columns with what the visible rows need, without those that are folded into the
    /// title.
    fn fitted(&self, app: &A) -> Vec<Column<Self::Column>> {
        let mut columns = choose(self.columns(), self.chosen(app));
        // The user's own choice comes before what the rows need.
        let Some(needs) = self.needs(app).filter(|_| self.chosen(app).is_none()) else { return columns };
        let folded = self.folded(app);
        columns.retain(|column| !folded.iter().any(|folded| folded.name == column.name()));
        for column in &mut columns {
            let at = self.columns().iter().position(|known| known.key == column.key);
            column.need = at.map_or(0, |at| needs.of(at));
        }
        columns
    }
    /// Returns the columns that say the same in all rows. Columns that the user chose or that sort the
    /// list are not folded.
    fn folded(&self, app: &A) -> Vec<FoldedColumn> {
        let Some(needs) = self.needs(app).filter(|_| self.chosen(app).is_none()) else { return Vec::new() };
        let sorts = |column: &Column<Self::Column>| {
            self.order(app).zip(self.order_by(column.key)).is_some_and(|(sorting, order)| sorting.has(order))
        };
        let columns = self.columns().iter().enumerate().filter(|(_, column)| !sorts(column));
        let folded = |(at, column): (usize, &Column<Self::Column>)| {
            let (says, some_unknown) = needs.alike(at)?;
            Some(FoldedColumn { name: column.name(), says, some_unknown })
        };
        columns.filter_map(folded).collect()
    }
    /// Matches the texts of a row against a search, in a list that is searched instead of filtered.
    fn search(&self, _: &A, _: &Self::Row<'_>, _: &mut Matching<'_>) {}
    /// Returns the rows in the order in which they are shown.
    fn rows<'a>(&self, app: &'a A) -> impl Rows<Self::Id> + 'a;
    /// Returns the row at a position. At most logarithmic.
    fn row<'a>(&self, app: &'a A, rank: usize) -> Option<Self::Row<'a>>;
    fn cursor<'a>(&self, app: &'a A) -> &'a Cursor<Self::Id>;
    fn cursor_mut<'a>(&self, app: &'a mut A) -> &'a mut Cursor<Self::Id>;
    /// Returns the text that `y` copies from a row.
    fn copied(&self, app: &A, row: Self::Row<'_>) -> Option<String>;
    /// Opens the selected row, on `⏎`.
    fn open(&self, app: &mut A);

    /// Returns the filter of the list; `None` when the list cannot be filtered.
    fn filter<'a>(&self, _: &'a A) -> Option<&'a Filter> {
        None
    }
    fn set_filter(&self, _: &mut A, _: Filter) {}
    /// Returns the current order; `None` when there is no choice.
    fn order(&self, _: &A) -> Option<Sorting<Self::Order>> {
        None
    }
    fn sort(&self, _: &mut A, _: Sorting<Self::Order>) {}
    /// Formats all rows as JSON, including those out of view. The error is a sentence that says why
    /// this is not possible.
    fn exported(&self, _: &A) -> Result<String, String> {
        Err("This list cannot be exported.".to_owned())
    }
    /// Returns the nodes that `x` deletes when none is tagged: those of the selected row.
    fn deletable(&self, _: &A) -> Vec<ZnodePath> {
        Vec::new()
    }
    /// Returns the session of the selected row, whose page can be opened.
    fn session(&self, _: &A) -> Option<SessionId> {
        None
    }
    /// Returns the node of the selected row, whose page can be opened.
    fn node(&self, _: &A) -> Option<ZnodePath> {
        None
    }
    /// Returns whether the list changes with time alone.
    fn changes_with_time(&self, _: &A) -> bool {
        false
    }
    /// Rebuilds the rows, in a list that does not update them change by change.
    fn rebuild_rows(&self, _: &mut A) {}
    /// Moves to the list on the left or the right. Returns `false` when there is none.
    fn move_sideways(&self, _: &mut A, _to_right: bool) -> bool {
        false
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    Nothing,
    /// A row that was not selected. The press has selected it.
    Row,
    /// The selected row.
    SelectedRow,
}

/// A list with any kind of rows. Every [`ListScreen`] is a `List`.
pub trait List<A>: Sync {
    /// Returns the number of rows.
    fn len(&self, app: &A) -> usize;
    /// Returns the position of the selected row; `None` when the list is empty.
    fn at(&self, app: &A) -> Option<usize>;
    /// Moves the selection by some rows and scrolls to it. `height` is the number of visible rows.
    fn step(&self, app: &mut A, by: isize, height: usize);
    /// Anchors the selection to the first or the last row.
    fn go_to_end(&self, app: &mut A, last: bool);
    /// Re-anchors the selection after rows came, went or moved.
    fn reanchor(&self, app: &mut A, height: usize);
    /// Adds what the `height` visible rows need of the columns.
    fn measure(&self, app: &A, height: usize, needs: &mut ColumnNeeds);
    /// Selects the row on a visible line.
    fn press(&self, app: &mut A, line: usize) -> Pressed;
    fn filter<'a>(&self, app: &'a A) -> Option<&'a Filter>;
    fn set_filter(&self, app: &mut A, filter: Filter);
    /// Sorts by the columns of these names. Without names, sorts by the next column that fits into
    /// `width`. The error is the word that is not a column.
    fn sort_by(&self, app: &mut A, columns: Option<&str>, width: u16) -> Result<(), String>;
    /// Sets the second column to sort by. Without a name, takes the next visible column; after the
    /// last one, there is no second column. The error is the word that is not a column.
    fn then_by(&self, app: &mut A, column: Option<&str>, width: u16) -> Result<(), String>;
    fn reverse(&self, app: &mut A);
    /// Returns the names of the orders to sort by.
    fn sort_names(&self) -> Vec<&'static str>;
    /// Returns the word in `columns` that is not a column; `None` when the list can be sorted by
    /// them.
    fn refuses_sorting(&self, columns: &str) -> Option<String>;
    /// Returns the names of the columns.
    fn column_names(&self) -> Vec<String>;
    /// Returns the order of the column whose title is at `x`, and whether the list is already
    /// sorted by that column first.
    fn title_at(&self, app: &A, x: u16, width: u16) -> Option<(&'static str, bool)>;
    /// Selects a matching row. Returns whether the search wrapped around; `None` when no row
    /// matches.
    fn find(&self, app: &mut A, filter: &Filter, step: Find, height: usize) -> Option<bool>;
    fn copied(&self, app: &A) -> Option<String>;
    fn exported(&self, app: &A) -> Result<String, String>;
    fn deletable(&self, app: &A) -> Vec<ZnodePath>;
    fn session(&self, app: &A) -> Option<SessionId>;
    fn node(&self, app: &A) -> Option<ZnodePath>;
    fn open(&self, app: &mut A);
    fn changes_with_time(&self, app: &A) -> bool;
    fn rebuild_rows(&self, app: &mut A);
    fn move_sideways(&self, app: &mut A, to_right: bool) -> bool;
}

/// The start and the direction of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Find {
    /// Forwards from the selected row, which is included.
    Here,
    Next,
    Previous,
}

/// Returns the positions to search, starting at `at` and wrapping around: each position once.
pub fn places_from(at: usize, len: usize, step: Find) -> impl Iterator<Item = usize> {
    (0..len).map(move |by| match step {
        Find::Here => (at + by) % len,
        Find::Next => (at + by + 1) % len,
        Find::Previous => (at + 2 * len - by - 1) % len,
    })
}

/// Runs `work` with the selection and the rows of a list.
fn with<A, S: ListScreen<A>>(list: &S, app: &mut A, work: impl FnOnce(&mut Cursor<S::Id>, &dyn Rows<S::Id>)) {
    let mut cursor = list.cursor(app).clone();
    work(&mut cursor, &list.rows(app));
    *list.cursor_mut(app) = cursor;
}

fn sort<A, S: ListScreen<A>>(list: &S, app: &mut A, sorting: Sorting<S::Order>) {
    list.sort(app, sorting);
    *list.cursor_mut(app) = Cursor::first();
}

/// Returns the orders of the columns that fit into `width`; all orders when no such column fits.
fn shown_orders<A, S: ListScreen<A>>(list: &S, app: &A, width: u16) -> Vec<S::Order> {
    let shown: Vec<_> = list.place(app, width).into_iter().filter_map(|column| list.order_by(column.key)).collect();
    if shown.is_empty() { S::Order::all().collect() } else { shown }
}

/// Returns the order with that name, or the order of the column with that title.
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

    fn reanchor(&self, app: &mut A, height: usize) {
        with(self, app, |cursor, rows| cursor.reanchor(rows, height));
    }

    fn measure(&self, app: &A, height: usize, needs: &mut ColumnNeeds) {
        if self.needs(app).is_none() {
            return;
        }
        let (top, len) = (self.cursor(app).top(), self.rows(app).len());
        needs.columns.resize(self.columns().len(), ColumnNeed::default());
        // What was not known may be known now.
        needs.columns.iter_mut().for_each(|column| column.some_unknown = false);
        needs.rows = len;
        for row in (top..len.min(top + height)).filter_map(|rank| self.row(app, rank)) {
            for (at, column) in self.columns().iter().enumerate() {
                // The others cannot change what is known of the column.
                if !needs.columns[at].differs {
                    needs.add(at, self.need(app, &row, column.key));
                }
            }
        }
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
        S::Order::all().map(ListOrder::id).collect()
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

    fn rebuild_rows(&self, app: &mut A) {
        ListScreen::rebuild_rows(self, app);
    }

    fn move_sideways(&self, app: &mut A, to_right: bool) -> bool {
        ListScreen::move_sideways(self, app, to_right)
    }
}

/// Formats a value for a file. The error is a sentence that says why this is not possible.
pub fn to_json(value: &impl Serialize) -> Result<String, String> {
    json::to_string_pretty(value).map_err(|error| format!("This cannot be written as JSON: {error}."))
}
