//! The figures and the state of one test client: its process, its nodes and watches on the servers,
//! its waits and holds. Pure: time is an argument, counted from the fleet's start.
//!
//! The locks' reports update what the client has on the servers.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::{ClientState, Quantiles, TraceStep, WatchPlace};
use lockscope_base::znode::{SessionId, ZnodePath, Zxid};
use lockscope_lock::Access;
use lockscope_lock::activity::LockActivity;

/// The state of a client's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientProcess {
    Runs,
    /// The process is stopped and may be resumed.
    Frozen,
    /// The process was killed.
    Dead,
}

/// The figures of one client.
#[derive(Debug)]
pub struct ClientStats {
    pub(super) state: ClientState,
    pub(super) since: Duration,
    pub(super) process: ClientProcess,
    pub(super) session: Option<SessionId>,
    pub(super) expired: u32,
    pub(super) token: Option<Zxid>,
    pub(super) acquisitions: u64,
    pub(super) held: Duration,
    pub(super) trouble: Option<String>,
    pub(super) waits: TimeDistribution,
    pub(super) holds: TimeDistribution,
    pub(super) access: Access,
    /// Whether the client had to wait behind others when it asked.
    pub(super) is_behind: bool,
    pub(super) wire: WireState,
    /// The activity of the client's locks while its process was stopped. Nothing of it passes the
    /// link until the process goes on.
    pub(super) put_off: Vec<LockActivity>,
}

impl ClientStats {
    pub fn new(now: Duration) -> Self {
        Self {
            state: ClientState::Connecting,
            since: now,
            process: ClientProcess::Runs,
            session: None,
            expired: 0,
            token: None,
            acquisitions: 0,
            held: Duration::ZERO,
            trouble: None,
            waits: TimeDistribution::new(),
            holds: TimeDistribution::new(),
            access: Access::Write,
            is_behind: false,
            wire: WireState::default(),
            put_off: Vec::new(),
        }
    }

    pub fn enters(&mut self, state: ClientState, now: Duration) {
        (self.state, self.since) = (state, now);
    }

    /// Returns the distributions of the waits and of the holds.
    pub fn times(&mut self) -> (Quantiles, Quantiles) {
        (self.waits.quantiles(), self.holds.quantiles())
    }
}

/// Counts of requests and watch events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireCounts {
    pub(super) requests: u64,
    pub(super) events: u64,
    /// The events after which the client did not get the lock.
    pub(super) in_vain: u64,
}

impl std::ops::AddAssign for WireCounts {
    fn add_assign(&mut self, more: Self) {
        self.requests += more.requests;
        self.events += more.events;
        self.in_vain += more.in_vain;
    }
}

/// The state of one client's locks on the servers.
#[derive(Debug, Default)]
pub struct WireState {
    counts: WireCounts,
    watches: Vec<WatchPlace>,
    /// The client's nodes, the newest last. A semaphore's client has two while it has a lease, or
    /// waits for one, and its place in the queue.
    nodes: Vec<ZnodePath>,
    /// Whether the result of the last event, the lock or further waiting, is still open.
    is_undecided: bool,
}

impl WireState {
    /// Records an activity and returns the step to trace. `waits` is whether the client waits for
    /// the lock.
    pub fn record(&mut self, activity: LockActivity, waits: bool) -> Option<TraceStep> {
        Some(match activity {
            LockActivity::Sends(kind) => {
                self.counts.requests += 1;
                TraceStep::Sent(kind)
            }
            LockActivity::Watches(place) => {
                self.watches.push(place.clone());
                TraceStep::Watches(place)
            }
            LockActivity::Unwatches(place) => {
                self.forget_watch(&place);
                TraceStep::Unwatches(place)
            }
            LockActivity::Woken(place) => {
                self.forget_watch(&place);
                self.counts.events += 1;
                self.decide();
                self.is_undecided = true;
                if !waits {
                    self.decide();
                }
                TraceStep::Woken(place)
            }
            LockActivity::Waits => {
                self.decide();
                return None;
            }
            LockActivity::Created(node) => {
                self.nodes.push(node.clone());
                TraceStep::Created(node)
            }
            LockActivity::Deleted(node) => {
                let before = self.nodes.len();
                self.nodes.retain(|own| *own != node);
                if self.nodes.len() == before {
                    return None;
                }
                TraceStep::Deleted(node)
            }
            _ => return None,
        })
    }

    fn forget_watch(&mut self, place: &WatchPlace) {
        if let Some(at) = self.watches.iter().position(|set| set == place) {
            self.watches.remove(at);
        }
    }

    /// Counts the last event as in vain, if its result is still open.
    pub fn decide(&mut self) {
        self.counts.in_vain += u64::from(std::mem::take(&mut self.is_undecided));
    }

    /// Records that the client got the lock, so its last event was not in vain.
    pub fn acquires(&mut self) {
        self.is_undecided = false;
    }

    /// Records that the connection is closed for good: the servers have forgotten the watches.
    pub fn disconnects(&mut self) {
        self.watches.clear();
    }

    /// Records that the session has ended, and its nodes with it.
    pub fn session_ends(&mut self) {
        self.watches.clear();
        self.nodes.clear();
    }

    pub fn counts(&self) -> WireCounts {
        self.counts
    }

    pub fn watches(&self) -> &[WatchPlace] {
        &self.watches
    }

    pub fn node(&self) -> Option<&ZnodePath> {
        self.nodes.last()
    }
}

/// The longest recorded time, in microseconds: an hour. Longer ones count as an hour.
pub const MAX_MICROS: u64 = 3_600_000_000;

/// A distribution of times with cached quantiles.
#[derive(Debug)]
pub struct TimeDistribution {
    histogram: Histogram<u32>,
    quantiles: Quantiles,
    changed: bool,
}

impl TimeDistribution {
    fn new() -> Self {
        // The histogram grows with its values. Two digits are enough for one of many clients.
        let histogram = Histogram::new(2).expect("two digits are valid");
        Self { histogram, quantiles: Quantiles::default(), changed: false }
    }

    pub fn add(&mut self, time: Duration) {
        // The histogram can grow to an hour, the bound of `micros`, so this never fails.
        let _ = self.histogram.record(micros(time));
        self.changed = true;
    }

    fn quantiles(&mut self) -> Quantiles {
        if std::mem::take(&mut self.changed) {
            self.quantiles = quantiles(&self.histogram);
        }
        self.quantiles
    }
}

pub fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(MAX_MICROS).min(MAX_MICROS)
}

pub fn quantiles<C: hdrhistogram::Counter>(histogram: &Histogram<C>) -> Quantiles {
    let at = |quantile| Duration::from_micros(histogram.value_at_quantile(quantile));
    if histogram.is_empty() {
        return Quantiles::default();
    }
    Quantiles {
        count: histogram.len(),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        max: Duration::from_micros(histogram.max()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockscope_lock::activity::RequestKind;

    fn path(path: &str) -> ZnodePath {
        ZnodePath::new(path).expect("a valid path")
    }

    fn children() -> WatchPlace {
        WatchPlace::Children(path("/l"))
    }

    /// Returns the state of a waiting client after these activities.
    fn waiting(activities: impl IntoIterator<Item = LockActivity>) -> WireState {
        let mut state = WireState::default();
        for activity in activities {
            state.record(activity, true);
        }
        state
    }

    #[test]
    fn an_event_is_in_vain_once_its_client_waits_again_but_not_if_it_brings_the_lock() {
        use LockActivity::{Sends, Waits, Watches, Woken};
        let mut state = waiting([Watches(children()), Waits, Woken(children())]);
        assert_eq!(state.counts(), WireCounts { events: 1, ..WireCounts::default() }, "nobody knows yet");
        for activity in [Sends(RequestKind::List), Watches(children()), Waits] {
            state.record(activity, true);
        }
        assert_eq!(state.counts(), WireCounts { requests: 1, events: 1, in_vain: 1 });
        state.record(Woken(children()), true);
        state.acquires();
        state.decide();
        assert_eq!(state.counts(), WireCounts { requests: 1, events: 2, in_vain: 1 });
    }

    #[test]
    fn earlier_events_of_a_wait_and_events_of_holders_and_quitters_are_in_vain() {
        let place = |name| WatchPlace::Node(path(name));
        let mut state = waiting([LockActivity::Woken(place("/l/1")), LockActivity::Woken(place("/l/2"))]);
        state.acquires();
        assert_eq!(state.counts().in_vain, 1);
        state.record(LockActivity::Woken(children()), false);
        assert_eq!(state.counts().in_vain, 2);
        state.record(LockActivity::Woken(children()), true);
        state.decide();
        assert_eq!(state.counts(), WireCounts { requests: 0, events: 4, in_vain: 3 });
    }

    #[test]
    fn a_watch_is_listed_until_it_fires_or_is_given_up_and_equal_ones_one_at_a_time() {
        use LockActivity::{Unwatches, Watches, Woken};
        let mut state = waiting([Watches(children()), Watches(children()), Woken(children())]);
        assert_eq!(state.watches(), [children()]);
        assert_eq!(state.record(Unwatches(children()), true), Some(TraceStep::Unwatches(children())));
        assert_eq!(state.watches(), []);
    }

    #[test]
    fn the_newest_node_is_shown_and_its_deletion_counts_once() {
        use LockActivity::{Created, Deleted};
        let mut state = waiting([Created(path("/s/locks/1")), Created(path("/s/leases/1"))]);
        assert_eq!(state.node(), Some(&path("/s/leases/1")));
        assert_eq!(state.record(Deleted(path("/s/locks/1")), true), Some(TraceStep::Deleted(path("/s/locks/1"))));
        assert_eq!(state.record(Deleted(path("/s/locks/1")), true), None);
        assert_eq!(state.node(), Some(&path("/s/leases/1")));
        state.session_ends();
        assert_eq!(state.node(), None);
    }
}
