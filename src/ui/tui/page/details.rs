//! Everything known about the selected contender, what is remembered about an election, and what
//! cannot be known.
//!
//! The tree does not show how the previous holder ended before the first look. A session that
//! expired and a release leave the same tree behind.

use std::time::Duration;

use super::{PageWriter, Tone};
use lockscope_base::recipe::{LockKind, RequestMode, Role};
use lockscope_base::znode::{Sequence, SessionId, Timestamp, escaped};
use lockscope_model::diagnose::{HeldBy, OwnerFacts, OwnerState, TableAt, WatchTarget};
use lockscope_model::queue::{
    Contender, ContenderRow, ContenderState, Departure, ElectionKind, ElectionRecord, HeldSince, HoldBounds,
    LastConnection, LockQueue, LockTable,
};
use lockscope_model::server_view::{Connection, Liveness};
use lockscope_model::text::human::{count, countdown, date_and_time, duration, plural, time_of_day};
use lockscope_model::text::{Charset, Keep, fit, width, wrap_bytes};

/// Maximum number of blockers that are named.
const MAX_BLOCKERS: usize = 4;

/// Maximum columns of a node's name in the title.
const TITLE_WIDTH: usize = 30;

/// A contender, and the facts about it.
#[derive(Clone)]
pub struct Selected<'a> {
    pub table: &'a LockTable,
    pub lock: &'a LockQueue,
    pub row: ContenderRow<'a>,
    /// What the servers report about the contender.
    pub facts: OwnerFacts<'a>,
    /// The time at which ages end.
    pub now: Timestamp,
    /// Whether an earlier, unseen contender may have held the lock before this one.
    pub unseen_before: bool,
    /// The clients that acquired the lock while this one waited.
    pub passed: Option<String>,
    /// Whether the facts are current.
    pub live: bool,
    pub utc: bool,
}

/// Returns the contender's name for a title: its sequence number, else its node.
pub fn title(contender: &Contender, charset: Charset) -> String {
    match contender.sequence {
        Some(sequence) => sequence.0.to_string(),
        None => fit(&contender.node, TITLE_WIDTH, Keep::Ends, charset),
    }
}

/// Writes everything known about a contender.
pub fn write(page: &mut PageWriter, of: &Selected<'_>) {
    let path = of.lock.path_of(of.row.contender);
    page.line("path", path.as_str(), Keep::Ends, Tone::Text);
    page.fact("state", &of.state(), Tone::Text);
    of.session(page);
    if let Some(client) = of.client() {
        page.fact("client", &client, Tone::Text);
    }
    if of.unseen_before {
        page.fact("before", NOT_KNOWN, Tone::Text);
    }
    if let Some(election) = of.election() {
        page.fact("election", &election, Tone::Text);
    }
    of.waits_for(page);
    if let Some(passed) = &of.passed {
        page.fact("meanwhile", passed, Tone::Careful);
    }
    of.data(page);
    page.fact("release", &of.release(), Tone::Text);
    page.fact("created", &of.created(), Tone::Text);
    if let Some(cost) = of.cost() {
        page.fact("cost", &cost, Tone::Text);
    }
}

impl Selected<'_> {
    /// Returns the state of the contender; while disconnected, its last known state.
    fn state(&self) -> String {
        if self.live {
            return self.state_then();
        }
        if self.table.last_true().is_none() {
            return "not known: not everything was read yet".to_owned();
        }
        format!("as of {}: {}", time_of_day(self.now, self.utc), self.state_then())
    }

    fn state_then(&self) -> String {
        let (now, contender) = (self.now, self.row.contender);
        let asks = match (self.row.mode, contender.role) {
            (RequestMode::Exclusive, Role::SingleNode) => "the lock itself",
            (RequestMode::Exclusive, _) => "asks for it exclusively",
            (RequestMode::Read, _) => "asks to read",
            (RequestMode::Write, _) => "asks to write",
            (RequestMode::Lease, _) => "asks for a lease",
        };
        let holds = if is_shown_as_election(self.table, self.lock, self.now) { "leads" } else { "holds" };
        let since = |time| format!("{}, since {}", duration(now.since(time)), time_of_day(time, self.utc));
        if self.row.state == ContenderState::Holds && self.lock.is_assumed() {
            return format!("assumed to hold: the rules of this queue are not known; {asks}");
        }
        match (self.row.state, contender.held()) {
            (ContenderState::Unknown, _) if self.lock.is_assumed() => {
                format!("holds, waits or neither: the rules of this queue are not known; {asks}")
            }
            (ContenderState::Unknown, _) => "holds if its thread also holds the write before it; else waits".to_owned(),
            (ContenderState::Waits, _) => {
                format!("waits for {}; {asks}", since(contender.contends_since(self.table.clock().ahead_ms())))
            }
            (ContenderState::Holds, HeldSince::Since(time)) => format!("{holds} for {}; {asks}", since(time)),
            (ContenderState::Holds, _) => match self.table.clock().hold_bounds(contender, now) {
                Some(HoldBounds { at_least, at_most }) if at_least < at_most => format!(
                    "{holds}, for {} at least and {} at most: it held when first seen here; {asks}",
                    duration(at_least),
                    duration(at_most)
                ),
                Some(HoldBounds { at_least, .. }) => format!("{holds} for {}; {asks}", duration(at_least)),
                None => format!("{holds}; {asks}"),
            },
        }
    }

    /// Returns what others waited while the contender's session held the lock.
    fn cost(&self) -> Option<String> {
        let waits = self.table.waits();
        let waited = waits.of_holder((self.lock.id(), self.row.contender.session()), self.now).0;
        let last = duration(waits.seen(self.now));
        (!waited.is_zero())
            .then(|| format!("others waited {} in all while it held, within the last {last}", duration(waited)))
    }

    /// Returns what is remembered about the election, for its leader.
    fn election(&self) -> Option<String> {
        let leads = self.row.state == ContenderState::Holds && is_shown_as_election(self.table, self.lock, self.now);
        leads.then(|| in_a_line(self.table, self.lock, self.now)).flatten()
    }

    fn session(&self, page: &mut PageWriter) {
        match self.row.contender.session() {
            Some(session) => page.fact("session", &self.life(session), careful(self.in_danger())),
            None if !self.row.contender.is_read() => page.fact("session", "not read yet", Tone::Text),
            None => match self.row.contender.locked_until() {
                Some(until) => {
                    let text = format!("none: locked until {}, as its data says", date_and_time(until, self.utc));
                    page.fact("session", &text, Tone::Text);
                }
                None => page.fact("session", "none: this node stays until somebody deletes it", Tone::Careful),
            },
        }
    }

    fn in_danger(&self) -> bool {
        matches!(self.facts.owner, OwnerState::Expiring | OwnerState::Ghost)
    }

    /// Returns whether the session is alive, as far as the servers report.
    fn life(&self, session: SessionId) -> String {
        let heard = |connection: &Connection| {
            let of = connection.timeout().map_or(String::new(), |timeout| format!(" of {}", duration(timeout)));
            connection.last_heard.map(|heard| format!("heard {} ago{of}", duration(self.now.since(heard))))
        };
        match (self.facts.owner, self.facts.connection, self.facts.expires_in) {
            (owner @ (OwnerState::Live | OwnerState::Silent), Some(connection), _) => match heard(connection) {
                Some(heard) => format!("{session}, {}: {heard}", owner.id()),
                None => format!("{session}, {}", owner.id()),
            },
            (OwnerState::Expiring, _, Some(left)) => {
                format!("{session}, not connected: expires in {}", countdown(left))
            }
            (OwnerState::Expiring, ..) => format!("{session}, not connected: expires by itself"),
            (OwnerState::Ghost, ..) => format!("{session}, which no server knows: this node outlived it"),
            _ if self.is_unproven(session) => {
                format!("{session}, not seen; but plain-text answers prove nothing")
            }
            _ => format!("{session}, whose end deletes this node"),
        }
    }

    /// Returns whether the servers list no client of the session, but in a way that proves nothing.
    fn is_unproven(&self, session: SessionId) -> bool {
        self.table.view().liveness(session) == Liveness::Unproven
    }

    /// Returns the client's address, its present or last server, and its last request.
    fn client(&self) -> Option<String> {
        let LastConnection { connection, server, last_listed } =
            self.table.clients().last_connection(self.row.contender.session()?)?;
        let since =
            connection.established.map_or(String::new(), |made| format!(" since {}", time_of_day(made, self.utc)));
        let last = connection.last_operation.as_deref().map(last_request).unwrap_or_default();
        Some(match last_listed {
            None => format!("{} on {server}{since}{last}", connection.client),
            Some(until) => {
                let until = time_of_day(until, self.utc);
                format!("was {} until {until}, on {server}{since}{last}", connection.client)
            }
        })
    }

    /// Returns what the contender watches, where the servers report it.
    fn watches(&self) -> &'static str {
        let is_writer = self.row.mode == RequestMode::Write;
        let waits_for_several = is_writer && self.facts.blockers(self.lock, &self.row, 2).len() > 1;
        match self.facts.watching {
            WatchTarget::Predecessor if waits_for_several => ", and watches the last of them",
            WatchTarget::Predecessor => ", and watches it",
            WatchTarget::TwoBefore => ", and watches it and the node before it",
            WatchTarget::Parent => ", and watches the parent",
            WatchTarget::Nothing => ", but watches nothing",
            WatchTarget::Unknown => "",
        }
    }

    fn waits_for(&self, page: &mut PageWriter) {
        let mut nodes = self.facts.blockers(self.lock, &self.row, MAX_BLOCKERS + 1);
        let more = if nodes.len() > MAX_BLOCKERS { ", and more" } else { "" };
        nodes.truncate(MAX_BLOCKERS);
        let text = match (nodes.is_empty(), self.row.state) {
            (true, ContenderState::Holds) => {
                let by = TableAt::new(self.table, self.now).held_by(self.lock, &self.row).map(HeldBy::title);
                by.map_or_else(|| "nobody".to_owned(), |by| format!("nobody, {by}"))
            }
            (true, _) => "nobody that is known".to_owned(),
            (false, _) if nodes.len() > 1 => {
                let numbers: Vec<_> = nodes.iter().map(|node| short(node)).collect();
                format!("{}{more}{}", numbers.join(", "), self.watches())
            }
            (false, _) => format!("{}{}", nodes.join(""), self.watches()),
        };
        let keep = if nodes.len() == 1 { Keep::Ends } else { Keep::Start };
        page.line("waits for", &text, keep, careful(self.facts.watching == WatchTarget::Nothing));
    }

    fn release(&self) -> String {
        match self.lock.watch_cost() {
            None => "cost not known: a single node's waiters are not in the tree".to_owned(),
            Some(_) if self.lock.holding() == 0 => "nobody holds the lock".to_owned(),
            Some(cost) => format!(
                "the next one costs {} herd-style, {} chain-style",
                plural(cost.herd, "watch event", "watch events"),
                count(cost.chain)
            ),
        }
    }

    fn created(&self) -> String {
        let contender = self.row.contender;
        if !contender.is_read() {
            return "a moment ago; its node was not read yet".to_owned();
        }
        let created = date_and_time(contender.created_at, self.utc);
        let clock = match self.table.clock().ahead_ms() {
            0 => String::new(),
            ahead => {
                let difference = duration(Duration::from_millis(ahead.unsigned_abs()));
                let side = if ahead > 0 { "behind" } else { "ahead of" };
                format!(" (their clock is {difference} {side} this one)")
            }
        };
        format!("{created}{clock}, czxid {}, version {}", contender.czxid, contender.version)
    }

    fn data(&self, page: &mut PageWriter) {
        let contender = self.row.contender;
        let bytes = contender.data.bytes();
        if bytes.is_empty() {
            return page.line("data", "none", Keep::Start, Tone::Text);
        }
        let all = u64::try_from(contender.data_length).unwrap_or(0);
        let kind = if std::str::from_utf8(bytes).is_ok() { "text" } else { "not UTF-8: shown as escapes" };
        let kept = if all > bytes.len() as u64 {
            format!(", the first {} of them here", count(bytes.len()))
        } else {
            String::new()
        };
        let about = format!("({}{kept}, {kind})", plural(all, "byte", "bytes"));
        let mut lines = wrap_bytes(bytes, page.text_columns(), page.charset());
        let mut label = "data";
        match lines.as_mut_slice() {
            [only] if width(only) + 2 + about.len() <= page.text_columns() => *only = format!("{only}  {about}"),
            _ => page.line(std::mem::take(&mut label), &about, Keep::Start, Tone::Text),
        }
        for text in lines {
            page.harmless(std::mem::take(&mut label), text, Tone::Text);
        }
    }
}

/// Returns a node's sequence number, as in the list, else its name.
fn short(node: &str) -> String {
    Sequence::split(node).map_or_else(|| node.to_owned(), |(_, Sequence(number))| number.to_string())
}

/// Returns the tone of a fact that may need attention.
fn careful(careful: bool) -> Tone {
    if careful { Tone::Careful } else { Tone::Text }
}

/// Names the last request by the servers' abbreviation: `CREA` is a create.
pub fn last_request(abbreviation: &str) -> String {
    let request = match abbreviation {
        "" | "NA" => return String::new(),
        "SESS" => "session",
        "CREA" => "create",
        "DELE" => "delete",
        "EXIS" => "exists",
        "GETD" => "getData",
        "SETD" => "setData",
        "GETC" => "getChildren",
        "PING" => "ping",
        "SYNC" => "sync",
        "MULT" => "multi",
        other => other,
    };
    format!(", last request: {request}")
}

/// Maximum number of past leaders that are named.
const MAX_LEADERS: usize = 3;

/// Returns whether a lock is shown as an election.
pub fn is_shown_as_election(table: &LockTable, lock: &LockQueue, now: Timestamp) -> bool {
    table.election_kind(lock, now).is_some_and(|kind| kind >= ElectionKind::Likely)
}

/// Returns how often the leader changed lately, as in `2 changes in 1h`; `None` if it was not
/// watched for long enough.
pub fn changes(table: &LockTable, lock: &LockQueue, now: Timestamp) -> Option<String> {
    let changes = table.elections().changes_of_leader(lock, table.clock(), now);
    let (count, time) = changes
        .last_day
        .filter(|_| changes.last_hour == Some(0))
        .map(|count| (count, "1d"))
        .or(changes.last_hour.map(|count| (count, "1h")))?;
    Some(if count == 0 {
        format!("same for {time}")
    } else {
        format!("{} in {time}", plural(count, "change", "changes"))
    })
}

/// Returns the changes and the past leaders of an election; `None` if neither is known.
pub fn in_a_line(table: &LockTable, lock: &LockQueue, now: Timestamp) -> Option<String> {
    let past: Vec<String> = table
        .elections()
        .record(lock)
        .into_iter()
        .flat_map(ElectionRecord::tenures)
        .rev()
        .take(MAX_LEADERS)
        .map(|tenure| tenure_in_a_line(tenure, now))
        .collect();
    let past = (!past.is_empty()).then(|| format!("led before: {}", past.join("; ")));
    let parts: Vec<String> =
        changes(table, lock, now).map(|changes| format!("leader: {changes}")).into_iter().chain(past).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn tenure_in_a_line(tenure: &Departure, now: Timestamp) -> String {
    let name = tenure.client.shown_name().or(tenure.client.address.as_deref());
    let of_session =
        || tenure.session.map_or_else(|| "nobody known".to_owned(), |session| format!("session {session}"));
    let who = name.map_or_else(of_session, |name| escaped(name).to_string());
    let led = tenure.led_for().map(|led| format!("for {} ", duration(led))).unwrap_or_default();
    format!("{who} {led}until {} ago ({})", duration(now.since(tenure.at)), tenure.end.in_sentence())
}

/// What cannot be known about the predecessor of a holder that already held when first seen.
pub const NOT_KNOWN: &str = "whether the holder before it released or expired cannot be seen afterwards";

/// Returns this sentence, and how long before the first look the holder acquired the lock. Returns
/// `None` for a holder that was seen to acquire, and for leases, whose order says nothing.
pub fn sentence(table_at: TableAt<'_>, lock: &LockQueue, holder: &Contender) -> Option<String> {
    let is_lease = lock.kind() == LockKind::Semaphore;
    let held = table_at.table().held_before_seen(lock, holder, table_at.now()).filter(|_| !is_lease);
    let (HoldBounds { at_least, at_most }, who) = (held?, table_at.who(holder));
    let began = match at_least {
        exact if exact == at_most => {
            format!("{who} got the lock {} before it was first seen here", duration(exact))
        }
        least if least.is_zero() => format!("{who} held the lock already when it was first seen here"),
        least => format!("{who} got the lock at least {} before it was first seen here", duration(least)),
    };
    Some(format!("{began}: {NOT_KNOWN}."))
}
