//! The last status, which a fleet's task hands to its [`Fleet`](super::Fleet). No trace is lost
//! when a status is replaced.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::trace_log::joined;
use super::super::{ContendError, FleetStatus};

/// The published state of a fleet.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) status: Arc<FleetStatus>,
    pub(super) error: Option<ContendError>,
    /// Whether the status was taken. Looking at a status does not take it.
    taken: AtomicBool,
}

impl Published {
    pub(super) fn new(status: FleetStatus) -> Self {
        Self { status: Arc::new(status), error: None, taken: AtomicBool::new(false) }
    }

    /// Replaces the status. If the previous one was not taken, its trace is prepended to the new
    /// one's.
    pub(super) fn replace(&mut self, mut status: FleetStatus) {
        let before = &self.status;
        let is_lost = !*self.taken.get_mut() && (before.trace_missed > 0 || !before.trace.is_empty());
        if is_lost {
            (status.trace, status.trace_missed) =
                joined(&before.trace, before.trace_missed, &status.trace, status.trace_missed);
        }
        *self.taken.get_mut() = false;
        self.status = Arc::new(status);
    }

    /// Takes the status. The next status will not repeat its trace.
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

    /// Returns a status with one trace entry of that millisecond.
    fn status(millis: u64) -> FleetStatus {
        let path = ZnodePath::new("/lock").expect("a valid path");
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
    fn each_trace_entry_is_taken_once_even_if_statuses_were_missed() {
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
