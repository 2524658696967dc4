//! The events printed by the headless commands, one per line.

use std::sync::Arc;

use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::Finding;
use lockscope_model::ensemble::{EnsembleEvent, EnsembleEventKind, EnsembleLine};
use lockscope_model::queue::{Happening, LockName, SampledCounts};
use lockscope_model::report::Initial;

/// The meaning of a change of the table.
pub(super) enum TableEvent {
    /// An event of a lock or of the connection, with its reason where known.
    Happening(Happening, Option<String>),
    /// A part of the state when everything was first read.
    Initial(Initial),
    /// A count of a lock that is the first one or has changed.
    Sampled(LockName, SampledCounts),
    /// A time in which nothing was recorded.
    Gap { from: Timestamp, until: Timestamp },
    /// Something that began or ended in the ensemble as a whole.
    Ensemble { event: EnsembleEvent, at: Timestamp },
    /// A finding that was raised or cleared.
    Finding { finding: Arc<Finding>, raised: bool, at: Timestamp },
}

/// The part of the ensemble's time line that was printed.
#[derive(Debug, Default)]
pub(super) struct ToldEnsemble {
    revision: u64,
}

impl ToldEnsemble {
    /// Returns what changed in the line. The cuts of our own connection are printed apart.
    pub fn news(&mut self, line: &EnsembleLine, at: Timestamp) -> Vec<TableEvent> {
        let before = std::mem::replace(&mut self.revision, line.revision());
        // Another run of a recorder begins with a line of its own.
        let since = if line.revision() < before { 0 } else { before };
        let changed = line.changed_after(since).filter(|event| event.what != EnsembleEventKind::NotSeen);
        changed.map(|event| TableEvent::Ensemble { event: event.clone(), at }).collect()
    }
}
