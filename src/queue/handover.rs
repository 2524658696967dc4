//! A semaphore's hand-over: a contender goes from its node in the queue to its lease, and is one contender all the while.
//!
//! By each recipe only the head of the queue makes a lease, and it leaves the queue when the lease is its own. The server tells
//! that in this order: the lease was created, the queue node was deleted. What is in the lease, and so whose it is, is told
//! by a read whose answer may come before the deletion or after it, or, when the lease was returned at once, never.
//!
//! | transition | what follows |
//! | --- | --- |
//! | [`lease_created`](Handover::lease_created) | it is somebody's; whose is not known before it is read |
//! | [`left_queue`](Handover::left_queue) | no lease is unread: it left. Else it waits here for those that were created before |
//! | [`left_unseen`](Handover::left_unseen) | the same for one whose node in the queue could not be read |
//! | [`lease_read`](Handover::lease_read) | it is that of the first who waits here, of the same session; or a lease of its own |
//! | [`lease_gone`](Handover::lease_gone) | unread: it was that of the head when it was created, who acquired and released |
//! | [`leases_listed`](Handover::leases_listed) | without recursive watches: all leases that there are were created |
//! | [`syncing`](Handover::syncing) | the reads that were under way are no more; everything is read anew |
//! | [`synced`](Handover::synced) | the leases that were found belong to those of their session who left the queue before |
//!
//! Whoever waits here when the last lease that may be its own is known to be another's left the queue.
//!
//! Architecture invariant: what is kept is bounded by the reads that the observer has under way, and by the contenders that one
//! reading of everything finds gone.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Contender, ContenderId, WatchEvents};

/// Who left a semaphore's queue.
#[derive(Clone, Debug)]
pub(super) struct LeaseHandover {
    pub contender: Contender,
    /// What its departure cost.
    pub cost: WatchEvents,
}

/// What tells that the lease of one who left the queue would have been seen by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// The leases up to this one were read, or are gone.
    Lease(u64),
    /// The leases were listed.
    Listed,
    /// Everything was read anew.
    Synced,
}

/// What came of a lease.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    /// Whose it is.
    pub owner: Option<LeaseHandover>,
    /// Whether it is that of one who left the queue before its node there could be read.
    pub of_unseen: bool,
    /// Who left the queue without one.
    pub left: Vec<LeaseHandover>,
}

/// Contenders of one semaphore between the queue and their leases.
#[derive(Clone, Debug, Default)]
pub(super) struct Handover {
    /// The leases that were created and not read, in that order, with who headed the queue at that time.
    unread: BTreeMap<u64, Option<ContenderId>>,
    numbers: FxHashMap<Arc<str>, u64>,
    next: u64,
    /// In the order in which they left; `None` for those whose node in the queue was gone before it could be read.
    departed: VecDeque<(Option<LeaseHandover>, Until)>,
    /// Places of the leases that were found while everything is read anew.
    found: Vec<usize>,
}

impl Handover {
    /// A lease was created, while this contender headed the queue.
    pub fn lease_created(&mut self, name: &str, maker: Option<ContenderId>) {
        self.next += 1;
        if let Some(before) = self.numbers.insert(name.into(), self.next) {
            self.unread.remove(&before);
        }
        self.unread.insert(self.next, maker);
    }

    /// The head of the queue left it. Gives it back when it is known that it has no lease; `lists` where leases are noticed by
    /// listing them, and not by an event each.
    #[must_use]
    pub fn left_queue(&mut self, departed: LeaseHandover, lists: bool) -> Option<LeaseHandover> {
        if lists {
            self.departed.push_back((Some(departed), Until::Listed));
            return None;
        }
        let Some((last, _)) = self.unread.last_key_value() else { return Some(departed) };
        self.departed.push_back((Some(departed), Until::Lease(*last)));
        None
    }

    /// Somebody left the queue whose node there could not be read.
    pub fn left_unseen(&mut self) {
        if let Some((last, _)) = self.unread.last_key_value() {
            self.departed.push_back((None, Until::Lease(*last)));
        }
    }

    /// Somebody left the queue while everything is read anew.
    pub fn left_queue_unseen(&mut self, departed: LeaseHandover) {
        self.departed.push_back((Some(departed), Until::Synced));
    }

    /// A lease was read.
    pub fn lease_read(&mut self, lease: &Contender) -> Resolved {
        let Some((number, maker)) = self.forget(&lease.node) else {
            return Resolved { owner: self.owner_of(lease), left: self.take_left(), of_unseen: false };
        };
        self.resolve(number, |departed| match (departed, &maker) {
            (Some(departed), Some(maker)) => departed.contender.id() == *maker && may_own(departed, lease),
            (Some(departed), None) => may_own(departed, lease),
            (None, maker) => maker.is_none(),
        })
    }

    /// A lease is gone, or can never be read. `None` when it had been read.
    pub fn lease_gone(&mut self, name: &str) -> Option<Resolved> {
        let (number, maker) = self.forget(name)?;
        Some(self.resolve(number, |departed| match (departed, &maker) {
            (Some(departed), Some(maker)) => departed.contender.id() == *maker,
            (departed, maker) => departed.is_none() || maker.is_none(),
        }))
    }

    /// The leases that there are were all created before this. Gives who left without one.
    pub fn leases_listed(&mut self) -> Vec<LeaseHandover> {
        self.await_unread(Until::Listed)
    }

    /// Everything is read anew.
    pub fn syncing(&mut self) {
        self.unread.clear();
        self.numbers.clear();
        self.found.clear();
        self.departed.retain(|(departed, _)| departed.is_some());
        for (_, until) in &mut self.departed {
            *until = Until::Synced;
        }
    }

    /// A lease was found while everything is read anew.
    pub fn lease_found(&mut self, slot: usize) {
        self.found.push(slot);
    }

    /// A lease that was found is gone again. Returns whether it was one.
    pub fn lease_lost(&mut self, slot: usize) -> bool {
        let at = self.found.iter().position(|found| *found == slot);
        at.map(|at| self.found.swap_remove(at)).is_some()
    }

    /// The leases that were found, once everything was read.
    pub fn take_found(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.found)
    }

    /// Whose lease it is that was found; leases in the order in which they were created.
    pub fn owner_of(&mut self, lease: &Contender) -> Option<LeaseHandover> {
        let is_its =
            |departed: &Option<LeaseHandover>| departed.as_ref().is_some_and(|departed| may_own(departed, lease));
        let at = self.departed.iter().position(|(departed, _)| is_its(departed))?;
        self.departed.remove(at)?.0
    }

    /// Some who left the queue have leases that were known before.
    pub fn have_leases(&mut self, leases: &FxHashSet<ContenderId>) {
        let has = |departed: &Option<LeaseHandover>| {
            departed.as_ref().is_some_and(|departed| leases.contains(&departed.contender.id()))
        };
        self.departed.retain(|(departed, _)| !has(departed));
    }

    /// Whether somebody left the queue whose lease is not known.
    pub fn awaits_leases(&self) -> bool {
        !self.departed.is_empty()
    }

    /// Everything was read. Gives who left without a lease.
    pub fn synced(&mut self) -> Vec<LeaseHandover> {
        self.await_unread(Until::Synced)
    }

    /// There is no such semaphore any more. Gives who left with it.
    pub fn ended(self) -> Vec<LeaseHandover> {
        self.departed.into_iter().filter_map(|(departed, _)| departed).collect()
    }

    /// Whether nobody is between the queue and a lease.
    pub fn is_idle(&self) -> bool {
        self.unread.is_empty() && self.departed.is_empty() && self.found.is_empty()
    }

    /// Those who waited for this wait now for the leases that were created and are not read.
    fn await_unread(&mut self, for_this: Until) -> Vec<LeaseHandover> {
        let last = self.unread.last_key_value().map_or(0, |(last, _)| *last);
        for (_, until) in self.departed.iter_mut().filter(|(_, until)| *until == for_this) {
            *until = Until::Lease(last);
        }
        self.take_left()
    }

    /// The number of a lease that is not unread any more, and who headed the queue when it was created.
    fn forget(&mut self, name: &str) -> Option<(u64, Option<ContenderId>)> {
        let number = self.numbers.remove(name)?;
        Some((number, self.unread.remove(&number)?))
    }

    /// The lease of that number is that of the first of these who left after it was created.
    fn resolve(&mut self, number: u64, is_its: impl Fn(Option<&LeaseHandover>) -> bool) -> Resolved {
        let left_before = |until: &Until| matches!(until, Until::Lease(last) if *last < number);
        let at = self.departed.iter().position(|(departed, until)| !left_before(until) && is_its(departed.as_ref()));
        let found = at.and_then(|at| self.departed.remove(at));
        let of_unseen = matches!(found, Some((None, _)));
        Resolved { owner: found.and_then(|(departed, _)| departed), of_unseen, left: self.take_left() }
    }

    fn take_left(&mut self) -> Vec<LeaseHandover> {
        let first = self.unread.first_key_value().map_or(u64::MAX, |(first, _)| *first);
        let has_left = |until: &Until| matches!(until, Until::Lease(last) if *last < first);
        if !self.departed.iter().any(|(_, until)| has_left(until)) {
            return Vec::new();
        }
        let (left, stays): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.departed).into_iter().partition(|(_, until)| has_left(until));
        self.departed = stays;
        left.into_iter().filter_map(|(departed, _)| departed).collect()
    }
}

/// Whether a lease may be that of one who left the queue.
fn may_own(departed: &LeaseHandover, lease: &Contender) -> bool {
    departed.contender.session == lease.session && departed.contender.czxid < lease.czxid
}
