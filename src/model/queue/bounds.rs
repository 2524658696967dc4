//! How long somebody has held at the least and at the most, also where the beginning was not seen.
//!
//! A contender begins to hold when its node is created or when another's node is deleted; who holds goes on until its own node
//! is deleted. From the first reading on every deletion is seen. Of the time before:
//!
//! | evidence | what follows |
//! | --- | --- |
//! | the holder's node | nobody holds before its node is created |
//! | the lock parent's `pzxid`, the transaction that last created or deleted a child, is not later than the creation of a node | no child was deleted since that node was created: who holds now held then, or from its own creation on |
//! | the parent's `cversion` is the number of its children | no child of it was ever deleted: who holds now has held since its creation, but for a lease that is older than the parent of the queue, which may have been made anew |
//! | a lease, and one behind it in their order | only the last lease may be one whose owner still queues: the first has been held since the other was created |
//! | a single node | who creates it holds it |
//!
//! `pzxid` knows the parent, not the queue: the children of other queues of the same parent, and those that are no contenders,
//! count. A deletion among them makes the bound looser, never wrong. Nothing is claimed of a node that [was deleted and is
//! shown again](super::Contender::returned).
//!
//! The stats come with what is read anyway. A lock that was handed on has no lower bound from before the first look where nothing that
//! is read was created afterwards: a stat numbers the last deletion, and does not date it.
//!
//! The evidence rests on the leader's clock going forward, and on how far this machine's clock is ahead of it (`clock`). That is taken
//! from nodes that are created before our eyes; before there are some, from when the server of our own session accepted our connection,
//! which it tells when it is asked about itself. Where neither is known, or before the first answer, the clocks are taken to agree: a
//! bound is then wrong by as much as they differ.

use super::clock::Clock;
use super::hold::{Hold, HoldBounds, LastHandover, TransactionTimes};
use super::parent::Listing;
use super::{Contender, LockId, LockQueue, LockTable};
use lockscope_base::recipe::{LockKind, Recipe};
use lockscope_base::znode::{Sequence, Timestamp, ZnodePath};

/// After these times, by the servers' clock, nothing of a lock was deleted before it was read; `None` where that is not proven.
#[derive(Clone, Copy, Debug)]
struct Undisturbed {
    /// Among those of its nodes by which somebody holds.
    holders: Option<Timestamp>,
    /// Among those who queue.
    queue: Option<Timestamp>,
}

impl LockTable {
    /// How long a contender has held; `None` for who does not hold, or whose node was deleted and is shown again.
    ///
    /// `now` is by this machine's clock. What the table says of holders was true when it [was last](LockTable::last_true) live.
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
        let proven = proven.map(|since| self.clock.server_at_least(now).since(since)).unwrap_or_default();
        let at_least = proven.max(watched);
        let at_most = self.clock.server_at_most(now).since(created).max(at_least);
        Some(HoldBounds { at_least, at_most })
    }

    /// How long a holder had held when it was first seen; `None` for one that was seen to acquire,
    /// and where nobody can have held before it. How the holder before it ended is not in the tree.
    pub fn held_before_seen(&self, lock: &LockQueue, contender: &Contender, now: Timestamp) -> Option<HoldBounds> {
        let found = contender.found_holding().filter(|_| !contender.returned)?;
        let listing = self.parents.get(lock.path()).and_then(|parent| parent.listing);
        let is_first = contender.sequence == Some(Sequence(0)) || listing.is_some_and(|listing| !listing.any_deleted);
        let HoldBounds { at_least, at_most } = self.hold_bounds(contender, now).filter(|_| !is_first)?;
        let watched = now.since(found.at);
        Some(HoldBounds { at_least: at_least.saturating_sub(watched), at_most: at_most.saturating_sub(watched) })
    }

    /// Since when, by the servers' clock, it is proven that nobody was given this lock and no holder of it gave it back; `None` while nobody
    /// holds it. It is the earliest such time that is known.
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
        // One of several holders may have gone since.
        let last = lock.last_handover.as_deref()?;
        let gone = match (last.seen(), last.proven(), last.read()) {
            (Some(seen), ..) => self.clock.server_at_most(seen),
            (None, Some(proven), _) => proven,
            (None, None, Some(read)) => self.clock.server_at_most(read),
            (None, None, None) => return None,
        };
        Some(latest.max(gone))
    }

    /// By the servers' clock.
    fn holds_since_at_latest(&self, holder: &Contender) -> Option<Timestamp> {
        if holder.returned {
            return None;
        }
        if let Some(since) = holder.acquired_at() {
            return Some(self.clock.server_at_most(since));
        }
        let found = holder.found_holding()?;
        let read = self.clock.server_at_most(found.at);
        Some(found.proven.map_or(read, |proven| proven.min(read)))
    }

    /// A node was deleted. What its parent's stat says may be older than that, while everything is being read.
    pub(super) fn note_child_deleted(&mut self, path: &ZnodePath) {
        if !self.is_syncing() {
            return;
        }
        let epoch = self.epoch;
        let parent = path.parent_str().and_then(|parent| self.parents.get_mut(parent));
        if let Some(listing) = parent.and_then(|parent| parent.listing.as_mut()) {
            (listing.epoch, listing.disturbed) = (epoch, true);
        }
    }

    /// Everything was read, and it is settled who holds: finds out what the stats say of the time before.
    pub(super) fn prove_holds(&mut self, now: Timestamp) {
        let times = self.transaction_times();
        let ids: Vec<LockId> = self.names.values().copied().collect();
        for id in ids {
            let Some(held) = self.locks.get(&id).filter(|lock| lock.holding() > 0) else { continue };
            let undisturbed = self.undisturbed(held, &times);
            if let Some(lock) = self.locks.get_mut(&id) {
                if let Some(last) = lock.last_handover() {
                    last.was_read(now, undisturbed.holders);
                }
                lock.prove_holds(undisturbed);
            }
        }
    }

    fn transaction_times(&self) -> TransactionTimes {
        let contenders = self.locks.values().flat_map(|lock| lock.contenders.iter());
        let read = contenders.filter(|(_, contender)| contender.is_read());
        let created = read.map(|(_, contender)| (contender.czxid, contender.created_at));
        let parents = self.parents.values().filter_map(|parent| parent.listing.map(Listing::node));
        let mut times = Vec::with_capacity(self.contenders + self.parents.len());
        times.extend(created.chain(parents.map(|node| (node.czxid, node.created_at))));
        TransactionTimes::new(times)
    }

    fn undisturbed(&self, lock: &LockQueue, times: &TransactionTimes) -> Undisturbed {
        match lock.kind() {
            LockKind::SingleNode => Undisturbed { holders: None, queue: None },
            LockKind::Semaphore => Undisturbed {
                holders: self.undisturbed_since(&lock.lease_parent(), times),
                queue: self.undisturbed_since(&lock.queue_path(), times),
            },
            _ => {
                let since = self.undisturbed_since(lock.path(), times);
                Undisturbed { holders: since, queue: since }
            }
        }
    }

    /// No child of this node was deleted after that time, up to now.
    fn undisturbed_since(&self, parent: &ZnodePath, times: &TransactionTimes) -> Option<Timestamp> {
        let listing = self.parents.get(parent)?.listing.filter(|listing| listing.epoch == self.epoch)?;
        match listing {
            Listing { disturbed: true, .. } => None,
            // Of its own children: it may have been deleted itself while it was empty, and made anew, as containers are.
            Listing { any_deleted: false, .. } => Some(listing.node().created_at),
            Listing { last, .. } => times.after(last),
        }
    }
}

impl LockQueue {
    /// Somebody was seen to acquire it or to give it back.
    pub(super) fn handed_over(&mut self, now: Timestamp) {
        if let Some(last) = self.last_handover() {
            last.was_seen(now);
        }
    }

    /// What is kept of its last hand-over, where several may hold it at once.
    fn last_handover(&mut self) -> Option<&mut LastHandover> {
        // Of kazoo's locks only a reader tells that there may be several.
        let several = matches!(self.family().kind(), LockKind::ReadWrite | LockKind::Semaphore)
            || self.family() == Recipe::KazooLock;
        several.then(|| &mut **self.last_handover.get_or_insert_default())
    }

    fn prove_holds(&mut self, undisturbed: Undisturbed) {
        let kind = self.kind();
        let head = self.semaphore_head().map(|head| (head.session(), head.czxid));
        // The lease behind the one that is looked at.
        let mut behind = self.order.get(self.holding()).filter(|_| self.is_pending());
        for position in (0..self.holding()).rev() {
            let Some(key) = self.order.get(position) else { continue };
            let next = behind.replace(key).and_then(|next| self.contenders.get(next.slot as usize));
            let next_came = next.map(|next| next.created_at);
            let Some(holder) = self.contenders.get_mut(key.slot as usize) else { continue };
            let since = match kind {
                LockKind::SingleNode => Some(holder.created_at),
                LockKind::Semaphore => {
                    // Its owner queued last by a node that is gone, unless it is the one that heads the queue now.
                    let is_heads =
                        head.is_some_and(|(session, came)| session == holder.session() && came < holder.czxid);
                    let queue = undisturbed.queue.filter(|_| !is_heads);
                    [next_came, queue].into_iter().flatten().min()
                }
                _ => undisturbed.holders,
            };
            let since = since.map(|since| since.max(holder.created_at));
            if let Hold::Found(found) = &mut holder.hold
                && !holder.returned
            {
                found.proven = found.proven.into_iter().chain(since).min();
            }
        }
    }
}

impl Clock {
    /// The servers' clock shows this or later when this machine's shows `now`.
    fn server_at_least(&self, now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_sub(self.ahead_at_most()))
    }

    /// The servers' clock shows this or earlier when this machine's shows `now`.
    fn server_at_most(&self, now: Timestamp) -> Timestamp {
        Timestamp(now.0.saturating_sub(self.ahead_at_least()))
    }
}
