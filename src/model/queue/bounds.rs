//! Bounds for how long a contender has held its lock, even when its acquisition was not seen, and
//! for how long a parent that was found empty has been empty.
//!
//! A contender becomes a holder when its own node is created or when another node is deleted. It
//! stays a holder until its own node is deleted. The table sees every deletion after the first
//! complete reading. For the time before that reading, the stats are evidence:
//!
//! | evidence | conclusion |
//! | --- | --- |
//! | the holder's node | nobody holds before their own node is created |
//! | the lock parent's `pzxid` (the transaction that last created or deleted a child) is not later than the creation of a node | no child was deleted after that creation: today's holder held at that time, or has held since its own creation |
//! | the parent's `cversion` equals its number of children | no child was ever deleted: today's holder has held since its creation. Exception: a lease that is older than the queue's parent, since that parent may have been recreated |
//! | a lease with another lease behind it | only the last lease can belong to a contender that still queues: the first lease has been held since the other was created |
//! | a single node | its creator holds the lock |
//! | a contender waited when the connection was cut, or at a reading | it did not hold then |
//!
//! `pzxid` covers the whole parent, not one queue: children of the parent's other queues and
//! children that are no contenders count too. A deletion among them makes the bound looser, never
//! wrong. No bound is given for a node that [was deleted and is shown
//! again](super::Contender::returned).
//!
//! The stats arrive with reads that are needed anyway, so the bounds cost no requests. A stat tells
//! the transaction of the last deletion but not its time. So the lower bound of a lock that was
//! handed over starts at the first reading, unless some node that is read was created after the
//! hand-over.
//!
//! Two conditions must hold: the leader's clock never goes backwards, and the difference between
//! this machine's clock and the leader's is known ([`Clock`]). The difference is estimated from
//! nodes that are created while the table is live. Before the first such node it comes from our own
//! server, which reports when it accepted our connection. Without either, the clocks are assumed to
//! agree, and a bound is wrong by as much as they differ.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::hold::{Clock, HoldBounds, LastHandover, TransactionTimes};
use super::parent::{ChildListing, Locks, Parent};
use super::{Contender, LockQueue};
use lockscope_base::recipe::{LockKind, Recipe};
use lockscope_base::znode::{Timestamp, ZnodePath};

/// Times, by the servers' clock, after which none of a lock's nodes was deleted up to the reading.
/// `None` where the stats do not prove such a time.
#[derive(Clone, Copy, Debug)]
struct Undisturbed {
    /// The time for the nodes of holders (a semaphore's leases).
    holders: Option<Timestamp>,
    /// The time for the nodes in the queue.
    queue: Option<Timestamp>,
}

impl Clock {
    /// Returns how long a contender has held its lock.
    ///
    /// Returns `None` for a contender that does not hold, and for one whose node was deleted and is
    /// shown again. `now` is by this machine's clock. The set of holders is as of
    /// [`last_true`](super::LockTable::last_true).
    pub fn hold_bounds(&self, contender: &Contender, now: Timestamp) -> Option<HoldBounds> {
        if !contender.holds() || contender.returned {
            return None;
        }
        if let Some(since) = contender.acquired_at() {
            return Some(HoldBounds::exact(now.since(since)));
        }
        let (created, found) = (contender.created_at, contender.found_holding());
        let watched = found.map(|found| now.since(found.at)).unwrap_or_default();
        let proven = found.and_then(|found| found.proven);
        if proven == Some(created) {
            return Some(HoldBounds::exact(self.server_time(now).since(created).max(watched)));
        }
        let proven = proven.map(|since| self.server_at_least(now).since(since)).unwrap_or_default();
        let at_least = proven.max(watched);
        let since_not = contender.hold.not_at().map_or(Duration::MAX, |not_at| now.since(not_at));
        let at_most = self.server_at_most(now).since(created).min(since_not).max(at_least);
        Some(HoldBounds { at_least, at_most })
    }

    /// Returns the time, by the servers' clock, since which this lock had no hand-over: no
    /// acquisition and no release.
    ///
    /// This is the earliest time that can be proven. Returns `None` while the lock has no holder.
    pub fn no_handover_since(&self, lock: &LockQueue) -> Option<Timestamp> {
        let holders = lock.rows(0..lock.holding()).map(|row| row.contender);
        let mut latest: Option<Timestamp> = None;
        for holder in holders {
            latest = latest.max(Some(self.holds_since_at_latest(holder)?));
        }
        let latest = latest?;
        if !matches!(lock.kind(), LockKind::ReadWrite | LockKind::Semaphore) {
            return Some(latest);
        }
        // Another of several holders may have released the lock after that.
        let last = lock.last_handover.as_deref()?;
        let gone = match (last.seen(), last.proven(), last.read()) {
            (Some(seen), ..) => self.server_at_most(seen),
            (None, Some(proven), _) => proven,
            (None, None, Some(read)) => self.server_at_most(read),
            (None, None, None) => return None,
        };
        Some(latest.max(gone))
    }

    /// Returns the latest time, by the servers' clock, at which this holder can have acquired.
    fn holds_since_at_latest(&self, holder: &Contender) -> Option<Timestamp> {
        if holder.returned {
            return None;
        }
        if let Some(since) = holder.acquired_at() {
            return Some(self.server_at_most(since));
        }
        let found = holder.found_holding()?;
        let read = self.server_at_most(found.at);
        Some(found.proven.map_or(read, |proven| proven.min(read)))
    }

    /// Converts a time of this machine's clock to the servers' clock, for comparison with times
    /// that the servers wrote ([`Contender::created_at`](super::Contender::created_at)).
    #[must_use]
    pub fn server_time(&self, now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_sub(self.ahead_ms()))
    }

    /// Returns the earliest time that the servers' clock can show when this machine's clock shows
    /// `now`.
    fn server_at_least(&self, now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_sub(self.ahead_at_most()))
    }

    /// Returns the latest time that the servers' clock can show when this machine's clock shows
    /// `now`.
    fn server_at_most(&self, now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_sub(self.ahead_at_least()))
    }
}

/// Derives what the stats prove about the current holds. Called at the end of a complete reading
/// with this epoch, once the holders are known.
pub fn prove_holds(
    locks: &mut Locks,
    parents: &FxHashMap<ZnodePath, Parent>,
    times: &TransactionTimes,
    epoch: u32,
    now: Timestamp,
) {
    for lock in locks.values_mut().filter(|lock| lock.holding() > 0) {
        let undisturbed = Undisturbed::of(lock, |parent| {
            let listing = parents.get(parent)?.listing.filter(|listing| listing.epoch == epoch)?;
            listing.undisturbed_since(times)
        });
        if let Some(last) = lock.last_handover() {
            last.was_read(now, undisturbed.holders);
        }
        lock.prove_holds(undisturbed);
    }
}

impl TransactionTimes {
    /// Collects the times of all nodes that were read.
    pub fn of(locks: &Locks, parents: &FxHashMap<ZnodePath, Parent>) -> Self {
        let contenders = locks.values().flat_map(|lock| lock.contenders.iter());
        let read = contenders.filter(|(_, contender)| contender.is_read());
        let created = read.map(|(_, contender)| (contender.czxid, contender.created_at));
        let parents = parents.values().filter_map(|parent| parent.listing.map(ChildListing::node));
        Self::new(created.chain(parents.map(|node| (node.czxid, node.created_at))).collect())
    }
}

impl Undisturbed {
    fn of(lock: &LockQueue, since: impl Fn(&ZnodePath) -> Option<Timestamp>) -> Self {
        match lock.kind() {
            LockKind::SingleNode => Self { holders: None, queue: None },
            LockKind::Semaphore if lock.family().has_lease_nodes() => {
                Self { holders: since(&lock.lease_parent()), queue: since(&lock.queue_path()) }
            }
            _ => {
                let since = since(lock.path());
                Self { holders: since, queue: since }
            }
        }
    }
}

impl ChildListing {
    /// Returns a time after which no child was deleted, up to the reading.
    fn undisturbed_since(self, times: &TransactionTimes) -> Option<Timestamp> {
        match self {
            Self { disturbed: true, .. } => None,
            // This covers the parent's children only. The parent itself may have been deleted while
            // it was empty, and recreated, as containers are.
            Self { any_deleted: false, .. } => Some(self.node().created_at),
            Self { last, .. } => times.after(last),
        }
    }
}

impl LockQueue {
    /// Returns whether an acquisition or a release of this lock was seen since everything was last
    /// read. A waiter that leaves is neither.
    pub fn was_handed_on_since_read(&self) -> bool {
        let mut holders = self.rows(0..self.holding()).map(|row| row.contender);
        holders.any(|holder| holder.acquired_at().is_some())
            || self.last_handover.as_deref().is_some_and(|last| last.seen() > last.read())
    }

    /// Records that the lock was acquired or released at `now`.
    pub(super) fn handed_over(&mut self, now: Timestamp) {
        if let Some(last) = self.last_handover() {
            last.was_seen(now);
        }
    }

    /// Returns the record of the last hand-over. Only locks with several possible holders keep one.
    fn last_handover(&mut self) -> Option<&mut LastHandover> {
        // Before a reader shows up, kazoo's exclusive and write locks look alike.
        let several = matches!(self.family().kind(), LockKind::ReadWrite | LockKind::Semaphore)
            || self.family() == Recipe::KazooLock;
        several.then(|| &mut **self.last_handover.get_or_insert_default())
    }

    fn prove_holds(&mut self, undisturbed: Undisturbed) {
        let (kind, has_lease_nodes) = (self.kind(), self.family().has_lease_nodes());
        let head = self.semaphore_head().map(|head| (head.session(), head.czxid));
        // The lease behind the one that this iteration looks at.
        let mut behind = self.order.get(self.holding()).filter(|_| self.is_pending());
        for position in (0..self.holding()).rev() {
            let Some(key) = self.order.get(position) else { continue };
            let next = behind.replace(key).and_then(|next| self.contenders.get(next.slot as usize));
            let next_came = next.map(|next| next.created_at);
            let Some(holder) = self.contenders.get_mut(key.slot as usize) else { continue };
            let since = match kind {
                // The node of a lock whose data is a time is older than the lock.
                LockKind::SingleNode => Some(holder.created_at).filter(|_| holder.locked_until().is_none()),
                LockKind::Semaphore if has_lease_nodes => {
                    // The owner's last node in the queue is gone, unless the owner heads the queue
                    // right now.
                    let is_heads =
                        head.is_some_and(|(session, came)| session == holder.session() && came < holder.czxid);
                    let queue = undisturbed.queue.filter(|_| !is_heads);
                    [next_came, queue].into_iter().flatten().min()
                }
                _ => undisturbed.holders,
            };
            let since = since.map(|since| since.max(holder.created_at));
            if !holder.returned {
                holder.hold.prove(since);
            }
        }
    }
}
