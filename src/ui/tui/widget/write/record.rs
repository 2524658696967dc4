//! Records everything written into a buffer, for the tests: each text with its position, and each
//! box.

use std::cell::RefCell;

use ratatui::layout::{Alignment, Rect};
use ratatui::text::Line;

use lockscope_model::text::width;

/// A text as written, without the blanks around it.
#[derive(Clone, Debug)]
pub struct Written {
    pub text: String,
    pub y: u16,
    /// The first column, and the column after the last.
    pub x: u16,
    pub end: u16,
    /// Whether the text was longer than its room.
    pub is_cut: bool,
}

/// The texts and boxes of a frame.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub texts: Vec<Written>,
    /// The inside of each box.
    pub boxes: Vec<Rect>,
}

thread_local! {
    static RECORD: RefCell<Record> = RefCell::default();
}

/// Returns everything written since the last call.
pub fn take() -> Record {
    RECORD.take()
}

pub fn wrote_line(line: &Line<'_>, area: Rect) {
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

/// Records a text whose room ends before the column `room`.
pub fn wrote((x, y): (u16, u16), room: u16, text: &str) {
    let shown = text.trim();
    // Lines of one repeated sign, such as `─`, are meant to be covered by other texts.
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

/// Records a box around `inner`.
pub fn boxed(inner: Rect) {
    RECORD.with_borrow_mut(|record| record.boxes.push(inner));
}

/// Forgets everything in an area that was cleared.
pub fn cleared(area: Rect) {
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
