//! The selected row of a list. The selection follows the row's identity, not its position.

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
enum Anchor<Id> {
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
    anchor: Anchor<Id>,
    rank: usize,
    top: usize,
}

impl<Id> Cursor<Id> {
    pub fn first() -> Self {
        Self { anchor: Anchor::First, rank: 0, top: 0 }
    }

    pub fn last() -> Self {
        Self { anchor: Anchor::Last, rank: 0, top: 0 }
    }

    pub fn on(id: Id) -> Self {
        Self { anchor: Anchor::On(id), rank: 0, top: 0 }
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
        matches!(self.anchor, Anchor::Last)
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
        self.anchor = rows.id(self.rank).map_or(Anchor::First, Anchor::On);
    }

    /// Finds the selected row again after rows came, went or moved, and keeps it within the
    /// `height` visible rows. Logarithmic when `rows` is.
    pub fn reanchor(&mut self, rows: &(impl Rows<Id> + ?Sized), height: usize) {
        let last = rows.len().saturating_sub(1);
        let before = self.rank;
        self.rank = match &self.anchor {
            Anchor::First => 0,
            Anchor::Last => last,
            Anchor::On(id) => rows.rank(id).unwrap_or_else(|| before.min(last)),
        };
        if let Anchor::On(id) = &mut self.anchor
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

#[cfg(test)]
mod tests {
    use super::*;

    impl Rows<char> for Vec<char> {
        fn len(&self) -> usize {
            Vec::len(self)
        }
        fn rank(&self, id: &char) -> Option<usize> {
            self.iter().position(|row| row == id)
        }
        fn id(&self, rank: usize) -> Option<char> {
            self.get(rank).copied()
        }
    }

    fn rows(text: &str) -> Vec<char> {
        text.chars().collect()
    }

    #[test]
    fn the_selection_follows_its_row_and_keeps_its_line() {
        let mut cursor = Cursor::first();
        let before = rows("abcdefghij");
        cursor.reanchor(&before, 4);
        cursor.step(5, &before);
        cursor.reveal(&before, 4);
        assert_eq!((cursor.rank(), cursor.top()), (5, 2));
        let after = rows("cdefghijkl");
        cursor.reanchor(&after, 4);
        assert_eq!((cursor.selected(&after), cursor.top()), (Some('f'), 0));
        cursor.reanchor(&rows("xyzcdefghij"), 4);
        assert_eq!((cursor.rank(), cursor.top()), (6, 3));
    }

    #[test]
    fn when_the_selected_row_vanishes_the_row_at_its_position_is_selected() {
        let mut cursor = Cursor::on('c');
        cursor.reanchor(&rows("abcd"), 9);
        cursor.reanchor(&rows("abd"), 9);
        assert_eq!(cursor.selected(&rows("abd")), Some('d'));
        cursor.reanchor(&rows("xabd"), 9);
        assert_eq!(cursor.selected(&rows("xabd")), Some('d'), "and stays with that");
        cursor.reanchor(&rows(""), 9);
        assert_eq!(cursor.selected(&rows("")), None);
    }

    #[test]
    fn an_untouched_selection_stays_at_its_end_of_the_list() {
        let (mut first, mut last) = (Cursor::first(), Cursor::last());
        for text in ["a", "ab", "xab", "xabcdefg"] {
            first.reanchor(&rows(text), 3);
            last.reanchor(&rows(text), 3);
            assert_eq!(first.selected(&rows(text)), text.chars().next());
            assert_eq!(last.selected(&rows(text)), text.chars().last());
        }
        assert_eq!((first.top(), last.top()), (0, 5));
    }

    #[test]
    fn paging_past_an_end_stops_there() {
        let list = rows("abcde");
        let mut cursor = Cursor::first();
        cursor.reanchor(&list, 2);
        cursor.step(100, &list);
        assert_eq!(cursor.rank(), 4);
        cursor.step(-100, &list);
        assert_eq!(cursor.rank(), 0);
    }
}
