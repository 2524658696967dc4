//! All that is known of the selected contender, line by line. Pure.

use std::time::Duration;

use super::app::App;
use crate::diagnose::{Facts, OwnerState, WatchTarget};
use crate::queue::{ContenderRow, ContenderState, HeldSince, LockQueue};
use crate::recipe::{RequestMode, Role};
use crate::server_view::{Connection, Liveness};
use crate::text::human::{count, date_and_time, duration, plural, time_of_day};
use crate::text::{Charset, Keep, fit, wrap_bytes};
use crate::znode::SessionId;

/// Columns of the labels.
pub const LABEL: usize = 11;
/// Nodes that are named at most of those whom a contender waits for.
const MOST_NAMED: usize = 4;

/// What a line is about, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A fact.
    Plain,
    /// Something that asks for attention.
    Careful,
}

/// One line of the details.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// Its label; empty where the line before goes on.
    pub label: &'static str,
    /// What it says, harmless to a terminal.
    pub text: String,
    /// How it is to be read.
    pub tone: Tone,
}

/// The details of the contender that is selected in Queue, in lines of `columns`; none when there is none.
pub fn lines(app: &App, columns: usize) -> Vec<Detail> {
    let rows = app.world().queue_rows();
    let Some((lock, row)) = app.world().open_lock().zip(rows.row(app.contender_cursor().rank())) else {
        return Vec::new();
    };
    let charset = if app.settings().ascii { Charset::Ascii } else { Charset::Unicode };
    let facts = app.world().table_at(app.now()).facts(lock, &row);
    let page = Page { app, lock, row, facts, charset, room: columns.saturating_sub(LABEL) };
    let mut lines = vec![page.path(), page.state(), page.session()];
    lines.extend(page.client());
    lines.push(page.waits_for());
    lines.extend(page.data());
    lines.extend([page.release(), page.created()]);
    lines
}

impl Detail {
    fn careful(self, careful: bool) -> Self {
        Self { tone: if careful { Tone::Careful } else { self.tone }, ..self }
    }
}

struct Page<'a> {
    app: &'a App,
    lock: &'a LockQueue,
    row: ContenderRow<'a>,
    facts: Facts<'a>,
    charset: Charset,
    room: usize,
}

impl Page<'_> {
    fn plain(&self, label: &'static str, text: &str) -> Detail {
        Detail { label, text: fit(text, self.room, Keep::Start, self.charset), tone: Tone::Plain }
    }

    fn path(&self) -> Detail {
        let path = self.lock.path_of(self.row.contender);
        Detail { label: "path", text: fit(path.as_str(), self.room, Keep::Ends, self.charset), tone: Tone::Plain }
    }

    fn state(&self) -> Detail {
        let (now, contender) = (self.app.now(), self.row.contender);
        let asks = match (self.row.mode, contender.role) {
            (RequestMode::Exclusive, Role::SingleNode) => "the lock itself",
            (RequestMode::Exclusive, _) => "asks to be alone",
            (RequestMode::Read, _) => "asks to read",
            (RequestMode::Write, _) => "asks to write",
            (RequestMode::Lease, _) => "asks for a lease",
        };
        let since =
            |time| format!("{}, since {}", duration(now.since(time)), time_of_day(time, self.app.settings().utc));
        let text = match (self.app.shows_truth(), self.row.state, contender.held()) {
            (false, ..) => format!("not known: not in step with the ensemble; {asks}"),
            (_, ContenderState::Unknown, _) => {
                "holds if its thread also holds the write before it; else waits".to_owned()
            }
            (_, ContenderState::Waits, _) => format!(
                "waits for {}; {asks}",
                since(contender.contends_since(self.app.world().table().clock_ahead_ms()))
            ),
            (_, ContenderState::Holds, HeldSince::Since(time)) => format!("holds for {}; {asks}", since(time)),
            (_, ContenderState::Holds, HeldSince::AtMostSince(time)) => {
                let held = duration(self.app.server_now().since(time));
                format!("holds for {held}, at most: it held when this console came")
            }
            (_, ContenderState::Holds, HeldSince::Free) => "holds".to_owned(),
        };
        self.plain("state", &text)
    }

    fn session(&self) -> Detail {
        match self.row.contender.session {
            Some(session) => self.plain("session", &self.life(session)).careful(self.in_danger()),
            None => Detail {
                tone: Tone::Careful,
                ..self.plain("session", "none: this node stays until somebody deletes it")
            },
        }
    }

    fn in_danger(&self) -> bool {
        matches!(self.facts.owner, OwnerState::Expiring | OwnerState::Ghost)
    }

    /// Whether the session lives, as far as the servers told.
    fn life(&self, session: SessionId) -> String {
        let heard = |connection: &Connection| {
            let of = connection.timeout().map_or(String::new(), |timeout| format!(" of {}", duration(timeout)));
            connection.last_heard.map(|heard| format!("heard {} ago{of}", duration(self.app.now().since(heard))))
        };
        match (self.facts.owner, self.facts.connection, self.facts.expires_in) {
            (OwnerState::Live, Some(connection), _) => match heard(connection) {
                Some(heard) => format!("{session}, live: {heard}"),
                None => format!("{session}, live"),
            },
            (OwnerState::Expiring, _, Some(left)) => {
                let left = left.as_millis().div_ceil(1000);
                format!("{session}, not connected: expires in {left}s")
            }
            (OwnerState::Expiring, ..) => format!("{session}, not connected: expires by itself"),
            (OwnerState::Ghost, ..) => format!("{session}, which no server knows: this node outlived it"),
            _ if self.says_unproven(session) => {
                format!("{session}, not seen, by plain text that proves nothing beside TLS")
            }
            _ => format!("{session}, whose end deletes this node"),
        }
    }

    /// Whether the servers tell of no client of it in a way that proves nothing.
    fn says_unproven(&self, session: SessionId) -> bool {
        self.app.world().table().view().liveness(session) == Liveness::Unproven
    }

    /// The client at the other end, the server that it is connected to, and what it did last.
    fn client(&self) -> Option<Detail> {
        let (session, connection) = self.row.contender.session.zip(self.facts.connection)?;
        let (server, _) = self.app.world().table().view().connection_of(session)?;
        let since = connection
            .established
            .map_or(String::new(), |made| format!(" since {}", time_of_day(made, self.app.settings().utc)));
        let last = connection.last_operation.as_deref().map_or(String::new(), |last| format!(", last {last}"));
        Some(self.plain("client", &format!("{} on {}{since}{last}", connection.client, server.address)))
    }

    /// What it watches, where the servers tell.
    fn watches(&self) -> &'static str {
        match self.facts.watching {
            WatchTarget::Predecessor => ", and watches it",
            WatchTarget::Parent => ", and watches the parent",
            WatchTarget::Nothing => ", but watches nothing",
            WatchTarget::Unknown => "",
        }
    }

    fn waits_for(&self) -> Detail {
        let mut nodes = self.lock.waits_for(self.row.position, MOST_NAMED + 1);
        let more = if nodes.len() > MOST_NAMED { ", and more" } else { "" };
        nodes.truncate(MOST_NAMED);
        let text = match (nodes.is_empty(), self.row.state) {
            (true, ContenderState::Holds) => "nobody".to_owned(),
            (true, _) => "nobody that is known".to_owned(),
            (false, _) => format!("{}{more}{}", nodes.join(", "), self.watches()),
        };
        let keep = if nodes.len() == 1 { Keep::Ends } else { Keep::Start };
        Detail { text: fit(&text, self.room, keep, self.charset), ..self.plain("waits for", "") }
            .careful(self.facts.watching == WatchTarget::Nothing)
    }

    fn release(&self) -> Detail {
        let text = match self.lock.watch_cost() {
            None => "cost not known: a single node's waiters are not in the tree".to_owned(),
            Some(_) if self.lock.holding() == 0 => "nobody holds the lock".to_owned(),
            Some(cost) => format!(
                "the next one costs {} herd-style, {} chain-style",
                plural(cost.herd, "watch event", "watch events"),
                count(cost.chain)
            ),
        };
        self.plain("release", &text)
    }

    fn created(&self) -> Detail {
        let contender = self.row.contender;
        let created = date_and_time(contender.created_at, self.app.settings().utc);
        let clock = match self.app.world().table().clock_ahead_ms() {
            0 => String::new(),
            ahead => {
                let difference = duration(Duration::from_millis(ahead.unsigned_abs()));
                let side = if ahead > 0 { "behind" } else { "ahead of" };
                format!(" (their clock is {difference} {side} this one)")
            }
        };
        let text = format!("{created}{clock}, czxid {}, version {}", contender.czxid, contender.version);
        self.plain("created", &text)
    }

    fn data(&self) -> Vec<Detail> {
        let contender = self.row.contender;
        let bytes = contender.data.bytes();
        let all = u64::try_from(contender.data_length).unwrap_or(0);
        let kind = if std::str::from_utf8(bytes).is_ok() { "text" } else { "no UTF-8: escapes stand for its bytes" };
        let kept = if all > bytes.len() as u64 {
            format!(", the first {} of them here", count(bytes.len() as u64))
        } else {
            String::new()
        };
        if bytes.is_empty() {
            return vec![self.plain("data", "none")];
        }
        let size = plural(all, "byte", "bytes");
        let about = format!("({size}{kept}, {kind})");
        let mut lines = wrap_bytes(bytes, self.room, self.charset);
        match lines.as_mut_slice() {
            [only] if crate::text::width(only) + 2 + about.len() <= self.room => {
                *only = format!("{only}  {about}");
            }
            _ => lines.insert(0, fit(&about, self.room, Keep::Start, self.charset)),
        }
        let label = |at| if at == 0 { "data" } else { "" };
        lines.into_iter().enumerate().map(|(at, text)| Detail { label: label(at), text, tone: Tone::Plain }).collect()
    }
}
