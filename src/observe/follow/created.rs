//! Contenders that were created and are not read yet, in the order of their creation.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use crate::znode::ZnodePath;

/// The contenders of which nothing is known yet but that they were created.
///
/// Who comes later must not be reported before them: it would look as if they were not there. So whenever one of them is reported, all that
/// were created before it are, too.
#[derive(Debug, Default)]
pub(super) struct CreatedContenders {
    in_order: VecDeque<ZnodePath>,
    /// Those of them that are not reported yet.
    unreported: FxHashSet<ZnodePath>,
}

impl CreatedContenders {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// One was created.
    pub(super) fn insert(&mut self, path: &ZnodePath) {
        if self.unreported.insert(path.clone()) {
            self.in_order.push_back(path.clone());
        }
    }

    /// One is none any more, or cannot be read.
    pub(super) fn remove(&mut self, path: &ZnodePath) {
        self.unreported.remove(path);
        while self.in_order.front().is_some_and(|first| !self.unreported.contains(first)) {
            self.in_order.pop_front();
        }
    }

    /// Takes out all that were created before this one, and this one last; nothing when it is none of them.
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

    /// Takes out all.
    pub(super) fn take_all(&mut self) -> Vec<ZnodePath> {
        let taken = self.in_order.drain(..).filter(|path| self.unreported.contains(path)).collect();
        self.unreported.clear();
        taken
    }
}
