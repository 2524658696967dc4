//! The status of a running fleet. Data only: no clock, no runtime.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::{ClientId, NextStep, Quantiles, ResourceStatus, Scenario, TraceEntry, WatchPlace};
use lockscope_base::znode::{SessionId, ZnodePath, Zxid};
use lockscope_lock::Access;

/// A command to a running fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetCommand {
    /// Adds that many clients.
    Join(u32),
    /// This client gives up or releases, closes its session and goes.
    Leave(ClientId),
    /// This client's process dies: its connection is lost, its session is not closed and lives until it expires.
    Crash(ClientId),
    /// This client's process is stopped: it does nothing, notices nothing, and still takes itself for the holder if it was.
    Freeze(ClientId),
    /// A stopped process goes on.
    Thaw(ClientId),
    /// The link is cut: the connection ends, and every new one at once.
    Cut(ClientId),
    /// The link works again.
    Heal(ClientId),
    /// The link delays everything by that time, each way.
    Delay(ClientId, Duration),
    /// From now on no client releases, or asks for the lock a second time, before a [`Step`](Self::Step) lets it; `false`: all go on by
    /// themselves. While it is so, the [trace](FleetStatus::trace) is kept.
    ///
    /// A client's first request is not held, also of one that joins later: so the queue is there to look at. A client whose
    /// session has expired, or whose round has failed, waits for a step before it asks again. The time of a hold does not count
    /// meanwhile; when the clients go on by themselves, each holds for what is left of it. A holder that learns that it has
    /// lost the lock goes on by itself.
    Hold(bool),
    /// Lets the client go on that has waited for it longest, of those whose process runs: one that asks again before one that
    /// releases. Nothing when none waits. One whose process is stopped keeps its place.
    Step,
}

/// The state of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientState {
    /// It opens a session.
    Connecting,
    /// It has a session and waits: for the others, so that all begin at once, or to be let ask again.
    Ready,
    /// It waits for the lock.
    Waiting,
    /// It holds the lock, as far as it knows.
    Holding,
    /// It has done all its rounds.
    Done,
    /// Its process is dead; its session may live on.
    Crashed,
    /// It got no session and has given up.
    Failed,
    /// It closes its session.
    Leaving,
}

/// The state of a client's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkState {
    /// Everything passes at once.
    Whole,
    /// Everything passes late.
    Delayed,
    /// Nothing passes; the connection stays.
    Paused,
    /// There is no connection.
    Cut,
}

/// One client.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientStatus {
    /// Its number, from 1.
    pub id: ClientId,
    /// Its state. A frozen client keeps the state it had.
    pub state: ClientState,
    /// Whether its process is stopped.
    pub frozen: bool,
    /// Since when it has that state, from the fleet's start.
    pub since: Duration,
    /// Its session; the last one, when that has expired.
    pub session: Option<SessionId>,
    /// How many of its sessions have expired.
    pub expired: u32,
    /// The state of its link.
    pub link: LinkState,
    /// How long its link keeps what passes, each way.
    pub delay: Duration,
    /// Its fencing token, while it holds.
    pub token: Option<Zxid>,
    /// Watch events that were delivered to it.
    pub events: u64,
    /// Requests that it sent.
    pub requests: u64,
    /// How often it acquired the lock.
    pub acquisitions: u64,
    /// How long it held the lock, altogether.
    pub held: Duration,
    /// How long it waited at most.
    pub longest_wait: Duration,
    /// How long its acquisitions waited, to two digits.
    pub waits: Quantiles,
    /// How long it held each time, to two digits.
    pub holds: Quantiles,
    /// What went wrong last, as a sentence.
    pub trouble: Option<String>,
    /// What it asks for, or asked for last.
    pub access: Access,
    /// Its node in the queue, while it has one; of a semaphore's holder, and of who is next, its lease. The node of a client that
    /// crashed is there until its session has ended.
    pub node: Option<ZnodePath>,
    /// The watches that it has set and that have not fired, in the order in which they were set.
    pub watches: Vec<WatchPlace>,
    /// Watch events after which it did not get the lock: all but the last one of each wait that ended with the lock, and those that
    /// came when it did not wait. An event counts as soon as it waits again.
    pub woken_in_vain: u64,
}

/// Two clients that thought at the same time that they hold what only one may hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Overlap {
    /// When it was noticed, from the fleet's start.
    #[serde(rename = "after_ms", serialize_with = "super::quantiles::ms")]
    pub after: Duration,
    /// The client that held first.
    pub first: ClientId,
    /// Its fencing token.
    pub first_token: Zxid,
    /// The client that acquired the lock after it.
    pub second: ClientId,
    /// Its fencing token.
    pub second_token: Zxid,
    /// Whether the first one had been cut off or stopped, so that its session could end without its knowledge, and the
    /// tokens show who is right: the second one's is higher. Otherwise the lock was violated.
    pub outlived: bool,
}

/// What the servers count of themselves, grown since the fleet's start, all members together. Other clients of
/// the ensemble are in it; watches of this console's observer are not.
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
    /// How often the lock was acquired.
    pub acquisitions: u64,
    /// Requests of the locks, as the clients count them.
    pub requests: u64,
    /// Watch events, as the clients count them.
    pub events: u64,
    /// Watch events after which the client did not get the lock.
    pub woken_in_vain: u64,
    /// Requests of the locks, as the links count them on the wire.
    pub wire_requests: u64,
    /// Watch events, as the links count them on the wire.
    pub wire_events: u64,
    /// Bytes to the servers.
    pub bytes_up: u64,
    /// Bytes from the servers.
    pub bytes_down: u64,
    /// How many events there would be if every waiter got one for every change: the bound of a herd.
    pub modelled_herd: u64,
    /// How many events there would be if each watched its predecessor.
    pub modelled_chain: u64,
    /// Two holders at once, or a token that did not rise, which is not explained by a client that was cut off.
    pub violations: u64,
    /// Holders whose session had ended without their knowledge when the next one acquired the lock.
    pub outlived: u64,
    /// Sessions that expired.
    pub expired: u64,
    /// How long acquisitions waited.
    pub waits: Quantiles,
    /// How long the lock was held.
    pub holds: Quantiles,
}

/// A fleet at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetStatus {
    /// What its clients do.
    pub scenario: Arc<Scenario>,
    /// How long it has run: from the moment when the clients began to contend.
    pub elapsed: Duration,
    /// Time since the fleet was started, the connecting included. `since` and `after` are counted so.
    pub age: Duration,
    /// Clients with a session.
    pub connected: u32,
    /// Whether all clients have done their rounds.
    pub finished: bool,
    /// All clients, by number.
    pub clients: Vec<ClientStatus>,
    /// All together, those that have left included.
    pub totals: FleetTotals,
    /// The last overlaps, oldest first, at most [`MAX_OVERLAPS`](super::MAX_OVERLAPS).
    pub overlaps: Vec<Overlap>,
    /// What the servers count; `None` when that is not known.
    pub server: Option<ServerEvents>,
    /// Why the counts of the servers are not known.
    pub server_silence: Option<String>,
    /// How long the fleet's own session has had no connection to any server; `None` while it has one, and before it had.
    pub servers_lost_for: Option<Duration>,
    /// Whether the clients wait to be [let](FleetCommand::Step) go on.
    pub stepped: bool,
    /// Who would be let go on next, and what it would do; `None` when nobody waits for that.
    pub next_step: Option<(ClientId, NextStep)>,
    /// What happened since the last status that [`Fleet::changed`](super::Fleet::changed) gave, oldest first; empty where the fleet is
    /// not stepped through. The clients are as they are after it.
    pub trace: Arc<[TraceEntry]>,
    /// How many entries are missing at the beginning of `trace`.
    pub trace_missed: u64,
    /// What the lock protects. Each holder writes to it when it has acquired the lock and right before it releases; readers do not.
    /// A semaphore protects none: its holders hold something each.
    pub resource: ResourceStatus,
}
