//! A count of the deletions of test clients' nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of deletions of contenders' nodes, done or imminent, by all fleets that share this
/// counter.
///
/// A program's own recursive watches fire for the deletions of all its fleets, and the servers'
/// counters include that. Fleets that run at the same time on the same ensemble share one counter,
/// so that each can subtract it.
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
