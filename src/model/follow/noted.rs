//! Records nodes that are created and deleted, reported by an event or a listing.

use std::cmp::Reverse;

use rustc_hash::FxHashSet;

use super::{Follower, NodeRead, WatchStyle};
use crate::queue::Change;
use lockscope_base::recipe::{Classification, Classifier, Recipe, Role};
use lockscope_base::znode::{Sequence, ZnodePath, Zxid};

impl Follower {
    pub(super) fn deleted(&mut self, path: &ZnodePath, zxid: Option<Zxid>) {
        self.gone(path, zxid);
        if self.watching == WatchStyle::Recursive {
            return;
        }
        if self.is_root(path) {
            // Listing a missing root watches for its creation.
            self.pending.want(NodeRead::List(path.clone()));
        } else if let Some(parent) = path.parent().filter(|parent| self.children.contains_key(parent)) {
            // The parent may have been listed since, with another node of that name.
            self.pending.want(NodeRead::List(parent));
        }
    }

    /// Forgets a node and reports its deletion.
    pub(super) fn gone(&mut self, path: &ZnodePath, zxid: Option<Zxid>) {
        self.pending.void(path);
        if self.walking {
            self.created.remove(path);
        } else {
            let created = self.created.take_until(path);
            self.changes.extend(created.into_iter().map(|path| Change::Appeared { path }));
        }
        self.classifier.forget(path);
        self.parents.remove(path);
        let children = self.children.remove(path).into_iter().flatten();
        for child in self.last_first(children.map(|name| path.child(&name))) {
            self.gone(&child, None);
        }
        if let Some(siblings) = path.parent_str().and_then(|parent| self.children.get_mut(parent)) {
            siblings.remove(path.name());
        }
        self.changes.push(Change::Deleted { path: path.clone(), zxid });
        self.list_leases(path);
        if self.is_root(path) {
            self.missing_root(path);
        }
    }

    /// Returns nodes that are gone in the order in which they are reported: a queue from its end to its
    /// head, so that no contender seems to acquire whose node is gone too.
    pub(super) fn last_first(&self, gone: impl Iterator<Item = ZnodePath>) -> Vec<ZnodePath> {
        let mut gone: Vec<ZnodePath> = gone.collect();
        gone.sort_by_cached_key(|child| (Reverse(self.number(child)), child.clone()));
        gone
    }

    /// Returns the number in the name of a possible contender.
    pub(super) fn number(&self, path: &ZnodePath) -> Option<Sequence> {
        self.classifier.classify(path)?.sequence
    }

    /// Handles a contender that was read. Contenders created before it are reported before it.
    pub(super) fn created_is_read(&mut self, path: &ZnodePath) {
        if self.walking {
            return self.created.remove(path);
        }
        let before = self.created.take_until(path).into_iter().filter(|created| created != path);
        self.changes.extend(before.map(|path| Change::Appeared { path }));
    }

    /// Handles a created contender. Its name tells its place in the queue, except in a semaphore.
    pub(super) fn contender_created(&mut self, path: &ZnodePath, place: &Classification) {
        self.note_lease(path, place);
        if place.recipe.has_lease_nodes() {
            self.urgent = true;
        } else if self.watching == WatchStyle::Recursive {
            self.created.insert(path);
        }
    }

    /// Reports a created lease before it is read, because a contender that leaves the queue before
    /// the answer may own it.
    pub(super) fn note_lease(&mut self, path: &ZnodePath, place: &Classification) {
        if place.role == Role::Lease {
            self.changes.push(Change::Appeared { path: path.clone() });
        }
    }

    /// Handles a node that is a hint: reports it, and lists the parents that it regroups again.
    /// Siblings in `listing` are left out, because they are looked at afterwards anyway.
    pub(super) fn note_hint(&mut self, path: &ZnodePath, listing: Option<&FxHashSet<ZnodePath>>) {
        if !Classifier::is_hint(path) {
            return;
        }
        let news = self.classifier.add_hint(path);
        self.changes.push(Change::Appeared { path: path.clone() });
        if !news {
            return;
        }
        for parent in Classifier::regrouped_by(path) {
            let comes_later = listing.is_some_and(|listing| listing.contains(&parent));
            // The hint itself is either walked afterwards, or new and without children that no
            // event would report.
            if comes_later || parent == *path || !self.roots.iter().any(|root| parent.is_within(root)) {
                continue;
            }
            if self.holds_maximum(&parent) {
                self.pending.refresh(NodeRead::Node(parent.clone()));
            }
            self.regroup(&parent);
        }
    }

    /// Lists the leases after a queue node is gone. With one-shot watches a lease may be noticed
    /// later than the departure of its owner from the queue, although it was created first.
    fn list_leases(&mut self, gone: &ZnodePath) {
        let place = self.classifier.classify(gone).filter(|place| place.role == Role::Queue);
        let Some(place) = place.filter(|_| self.watching == WatchStyle::OneShot && !self.walking) else { return };
        match place.recipe {
            Recipe::CuratorSemaphore => self.pending.refresh(NodeRead::List(place.lock.child("leases"))),
            Recipe::KazooSemaphore => self.pending.refresh(NodeRead::List(place.lock)),
            _ => {}
        }
    }

    /// Looks at the children of a parent again. A read under way may be older than children whose
    /// creation caused no event.
    fn regroup(&mut self, parent: &ZnodePath) {
        match self.watching {
            WatchStyle::Recursive => self.pending.refresh(NodeRead::List(parent.clone())),
            WatchStyle::OneShot => {
                let children: Vec<ZnodePath> =
                    self.children.get(parent).into_iter().flatten().map(|name| parent.child(name)).collect();
                for child in children.into_iter().filter(|child| self.classifier.classify(child).is_some()) {
                    self.pending.refresh(NodeRead::Node(child));
                }
            }
        }
    }
}
