//! Properties of every frame: no text is cut without a mark, touches another text, or is cut where
//! it has room.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::App;
use crate::tui::widget::write::record::{Record, Written};
use lockscope_model::text::Charset;

/// Minimum words of a sentence; a sentence can be wrapped instead of cut.
const SENTENCE: usize = 4;
/// Minimum blank lines in the box of a cut sentence that count as wasted room.
const UNUSED_LINES: usize = 2;
/// Minimum blank columns to the right of a cut text that count as wasted room.
const UNUSED_COLUMNS: u16 = 8;

/// Returns the faults of a frame, as sentences.
pub fn faults(app: &App, buffer: &Buffer, record: &Record) -> Vec<String> {
    let charset = if app.settings().ascii { Charset::Ascii } else { Charset::Unicode };
    let ellipsis = charset.ellipsis();
    let mut faults = Vec::new();
    for text in &record.texts {
        if text.is_cut {
            faults.push(format!("cut without a mark: {:?}", text.text));
        }
        if text.text.ends_with(ellipsis)
            && let Some(inner) = around(record, text)
        {
            let words = text.text.split_whitespace().count();
            if words >= SENTENCE && blank_lines(buffer, inner) >= UNUSED_LINES {
                faults.push(format!("cut beside blank lines: {:?}", text.text));
            }
            if blank_columns(buffer, inner, text) >= UNUSED_COLUMNS {
                faults.push(format!("cut beside blank columns: {:?}", text.text));
            }
        }
    }
    for (at, text) in record.texts.iter().enumerate() {
        let touches = |other: &&Written| other.y == text.y && text.x <= other.end && other.x <= text.end;
        faults.extend(
            record.texts[..at].iter().find(touches).map(|other| format!("{:?} and {:?} touch", other.text, text.text)),
        );
    }
    for shown in app.pages() {
        let label = shown.page.columns.label;
        let wide = shown
            .page
            .lines
            .iter()
            .filter_map(|line| line.label.as_ref())
            .find(|text| lockscope_model::text::width(text) >= label);
        faults.extend(wide.map(|text| format!("the label {text:?} touches what stands behind it")));
    }
    faults
}

/// Returns the smallest box around a text.
fn around(record: &Record, text: &Written) -> Option<Rect> {
    let holds = |inner: &&Rect| inner.contains((text.x, text.y).into());
    record.boxes.iter().filter(holds).min_by_key(|inner| inner.area()).copied()
}

fn is_blank(buffer: &Buffer, x: u16, y: u16) -> bool {
    buffer[(x, y)].symbol() == " "
}

/// Returns the length of the longest run of blank lines.
fn blank_lines(buffer: &Buffer, inner: Rect) -> usize {
    let mut most = 0;
    let mut run = 0;
    for y in inner.top()..inner.bottom() {
        let blank = (inner.left()..inner.right()).all(|x| is_blank(buffer, x, y));
        run = if blank { run + 1 } else { 0 };
        most = most.max(run);
    }
    most
}

/// Returns the blank columns to the right of a text, up to the next text or the border.
fn blank_columns(buffer: &Buffer, inner: Rect, text: &Written) -> u16 {
    let blank = (text.end..inner.right()).take_while(|x| is_blank(buffer, *x, text.y)).count();
    u16::try_from(blank).unwrap_or(u16::MAX)
}
