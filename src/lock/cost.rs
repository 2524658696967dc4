//! Counts the requests and watch events of locks, and reports each activity to a recorder.

use std::collections::BTreeSet;
use std::ops::Sub;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::activity::{ActivityRecorder, LockActivity, RequestKind, WatchPlace};
use lockscope_terms::znode::ZnodePath;

/// The maximum number of nodes that a counter remembers.
const MAX_REMEMBERED_NODES: usize = 64;

/// The cost of locks for the servers so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Requests sent. One that had to be sent again counts each time.
    pub requests: u64,
    /// Watch events delivered.
    pub events: u64,
}

impl Sub for Cost {
    type Output = Self;

    /// Returns the cost since `earlier`, at least 0.
    fn sub(self, earlier: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(earlier.requests),
            events: self.events.saturating_sub(earlier.events),
        }
    }
}

/// Counts the cost of locks. Clones count together: give one to several locks with
/// [`LockOptions::counter`](super::LockOptions::counter) to count them as one.
#[derive(Clone, Debug, Default)]
pub struct CostCounter(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    requests: AtomicU64,
    events: AtomicU64,
    nodes: Mutex<BTreeSet<ZnodePath>>,
    recorder: Option<Arc<dyn ActivityRecorder>>,
}

impl CostCounter {
    /// Creates a counter that reports each activity of its locks to `recorder`: see
    /// [`activity`](super::activity).
    pub fn recorded_by(recorder: Arc<dyn ActivityRecorder>) -> Self {
        Self(Arc::new(Counters { recorder: Some(recorder), ..Counters::default() }))
    }

    /// Returns the nodes of its locks that were created and are not known to be gone, at most 64: what
    /// a program that ends now would leave to the end of its session.
    ///
    /// Nodes whose session has ended are included until [`forget_nodes`](Self::forget_nodes); nodes
    /// whose creation got no reply are not.
    pub fn nodes(&self) -> Vec<ZnodePath> {
        self.remembered().iter().cloned().collect()
    }

    /// Forgets the nodes that were created so far, when their session has ended.
    pub fn forget_nodes(&self) {
        self.remembered().clear();
    }

    fn remembered(&self) -> MutexGuard<'_, BTreeSet<ZnodePath>> {
        self.0.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cost so far, of attempts that have ended and of those under way.
    pub fn cost(&self) -> Cost {
        // The two figures may be of slightly different times.
        Cost { requests: self.0.requests.load(Ordering::Relaxed), events: self.0.events.load(Ordering::Relaxed) }
    }
}

/// Counts for one attempt and for its lock at once.
#[derive(Clone, Debug, Default)]
pub struct AttemptMeter {
    pub(super) attempt: CostCounter,
    lock: CostCounter,
}

impl AttemptMeter {
    pub fn of(lock: &CostCounter) -> Self {
        Self { attempt: CostCounter::default(), lock: lock.clone() }
    }

    /// Counts a request that is about to be sent.
    pub fn request(&self, kind: RequestKind) {
        for CostCounter(counters) in [&self.attempt, &self.lock] {
            counters.requests.fetch_add(1, Ordering::Relaxed);
        }
        self.record(|| LockActivity::Sends(kind));
    }

    /// Records that a node in a queue was created.
    pub fn made(&self, node: &ZnodePath) {
        let mut nodes = self.lock.remembered();
        if nodes.len() < MAX_REMEMBERED_NODES {
            nodes.insert(node.clone());
        }
        drop(nodes);
        self.record(|| LockActivity::Created(node.clone()));
    }

    /// Records that a node is gone.
    pub fn gone(&self, node: &ZnodePath) {
        self.lock.remembered().remove(node);
        self.record(|| LockActivity::Deleted(node.clone()));
    }

    /// Counts a delivered watch event.
    pub fn event(&self, place: Option<&WatchPlace>) {
        for CostCounter(counters) in [&self.attempt, &self.lock] {
            counters.events.fetch_add(1, Ordering::Relaxed);
        }
        self.note_watch(place, LockActivity::Woken);
    }

    /// Returns the place of a watch if a recorder needs it.
    pub fn place(&self, place: impl FnOnce() -> WatchPlace) -> Option<WatchPlace> {
        self.lock.0.recorder.is_some().then(place)
    }

    /// Reports the end of a watch to the recorder.
    pub fn note_watch(&self, place: Option<&WatchPlace>, activity: impl FnOnce(WatchPlace) -> LockActivity) {
        if let Some(place) = place {
            self.record(|| activity(place.clone()));
        }
    }

    /// Reports an activity to the recorder, if there is one.
    pub fn record(&self, activity: impl FnOnce() -> LockActivity) {
        if let Some(recorder) = &self.lock.0.recorder {
            recorder.record(activity());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_counts_for_its_lock_too() {
        let lock = CostCounter::default();
        let (first, second) = (AttemptMeter::of(&lock), AttemptMeter::of(&lock));
        first.request(RequestKind::Create);
        second.request(RequestKind::List);
        second.event(None);
        assert_eq!(first.attempt.cost(), Cost { requests: 1, events: 0 });
        assert_eq!(lock.cost() - first.attempt.cost(), second.attempt.cost());
    }

    #[test]
    fn a_node_is_remembered_until_it_is_gone() {
        let lock = CostCounter::default();
        let meter = AttemptMeter::of(&lock);
        let paths: Vec<ZnodePath> = (0..1000).map(|n| ZnodePath::new(&format!("/l/n{n:04}")).unwrap()).collect();
        meter.made(&paths[0]);
        meter.made(&paths[1]);
        meter.gone(&paths[0]);
        assert_eq!(lock.nodes(), paths[1..2]);
        for path in &paths {
            meter.made(path);
        }
        assert_eq!(lock.nodes().len(), MAX_REMEMBERED_NODES);
        lock.forget_nodes();
        assert_eq!(lock.nodes(), []);
    }
}
