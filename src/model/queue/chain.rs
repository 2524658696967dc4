//! The turns in a queue: which contender waits behind which, who holds as a result, and how many
//! watch events an arrival or a departure costs.
//!
//! The first part derives this from the order. The second part inserts contenders into the order,
//! removes them, and marks the holders.

use std::ops::Range;

use slab::Slab;

use super::compact::{OrderKey, RankedKeys, run};
use super::hold::Hold;
use super::{Contender, ContenderRow, ContenderState, LockQueue, WatchEvents};
use lockscope_base::recipe::{LockKind, Recipe, RequestMode, Role, WaitRule};
use lockscope_base::znode::{Sequence, Timestamp};

/// Maximum number of earlier nodes of one attempt that are looked at. More are the work of no
/// library.
const MAX_OF_ATTEMPT: usize = 16;

impl LockQueue {
    /// Returns how many contenders, counted from the front, hold the lock.
    fn count_holders(&self) -> usize {
        let len = self.order().len();
        match self.kind() {
            _ if len == 0 || self.head_wait().is_some() => 0,
            LockKind::Semaphore => match self.leases_in_queue() {
                Some(leases) => len.min(leases),
                None => self.leases() - usize::from(self.is_pending()),
            },
            LockKind::ReadWrite => match self.leading_readers() {
                0 => 1 + self.readers_under_own_write(),
                readers => readers,
            },
            LockKind::Exclusive | LockKind::Election | LockKind::SingleNode => 1,
        }
    }

    /// Returns the position of the request that a waiting request of a read/write lock waits for.
    fn awaited_by_request(&self, position: usize) -> Option<usize> {
        let key = self.order().get(position)?;
        if !self.is_reader(key) {
            let before = position.checked_sub(1)?;
            // A contender behind a write lock and its own thread's reads watches the write lock.
            // Those reads bear the write's number.
            return Some(if before <= self.readers_under_own_write() { 0 } else { before });
        }
        match self.reader_waits_for(position) {
            WaitRule::LowestWriter => Some(self.leading_readers()).filter(|writer| *writer < position),
            WaitRule::NearestWriter => self.nearest_writer(position, key),
        }
    }

    /// Returns the rule of the reader at a position, by the library that made its node.
    fn reader_waits_for(&self, position: usize) -> WaitRule {
        let node = self.contender_at(position).map_or("", |reader| &*reader.node);
        self.recipe().reader_waits_for(node)
    }

    /// Returns the names of the nodes right before the contender at `position` that must go before
    /// its turn, in queue order. Returns at most `most` names.
    ///
    /// A writer [waits directly](Self::waits_for) for the last reader before it, and also for every
    /// other reader in that run.
    pub fn blockers(&self, position: usize, most: usize) -> Vec<&str> {
        if position < self.holding() || self.kind() != LockKind::ReadWrite {
            return self.waits_for(position, most);
        }
        match self.readers_awaited_by_writer(position) {
            readers if readers.is_empty() => self.waits_for(position, most),
            readers => readers.take(most).filter_map(|at| self.contender_at(at)).map(|reader| &*reader.node).collect(),
        }
    }

    /// Returns the positions of the run of readers right before a writer. The range is empty where
    /// the writer waits for another writer.
    fn readers_awaited_by_writer(&self, position: usize) -> Range<usize> {
        let none = position..position;
        let Some(key) = self.order().get(position).filter(|key| !self.is_reader(*key)) else { return none };
        // The writer waits for the write lock under which these readers read.
        if position <= self.readers_under_own_write() + 1 && self.readers_under_own_write() > 0 {
            return none;
        }
        let rank = self.readers().rank(key);
        let readers = run(rank, |back| self.order().get(position - back - 1) == self.readers().get(rank - back - 1));
        position - readers..position
    }

    /// Returns the position of the last writer before a reader.
    fn nearest_writer(&self, position: usize, key: OrderKey) -> Option<usize> {
        let rank = self.readers().rank(key);
        let between = run(rank, |back| self.order().get(position - back - 1) == self.readers().get(rank - back - 1));
        position.checked_sub(between + 1)
    }

    /// Returns the positions of the last and the first writer before a reader of a read/write lock;
    /// none for all others.
    ///
    /// A client that watches either is woken, whichever of them its recipe watches.
    pub fn writers_before(&self, position: usize) -> [Option<usize>; 2] {
        let reader = self.order().get(position);
        let Some(key) = reader.filter(|key| self.kind() == LockKind::ReadWrite && self.is_reader(*key)) else {
            return [None, None];
        };
        let first = Some(self.leading_readers()).filter(|writer| *writer < position);
        [self.nearest_writer(position, key), first]
    }

    /// Returns the cost in watch events when the contender at `position` leaves.
    pub(super) fn cost_of_removal(&self, position: usize) -> WatchEvents {
        let chain = match self.kind() {
            LockKind::SingleNode => return WatchEvents::default(),
            LockKind::Semaphore => usize::from(self.someone_waits_behind(position)),
            LockKind::ReadWrite => self.watchers_of_request(position),
            LockKind::Exclusive | LockKind::Election => usize::from(position + 1 < self.order().len()),
        };
        WatchEvents { herd: self.other_waiters(position) as u64, chain: chain as u64 }
    }

    /// Returns the cost in watch events when a contender arrives: one for each waiter in a herd,
    /// none in a chain.
    pub(super) fn cost_of_arrival(&self) -> WatchEvents {
        match self.kind() {
            LockKind::SingleNode => WatchEvents::default(),
            _ => WatchEvents { herd: self.behind() as u64, chain: 0 },
        }
    }

    fn other_waiters(&self, position: usize) -> usize {
        self.behind() - usize::from(position >= self.holding() && position < self.order().len())
    }

    fn someone_waits_behind(&self, position: usize) -> bool {
        if position < self.holding() { self.behind() > 0 } else { position + 1 < self.order().len() }
    }

    /// Returns how many contenders watch the request at `position` when each watches its
    /// predecessor.
    fn watchers_of_request(&self, position: usize) -> usize {
        let Some(key) = self.order().get(position) else { return 0 };
        // Nobody watches the reads under a write lock: the contender behind them watches the write.
        let own_reads = self.readers_under_own_write();
        let behind = if position == 0 { own_reads + 1 } else { position + 1 };
        let next_is_writer = self.order().get(behind).is_some_and(|next| !self.is_reader(next));
        if self.is_reader(key) {
            return usize::from(next_is_writer && (position == 0 || position > own_reads));
        }
        let under_it = if position == 0 { own_reads } else { 0 };
        let behind = || self.readers().len() - self.readers().rank(key) - under_it;
        let lowest = || if position == self.leading_readers() { behind() } else { 0 };
        let nearest = || self.readers_right_behind(position, key);
        // The rules of the first and the last reader stand for all. Where they differ, readers of
        // two libraries are mixed, and the dearer rule is a bound.
        let readers = match self.rules_of_readers() {
            Some((WaitRule::LowestWriter, WaitRule::LowestWriter)) => lowest(),
            Some((WaitRule::NearestWriter, WaitRule::NearestWriter)) => nearest(),
            Some(_) => lowest().max(nearest()),
            None => 0,
        };
        readers + usize::from(next_is_writer)
    }

    /// Returns the rules of the first and the last reader; `None` without readers.
    fn rules_of_readers(&self) -> Option<(WaitRule, WaitRule)> {
        let rule = |rank: usize| {
            let reader = self.contender(self.readers().get(rank)?.slot as usize)?;
            Some(self.recipe().reader_waits_for(&reader.node))
        };
        Some((rule(0)?, rule(self.readers().len().checked_sub(1)?)?))
    }

    fn readers_right_behind(&self, position: usize, key: OrderKey) -> usize {
        let first = self.readers().rank(key);
        let (order, readers): (&RankedKeys, &RankedKeys) = (self.order(), self.readers());
        run(readers.len() - first, |ahead| order.get(position + 1 + ahead) == readers.get(first + ahead))
    }

    /// Returns how many read requests stand before the first write request.
    pub(super) fn leading_readers(&self) -> usize {
        run(self.readers().len(), |rank| self.order().get(rank) == self.readers().get(rank))
    }

    /// Returns whether a read request may hold although it stands behind a write of its own
    /// session.
    ///
    /// Curator lets a thread read under its own write lock. Up to Curator 5.4.0 (measured), such a
    /// read gets a number of its own. Nothing in the tree tells it from a read by another thread of
    /// the same session, which has to wait.
    fn may_hold_under_own_write(&self, contender: &Contender) -> bool {
        let own = |first: OrderKey| {
            let writer = self.contender(first.slot as usize);
            !self.is_reader(first) && writer.is_some_and(|writer| writer.session() == contender.session())
        };
        self.recipe() == Recipe::CuratorReadWrite
            && contender.mode == RequestMode::Read
            && contender.session().is_some()
            && self.order().get(0).is_some_and(own)
    }

    /// Returns how many reads the first writer holds under its own write lock.
    ///
    /// Curator after 5.4.0 creates such a read as an ephemeral node with the writer's number.
    fn readers_under_own_write(&self) -> usize {
        let Some(first) = self.order().get(0).filter(|first| !self.is_reader(*first)) else { return 0 };
        let Some(writer) = self.contender(first.slot as usize) else { return 0 };
        let own = |position| {
            self.row(position).is_some_and(|row| {
                let Some(key) = self.order().get(position) else { return false };
                self.is_reader(key)
                    && row.contender.sequence == writer.sequence
                    && row.contender.session() == writer.session()
            })
        };
        (1..self.order().len()).take_while(|position| own(*position)).count()
    }

    /// Returns the row at a position. Logarithmic in the length of the queue.
    pub fn row(&self, position: usize) -> Option<ContenderRow<'_>> {
        let contender = self.contender_at(position)?;
        let state = match position < self.holding() {
            true => ContenderState::Holds,
            // Kazoo's `Party` and lists of members look like queues.
            false if self.is_assumed() || self.may_hold_under_own_write(contender) => ContenderState::Unknown,
            false => ContenderState::Waits,
        };
        let mode = match contender.mode {
            RequestMode::Exclusive if self.kind() == LockKind::ReadWrite => RequestMode::Write,
            mode => mode,
        };
        Some(ContenderRow { position, contender, mode, state })
    }

    /// Returns the rows of a window of positions. Takes time proportional to the window, not the
    /// queue.
    pub fn rows(&self, window: Range<usize>) -> impl Iterator<Item = ContenderRow<'_>> {
        let end = window.end.min(self.len());
        (window.start.min(end)..end).filter_map(|position| self.row(position))
    }

    /// Returns the names of the nodes that the contender at `position` waits for directly, at most
    /// `most` of them.
    ///
    /// Only a contender that waits for a semaphore's lease has more than one.
    pub fn waits_for(&self, position: usize, most: usize) -> Vec<&str> {
        if position < self.holding() || position >= self.len() {
            return Vec::new();
        }
        if let Some(wait) = self.head_wait().filter(|_| position == 0) {
            return vec![&wait.node];
        }
        let leases = 0..self.holding().min(most);
        let awaited = match self.kind() {
            // A lease that is not held yet: its client waits until one of the leases before it
            // goes.
            LockKind::Semaphore if position < self.leases() => leases,
            // Without lease nodes the first contenders hold, and the first one behind them waits
            // for any.
            LockKind::Semaphore if self.leases_in_queue() == Some(position) => leases,
            // The head of a queue with lease nodes waits for a lease only if all are taken.
            // Everybody behind it waits for the contender before it, as in a mutex.
            LockKind::Semaphore
                if position == self.leases() && !self.is_pending() && self.recipe().has_lease_nodes() =>
            {
                let full = self.maximum().is_some_and(|maximum| self.holding() >= maximum as usize);
                if full { leases } else { 0..0 }
            }
            LockKind::ReadWrite => match self.awaited_by_request(position) {
                Some(awaited) => awaited..awaited + 1,
                None => 0..0,
            },
            _ => {
                let awaited = self.first_of_attempt(position.saturating_sub(1));
                awaited..awaited + 1
            }
        };
        let awaited = awaited.take(most).filter_map(|position| self.contender_at(position));
        awaited.map(|contender| &*contender.node).collect()
    }

    /// Returns the position of the first of several nodes of one attempt, where the library goes on
    /// with the first, and so the next in line watches that one.
    fn first_of_attempt(&self, position: usize) -> usize {
        if !self.recipe().keeps_first_of_attempt() {
            return position;
        }
        let id = |position| Some(Sequence::split(&self.contender_at(position)?.node)?.0);
        let own = id(position);
        let before = (0..position).rev().take(MAX_OF_ATTEMPT);
        before.take_while(|before| id(*before) == own).last().unwrap_or(position)
    }

    /// Returns the cost of the next release in watch events; `None` for single-node locks, whose
    /// waiters are not in the tree.
    ///
    /// With several holders, this is the last release before the next waiter's turn.
    pub fn watch_cost(&self) -> Option<WatchEvents> {
        match (self.kind(), self.holding().checked_sub(1)) {
            (LockKind::SingleNode, _) => None,
            (_, None) => Some(WatchEvents::default()),
            (_, Some(last_holder)) => Some(self.cost_of_removal(last_holder)),
        }
    }
}

/// A lock reserves room for at most its number of contenders divided by this.
const SPARE_FRACTION: usize = 8;

impl LockQueue {
    /// Inserts a contender and returns its slot. [`Self::update_holders`] determines its state.
    ///
    /// Order: a semaphore's queue node that its lease hides is shown before any key is compared,
    /// and `update_holders` hides it again. So it is called after every insertion, change of place
    /// and removal.
    pub(super) fn insert(&mut self, contender: Contender) -> usize {
        self.show_hidden_node();
        let (role, mode, returned) = (contender.role, contender.mode, contender.returned);
        if self.contenders.len() == self.contenders.capacity() {
            // A plain `insert` would double the memory.
            self.contenders.reserve_exact(1 + self.contenders.len() / SPARE_FRACTION);
        }
        let slot = self.contenders.insert(contender);
        let key = self.key(slot);
        self.order.insert(key);
        if mode == RequestMode::Read {
            self.reader_came(key);
        }
        if role == Role::Lease {
            self.rare_mut().leases += 1;
        }
        if returned {
            self.rare_mut().returned += 1;
        }
        slot
    }

    /// Changes a contender in a way that may change its place. [`Self::update_holders`] determines
    /// its state.
    pub(super) fn change_place(&mut self, slot: usize, change: impl FnOnce(&mut Contender)) {
        self.show_hidden_node();
        let before = self.key(slot);
        change(&mut self.contenders[slot]);
        let after = self.key(slot);
        let replace = |keys: &mut RankedKeys| {
            if keys.get(keys.rank(before)) == Some(before) {
                keys.remove(before);
                keys.insert(after);
            }
        };
        replace(&mut self.order);
        self.readers_mut().map(replace);
    }

    /// Removes a contender.
    pub(super) fn remove(&mut self, slot: usize) -> Option<Contender> {
        if !self.contenders.contains(slot) {
            return None;
        }
        self.show_hidden_node();
        let key = self.key(slot);
        self.order.remove(key);
        if let Some(readers) = self.readers_mut() {
            readers.remove(key);
        }
        let contender = self.contenders.remove(slot);
        if let Some(rare) = &mut self.rare {
            rare.leases -= usize::from(contender.role == Role::Lease);
            rare.returned -= usize::from(contender.returned);
        }
        if contender.holds() {
            self.holding = self.holding.saturating_sub(1);
        }
        if self.contenders.is_empty() {
            // Frees the memory of a queue that was once long.
            self.contenders = Slab::new();
        }
        Some(contender)
    }

    /// Frees the memory that a complete reading left over, once the number of contenders is known.
    pub(super) fn release_spare_memory(&mut self) {
        if self.contenders.capacity() > self.contenders.len() + 1 + self.contenders.len() / SPARE_FRACTION {
            self.contenders.shrink_to_fit();
        }
        self.order.release_spare_memory();
        if let Some(readers) = self.readers_mut() {
            readers.release_spare_memory();
        }
    }

    /// Determines the holders after one contender came (to the slot `came`) or went.
    ///
    /// Calls `acquired` for each new holder; `hold` is recorded for it. Holders always come first,
    /// before and after. So only the contenders between the old and the new end, and the one that
    /// came, can have changed.
    pub(super) fn update_holders(&mut self, came: Option<usize>, hold: Hold, acquired: impl FnMut(&Contender)) {
        self.hide_pending_head();
        let (before, now) = (self.holding(), self.count_holders());
        let changed = before.min(now)..(before.max(now) + 1);
        let came = came.and_then(|slot| self.position_of_slot(slot)).filter(|position| !changed.contains(position));
        self.mark(came.into_iter().chain(changed), now, hold, acquired);
    }

    /// Determines the holders after any number of contenders came or went. Linear in the queue.
    pub(super) fn update_all_holders(&mut self, hold: Hold, acquired: impl FnMut(&Contender)) {
        self.hide_pending_head();
        self.mark(0..self.len(), self.count_holders(), hold, acquired);
    }

    /// Notes that those who wait did not hold at this time. A reading may add contenders that were
    /// not seen before: it is known of those for which `is_known` holds.
    pub(super) fn wait_at(&mut self, at: Timestamp, is_known: impl Fn(&Contender) -> bool) {
        for position in self.holding()..self.len() {
            let Some(key) = self.order.get(position) else { continue };
            let contender = &mut self.contenders[key.slot as usize];
            if !contender.hold.is_held() && is_known(contender) {
                contender.hold = Hold::NotAt(at);
            }
        }
    }

    fn mark(
        &mut self,
        positions: impl Iterator<Item = usize>,
        now: usize,
        hold: Hold,
        mut acquired: impl FnMut(&Contender),
    ) {
        let any_returned = self.returned() > 0;
        for position in positions {
            let Some(key) = self.order.get(position) else { continue };
            let contender = &mut self.contenders[key.slot as usize];
            match (position < now, contender.holds()) {
                // The contender held all along, and its acquisition was reported.
                (true, false) if contender.displaced => contender.displaced = false,
                (true, false) => {
                    contender.hold = hold.following(contender.hold);
                    acquired(contender);
                }
                (false, true) if any_returned && !contender.returned => contender.displaced = true,
                (false, true) => contender.hold = Hold::No,
                _ => {}
            }
        }
        self.holding = u32::try_from(now).unwrap_or(u32::MAX);
    }
}
