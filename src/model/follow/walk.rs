//! What the follower does with answers and events: the walk down from the roots, the handling of
//! its answers, and the nodes that are found to be created or deleted.

use std::cmp::Reverse;

use rustc_hash::FxHashSet;

use super::pending::PendingRead;
use super::{
    COUNT_DESCENDANTS_ABOVE, Follower, MAX_COUNTS, MAX_EMPTIED, MAX_LEVELS, MAX_PATH_BYTES, MAX_UNLOOKED, NodeEvent,
    NodeRead, REPORT_EMPTIED_FROM, ReadAnswer, SAMPLED_CHILDREN, TOO_DEEP, TOO_MANY, WatchStyle, WideNode,
};
use crate::queue::{Change, is_empty_election};
use lockscope_base::recipe::{Classification, Classifier, Recipe, Role};
use lockscope_base::znode::{Node, Sequence, ZnodePath, ZnodeStat, Zxid};

impl Follower {
    /// Starts over: forgets all requested reads and reads everything again. Answers to earlier
    /// reads must not be passed in any more.
    pub fn begin(&mut self, watching: WatchStyle) {
        self.watching = watching;
        self.classifier = Classifier::new(self.named.iter().cloned()).with_recipes(&self.recipes);
        self.children.clear();
        self.wide.clear();
        self.emptied = 0;
        self.unlooked = 0;
        self.pending.clear();
        self.created.clear();
        self.urgent = false;
        self.walk = self.walk.wrapping_add(1);
        self.walking = true;
        self.changes.push(Change::Syncing);
        for root in self.roots.clone() {
            // A root that is a contender itself appears in none of our listings.
            let read =
                if self.classifier.classify(&root).is_some() { NodeRead::Node(root) } else { NodeRead::List(root) };
            self.pending.walk(read);
        }
        self.finish_walk();
    }

    /// Takes the answer to a read returned by [`Self::next_read`].
    pub fn answer(&mut self, read: &NodeRead, answer: ReadAnswer) {
        let Some(entry) = self.pending.close(read) else { return };
        if !entry.is_stale() {
            let path = read.path();
            match answer {
                ReadAnswer::Node(node) => self.node(path, node, entry),
                ReadAnswer::Children(names, stat) => self.listed(path, &names, stat, entry),
                ReadAnswer::Descendants(count) => self.counted(path, count, entry),
                ReadAnswer::NoNode => self.absent(path),
                ReadAnswer::Refused(_) | ReadAnswer::Unsupported if matches!(read, NodeRead::Count(_)) => {
                    self.counts &= answer != ReadAnswer::Unsupported;
                    self.pending.walk_counted(path, MAX_COUNTS);
                }
                ReadAnswer::Refused(why) => self.unreadable(path, why),
                ReadAnswer::Unsupported => {
                    self.unreadable(path, "the server does not know this kind of request".to_owned());
                }
            }
        }
        self.finish_walk();
    }

    fn unreadable(&mut self, path: &ZnodePath, why: String) {
        self.created.remove(path);
        self.changes.push(Change::Unreadable { path: path.clone(), why });
    }

    /// Reports a node whose children are not looked at, unless many are reported already.
    fn unlooked(&mut self, path: &ZnodePath, why: &str) {
        if self.unlooked < MAX_UNLOOKED {
            self.unlooked += 1;
            self.unreadable(path, why.to_owned());
        }
    }

    fn node(&mut self, path: &ZnodePath, node: Node, entry: PendingRead) {
        self.created_is_read(path);
        let stat = node.stat;
        let place = self.classifier.classify(path);
        let maximum = self.holds_maximum(path);
        let contends = place.as_ref().is_some_and(|place| self.classifier.counts(path, place, &stat));
        // Before the read, the node may have been reported as a contender; then it must be reported
        // that it is none.
        let was_taken_for_one = place.is_some() && !entry.walk;
        if maximum || contends || was_taken_for_one {
            self.changes.push(Change::Seen { path: path.clone(), node });
        }
        if let Some(place) = place.filter(|_| maximum || contends) {
            self.know_parent(&place.lock, path);
            if let Some(parent) = path.parent() {
                self.know_parent(&parent, path);
            }
        }
        if maximum {
            self.parents.insert(path.clone(), self.walk);
        }
        // A name such as `leader` may be a contender's or a parent's.
        if !contends && is_empty_election(path, &stat, &self.expected) {
            self.parents.insert(path.clone(), self.walk);
            self.changes.push(Change::Listed { path: path.clone(), stat });
        }
        // The children of a listed node are read on its own account, and a node owned by a session
        // has no children.
        let deep = entry.walk || self.watching == WatchStyle::OneShot;
        let may_have_children = stat.num_children > 0 || self.watching == WatchStyle::OneShot;
        if deep && may_have_children && stat.ephemeral_owner.is_none() && !maximum {
            self.ask(NodeRead::List(path.clone()), entry);
        }
    }

    fn know_parent(&mut self, parent: &ZnodePath, child: &ZnodePath) {
        if parent != child {
            self.parents.insert(parent.clone(), self.walk);
        }
    }

    fn listed(&mut self, path: &ZnodePath, names: &[String], stat: ZnodeStat, entry: PendingRead) {
        let deep = entry.walk || self.watching == WatchStyle::OneShot;
        let above = path.as_str().len() + 1;
        let bytes: usize = names.iter().map(|name| above + name.len()).sum();
        if self.pending.path_bytes() + bytes > MAX_PATH_BYTES {
            return self.unlooked(path, TOO_MANY);
        }
        let fresh = self.fresh_children(path, names);
        if deep {
            if self.is_root(path) {
                self.note_hint(path, None);
            }
            self.note_hints(&fresh);
        }
        let mut plain = Vec::new();
        let mut contenders = false;
        for child in fresh {
            if let Some(place) = self.classifier.classify(&child) {
                contenders = true;
                if !entry.walk {
                    self.note_lease(&child, &place);
                }
                self.ask(NodeRead::Node(child), entry);
            } else if deep && !child.is_servers_own() {
                if self.holds_maximum(&child) {
                    self.ask(NodeRead::Node(child.clone()), entry);
                }
                plain.push(child);
            }
        }
        let is_empty_election = is_empty_election(path, &stat, &self.expected);
        let is_known = self.is_root(path) || Classifier::is_hint(path) || self.parents.contains_key(path);
        let is_emptied = entry.walk && self.is_one_of_many_emptied(path, &stat);
        if contenders || is_empty_election || is_known {
            self.parents.insert(path.clone(), self.walk);
        }
        if contenders || is_empty_election || is_known || is_emptied {
            self.changes.push(Change::Listed { path: path.clone(), stat });
        }
        let is_counted = self.is_worth_counting(path, plain.len(), entry);
        if entry.walk && plain.len() >= REPORT_EMPTIED_FROM {
            let sampled = if is_counted && plain.len() <= MAX_EMPTIED { SAMPLED_CHILDREN } else { 0 };
            let sample = plain.iter().take(sampled).cloned().collect();
            self.wide.insert(path.clone(), WideNode { sample, emptied: 0 });
        }
        if !plain.is_empty() && path.as_str().matches('/').count() >= MAX_LEVELS {
            plain.clear();
            self.unlooked(path, TOO_DEEP);
        }
        if is_counted {
            // Emptied lock parents are among these children and must not be lost.
            plain.retain(|child| Classifier::is_hint(child) || self.parents.contains_key(child));
            self.pending.walk_count(path, entry.counted + 1, names.len());
        }
        for child in plain {
            self.ask(NodeRead::List(child), entry);
        }
    }

    /// Returns whether a listed node is empty, had children before, and has very many neighbours.
    fn is_one_of_many_emptied(&mut self, path: &ZnodePath, stat: &ZnodeStat) -> bool {
        let had_children = stat.num_children == 0 && stat.cversion > 0 && stat.has_child_history();
        let Some((above, wide)) = path.parent().and_then(|above| Some((above.clone(), self.wide.get_mut(&above)?)))
        else {
            return false;
        };
        if !had_children || stat.ephemeral_owner.is_some() || self.emptied == MAX_EMPTIED {
            return false;
        }
        self.emptied += 1;
        wide.emptied += 1;
        if !wide.sample.is_empty() && wide.emptied == SAMPLED_CHILDREN {
            self.pending.walk_counted(&above, MAX_COUNTS);
        }
        true
    }

    fn note_hints(&mut self, listing: &[ZnodePath]) {
        let hints: Vec<&ZnodePath> = listing.iter().filter(|child| Classifier::is_hint(child)).collect();
        if hints.is_empty() {
            return;
        }
        let listing = listing.iter().cloned().collect();
        for hint in hints {
            self.note_hint(hint, Some(&listing));
        }
    }

    /// Returns the children to look at. With recursive watches these are all; with one-shot watches
    /// only those that the last listing did not have, and those whose names are reused. Reports the
    /// children that are gone since the last listing.
    ///
    /// Listings have no order. In that of their numbers, new children are read from a queue's head to its
    /// end, and those that are gone are reported from its end to its head: no contender seems to
    /// acquire while another one before it is not read yet, or is gone too.
    fn fresh_children(&mut self, path: &ZnodePath, names: &[String]) -> Vec<ZnodePath> {
        if self.watching == WatchStyle::Recursive {
            return names.iter().map(|name| path.child(name)).collect();
        }
        let now = names.iter().map(|name| name.as_str().into()).collect();
        let before = self.children.insert(path.clone(), now).unwrap_or_default();
        let is_reused =
            |child: &ZnodePath| self.classifier.classify(child).is_some_and(|place| place.sequence.is_none());
        let mut fresh = Vec::new();
        for name in names {
            let child = path.child(name);
            if !before.contains(name.as_str()) || is_reused(&child) {
                fresh.push(child);
            }
        }
        fresh.sort_by_cached_key(|child| self.number(child));
        let now: FxHashSet<&str> = names.iter().map(String::as_str).collect();
        let gone = before.iter().filter(|name| !now.contains(&***name));
        let gone = self.last_first(gone.map(|name| path.child(name)));
        for gone in gone {
            self.gone(&gone, None);
        }
        fresh
    }

    fn is_worth_counting(&self, path: &ZnodePath, plain: usize, entry: PendingRead) -> bool {
        // A count of the root includes the server's own nodes.
        let possible = entry.walk && self.counts && self.watching == WatchStyle::Recursive && !path.is_root();
        possible && plain > COUNT_DESCENDANTS_ABOVE && entry.counted < MAX_COUNTS
    }

    fn counted(&mut self, path: &ZnodePath, count: usize, entry: PendingRead) {
        match entry.expected {
            None => self.pending.walk_counted(path, entry.counted),
            Some(children) if children != count => self.pending.walk_counted(path, MAX_COUNTS),
            Some(_) => {
                let sample = self.wide.get(path).map(|wide| wide.sample.clone());
                sample.into_iter().flatten().for_each(|child| self.pending.walk(NodeRead::List(child)));
            }
        }
    }

    /// Handles a read that found no node. The node may have been reported before it was deleted, or
    /// listed before its deletion was handled.
    fn absent(&mut self, path: &ZnodePath) {
        match (self.is_root(path), self.parents.contains_key(path)) {
            (true, false) => self.missing_root(path),
            (true, true) => self.gone(path, None),
            (false, _) => self.deleted(path, None),
        }
    }

    /// Requests a read that another read leads to.
    fn ask(&mut self, read: NodeRead, cause: PendingRead) {
        if cause.walk {
            self.pending.walk(read);
        } else {
            self.pending.refresh(read);
        }
    }

    /// Takes an event, with its zxid where the server gives one.
    pub fn event(&mut self, event: NodeEvent, path: &ZnodePath, zxid: Option<Zxid>) {
        self.pending.disturb(path);
        match event {
            NodeEvent::Created => self.created(path),
            NodeEvent::Deleted => self.deleted(path, zxid),
            NodeEvent::DataChanged if self.data_matter(path) => self.pending.refresh(NodeRead::Node(path.clone())),
            NodeEvent::DataChanged => {}
            NodeEvent::ChildrenChanged => self.pending.refresh(NodeRead::List(path.clone())),
        }
        self.finish_walk();
    }

    fn created(&mut self, path: &ZnodePath) {
        self.pending.outdate(path);
        self.note_hint(path, None);
        let place = self.classifier.classify(path);
        if let Some(place) = &place {
            self.contender_created(path, place);
        }
        if place.is_some() || self.holds_maximum(path) {
            self.pending.want(NodeRead::Node(path.clone()));
        }
        if self.is_root(path) {
            // The root was reported as missing; the listing reports that it exists.
            self.pending.want(NodeRead::List(path.clone()));
        }
    }

    /// Returns whether the data of a node are worth a read.
    fn data_matter(&self, path: &ZnodePath) -> bool {
        self.classifier.classify(path).is_some() || self.holds_maximum(path)
    }

    fn deleted(&mut self, path: &ZnodePath, zxid: Option<Zxid>) {
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
    fn gone(&mut self, path: &ZnodePath, zxid: Option<Zxid>) {
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
    fn last_first(&self, gone: impl Iterator<Item = ZnodePath>) -> Vec<ZnodePath> {
        let mut gone: Vec<ZnodePath> = gone.collect();
        gone.sort_by_cached_key(|child| (Reverse(self.number(child)), child.clone()));
        gone
    }

    /// Returns the number in the name of a possible contender.
    fn number(&self, path: &ZnodePath) -> Option<Sequence> {
        self.classifier.classify(path)?.sequence
    }

    /// Handles a contender that was read. Contenders created before it are reported before it.
    fn created_is_read(&mut self, path: &ZnodePath) {
        if self.walking {
            return self.created.remove(path);
        }
        let before = self.created.take_until(path).into_iter().filter(|created| created != path);
        self.changes.extend(before.map(|path| Change::Appeared { path }));
    }

    /// Handles a created contender. Its name tells its place in the queue, except in a semaphore.
    fn contender_created(&mut self, path: &ZnodePath, place: &Classification) {
        self.note_lease(path, place);
        if place.recipe.has_lease_nodes() {
            self.urgent = true;
        } else if self.watching == WatchStyle::Recursive {
            self.created.insert(path);
        }
    }

    /// Reports a created lease before it is read, because a contender that leaves the queue before
    /// the answer may own it.
    fn note_lease(&mut self, path: &ZnodePath, place: &Classification) {
        if place.role == Role::Lease {
            self.changes.push(Change::Appeared { path: path.clone() });
        }
    }

    /// Handles a node that is a hint: reports it, and lists the parents that it regroups again.
    /// Siblings in `listing` are left out, because they are looked at afterwards anyway.
    fn note_hint(&mut self, path: &ZnodePath, listing: Option<&FxHashSet<ZnodePath>>) {
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
