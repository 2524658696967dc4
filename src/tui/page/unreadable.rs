//! Where the server does not let us look.

use super::{Line, Tone, Writer};
use crate::text::human::count;
use crate::text::{Keep, fit, width};
use crate::znode::ZnodePath;

/// Places that are listed at most: a frame must not take longer the more there are.
const MAX_PLACES: usize = 1_000;

/// Writes every place that cannot be read, and what the server answered.
pub fn write<'a>(page: &mut Writer, places: impl ExactSizeIterator<Item = (&'a ZnodePath, &'a str)>) {
    let more = places.len().saturating_sub(MAX_PLACES);
    if places.len() == 0 {
        return page.sentence("The server lets us look everywhere below the roots.", Tone::Dim);
    }
    page.sentence("Locks below these nodes are not known; everything else is complete.", Tone::Dim);
    page.blank();
    let (columns, charset) = (page.text_columns(), page.charset());
    for (path, reason) in places.take(MAX_PLACES) {
        let path = fit(path.as_str(), columns / 2, Keep::End, charset);
        let reason = fit(reason, columns.saturating_sub(width(&path) + 2), Keep::Start, charset);
        let rest = Some((format!("  {reason}"), Tone::Text));
        page.push(Line { sign: None, label: None, text: path, tone: Tone::Strong, rest });
    }
    if more > 0 {
        page.sentence(&format!("and {} more: `lockscope snapshot` lists all", count(more)), Tone::Dim);
    }
}
