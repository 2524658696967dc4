//! The commands to a running fleet, and its status: clients, links, totals, the trace of their
//! steps, and rates per second. Data only: no clock, no runtime.
//!
//! A client's link to the servers is a transport that counts the traffic and can delay, pause, cut
//! and restore it. The trace has the clients' actions and deliveries, step by step. JSON has times
//! in milliseconds.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::{Scenario, WatchPlace};
use lockscope_base::znode::{SessionId, ZnodePath, Zxid};
use lockscope_live::zk::Flow;
use lockscope_lock::Access;
use lockscope_lock::activity::RequestKind;

pub use lockscope_live::zk::{Passed, Transport as Link};

/// A command to a running fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetCommand {
    /// Adds that many clients.
    Join(u32),
    /// The client gives up or releases, closes its session and leaves.
    Leave(ClientId),
    /// The client's process dies. Its connection is lost; its session is not closed and lives until
    /// it expires.
    Crash(ClientId),
    /// The client's process is stopped. It does nothing, notices nothing, and still believes that
    /// it holds the lock if it did.
    Freeze(ClientId),
    /// A stopped process goes on.
    Thaw(ClientId),
    /// The link is cut: the connection ends, and so does every new one at once.
    Cut(ClientId),
    /// The link works again.
    Heal(ClientId),
    /// The link delays all traffic by that time in each direction.
    Delay(ClientId, Duration),
    /// With `true`, no client releases, or asks for the lock again, before a [`Step`](Self::Step)
    /// lets it, and the [trace](FleetStatus::trace) is kept. With `false`, all go on by themselves.
    ///
    /// A client's first request is not held, not even when it joins later, so that there is a queue
    /// to look at. A client whose session has expired or whose round has failed waits for a step
    /// before it asks again.
    ///
    /// The time of a hold does not count meanwhile. When the clients go on by themselves, each
    /// holds for the rest of its time. A holder that learns that it has lost the lock goes on by
    /// itself.
    Hold(bool),
    /// Lets one client take its step: the client that has waited longest among those whose process
    /// runs, but a client that asks again before one that releases. Does nothing if none waits. A
    /// client whose process is stopped keeps its place.
    Step,
}

/// The state of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientState {
    /// The client opens a session.
    Connecting,
    /// The client has a session and waits: for the others, so that all begin at once, or for a step
    /// before it asks again.
    Ready,
    /// The client waits for the lock.
    Waiting,
    /// The client holds the lock, as far as it knows.
    Holding,
    /// The client has done all its rounds.
    Done,
    /// The client's process is dead; its session may live on.
    Crashed,
    /// The client has given up: it got no session, or the servers have no such locks.
    Failed,
    /// The client closes its session.
    Leaving,
}

/// The state of a client's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkState {
    /// All traffic passes at once.
    Whole,
    /// All traffic passes late.
    Delayed,
    /// No traffic passes; the connection stays.
    Paused,
    /// There is no connection.
    Cut,
}

/// The status of one client.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientStatus {
    /// The client's number, from 1.
    pub id: ClientId,
    /// The client's state. A frozen client keeps the state it had.
    pub state: ClientState,
    /// Whether the client's process is stopped.
    pub frozen: bool,
    /// The time at which the client entered that state, from the fleet's start.
    pub since: Duration,
    /// The client's session; the last one if it has expired.
    pub session: Option<SessionId>,
    /// The number of the client's sessions that have expired.
    pub expired: u32,
    /// The state of the client's link.
    pub link: LinkState,
    /// The delay of the client's link in each direction.
    pub delay: Duration,
    /// The client's fencing token while it holds the lock.
    pub token: Option<Zxid>,
    /// The watch events that were delivered to the client.
    pub events: u64,
    /// The requests that the client sent.
    pub requests: u64,
    /// The number of the client's acquisitions.
    pub acquisitions: u64,
    /// The total time for which the client held the lock.
    pub held: Duration,
    /// The client's longest wait.
    pub longest_wait: Duration,
    /// The distribution of the client's waits, to two digits.
    pub waits: Quantiles,
    /// The distribution of the client's holds, to two digits.
    pub holds: Quantiles,
    /// The last error of the client, as a sentence.
    pub trouble: Option<String>,
    /// The access of the client's current or last request.
    pub access: Access,
    /// The client's node in the queue, while it has one. For a semaphore's holder, and for the next
    /// one, the node is its lease. The node of a crashed client exists until its session has ended.
    pub node: Option<ZnodePath>,
    /// The client's watches that have not fired, in the order in which they were set.
    pub watches: Vec<WatchPlace>,
    /// The watch events after which the client did not get the lock: all but the last one of each
    /// wait that ended with the lock, and those that came when it did not wait. An event counts
    /// once the client waits again.
    pub woken_in_vain: u64,
}

/// Two clients that believed at the same time to hold a lock that only one may hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Overlap {
    /// The time of the second acquisition, from the fleet's start.
    #[serde(rename = "after_ms", serialize_with = "ms")]
    pub after: Duration,
    /// The client that held first.
    pub first: ClientId,
    /// The first client's fencing token.
    pub first_token: Zxid,
    /// The client that acquired the lock after it.
    pub second: ClientId,
    /// The second client's fencing token.
    pub second_token: Zxid,
    /// Whether the first client's process was stopped, so that its session could end without its
    /// knowledge, and the second token is higher. Otherwise the lock was violated.
    pub outlived: bool,
}

/// The growth of the servers' own counters since the fleet's start, all members together. Other
/// clients of the ensemble are included; watches of this console's observer are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServerEvents {
    /// Watch events for watches on children: the herd's.
    #[serde(rename = "children_watch_events")]
    pub children: u64,
    /// Watch events for deleted nodes: the chain's.
    #[serde(rename = "deleted_watch_events")]
    pub deleted: u64,
}

/// The figures of all clients together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetTotals {
    /// The number of acquisitions.
    pub acquisitions: u64,
    /// The locks' requests, as the clients count them.
    pub requests: u64,
    /// The watch events, as the clients count them.
    pub events: u64,
    /// The watch events after which the client did not get the lock.
    pub woken_in_vain: u64,
    /// The least and the greatest number of watch events an acquisition, over ten equal parts of the
    /// run; `None` until these have ended.
    pub event_spread: Option<[f64; 2]>,
    /// The locks' requests, as the links count them on the wire.
    pub wire_requests: u64,
    /// The watch events, as the links count them on the wire.
    pub wire_events: u64,
    /// The bytes sent to the servers.
    pub bytes_up: u64,
    /// The bytes received from the servers.
    pub bytes_down: u64,
    /// The upper bound for a herd: the watch events if every waiter got one for every change.
    pub modelled_herd: u64,
    /// The upper bound for a chain: the watch events if each waiter watched its predecessor.
    pub modelled_chain: u64,
    /// The violations: two holders at once, unless the first has *outlived* its session, or a token
    /// that did not rise.
    pub violations: u64,
    /// The holders whose session had ended without their knowledge when the next client acquired
    /// the lock.
    pub outlived: u64,
    /// The number of expired sessions.
    pub expired: u64,
    /// The distribution of the waits.
    pub waits: Quantiles,
    /// The distribution of the holds.
    pub holds: Quantiles,
}

/// The status of a fleet at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetStatus {
    /// The scenario that the clients run.
    pub scenario: Arc<Scenario>,
    /// The time since the clients began to contend.
    pub elapsed: Duration,
    /// The time since the fleet was started, including the time to connect. `since` and `after`
    /// count from the same start.
    pub age: Duration,
    /// The number of clients with a session.
    pub connected: u32,
    /// Whether all clients have done their rounds.
    pub finished: bool,
    /// The status of each client, by number.
    pub clients: Vec<ClientStatus>,
    /// The totals of all clients, including those that have left.
    pub totals: FleetTotals,
    /// The last overlaps, oldest first, at most [`MAX_OVERLAPS`](super::MAX_OVERLAPS).
    pub overlaps: Vec<Overlap>,
    /// The servers' counters; `None` if they are unknown.
    pub server: Option<ServerEvents>,
    /// The reason why the servers' counters are unknown.
    pub server_silence: Option<String>,
    /// The time for which the fleet's own session has had no connection to any server; `None` while
    /// it has one, and before its first one.
    pub servers_lost_for: Option<Duration>,
    /// Whether the clients wait for [steps](FleetCommand::Step).
    pub stepped: bool,
    /// The client that the next step lets go on, and what it will do; `None` if none waits for a
    /// step.
    pub next_step: Option<(ClientId, NextStep)>,
    /// The events since the last status that [`Fleet::changed`](super::Fleet::changed) returned,
    /// oldest first; empty if the fleet is not stepped through. `clients` is the state after them.
    pub trace: Arc<[TraceEntry]>,
    /// The number of entries that are missing at the beginning of `trace`.
    pub trace_missed: u64,
    /// The last turn that has ended; `None` before the first acquisition.
    pub turn: Option<Arc<WokenTurn>>,
    /// The resource that the lock protects. Each holder writes to it after it acquires the lock and
    /// right before it releases it; readers do not write. A semaphore has no such resource, since
    /// each of its holders holds something else.
    pub resource: ResourceStatus,
}

/// A turn of the lock, which ends with an acquisition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WokenTurn {
    /// The number of the acquisition, from 1.
    pub number: u64,
    /// The client that acquired the lock.
    pub holder: ClientId,
    /// The clients to which a watch event was delivered during the turn.
    pub woken: BTreeSet<ClientId>,
    /// The watch events that were delivered during the turn.
    pub events: u64,
}

impl WokenTurn {
    /// Returns the number of clients that were woken and did not get the lock.
    pub fn in_vain(&self) -> usize {
        self.woken.len() - usize::from(self.woken.contains(&self.holder))
    }
}

/// The number of a client, from 1 in the order of joining. Numbers are never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ClientId(pub u32);

impl ClientId {
    /// Returns the client's name on all screens, such as `client-5`.
    #[must_use]
    pub fn name(self) -> String {
        format!("client-{}", self.0)
    }
}

impl std::fmt::Display for ClientId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns the state of a link with this flow.
pub fn state_of(flow: Flow) -> LinkState {
    match flow {
        Flow { cut: true, .. } => LinkState::Cut,
        Flow { paused: true, .. } => LinkState::Paused,
        Flow { delay, .. } if delay.is_zero() => LinkState::Whole,
        _ => LinkState::Delayed,
    }
}

/// A distribution of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// The number of times.
    pub count: u64,
    /// The median.
    #[serde(rename = "p50", serialize_with = "ms")]
    pub p50: Duration,
    /// The 90th percentile.
    #[serde(rename = "p90", serialize_with = "ms")]
    pub p90: Duration,
    /// The 99th percentile.
    #[serde(rename = "p99", serialize_with = "ms")]
    pub p99: Duration,
    /// The maximum.
    #[serde(rename = "max", serialize_with = "ms")]
    pub max: Duration,
}

/// Serializes a time in milliseconds, with microseconds as decimals.
pub fn ms<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    // Times of a run are far below 2^53 microseconds, up to which a double is exact.
    #[expect(clippy::cast_precision_loss, reason = "285 years")]
    serializer.serialize_f64(time.as_micros() as f64 / 1000.0)
}

/// The maximum number of entries in a status. Only the last ones are kept;
/// [`FleetStatus::trace_missed`](super::FleetStatus::trace_missed) counts the others.
pub const MAX_TRACE: usize = 4_096;

/// An action of a client, or a delivery to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEntry {
    /// The time of the entry, from the fleet's start.
    pub at: Duration,
    /// The client.
    pub client: ClientId,
    /// The action or the delivery.
    pub step: TraceStep,
}

/// An action of a client, or a delivery to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceStep {
    /// The client asks for the lock.
    Asks(Access),
    /// The client's node was created: it is in the queue.
    Created(ZnodePath),
    /// The client sent a request.
    Sent(RequestKind),
    /// A reply told the client that a watch is set.
    Watches(WatchPlace),
    /// The client gave up a watch that had not fired.
    Unwatches(WatchPlace),
    /// A watch event was delivered to the client: the watch is used up.
    Woken(WatchPlace),
    /// The client acquired the lock.
    Acquires(Zxid),
    /// The client is about to delete its node.
    Releases,
    /// The client's node was deleted.
    Deleted(ZnodePath),
    /// The client wrote to the resource that the lock protects.
    Writes(ResourceWrite),
    /// The client's process was stopped. What it sends or notices afterwards follows after
    /// [`Thaws`](Self::Thaws).
    Freezes,
    /// The client's process goes on.
    Thaws,
    /// The client's process was killed. No more entries of it follow; its watches are gone, and its
    /// nodes go with its session.
    Crashes,
    /// The client learnt that its session has expired: its nodes and watches are gone.
    Expires,
}

/// A write to the resource that the lock protects. The resource remembers the highest fencing token
/// that has written, and refuses lower ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceWrite {
    /// The writer's fencing token.
    pub token: Zxid,
    /// Whether the resource accepted the write.
    pub accepted: bool,
}

/// The state of the resource that the lock protects. It exists only in this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceStatus {
    /// The highest token that has written.
    pub highest: Option<Zxid>,
    /// The client that wrote last with the highest token.
    pub writer: Option<ClientId>,
    /// The number of accepted writes.
    pub accepted: u64,
    /// The number of writes that were refused because their token was lower.
    pub rejected: u64,
    /// The last refused write, with its time from the fleet's start.
    pub last_rejected: Option<(ClientId, Zxid, Duration)>,
}

impl ResourceStatus {
    /// Records a write of a client, and returns whether it is accepted. A token that is lower than
    /// one that has written is refused.
    pub(super) fn write(&mut self, client: ClientId, token: Zxid, now: Duration) -> ResourceWrite {
        let accepted = self.highest.is_none_or(|highest| token >= highest);
        if accepted {
            (self.highest, self.writer) = (Some(token), Some(client));
            self.accepted += 1;
        } else {
            self.rejected += 1;
            self.last_rejected = Some((client, token, now));
        }
        ResourceWrite { token, accepted }
    }
}

/// The action that the next step lets a client take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// The client releases the lock.
    Release,
    /// The client asks for the lock again.
    Ask,
}

/// The number of seconds for which watch events are kept.
pub const RATE_SECONDS: usize = 60;

/// The time over which a rate is averaged.
const RATE_WINDOW: Duration = Duration::from_secs(5);

/// The shortest time that gives a rate.
const MIN_RATE_WINDOW: Duration = Duration::from_millis(500);

/// The totals of a fleet at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RateSample {
    age: Duration,
    acquisitions: u64,
    events: u64,
}

/// The rates and the recent history of a fleet. Times are the fleet's age.
#[derive(Clone, Debug, Default)]
pub struct FleetRates {
    recent: VecDeque<RateSample>,
    /// The watch events of each second, the newest last.
    seconds: VecDeque<u64>,
    /// The fleet's second that the last of `seconds` counts.
    newest: u64,
}

impl FleetRates {
    /// Adds a status. The cost does not depend on the number of clients.
    pub fn add(&mut self, status: &FleetStatus) {
        let totals = &status.totals;
        let now = RateSample { age: status.age, acquisitions: totals.acquisitions, events: totals.events };
        let last = self.recent.back().copied();
        if last.is_some_and(|last| last.age >= now.age) {
            return;
        }
        // The time before the clients contend does not count.
        if status.elapsed.is_zero() {
            self.recent.clear();
        }
        self.count(now.age, now.events.saturating_sub(last.map_or(0, |last| last.events)));
        self.recent.push_back(now);
        while self.recent.get(1).is_some_and(|second| now.age.saturating_sub(second.age) >= RATE_WINDOW) {
            self.recent.pop_front();
        }
    }

    fn count(&mut self, age: Duration, events: u64) {
        let second = age.as_secs();
        let passed = if self.seconds.is_empty() { 1 } else { second.saturating_sub(self.newest) };
        for _ in 0..passed.min(RATE_SECONDS as u64) {
            self.seconds.push_back(0);
        }
        while self.seconds.len() > RATE_SECONDS {
            self.seconds.pop_front();
        }
        self.newest = second;
        // Events since the last status are spread evenly over the seconds since then.
        let over = passed.clamp(1, self.seconds.len().max(1) as u64);
        let (each, rest) = (events / over, events % over);
        for (at, value) in self.seconds.iter_mut().rev().take(usize::try_from(over).unwrap_or(1)).enumerate() {
            *value += each + u64::from((at as u64) < rest);
        }
    }

    /// Returns the watch events of each of the last seconds, oldest first. The last second is not
    /// over.
    pub fn seconds(&self) -> Vec<u64> {
        self.seconds.iter().copied().collect()
    }

    /// Returns the most watch events of any kept second.
    pub fn highest(&self) -> u64 {
        self.seconds.iter().copied().max().unwrap_or(0)
    }

    /// Returns the acquisitions per second over the last seconds; `None` while too little time has
    /// passed.
    pub fn acquisitions(&self) -> Option<f64> {
        self.rate(|sample| sample.acquisitions)
    }

    /// Returns the watch events per second over the last seconds; `None` while too little time has
    /// passed.
    pub fn events(&self) -> Option<f64> {
        self.rate(|sample| sample.events)
    }

    #[expect(clippy::cast_precision_loss, reason = "rates are rounded for display")]
    fn rate(&self, of: impl Fn(&RateSample) -> u64) -> Option<f64> {
        let (first, last) = (self.recent.front()?, self.recent.back()?);
        let time = last.age.saturating_sub(first.age);
        (time >= MIN_RATE_WINDOW).then(|| of(last).saturating_sub(of(first)) as f64 / time.as_secs_f64())
    }
}
