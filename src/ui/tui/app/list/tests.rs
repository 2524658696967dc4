//! Tests of `cursor`.

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
