//! The checks, and what they remember from one look to the next.

use super::suspicion::Suspicion;
use super::{Sight, Thresholds, ghost};
use crate::queue::LockQueue;

/// What the checks remember.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {}

/// A look: what is seen, and from when on it counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look<'a> {
    pub sight: Sight<'a>,
    pub thresholds: &'a Thresholds,
}

/// One kind of finding.
pub(super) trait Check {
    /// Adds what it sees in one lock.
    fn check(look: Look<'_>, lock: &LockQueue, found: &mut Vec<Suspicion>);
}

/// Everything that all checks see.
pub(super) fn all(sight: Sight<'_>, thresholds: &Thresholds, _memory: &mut Memory) -> Vec<Suspicion> {
    let look = Look { sight, thresholds };
    let mut found = Vec::new();
    for lock in sight.table().locks() {
        ghost::Ghost::check(look, lock, &mut found);
    }
    found
}
