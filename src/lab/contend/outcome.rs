//! The figures of a run, as printed.

use std::time::Duration;

use serde::Serialize;

use super::status::ms;
use super::{FleetStatus, FleetTotals, Overlap, Quantiles, ServerEvents};
use lockscope_base::znode::ZnodePath;
use lockscope_lock::Algorithm;

/// A count in total and per acquisition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RequestCount {
    /// The total.
    pub total: u64,
    /// The count per acquisition; 0 without acquisitions.
    pub per_acquisition: f64,
}

/// Watch events of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WatchEventCounts {
    /// The delivered watch events, as the clients count them.
    pub delivered: u64,
    /// The delivered events per acquisition; 0 without acquisitions.
    pub per_acquisition: f64,
    /// The delivered watch events, as the links count them on the wire.
    pub on_the_wire: u64,
    /// The upper bound for a herd: every waiter gets an event for every change.
    pub modelled_herd: u64,
    /// The upper bound for a chain: each waiter gets an event when its predecessor goes.
    pub modelled_chain: u64,
    /// The delivered events after which the client did not get the lock.
    pub woken_in_vain: u64,
    /// The share of a herd's changes that reached a waiter together with another one, as one event;
    /// `None` for other locks. Watches are one-shot, so what changes between an event and the
    /// listing after it costs nothing more.
    pub coalesced: Option<f64>,
    /// The least and the greatest number of delivered events an acquisition, over ten equal parts of
    /// the run; `None` for an endless run, and for one that ended early.
    pub spread: Option<[f64; 2]>,
}

/// The outcome of a run. `lockscope contend` prints it as JSON: fields are added, never renamed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetOutcome {
    /// The version of the JSON's format.
    pub schema: u32,
    /// The name of the algorithm.
    pub recipe: &'static str,
    /// The lock's path.
    pub path: ZnodePath,
    /// The requested number of clients.
    pub clients: u32,
    /// The requested acquisitions of each client; `None` is endless.
    pub rounds: Option<u32>,
    /// The seed of the random numbers.
    pub seed: u64,
    /// The number of acquisitions.
    pub acquisitions: u64,
    /// The time from the common beginning to the last release.
    #[serde(rename = "elapsed_ms", serialize_with = "ms")]
    pub elapsed: Duration,
    /// The acquisitions per second.
    pub acquisitions_per_second: f64,
    /// The violations: two holders at once, unless the first has *outlived* its session, or a token
    /// that did not rise.
    pub violations: u64,
    /// The holders whose session had ended without their knowledge when the next client acquired
    /// the lock. Their tokens are lower.
    pub outlived: u64,
    /// The number of expired sessions.
    pub expired_sessions: u64,
    /// The counts of watch events.
    pub watch_events: WatchEventCounts,
    /// The counts of requests.
    pub requests: RequestCount,
    /// The bytes to and from the servers.
    pub bytes: LinkBytes,
    /// The distribution of the waits.
    pub wait_ms: Quantiles,
    /// The distribution of the holds.
    pub hold_ms: Quantiles,
    /// The servers' counters; `None` if they are unknown.
    pub server: Option<ServerEvents>,
    /// The reason why the servers' counters are unknown.
    pub server_silence: Option<String>,
    /// The number of the clients' nodes that still exist at the end; `None` if that could not be
    /// found out.
    pub left_behind: Option<u64>,
    /// The nodes that still exist. If `left_behind` is `None`, the nodes that the clients had
    /// created and that may still exist. At most 100, in the order of their paths.
    pub left_behind_nodes: Vec<ZnodePath>,
    /// Whether no server could be reached at the end. The figures are those until then, and the
    /// first of `troubles` is the reason.
    pub servers_lost: bool,
    /// Whether the run ended before all rounds were done.
    pub interrupted: bool,
    /// The last overlaps.
    pub overlaps: Vec<Overlap>,
    /// The errors of clients, a sentence each, at most a few.
    pub troubles: Vec<String>,
    /// The writes that the protected resource accepted. Each holder with write access writes after
    /// it acquires the lock and right before it releases it. 0 for semaphores, which have no such
    /// resource.
    pub accepted_writes: u64,
    /// The writes that the resource refused because a higher token had written. Not a violation:
    /// this is the purpose of fencing tokens.
    pub rejected_writes: u64,
}

/// The bytes that passed the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinkBytes {
    /// The bytes to the servers.
    pub up: u64,
    /// The bytes from the servers.
    pub down: u64,
}

/// The maximum number of troubles in an outcome.
const MAX_TROUBLES: usize = 5;

/// The maximum number of nodes that an outcome names.
const MAX_NAMED_NODES: usize = 100;

/// The leftovers of a fleet, as far as known.
#[derive(Clone, Debug, Default)]
pub(super) struct Remains {
    /// The number of nodes; `None` if that could not be found out.
    pub(super) count: Option<u64>,
    /// The nodes' paths. If the number is unknown, the paths of the nodes that may still exist.
    pub(super) nodes: Vec<ZnodePath>,
    /// The reason why no server could be reached; `None` if one could.
    pub(super) lost: Option<String>,
}

impl FleetOutcome {
    /// Creates the outcome of a fleet that ended with this status.
    pub(super) fn of(status: &FleetStatus, remains: Remains) -> Self {
        let Remains { count: left_behind, nodes: mut left_behind_nodes, lost } = remains;
        left_behind_nodes.sort();
        left_behind_nodes.truncate(MAX_NAMED_NODES);
        let (scenario, totals) = (&status.scenario, &status.totals);
        let seconds = status.elapsed.as_secs_f64();
        let per_acquisition = |count| per(count, totals.acquisitions);
        let mut troubles: Vec<String> = status.clients.iter().filter_map(|client| client.trouble.clone()).collect();
        troubles.sort();
        troubles.dedup();
        troubles.truncate(MAX_TROUBLES);
        let servers_lost = lost.is_some();
        troubles.splice(..0, lost.map(|why| format!("the servers were lost: {why}")));
        Self {
            schema: 1,
            recipe: scenario.algorithm.name(),
            path: scenario.path.clone(),
            clients: scenario.clients,
            rounds: scenario.rounds,
            seed: scenario.seed,
            acquisitions: totals.acquisitions,
            elapsed: status.elapsed,
            acquisitions_per_second: if seconds > 0.0 { count(totals.acquisitions) / seconds } else { 0.0 },
            violations: totals.violations,
            outlived: totals.outlived,
            expired_sessions: totals.expired,
            watch_events: WatchEventCounts {
                delivered: totals.events,
                per_acquisition: per_acquisition(totals.events),
                on_the_wire: totals.wire_events,
                modelled_herd: totals.modelled_herd,
                modelled_chain: totals.modelled_chain,
                woken_in_vain: totals.woken_in_vain,
                coalesced: totals.coalesced(scenario.algorithm),
                spread: totals.event_spread,
            },
            requests: RequestCount { total: totals.requests, per_acquisition: per_acquisition(totals.requests) },
            bytes: LinkBytes { up: totals.bytes_up, down: totals.bytes_down },
            wait_ms: totals.waits,
            hold_ms: totals.holds,
            server: status.server,
            server_silence: status.server_silence.clone(),
            left_behind,
            left_behind_nodes,
            servers_lost,
            interrupted: !status.finished,
            overlaps: status.overlaps.clone(),
            troubles,
            accepted_writes: status.resource.accepted,
            rejected_writes: status.resource.rejected,
        }
    }
}

impl FleetStatus {
    /// Returns the outcome so far, like that of a fleet that is interrupted now. Its leftovers are
    /// unknown.
    pub fn so_far(&self) -> FleetOutcome {
        FleetOutcome::of(self, Remains::default())
    }
}

impl FleetTotals {
    /// Returns the share of a herd's changes that cost no event of their own; `None` for other locks.
    pub fn coalesced(&self, algorithm: Algorithm) -> Option<f64> {
        let is_herd = matches!(algorithm, Algorithm::Herd | Algorithm::SharedHerd(_) | Algorithm::MutexParent);
        // Its holders' own events, which the bound leaves out, may exceed it in a herd of two.
        (is_herd && self.modelled_herd > 0).then(|| (1.0 - per(self.events, self.modelled_herd)).max(0.0))
    }
}

/// Divides two counts; returns 0 if the divisor is 0.
pub fn per(of: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { count(of) / count(all) }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a run are far below 2^53")]
fn count(figure: u64) -> f64 {
    figure as f64
}
