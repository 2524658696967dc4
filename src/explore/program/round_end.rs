//! The error that ends a round of a lock program, and what it counts as.

use lockscope_lock::LockError;

use super::facts::{Failure, Outcome};

/// The error that ends a round.
pub(super) struct RoundEnd {
    pub(super) error: LockError,
    /// Whether the lock was held before.
    held: bool,
}

impl RoundEnd {
    pub(super) fn held(error: LockError) -> Self {
        Self { error, held: true }
    }

    /// Returns whether it is the last round. A deleted node, or a time that is over, leaves the session
    /// alive, so the next round begins.
    pub(super) fn is_last(&self) -> bool {
        !matches!(self.error, LockError::NodeDeleted { .. } | LockError::TimedOut { .. })
    }

    pub(super) fn outcome(&self) -> Outcome {
        let error = match &self.error {
            LockError::SessionExpired { .. } => Failure::Expired,
            LockError::NodeDeleted { node } => Failure::Deleted(node.as_str().into()),
            LockError::ConnectionLost { .. } => Failure::Disconnected,
            LockError::TimedOut { .. } => Failure::TimedOut,
            LockError::NumbersUsedUp { .. } => Failure::NumbersUsedUp,
            other => Failure::Other(other.to_string()),
        };
        Outcome::Failed { error, held: self.held }
    }
}

impl From<LockError> for RoundEnd {
    fn from(error: LockError) -> Self {
        Self { error, held: false }
    }
}
