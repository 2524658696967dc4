//! The banner about the connection: what is wrong, since when the data is stale, and what happens
//! next.

use super::{Columns, Line, Sign, Tone, Writer};
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::{ConnectionState, LockTable, NO_ANSWER};
use lockscope_model::text::human::{countdown, plural, time_of_day};
use lockscope_model::text::{Charset, width};

/// Maximum lines of a reason.
const MAX_LINES: usize = 3;

/// The hint when no server was named and none answers at the default address.
const NAME_SERVERS: &str = "Name one with --connect or ZOOKEEPER_CONNECT; `lockscope demo` needs none.";

/// Whether the observer is still trying to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    GoesOn,
    Ended,
    /// The screen shows a time in the past.
    Past,
}

/// The input of the banner.
#[derive(Clone, Copy, Debug)]
pub struct Connection<'a> {
    pub table: &'a LockTable,
    pub attempt: Attempt,
    /// Whether no server was named on the command line or in the settings.
    pub is_default: bool,
    pub clock: Timestamp,
    pub utc: bool,
}

/// Returns the lines between the tabs and the screen while the table is out of step with the
/// ensemble, in `columns` columns. The next attempt and the time of the data follow the reason
/// where there is room.
pub fn lines(of: Connection<'_>, columns: u16, charset: Charset) -> Vec<Line> {
    let (sign, tone, reason, next) = of.explain();
    let mut page = Writer::new(Columns::SIGNS, columns, charset);
    page.add(Some(sign), None, &reason, tone);
    let room = page.text_columns();
    let mut lines = page.lines();
    let hint = of.hint().map(|hint| {
        let mut page = Writer::new(Columns::SIGNS, columns, charset);
        page.add(None, None, hint, Tone::Text);
        page.lines()
    });
    let hint = hint.unwrap_or_default();
    lines.truncate(MAX_LINES.saturating_sub(hint.len()).max(2));
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

impl Connection<'_> {
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
            _ if self.attempt == Attempt::Ended => bad("The connection was closed: start lockscope again.", None),
            ConnectionState::Overloaded { reason } | ConnectionState::Lagging { reason, .. } => bad(reason, None),
            ConnectionState::Silent { .. } => bad(NO_ANSWER, None),
            ConnectionState::Lost { reason } => bad(reason, Some("reconnecting".to_owned())),
            ConnectionState::Connecting { attempt, reason: Some(reason), next_try } => {
                let wait = next_try.filter(|at| *at > self.clock).map(|at| at.since(self.clock));
                let wait = wait.map(|wait| format!(" in {}", countdown(wait)));
                bad(reason, Some(format!("try {attempt}{}", wait.unwrap_or_default())))
            }
            ConnectionState::Connecting { reason: None, .. } => {
                let doing =
                    if self.attempt == Attempt::Past { "Nothing was read yet at that time" } else { "Connecting" };
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

#[cfg(test)]
mod tests {
    use super::*;
    use lockscope_model::queue::Change;

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
        let of = Connection { table: &table, attempt: Attempt::GoesOn, is_default, clock, utc: true };
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
}
