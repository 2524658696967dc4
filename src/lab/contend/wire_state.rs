//! What a client's locks have on the servers, and what passed between them, kept up by what the locks report. Pure.

use super::{TraceStep, WatchPlace};
use lockscope_base::znode::ZnodePath;
use lockscope_lock::LockActivity;

/// Requests and watch events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WireCounts {
    pub(super) requests: u64,
    pub(super) events: u64,
    /// Events after which the client did not get the lock.
    pub(super) in_vain: u64,
}

impl std::ops::AddAssign for WireCounts {
    fn add_assign(&mut self, more: Self) {
        self.requests += more.requests;
        self.events += more.events;
        self.in_vain += more.in_vain;
    }
}

/// What one client's locks have on the servers.
#[derive(Debug, Default)]
pub(super) struct WireState {
    counts: WireCounts,
    watches: Vec<WatchPlace>,
    /// Its nodes, the newest last. There are two of them while a semaphore's client has a lease, or waits for it, and its place
    /// in the queue.
    nodes: Vec<ZnodePath>,
    /// Whether it is not known yet what comes of the last event: the lock, or more waiting.
    is_undecided: bool,
}

impl WireState {
    /// Takes an activity in; gives the step to be traced. `waits` is whether the client waits for the lock.
    pub(super) fn take(&mut self, activity: LockActivity, waits: bool) -> Option<TraceStep> {
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
        })
    }

    fn forget_watch(&mut self, place: &WatchPlace) {
        if let Some(at) = self.watches.iter().position(|set| set == place) {
            self.watches.remove(at);
        }
    }

    /// The lock did not come of the last event.
    pub(super) fn decide(&mut self) {
        self.counts.in_vain += u64::from(std::mem::take(&mut self.is_undecided));
    }

    /// It got the lock, by the last event if there was one while it waited.
    pub(super) fn acquires(&mut self) {
        self.is_undecided = false;
    }

    /// Its connection is closed for good: the servers have forgotten its watches.
    pub(super) fn disconnects(&mut self) {
        self.watches.clear();
    }

    /// Its session has ended, and its nodes with it.
    pub(super) fn session_ends(&mut self) {
        self.watches.clear();
        self.nodes.clear();
    }

    pub(super) fn counts(&self) -> WireCounts {
        self.counts
    }

    pub(super) fn watches(&self) -> &[WatchPlace] {
        &self.watches
    }

    pub(super) fn node(&self) -> Option<&ZnodePath> {
        self.nodes.last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockscope_lock::RequestKind;

    fn path(path: &str) -> ZnodePath {
        ZnodePath::new(path).expect("a path")
    }

    fn children() -> WatchPlace {
        WatchPlace::Children(path("/l"))
    }

    /// A client that waits, and has been taken through these activities.
    fn waiting(activities: impl IntoIterator<Item = LockActivity>) -> WireState {
        let mut state = WireState::default();
        for activity in activities {
            state.take(activity, true);
        }
        state
    }

    #[test]
    fn an_event_is_in_vain_once_its_client_waits_again_and_not_when_it_brings_the_lock() {
        use LockActivity::{Sends, Waits, Watches, Woken};
        let mut state = waiting([Watches(children()), Waits, Woken(children())]);
        assert_eq!(state.counts(), WireCounts { events: 1, ..WireCounts::default() }, "nobody knows yet");
        for activity in [Sends(RequestKind::List), Watches(children()), Waits] {
            state.take(activity, true);
        }
        assert_eq!(state.counts(), WireCounts { requests: 1, events: 1, in_vain: 1 });
        state.take(Woken(children()), true);
        state.acquires();
        state.decide();
        assert_eq!(state.counts(), WireCounts { requests: 1, events: 2, in_vain: 1 });
    }

    #[test]
    fn of_two_events_before_the_lock_one_is_in_vain_and_so_is_one_that_comes_to_a_holder_or_before_it_gives_up() {
        let place = |name| WatchPlace::Node(path(name));
        let mut state = waiting([LockActivity::Woken(place("/l/1")), LockActivity::Woken(place("/l/2"))]);
        state.acquires();
        assert_eq!(state.counts().in_vain, 1);
        state.take(LockActivity::Woken(children()), false);
        assert_eq!(state.counts().in_vain, 2);
        state.take(LockActivity::Woken(children()), true);
        state.decide();
        assert_eq!(state.counts(), WireCounts { requests: 0, events: 4, in_vain: 3 });
    }

    #[test]
    fn a_watch_is_listed_until_it_fires_or_is_given_up_and_one_of_two_alike_at_a_time() {
        use LockActivity::{Unwatches, Watches, Woken};
        let mut state = waiting([Watches(children()), Watches(children()), Woken(children())]);
        assert_eq!(state.watches(), [children()]);
        assert_eq!(state.take(Unwatches(children()), true), Some(TraceStep::Unwatches(children())));
        assert_eq!(state.watches(), []);
    }

    #[test]
    fn the_newest_node_is_shown_and_goes_once_whoever_deletes_it() {
        use LockActivity::{Created, Deleted};
        let mut state = waiting([Created(path("/s/locks/1")), Created(path("/s/leases/1"))]);
        assert_eq!(state.node(), Some(&path("/s/leases/1")));
        assert_eq!(state.take(Deleted(path("/s/locks/1")), true), Some(TraceStep::Deleted(path("/s/locks/1"))));
        assert_eq!(state.take(Deleted(path("/s/locks/1")), true), None);
        assert_eq!(state.node(), Some(&path("/s/leases/1")));
        state.session_ends();
        assert_eq!(state.node(), None);
    }
}
