//! The places that the server does not let the console read.

use super::{Line, Tone, Writer};
use lockscope_base::znode::ZnodePath;
use lockscope_model::text::human::count;
use lockscope_model::text::{Keep, fit, width, wrap_words};

/// Maximum number of listed places, so that the cost of a frame is bounded.
const MAX_PLACES: usize = 1_000;

/// Maximum lines of a path, and of an answer.
const MAX_LINES: usize = 16;

/// The gap between a path and the answer, and the indent of an answer on lines of its own.
const GAP: &str = "  ";

/// Writes every unreadable place and the server's answer.
pub fn write<'a>(page: &mut Writer, places: impl ExactSizeIterator<Item = (&'a ZnodePath, &'a str)>) {
    let more = places.len().saturating_sub(MAX_PLACES);
    if places.len() == 0 {
        return page.sentence("Every node below the roots can be read.", Tone::Dim);
    }
    page.sentence("Locks below these nodes are not known; everything else is complete.", Tone::Dim);
    page.blank();
    for (path, reason) in places.take(MAX_PLACES) {
        write_place(page, path, reason);
    }
    if more > 0 {
        page.sentence(&format!("and {} more: `lockscope snapshot` lists all", count(more)), Tone::Dim);
    }
}

/// Writes a place and the answer in one line or, where they do not fit, in as many lines as they
/// need: no other page shows them in full.
fn write_place(page: &mut Writer, path: &ZnodePath, reason: &str) {
    let (columns, charset) = (page.text_columns(), page.charset());
    let fitted = |text: &str, keep| fit(text, columns * MAX_LINES, keep, charset);
    let (path, reason) = (fitted(path.as_str(), Keep::Ends), fitted(reason, Keep::Start));
    if width(&path) + GAP.len() + width(&reason) <= columns {
        let rest = Some((format!("{GAP}{reason}"), Tone::Text));
        return page.push(Line { sign: None, label: None, text: path, tone: Tone::Strong, rest });
    }
    page.sentence(&path, Tone::Strong);
    for line in wrap_words(&reason, columns.saturating_sub(GAP.len()), charset) {
        page.push(Line { sign: None, label: None, text: format!("{GAP}{line}"), tone: Tone::Text, rest: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::path;
    use crate::tui::page::Columns;
    use lockscope_model::text::Charset;

    #[test]
    fn a_place_with_a_long_name_and_a_long_answer_can_be_read_as_a_whole() {
        let (short, path) = (path("/vault"), path(&format!("/tenants/{}/locks", "a".repeat(80))));
        let reason = "not authenticated for reading: the ACL names sasl:billing-service@EXAMPLE.COM alone";

        let mut page = Writer::new(Columns::TEXT, 80, Charset::Unicode);
        write(&mut page, [(&path, reason), (&short, "no")].into_iter());
        let lines = page.lines();
        let text = |line: &Line| line.text.clone() + line.rest.as_ref().map_or("", |(rest, _)| rest);
        let shown: Vec<_> = lines.iter().map(text).collect();
        assert!(shown.iter().all(|line| width(line) <= 78 && !line.contains('…')), "{shown:#?}");
        let all = shown.iter().map(|line| line.trim()).collect::<Vec<_>>();
        assert!(all.concat().contains(path.as_str()), "{shown:#?}");
        assert!(all.join(" ").contains(reason), "{shown:#?}");
        assert_eq!(shown.last().map(String::as_str), Some("/vault  no"));
    }
}
