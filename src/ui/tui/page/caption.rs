//! The tour's caption.

use super::{Columns, Line, Tone, Writer};
use lockscope_model::text::Charset;

/// Maximum lines of a caption.
const MAX_LINES: usize = 5;

/// Returns the caption, or the reason why its scene cannot be played, in lines of `width` columns.
pub fn lines(caption: &str, trouble: Option<&str>, width: u16, charset: Charset) -> Vec<Line> {
    let mut page = Writer::new(Columns::TEXT, width, charset);
    match trouble {
        Some(reason) => page.sentence(&format!("This scene cannot be played: {reason}"), Tone::Bad),
        None => page.sentence(caption, Tone::Text),
    }
    let mut lines = page.lines();
    lines.truncate(MAX_LINES);
    lines
}

/// Returns the lines that the tour takes: those of the longest caption of a scene, so that the
/// screen does not jump within a scene, and one above them. Captions are ASCII, so the charset
/// makes no difference.
pub fn height(captions: impl Iterator<Item = String>, width: u16) -> u16 {
    let longest = captions.map(|caption| lines(&caption, None, width, Charset::Unicode).len()).max().unwrap_or(0);
    u16::try_from(longest + 1).unwrap_or(1)
}
