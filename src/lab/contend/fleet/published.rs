//! What a fleet's task hands to its [`Fleet`](super::Fleet): the last status, without losing the trace of those before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::trace_log::joined;
use super::super::{ContendError, FleetStatus};

/// What a fleet publishes.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) status: Arc<FleetStatus>,
    pub(super) error: Option<ContendError>,
    /// Whether the status was taken; one that was only looked at was not.
    taken: AtomicBool,
}

impl Published {
    pub(super) fn new(status: FleetStatus) -> Self {
        Self { status: Arc::new(status), error: None, taken: AtomicBool::new(false) }
    }

    /// Replaces the status. Where nobody has taken the one before, its trace comes at the beginning of the new one's.
    pub(super) fn replace(&mut self, mut status: FleetStatus) {
        let before = &self.status;
        let is_lost = !*self.taken.get_mut() && (before.trace_missed > 0 || !before.trace.is_empty());
        if is_lost {
            (status.trace, status.trace_missed) =
                joined((&before.trace, before.trace_missed), (&status.trace, status.trace_missed));
        }
        *self.taken.get_mut() = false;
        self.status = Arc::new(status);
    }

    /// The status, whose trace the next one will not repeat.
    pub(super) fn take(&self) -> Arc<FleetStatus> {
        self.taken.store(true, Ordering::Relaxed);
        Arc::clone(&self.status)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::{ClientId, Scenario, TraceEntry, TraceStep};
    use super::*;
    use lockscope_base::znode::ZnodePath;
    use lockscope_lock::Algorithm;

    /// A status with one entry, of that millisecond.
    fn status(millis: u64) -> FleetStatus {
        let path = ZnodePath::new("/lock").expect("a path");
        let at = Duration::from_millis(millis);
        let entry = TraceEntry { at, client: ClientId(1), step: TraceStep::Releases };
        FleetStatus {
            trace: Arc::new([entry]),
            ..FleetStatus::new(&Arc::new(Scenario::new(Algorithm::Chain, path, 1)))
        }
    }

    fn times(status: &FleetStatus) -> Vec<u128> {
        status.trace.iter().map(|entry| entry.at.as_millis()).collect()
    }

    #[test]
    fn each_entry_is_taken_once_however_many_statuses_nobody_took() {
        let mut published = Published::new(status(1));
        published.replace(status(2));
        published.replace(status(3));
        assert_eq!(times(&published.take()), [1, 2, 3]);
        published.replace(status(4));
        assert_eq!(times(&published.status), [4], "looked at, not taken");
        published.replace(status(5));
        assert_eq!(times(&published.take()), [4, 5]);
    }
}
