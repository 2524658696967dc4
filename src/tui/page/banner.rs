//! What is wrong with the connection, since when what is shown is old, and what comes next.

use super::{Columns, Line, Sign, Tone, Writer};
use crate::queue::{ConnectionState, LockTable};
use crate::text::human::{countdown, plural, time_of_day};
use crate::text::{Charset, width};
use crate::znode::Timestamp;

/// Lines of a reason at the most.
const MAX_LINES: usize = 3;

/// What the banner is about.
#[derive(Clone, Copy, Debug)]
pub struct Connection<'a> {
    pub table: &'a LockTable,
    /// Whether anybody still works on the connection.
    pub observing: bool,
    pub clock: Timestamp,
    pub utc: bool,
}

/// The lines between the screens' names and the screen while the table is not in step with the ensemble, in `columns`
/// columns. What comes next, and as of when everything is shown, stands behind the reason when there is room.
pub fn lines(of: Connection<'_>, columns: u16, charset: Charset) -> Vec<Line> {
    let (sign, tone, reason, next) = of.explain();
    let mut page = Writer::new(Columns::SIGNS, columns, charset);
    page.add(Some(sign), None, &reason, tone);
    let room = page.text_columns();
    let mut lines = page.lines();
    lines.truncate(MAX_LINES);
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
    /// How bad it is, what happened, and what comes next.
    fn explain(self) -> (Sign, Tone, String, Option<String>) {
        let bad = |reason: &str, next| (Sign::Bad, Tone::Bad, reason.to_owned(), next);
        match self.table.connection() {
            ConnectionState::Refused { reason } => bad(reason, None),
            _ if !self.observing => bad("The connection was closed: start lockscope again.", None),
            ConnectionState::Lost { reason } => bad(reason, Some("reconnecting".to_owned())),
            ConnectionState::Connecting { attempt, reason: Some(reason), next_try } => {
                let wait = next_try.filter(|at| *at > self.clock).map(|at| at.since(self.clock));
                let wait = wait.map(|wait| format!(" in {}", countdown(wait)));
                bad(reason, Some(format!("try {attempt}{}", wait.unwrap_or_default())))
            }
            ConnectionState::Connecting { reason: None, .. } => {
                (Sign::Busy, Tone::Careful, "Connecting".to_owned(), None)
            }
            ConnectionState::Connected { .. } => {
                let locks = plural(self.table.lock_count(), "lock", "locks");
                let contenders = plural(self.table.contender_count(), "contender", "contenders");
                (Sign::Busy, Tone::Careful, format!("Reading: {locks}, {contenders} so far"), None)
            }
        }
    }
}
