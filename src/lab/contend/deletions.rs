//! How often test clients' nodes were deleted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How often contenders' nodes were deleted, or are about to be, by all fleets that share it.
///
/// A program's own recursive watches fire for the deletions of all its fleets, and the servers count that to each. Fleets that
/// run at the same time on the same ensemble share one, so that each can take it off.
#[derive(Clone, Debug, Default)]
pub struct Deletions(Arc<AtomicU64>);

impl Deletions {
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }
}
