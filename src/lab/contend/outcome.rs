//! The figures of a run, as they are printed.

use std::time::Duration;

use serde::Serialize;

use super::quantiles::ms;
use super::{FleetStatus, Overlap, Quantiles, ServerEvents};
use lockscope_base::znode::ZnodePath;

/// Counted in all and for one acquisition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RequestCount {
    /// In all.
    pub total: u64,
    /// For one acquisition; 0 when there was none.
    pub per_acquisition: f64,
}

/// Watch events of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct WatchEventCounts {
    /// How many were delivered, as the clients count them.
    pub delivered: u64,
    /// For one acquisition; 0 when there was none.
    pub per_acquisition: f64,
    /// How many were delivered, as the links count them on the wire.
    pub on_the_wire: u64,
    /// The bound for a herd: every waiter gets an event for every change.
    pub modelled_herd: u64,
    /// The bound for a chain: each waiter gets an event when its predecessor goes.
    pub modelled_chain: u64,
    /// Of those that were delivered: after how many the client did not get the lock.
    pub woken_in_vain: u64,
}

/// What a run came to. Its JSON is what `lockscope contend` prints; fields are added, never renamed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetOutcome {
    /// The version of this shape.
    pub schema: u32,
    /// The name of the algorithm.
    pub recipe: &'static str,
    /// The lock's path.
    pub path: ZnodePath,
    /// How many clients were asked for.
    pub clients: u32,
    /// How many acquisitions each was to make; `None` is endless.
    pub rounds: Option<u32>,
    /// The seed of the random numbers.
    pub seed: u64,
    /// How often the lock was acquired.
    pub acquisitions: u64,
    /// From the moment when all began to the last release.
    #[serde(rename = "elapsed_ms", serialize_with = "ms")]
    pub elapsed: Duration,
    /// Acquisitions a second.
    pub acquisitions_per_second: f64,
    /// Two holders at once, or a token that did not rise.
    pub violations: u64,
    /// Holders whose session had ended without their knowledge when the next one acquired the lock. Their tokens are lower.
    pub outlived: u64,
    /// Sessions that expired.
    pub expired_sessions: u64,
    /// Watch events.
    pub watch_events: WatchEventCounts,
    /// Requests.
    pub requests: RequestCount,
    /// Bytes to the servers, and from them.
    pub bytes: LinkBytes,
    /// How long acquisitions waited.
    pub wait_ms: Quantiles,
    /// How long the lock was held.
    pub hold_ms: Quantiles,
    /// What the servers count; `None` when that is not known.
    pub server: Option<ServerEvents>,
    /// Why the counts of the servers are not known.
    pub server_silence: Option<String>,
    /// Nodes of the clients that still exist at the end; `None` when that could not be found out.
    pub left_behind: Option<u64>,
    /// The nodes that are still there; where `left_behind` is `None`, those that the clients had made and that may be. At
    /// most 100, in the order of their paths.
    pub left_behind_nodes: Vec<ZnodePath>,
    /// Whether no server could be reached at the end: the figures are those until then, and the reason is the first of
    /// `troubles`.
    pub servers_lost: bool,
    /// Whether it was ended before all rounds were done.
    pub interrupted: bool,
    /// The last overlaps.
    pub overlaps: Vec<Overlap>,
    /// What went wrong with clients, a sentence each, at most a few.
    pub troubles: Vec<String>,
    /// Writes that the resource took which the lock protects: each holder that may write does so when it has acquired the lock
    /// and right before it releases. 0 for semaphores, which protect none.
    pub accepted_writes: u64,
    /// Writes that it refused, since a higher token had written: no violation, but what fencing tokens are for.
    pub rejected_writes: u64,
}

/// Bytes that passed the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinkBytes {
    /// To the servers.
    pub up: u64,
    /// From the servers.
    pub down: u64,
}

/// How many troubles an outcome lists.
const MAX_TROUBLES: usize = 5;

/// How many nodes an outcome names.
const MAX_NAMED_NODES: usize = 100;

/// What is known at the end of what a fleet leaves behind.
#[derive(Clone, Debug, Default)]
pub(super) struct Remains {
    /// How many nodes; `None` when that could not be found out.
    pub(super) count: Option<u64>,
    /// Their paths, or, when their number is not known, of those that may be there.
    pub(super) nodes: Vec<ZnodePath>,
    /// Why no server could be reached; `None` when one could.
    pub(super) lost: Option<String>,
}

impl FleetOutcome {
    /// The outcome of a fleet that has come to its end in this state.
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
    /// What the fleet has come to so far, as one that is interrupted now; what it would leave behind is not known.
    pub fn so_far(&self) -> FleetOutcome {
        FleetOutcome::of(self, Remains::default())
    }
}

/// A share of something counted; 0 of nothing.
pub(super) fn per(of: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { count(of) / count(all) }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people; nobody counts to 2^53 in a run")]
fn count(figure: u64) -> f64 {
    figure as f64
}
