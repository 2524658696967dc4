//! What was written into a buffer, for the tests: each text with its place, and each box.

use std::cell::RefCell;

use ratatui::layout::{Alignment, Rect};
use ratatui::text::Line;

use lockscope_model::text::width;

/// A text as it was written, without the blanks around it.
#[derive(Clone, Debug)]
pub struct Written {
    pub text: String,
    pub y: u16,
    /// Its first column, and the one behind its last.
    pub x: u16,
    pub end: u16,
    /// Whether its room ended before it did.
    pub is_cut: bool,
}

/// What a frame was written from.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub texts: Vec<Written>,
    /// What is inside each box.
    pub boxes: Vec<Rect>,
}

thread_local! {
    static RECORD: RefCell<Record> = RefCell::default();
}

/// What was written since the last call.
pub fn take() -> Record {
    RECORD.take()
}

pub(super) fn wrote_line(line: &Line<'_>, area: Rect) {
    let free = area.width.saturating_sub(columns(line.width()));
    let x = match line.alignment {
        Some(Alignment::Right) => area.x + free,
        Some(Alignment::Center) => area.x + free / 2,
        _ => area.x,
    };
    if area.height > 0 {
        let text: String = line.spans.iter().map(|span| &*span.content).collect();
        wrote((x, area.y), area.right(), &text);
    }
}

/// A text was written whose room ends before the column `room`.
pub fn wrote((x, y): (u16, u16), room: u16, text: &str) {
    let shown = text.trim();
    // Lines of nothing but `─` are drawn for others to be written over.
    let mut letters = shown.chars();
    let first = letters.next();
    if first.is_none_or(|first| !first.is_alphanumeric() && first != '#' && letters.all(|letter| letter == first)) {
        return;
    }
    let x = x + columns(width(text) - width(text.trim_start()));
    let end = x + columns(width(shown));
    let written = Written { text: shown.to_owned(), y, x, end, is_cut: end > room };
    RECORD.with_borrow_mut(|record| record.texts.push(written));
}

/// A box was drawn around `inner`.
pub fn boxed(inner: Rect) {
    RECORD.with_borrow_mut(|record| record.boxes.push(inner));
}

/// An area was emptied, with all that lay there.
pub(super) fn cleared(area: Rect) {
    RECORD.with_borrow_mut(|record| {
        record.boxes.retain(|inner| !inner.intersects(area));
        record.texts.retain(|text| {
            let place = Rect::new(text.x, text.y, text.end - text.x, 1);
            !place.intersects(area)
        });
    });
}

fn columns(width: usize) -> u16 {
    u16::try_from(width).unwrap_or(u16::MAX)
}
