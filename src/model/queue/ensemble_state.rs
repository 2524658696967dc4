//! The ensemble's time line beside the locks, and its place in recordings.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::LockTable;
use super::pending_ends::PendingEnds;
use crate::ensemble::EnsembleLine;
use crate::server_view::ViewExtras;
use lockscope_base::znode::Timestamp;

/// What the table knows of the ensemble as a whole, as a recording stores it. It is stored beside
/// the table, because older recordings have no place for it in the table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnsembleState {
    extras: ViewExtras,
    line: Box<EnsembleLine>,
    pending_ends: Box<PendingEnds>,
}

impl LockTable {
    /// Returns what happened to the ensemble as a whole.
    pub fn ensemble_line(&self) -> &EnsembleLine {
        &self.line
    }

    /// Returns when the ensemble last changed in a way that makes sessions move, by this machine's
    /// clock. See [`EnsembleLine::upheaval_at`].
    pub fn upheaval_at(&self) -> Option<Timestamp> {
        self.line.upheaval_at()
    }

    /// Returns what is known of the ensemble. It is not part of the serialized table.
    pub fn ensemble_state(&self) -> EnsembleState {
        let (line, pending_ends) = (self.line.clone(), self.pending_ends.clone());
        EnsembleState { extras: self.view.extras(), line, pending_ends }
    }

    /// Returns the table with what was stored beside it.
    #[must_use]
    pub fn with_ensemble_state(mut self, state: EnsembleState) -> Self {
        Arc::make_mut(&mut self.view).set_extras(&state.extras);
        (self.line, self.pending_ends) = (state.line, state.pending_ends);
        self
    }

    /// Notes in the time line whether the locks are seen.
    pub(super) fn note_sight(&mut self, was_live: bool, now: Timestamp) {
        match (was_live, self.is_live()) {
            (true, false) => self.line.lost_sight(self.last_true.unwrap_or(now), self.connection.why_not_seen()),
            (false, true) => self.line.sees_again(now),
            _ => {}
        }
    }
}
