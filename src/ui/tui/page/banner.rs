//! What the screen says beside its lists: the banner about the connection, the tour's caption, and
//! the places that the server does not let the console read.
//!
//! The banner says what is wrong, since when the data is stale, and what happens next.

use super::{Columns, Line, PageWriter, Sign, Tone};
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::queue::{ConnectionState, LockTable, NO_ANSWER};
use lockscope_model::text::human::{count, countdown, plural, time_of_day};
use lockscope_model::text::{Charset, Keep, fit, width, wrap_words};

/// Maximum lines of a reason.
const MAX_REASON_LINES: usize = 3;

/// The hint when no server was named and none answers at the default address.
const NAME_SERVERS: &str = "Name one with --connect or ZOOKEEPER_CONNECT; `lockscope demo` needs none.";

/// Whether the observer is still trying to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectAttempts {
    GoesOn,
    Ended,
    /// The screen shows a time in the past.
    Past,
}

/// The input of the banner.
#[derive(Clone, Copy, Debug)]
pub struct ShownConnection<'a> {
    pub table: &'a LockTable,
    pub attempt: ConnectAttempts,
    /// Whether no server was named on the command line or in the settings.
    pub is_default: bool,
    pub clock: Timestamp,
    pub utc: bool,
}

/// Returns the lines between the tabs and the screen while the table is out of step with the
/// ensemble, in `columns` columns. The next attempt and the time of the data follow the reason
/// where there is room.
pub fn lines(of: ShownConnection<'_>, columns: u16, charset: Charset) -> Vec<Line> {
    let (sign, tone, reason, next) = of.explain();
    let mut page = PageWriter::new(Columns::SIGNS, columns, charset);
    page.add(Some(sign), None, &reason, tone);
    let room = page.text_columns();
    let mut lines = page.lines();
    let hint = of.hint().map(|hint| {
        let mut page = PageWriter::new(Columns::SIGNS, columns, charset);
        page.add(None, None, hint, Tone::Text);
        page.lines()
    });
    let hint = hint.unwrap_or_default();
    lines.truncate(MAX_REASON_LINES.saturating_sub(hint.len()).max(2));
    lines.extend(hint);
    let shown = of.table.last_true().map(|time| format!("shown as of {}", time_of_day(time, of.utc)));
    let dot = if charset == Charset::Ascii { " - " } else { " · " };
    let rest = [next, shown].into_iter().flatten().collect::<Vec<_>>().join(dot);
    if let Some(last) = lines.last_mut().filter(|_| !rest.is_empty()) {
        if width(&last.text) + width(dot) + width(&rest) <= room {
            last.rest = Some((format!("{dot}{rest}"), Tone::Unsure));
        } else {
            lines.push(Line { sign: None, label: None, text: rest, tone: Tone::Unsure, rest: None });
        }
    }
    lines
}

impl ShownConnection<'_> {
    /// Suggests another way to begin, as long as there was never a session.
    fn hint(self) -> Option<&'static str> {
        let has_none = matches!(self.table.connection(), ConnectionState::Connecting { reason: Some(_), .. });
        (self.is_default && has_none && self.table.last_true().is_none()).then_some(NAME_SERVERS)
    }

    /// Returns the severity, what happened, and what happens next.
    fn explain(self) -> (Sign, Tone, String, Option<String>) {
        let bad = |reason: &str, next| (Sign::Bad, Tone::Bad, reason.to_owned(), next);
        match self.table.connection() {
            ConnectionState::Refused { reason } => bad(reason, None),
            _ if self.attempt == ConnectAttempts::Ended => {
                bad("The connection was closed: start lockscope again.", None)
            }
            ConnectionState::Overloaded { reason } | ConnectionState::Lagging { reason, .. } => bad(reason, None),
            ConnectionState::Silent { .. } => bad(NO_ANSWER, None),
            ConnectionState::Lost { reason } => bad(reason, Some("reconnecting".to_owned())),
            ConnectionState::Connecting { attempt, reason: Some(reason), next_try } => {
                let wait = next_try.filter(|at| *at > self.clock).map(|at| at.since(self.clock));
                let wait = wait.map(|wait| format!(" in {}", countdown(wait)));
                bad(reason, Some(format!("try {attempt}{}", wait.unwrap_or_default())))
            }
            ConnectionState::Connecting { reason: None, .. } => {
                let doing = if self.attempt == ConnectAttempts::Past {
                    "Nothing was read yet at that time"
                } else {
                    "Connecting"
                };
                (Sign::Busy, Tone::Careful, doing.to_owned(), None)
            }
            ConnectionState::Connected { .. } => {
                let locks = plural(self.table.lock_count(), "lock", "locks");
                let contenders = plural(self.table.contender_count(), "contender", "contenders");
                (Sign::Busy, Tone::Careful, format!("Reading: {locks}, {contenders} so far"), None)
            }
        }
    }
}

/// Maximum lines of a caption.
const MAX_CAPTION_LINES: usize = 5;

/// Returns the caption, or the reason why its scene cannot be played, in lines of `width` columns.
pub fn caption_lines(caption: &str, trouble: Option<&str>, width: u16, charset: Charset) -> Vec<Line> {
    let mut page = PageWriter::new(Columns::TEXT, width, charset);
    match trouble {
        Some(reason) => page.sentence(&format!("This scene cannot be played: {reason}"), Tone::Bad),
        None => page.sentence(caption, Tone::Text),
    }
    let mut lines = page.lines();
    lines.truncate(MAX_CAPTION_LINES);
    lines
}

/// Returns the lines that the tour takes: those of the longest caption of a scene, so that the
/// screen does not jump within a scene, and one above them. Captions are ASCII, so the charset
/// makes no difference.
pub fn caption_height(captions: impl Iterator<Item = String>, width: u16) -> u16 {
    let longest =
        captions.map(|caption| caption_lines(&caption, None, width, Charset::Unicode).len()).max().unwrap_or(0);
    u16::try_from(longest + 1).unwrap_or(1)
}

/// Maximum number of listed places, so that the cost of a frame is bounded.
const MAX_PLACES: usize = 1_000;

/// Maximum lines of a path, and of an answer.
const MAX_PLACE_LINES: usize = 16;

/// The gap between a path and the answer, and the indent of an answer on lines of its own.
const GAP: &str = "  ";

/// Writes every unreadable place and the server's answer.
pub fn write_unreadable<'a>(page: &mut PageWriter, places: impl ExactSizeIterator<Item = (&'a ZnodePath, &'a str)>) {
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
fn write_place(page: &mut PageWriter, path: &ZnodePath, reason: &str) {
    let (columns, charset) = (page.text_columns(), page.charset());
    let fitted = |text: &str, keep| fit(text, columns * MAX_PLACE_LINES, keep, charset);
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
    use lockscope_model::queue::Change;
    use lockscope_model::text::Charset;

    /// Returns the lines at 80 columns while no server answers.
    fn shown(is_default: bool, was_there: bool) -> Vec<String> {
        let mut table = LockTable::new([]);
        let refused = "no session: localhost:2181 refused the connection: check the port, and that the server runs";
        let clock = Timestamp(1_714_574_467_250);
        if was_there {
            table.apply(Change::Syncing, clock);
            table.apply(Change::Synced, clock);
        }
        let next_try = Some(Timestamp(clock.0 + 4_000));
        let state = ConnectionState::Connecting { attempt: 3, reason: Some(refused.to_owned()), next_try };
        table.apply(Change::Connection(state), clock);
        let of = ShownConnection { table: &table, attempt: ConnectAttempts::GoesOn, is_default, clock, utc: true };
        let text = |line: Line| line.text + &line.rest.map(|(rest, _)| rest).unwrap_or_default();
        lines(of, 80, Charset::Unicode).into_iter().map(text).collect()
    }

    #[test]
    fn without_a_named_server_the_banner_says_how_to_name_one_and_names_the_demo() {
        insta::assert_snapshot!(shown(true, false).join("\n"), @r"
        no session: localhost:2181 refused the connection: check the port, and that
        the server runs
        Name one with --connect or ZOOKEEPER_CONNECT; `lockscope demo` needs none.
        try 3 in 4s
        ");
        assert!(!shown(false, false).concat().contains("--connect"), "a server was named");
        assert!(!shown(true, true).concat().contains("--connect"), "a server was there");
    }

    #[test]
    fn a_place_with_a_long_name_and_a_long_answer_can_be_read_as_a_whole() {
        let (short, path) = (path("/vault"), path(&format!("/tenants/{}/locks", "a".repeat(80))));
        let reason = "not authenticated for reading: the ACL names sasl:billing-service@EXAMPLE.COM alone";

        let mut page = PageWriter::new(Columns::TEXT, 80, Charset::Unicode);
        write_unreadable(&mut page, [(&path, reason), (&short, "no")].into_iter());
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
