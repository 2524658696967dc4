//! Contenders that were created and are not read yet, in the order of creation.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use lockscope_base::znode::ZnodePath;

/// Contenders of which only the creation is known.
///
/// A later contender must not be reported before them: it would look as if they did not exist.
/// Whenever one is reported, all contenders created before it are reported too.
#[derive(Debug, Default)]
pub(super) struct CreatedContenders {
    in_order: VecDeque<ZnodePath>,
    /// The contenders in the list that are not reported yet.
    unreported: FxHashSet<ZnodePath>,
}

impl CreatedContenders {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds a created contender.
    pub(super) fn insert(&mut self, path: &ZnodePath) {
        if self.unreported.insert(path.clone()) {
            self.in_order.push_back(path.clone());
        }
    }

    /// Removes a contender that turned out to be none or that cannot be read.
    pub(super) fn remove(&mut self, path: &ZnodePath) {
        self.unreported.remove(path);
        while self.in_order.front().is_some_and(|first| !self.unreported.contains(first)) {
            self.in_order.pop_front();
        }
    }

    /// Takes all contenders created before `path`, and `path` itself last. Takes nothing when
    /// `path` is not in the list.
    pub(super) fn take_until(&mut self, path: &ZnodePath) -> Vec<ZnodePath> {
        if !self.unreported.contains(path) {
            return Vec::new();
        }
        let mut taken = Vec::new();
        while let Some(first) = self.in_order.pop_front() {
            let found = first == *path;
            if self.unreported.remove(&first) {
                taken.push(first);
            }
            if found {
                break;
            }
        }
        taken
    }

    pub(super) fn take_all(&mut self) -> Vec<ZnodePath> {
        let taken = self.in_order.drain(..).filter(|path| self.unreported.contains(path)).collect();
        self.unreported.clear();
        taken
    }
}
