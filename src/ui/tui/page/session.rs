//! The facts and the events of one session.

use std::time::Duration;

use super::details::last_request;
use super::{Columns, PageWriter, Tone};
use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_model::diagnose::OwnerState;
use lockscope_model::queue::LastConnection;
use lockscope_model::server_view::{Liveness, ServerView};
use lockscope_model::text::Keep;
use lockscope_model::text::human::{
    count, countdown, date_and_time, duration, exact_seconds, exact_time, plural, time_of_day,
};

/// Maximum number of owned nodes that are named.
const MAX_OWNED: usize = 20;

/// The columns of the session's events. The labels are times.
pub const EVENT_COLUMNS: Columns = Columns { label: 14, ..Columns::TEXT };

/// The facts about a session.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact, and every combination occurs")]
#[derive(Clone, Debug)]
pub struct ShownSession<'a> {
    pub session: SessionId,
    pub view: &'a ServerView,
    /// The connection, also when no server lists it any more.
    pub last: Option<LastConnection<'a>>,
    /// Whether the session is alive and, while it is not heard from, how long it has left.
    pub owner: (OwnerState, Option<Duration>),
    pub holds: usize,
    pub awaits: usize,
    /// The paths that the session watches by getData or exists, as far as they are listed here.
    pub watches: Vec<&'a str>,
    pub more_watches: usize,
    /// Whether the session's server listed all of its watches.
    pub watches_are_whole: bool,
    /// The session's ephemeral nodes; `None` if no server listed them.
    pub ephemerals: Option<OwnedNodes<'a>>,
    /// Whether the servers are asked about themselves.
    pub asks_servers: bool,
    /// The time at which ages end.
    pub now: Timestamp,
    /// Whether the facts are current.
    pub live: bool,
    pub utc: bool,
    /// The key of the screen that says more of the servers.
    pub servers: &'a str,
}

/// The ephemeral nodes of a session, which go when it ends.
#[derive(Clone, Debug)]
pub struct OwnedNodes<'a> {
    pub count: usize,
    /// The paths that are known, each with whether it is a contender of a known lock.
    pub paths: Vec<(&'a str, bool)>,
    /// Whether the server's list was complete.
    pub is_whole: bool,
}

/// An event of a session.
#[derive(Clone, Debug)]
pub struct SessionEvent {
    /// The time of the event by this machine's clock.
    pub at: Timestamp,
    pub event: &'static str,
    /// The lock; empty where it is not known.
    pub lock: String,
    /// The sequence number of the session's node.
    pub number: Option<i32>,
    pub waited_ms: Option<u64>,
    pub held_ms: Option<u64>,
    /// The finding or the outcome, for events that are no change of the lock.
    pub why: Option<String>,
}

pub fn write(page: &mut PageWriter, of: &ShownSession<'_>) {
    page.line("session", &of.session.to_string(), Keep::Start, Tone::Strong);
    let (text, tone) = of.state();
    page.fact("state", &text, tone);
    page.fact("locks", &format!("holds {}, waits for {}", count(of.holds), count(of.awaits)), Tone::Text);
    of.connection(page);
    of.expiry(page);
    of.owned(page);
    of.watched(page);
}

impl ShownSession<'_> {
    fn state(&self) -> (String, Tone) {
        if !self.live {
            return ("not known: not in step with the ensemble".to_owned(), Tone::Unsure);
        }
        match self.owner {
            (OwnerState::Live, _) => ("live: its client is connected".to_owned(), Tone::Text),
            (OwnerState::Silent, Some(left)) => (
                format!("silent: its client is connected, but not heard; expires in {}", countdown(left)),
                Tone::Careful,
            ),
            (OwnerState::Silent, None) => ("silent: its client is connected, but not heard".to_owned(), Tone::Careful),
            (OwnerState::Expiring, Some(left)) => {
                (format!("not connected: expires in {}, unless its client comes back", countdown(left)), Tone::Careful)
            }
            (OwnerState::Expiring, None) => {
                ("not connected: expires, unless its client comes back".to_owned(), Tone::Careful)
            }
            (OwnerState::Ghost, _) => {
                ("ended: no server knows it, and its nodes are still there".to_owned(), Tone::Bad)
            }
            (OwnerState::Ownerless | OwnerState::Unknown, _) => self.unknown(),
        }
    }

    fn unknown(&self) -> (String, Tone) {
        let servers = self.servers;
        let text = match self.view.liveness(self.session) {
            _ if !self.asks_servers => "not known: the servers are not asked",
            Liveness::NoSession { .. } if self.holds + self.awaits == 0 => "ended: no server knows it",
            Liveness::Disconnected { .. } => {
                "not known yet: the servers have just changed, and it may be moving to another one"
            }
            Liveness::NoSession { .. } => "not known yet: it came after the servers were asked",
            Liveness::Exists { .. } => {
                let text = format!("it exists; not every server reports whether its client is connected ({servers})");
                return (text, Tone::Unsure);
            }
            Liveness::Unproven => "not seen; but plain-text answers prove nothing",
            _ => return (format!("not known: the servers do not report it ({servers})"), Tone::Unsure),
        };
        (text.to_owned(), Tone::Unsure)
    }

    fn connection(&self, page: &mut PageWriter) {
        let Some(LastConnection { connection, server, last_listed }) = self.last else { return };
        let since =
            connection.established.map_or(String::new(), |made| format!(" since {}", date_and_time(made, self.utc)));
        let (was, until) = match last_listed {
            None => ("", String::new()),
            Some(at) => ("was ", format!(" until {},", time_of_day(at, self.utc))),
        };
        page.fact("client", &format!("{was}{}{until} on {server}{since}", connection.client), Tone::Text);
        let heard = connection.last_heard.map(|heard| format!("{} ago", duration(self.now.since(heard))));
        let last = connection.last_operation.as_deref().map(last_request).unwrap_or_default();
        page.fact("heard", &format!("{}{last}", heard.as_deref().unwrap_or("not reported")), Tone::Text);
        let timeout = connection.timeout().map_or_else(|| "not reported".to_owned(), duration);
        match self.safe_timeout() {
            Some(safe) => page.fact(
                "timeout",
                &format!("{timeout}, under {}: a leaderless server may keep it past its end", exact_seconds(safe)),
                Tone::Careful,
            ),
            None => page.fact("timeout", &timeout, Tone::Text),
        }
    }

    /// Returns the session timeout that the servers' settings call for, if the session contends for
    /// locks with a shorter one.
    fn safe_timeout(&self) -> Option<Duration> {
        let own = self.last?.connection.timeout()?;
        self.view.safe_session_timeout().filter(|safe| own < *safe && self.holds + self.awaits > 0)
    }

    fn expiry(&self, page: &mut PageWriter) {
        if let Some(at) = self.view.session(self.session).and_then(|listed| listed.expires_at) {
            let left = countdown(at.since(self.now));
            page.fact(
                "expires",
                &format!("in {left}, at {}, unless it is heard from first", time_of_day(at, self.utc)),
                Tone::Text,
            );
        }
    }

    /// Writes what falls with the session: the nodes besides locks first, since the list above shows
    /// the locks.
    fn owned(&self, page: &mut PageWriter) {
        let Some(owned) = &self.ephemerals else {
            return page.fact("owns", "nodes that end with it: not listed by any server", Tone::Dim);
        };
        let least = if owned.is_whole { "" } else { "at least " };
        let nodes = plural(owned.count, "node that ends with it", "nodes that end with it");
        let contend = owned.paths.iter().filter(|(_, contends)| *contends).count();
        let locks = if contend > 0 { format!(", {} of them for locks", count(contend)) } else { String::new() };
        page.fact("owns", &format!("{least}{nodes}{locks}"), Tone::Text);
        let others: Vec<&str> =
            owned.paths.iter().filter(|(_, contends)| !contends).map(|(path, _)| *path).take(MAX_OWNED).collect();
        for path in &others {
            page.line("", path, Keep::Ends, Tone::Text);
        }
        let more = owned.count.saturating_sub(others.len() + contend);
        if more > 0 {
            page.fact("", &format!("and {} more", count(more)), Tone::Dim);
        }
    }

    fn watched(&self, page: &mut PageWriter) {
        let mut label = "watches";
        for path in &self.watches {
            page.line(std::mem::take(&mut label), path, Keep::Ends, Tone::Text);
        }
        let rest = match (self.watches.is_empty(), self.watches_are_whole) {
            _ if self.more_watches > 0 => {
                format!("and {}", plural(self.more_watches, "path more", "paths more"))
            }
            (true, true) => "no node's data; servers never report who watches children".to_owned(),
            (true, false) => "not reported".to_owned(),
            (false, true) => return,
            (false, false) => "and maybe more: not all is reported".to_owned(),
        };
        page.fact(label, &rest, Tone::Dim);
    }
}

/// Writes the events in the given order: the newest first.
pub fn write_events(page: &mut PageWriter, events: impl Iterator<Item = SessionEvent>, has_older: bool, utc: bool) {
    let mut any = false;
    for event in events {
        any = true;
        let number = event.number.map_or_else(String::new, |number| format!(" {number}"));
        let span = |word: &str, ms: Option<u64>| {
            ms.map_or_else(String::new, |ms| format!(", {word} {}", duration(Duration::from_millis(ms))))
        };
        let (waited, held) = (span("waited", event.waited_ms), span("held", event.held_ms));
        let why = event.why.map_or_else(String::new, |why| format!(": {why}"));
        let text = format!("{} {}{number}{waited}{held}{why}", event.event, event.lock);
        page.fact(&exact_time(event.at, utc), &text, Tone::Text);
    }
    if !any {
        page.sentence("Nothing has happened to it since this console started.", Tone::Dim);
    } else if has_older {
        page.sentence("Timeline has older events.", Tone::Dim);
    }
}
