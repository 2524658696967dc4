//! What is wrong with the connection, since when what is shown is old, and what comes next. Pure.

use super::app::App;
use crate::queue::ConnectionState;
use crate::text::human::{plural, time_of_day};
use crate::text::{Charset, width, wrap_words};

/// Lines of a reason at the most.
const MOST_LINES: usize = 3;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Something is under way.
    Busy,
    /// Something is wrong.
    Bad,
}

/// The lines between the screens' names and the screen while the table is not in step with the ensemble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Banner {
    /// How bad it is.
    pub weight: Weight,
    /// What happened, in lines that are harmless to a terminal.
    pub reason: Vec<String>,
    /// What comes next, and as of when everything is shown. Stands behind the last line when there is room.
    pub rest: String,
    /// Whether there is.
    pub behind: bool,
}

impl Banner {
    /// The banner in lines of `columns`; `None` when nothing is wrong.
    pub fn of(app: &App, columns: u16) -> Option<Self> {
        if app.is_live() {
            return None;
        }
        let charset = if app.settings().ascii { Charset::Ascii } else { Charset::Unicode };
        let (weight, reason, next) = explain(app);
        let shown = match app.last_true() {
            Some(time) => format!("shown as of {}", time_of_day(time, app.settings().utc)),
            None => String::new(),
        };
        let dot = if app.settings().ascii { " - " } else { " · " };
        let parts: Vec<_> = [next, shown].into_iter().filter(|part| !part.is_empty()).collect();
        // A space, the sign and a space stand before each line, and a space after it.
        let room = usize::from(columns).saturating_sub(4);
        let mut reason = wrap_words(&reason, room, charset);
        reason.truncate(MOST_LINES);
        let rest = parts.join(dot);
        let last = reason.last().map_or(0, |line| width(line));
        let behind = last + width(dot) + width(&rest) <= room;
        Some(Self {
            weight,
            reason,
            rest: if behind && !rest.is_empty() { format!("{dot}{rest}") } else { rest },
            behind,
        })
    }

    /// How many lines it takes.
    pub fn lines(&self) -> u16 {
        let own = u16::from(!self.behind && !self.rest.is_empty());
        u16::try_from(self.reason.len()).unwrap_or(0) + own
    }
}

/// How bad it is, what happened, and what comes next.
fn explain(app: &App) -> (Weight, String, String) {
    match app.link() {
        ConnectionState::Refused { reason } => (Weight::Bad, reason.clone(), String::new()),
        _ if !app.is_observing() => {
            (Weight::Bad, "The connection was closed: start lockscope again.".to_owned(), String::new())
        }
        ConnectionState::Lost { reason } => (Weight::Bad, reason.clone(), "reconnecting".to_owned()),
        ConnectionState::Connecting { attempt, reason, next_try } => {
            let next = match next_try {
                Some(at) if *at > app.clock() => {
                    format!("try {attempt} in {}s", at.since(app.clock()).as_millis().div_ceil(1000))
                }
                _ => format!("try {attempt}"),
            };
            match reason {
                Some(reason) => (Weight::Bad, reason.clone(), next),
                None => (Weight::Busy, "Connecting".to_owned(), String::new()),
            }
        }
        ConnectionState::Connected { .. } => {
            let table = app.world().table();
            let found = format!(
                "Reading: {}, {} so far",
                plural(table.lock_count(), "lock", "locks"),
                plural(table.contender_count(), "contender", "contenders")
            );
            (Weight::Busy, found, String::new())
        }
    }
}
