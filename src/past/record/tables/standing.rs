//! The present contenders, and those that ended and are not written yet.
//!
//! Events say what happened, and nearly all rows follow from them. Three things do not:
//!
//! - After a gap no event tells what happened in it, so `compare` looks at the whole table.
//! - When the kind of a parent becomes known, for example that of a semaphore, the contenders
//!   belong to another lock: the records of the former lock are set aside as *displaced*, and taken
//!   up when the other lock has them.
//! - What else went missing is found at a flush, by counting: `mend` looks again at a lock whose
//!   number of contenders differs three times in a row. Once is no error, because a contender of a
//!   semaphore that goes from the queue to its lease is briefly in neither.
//!
//! A contender has one record at a time: in its lock, displaced, unfinished from an earlier run, or
//! ended. A look marks the records that it finds with its number; those with an older number are
//! gone.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::contender::{
    ContenderEnd, ContenderRecord, EventTime, RecordedClient, RecordedLock, RowSource, find, held_since,
};
use super::resume::Unfinished;
use super::trace::Tracer;
use super::unsettled::UnsettledEnds;
use lockscope_base::recipe::{LockKind, RequestMode};
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::{
    ContenderId, ContenderRow, ContenderState, Deleter, Happening, LockEvent, LockId, LockName, LockQueue, LockTable,
};

/// The most ended contenders kept while the disk is full; beyond it the oldest are lost.
const MAX_ENDED: usize = 200_000;

/// Consecutive mismatches after which the contenders of a lock are repaired.
const MAX_FLUSHES_WRONG: u8 = 3;

#[derive(Clone, Debug)]
struct LockStanding {
    lock: Arc<RecordedLock>,
    /// The records, boxed because a map with one entry reserves room for four.
    contenders: FxHashMap<ContenderId, Box<ContenderRecord>>,
    /// For how many flushes in a row the table had another number of contenders.
    flushes_wrong: u8,
}

/// Tracks contenders: [`Happening`]s go in, rows come out. Memory grows with the present
/// contenders.
#[derive(Clone, Debug)]
pub struct StandingContenders {
    no_data: bool,
    source: RowSource,
    next_id: i64,
    locks: FxHashMap<LockId, LockStanding>,
    /// Contenders that ended since the last flush, in order.
    pub ended: Vec<ContenderRecord>,
    /// How many of `ended` were lost.
    pub lost: usize,
    /// Contenders that are new or changed since they were last written.
    changed: Vec<(LockId, ContenderId)>,
    /// Records that an earlier run left open, until everything was read.
    pub unfinished: Unfinished,
    /// Contenders of locks that are gone, whose own end was not seen.
    displaced: FxHashMap<ContenderId, Box<ContenderRecord>>,
    /// Ends for which it is not known yet whether the session had expired.
    pub unsettled: UnsettledEnds,
    /// The number of the last look at the whole table.
    look: u32,
    /// Makes spans, if they are wanted.
    pub tracer: Tracer,
}

impl StandingContenders {
    pub fn new(no_data: bool, unfinished: Unfinished, next_id: i64) -> Self {
        Self {
            no_data,
            source: RowSource::default(),
            next_id,
            locks: FxHashMap::default(),
            ended: Vec::new(),
            lost: 0,
            changed: Vec::new(),
            unfinished,
            displaced: FxHashMap::default(),
            unsettled: UnsettledEnds::default(),
            look: 0,
            tracer: Tracer::default(),
        }
    }

    /// Sets where the records come from.
    pub fn set_source(&mut self, source: RowSource) {
        self.source = source;
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.locks.values().map(|lock| lock.contenders.len()).sum()
    }

    /// Records an event of a lock; the table is in the state after it.
    pub fn happened(&mut self, happening: &Happening, table: &LockTable, moment: EventTime) {
        let Some(name) = &happening.lock else { return };
        if happening.event == LockEvent::LockGone {
            // The remaining contenders belong to another lock, because the kind of their parent is
            // known now.
            let left = self.locks.remove(&name.id).map(|lock| lock.contenders).unwrap_or_default();
            self.tracer.displaced(left.values().map(|record| &**record));
            self.displaced.extend(left);
            return;
        }
        let Some(id) = &happening.contender else { return };
        if happening.event == LockEvent::Settled {
            return self.unsettled.expired(id);
        }
        let is_new = self.record(name.id, id).is_none();
        if is_new {
            self.begins(happening, name, id, table, moment);
        }
        let row = find(table, name.id, id, happening.node.as_deref());
        let no_data = self.no_data;
        let Some(record) = self.locks.get_mut(&name.id).and_then(|lock| lock.contenders.get_mut(id)) else { return };
        let changes = match &row {
            Some(row) => record.reread(*row, table, no_data),
            None => record.names_client(&happening.client, no_data),
        };
        record.node = happening.node.clone().unwrap_or_else(|| Arc::clone(&record.node));
        record.session = happening.session.or(record.session);
        match happening.event {
            LockEvent::Acquired => {
                let between = row
                    .filter(|_| moment.unseen_since.is_some())
                    .and_then(|row| held_since(row, table, moment, record.first_seen_at));
                record.acquires(between.unwrap_or(moment.bounds()));
                self.tracer.acquired(record);
            }
            LockEvent::Waits => record.acquired = None,
            LockEvent::Expired => return self.ends(name.id, id, ContenderEnd::Expired, moment),
            LockEvent::Released | LockEvent::Left => {
                record.deleted_by = happening.deleter.and_then(Deleter::session);
                let end = match (ContenderEnd::proven_by(happening), moment.unseen_since) {
                    (Some(end), _) => end,
                    (None, Some(_)) => ContenderEnd::Unknown,
                    (None, None) => self.unsettled.gone(record, happening),
                };
                return self.ends(name.id, id, end, moment);
            }
            _ if !changes && !is_new => return,
            _ => {}
        }
        self.changes(name.id, id);
    }

    fn record(&self, lock: LockId, id: &ContenderId) -> Option<&ContenderRecord> {
        self.locks.get(&lock)?.contenders.get(id).map(|record| &**record)
    }

    /// Queues a contender for one of the next flushes.
    fn changes(&mut self, lock: LockId, id: &ContenderId) {
        let record = self.locks.get_mut(&lock).and_then(|lock| lock.contenders.get_mut(id));
        if let Some(record) = record.filter(|record| !record.is_listed) {
            record.is_listed = true;
            record.source = record.source.and(self.source);
            self.changed.push((lock, id.clone()));
        }
    }

    /// Starts the record of a contender that was unknown in its lock until this event.
    fn begins(
        &mut self,
        happening: &Happening,
        name: &LockName,
        id: &ContenderId,
        table: &LockTable,
        moment: EventTime,
    ) {
        let enqueued_at = match (happening.event, happening.waited_ms, moment.unseen_since) {
            (LockEvent::Enqueued, _, None) => Some(moment.at),
            (_, Some(waited), None) => {
                Some(Timestamp(moment.at.0.saturating_sub(i64::try_from(waited).unwrap_or(i64::MAX))))
            }
            _ => None,
        };
        let lock = table.lock(name.id);
        self.lock_entry(name, lock);
        let Some(standing) = self.locks.get_mut(&name.id) else { return };
        if let Some(record) = self.displaced.remove(id) {
            // The contender came from another lock; its hold there may not count here.
            let lock = Arc::clone(&standing.lock);
            let record = ContenderRecord { lock, acquired: None, is_listed: false, ..*record };
            standing.contenders.insert(id.clone(), record.into());
            return;
        }
        let row = self.next_id;
        self.next_id += 1;
        let record = ContenderRecord {
            id: row,
            lock: Arc::clone(&standing.lock),
            client: RecordedClient::default(),
            session: happening.session,
            first_seen_at: moment.at,
            enqueued_at,
            acquired: None,
            ended: None,
            end: ContenderEnd::Open,
            deleted_by: None,
            source: self.source,
            mode: RequestMode::Exclusive,
            node: happening.node.clone().unwrap_or_else(|| Arc::clone(&id.node)),
            czxid: Some(id.czxid).filter(|czxid| czxid.0 >= 0),
            data: None,
            is_listed: false,
            look: self.look,
        };
        standing.contenders.insert(id.clone(), record.into());
    }

    /// Updates the name of the lock.
    fn lock_entry(&mut self, name: &LockName, lock: Option<&LockQueue>) {
        let (recipe, kind) =
            lock.map_or(("unknown-queue", LockKind::Exclusive), |lock| (lock.recipe().id(), lock.kind()));
        let is_same = |known: &LockStanding| known.lock.name == name.name && known.lock.recipe == recipe;
        if self.locks.get(&name.id).is_some_and(is_same) {
            return;
        }
        let (path, own_name) = (name.path.clone(), name.name.clone());
        let lock = Arc::new(RecordedLock { path, name: own_name, recipe, kind: kind.id() });
        match self.locks.get_mut(&name.id) {
            Some(known) => known.lock = lock,
            None => {
                self.locks.insert(name.id, LockStanding { lock, contenders: FxHashMap::default(), flushes_wrong: 0 });
            }
        }
    }

    fn ends(&mut self, lock: LockId, id: &ContenderId, end: ContenderEnd, moment: EventTime) {
        let Some(standing) = self.locks.get_mut(&lock) else { return };
        if let Some(mut record) = standing.contenders.remove(id) {
            record.ends(end, moment.bounds());
            record.source = record.source.and(self.source);
            self.push_ended(*record);
        }
        if self.locks.get(&lock).is_some_and(|lock| lock.contenders.is_empty()) {
            self.locks.remove(&lock);
        }
    }

    fn push_ended(&mut self, record: ContenderRecord) {
        self.tracer.ended(&record);
        if self.ended.len() >= MAX_ENDED {
            let lost = MAX_ENDED / 10;
            self.ended.drain(..lost);
            self.lost += lost;
        }
        self.ended.push(record);
    }

    /// Compares the whole table with the records, after everything was read. Missing contenders
    /// have ended since; new ones were there before. Linear in the number of contenders.
    pub fn compare(&mut self, table: &LockTable, moment: EventTime) {
        self.look = self.look.wrapping_add(1);
        for lock in table.locks() {
            self.look_at(lock, table, moment);
        }
        let (look, mut gone) = (self.look, Vec::new());
        self.locks.retain(|_, lock| {
            gone.extend(lock.contenders.extract_if(|_, record| record.look != look).map(|(_, record)| *record));
            !lock.contenders.is_empty()
        });
        gone.extend(self.displaced.drain().map(|(_, record)| *record));
        gone.extend(self.unfinished.remove_rest());
        self.end_unseen(gone, moment);
    }

    /// Looks again at locks whose number of contenders has differed from the records for a while.
    /// Either a node was no contender after all, or it belongs to another lock because the kind of
    /// their parent is known now. A contender of a semaphore that is between the queue and its
    /// lease is briefly in neither.
    fn mend(&mut self, table: &LockTable, moment: EventTime) {
        let stand = |lock: &LockQueue| lock.len() - lock.returned();
        self.look = self.look.wrapping_add(1);
        if !self.displaced.is_empty() {
            for lock in table.locks() {
                if stand(lock) > self.locks.get(&lock.id()).map_or(0, |known| known.contenders.len()) {
                    self.look_at(lock, table, moment);
                }
            }
        }
        let mut wrong = Vec::new();
        for (id, known) in &mut self.locks {
            let differs = table.lock(*id).map_or(0, stand) != known.contenders.len();
            known.flushes_wrong = if differs { known.flushes_wrong.saturating_add(1) } else { 0 };
            if known.flushes_wrong >= MAX_FLUSHES_WRONG {
                wrong.push(*id);
            }
        }
        let mut gone: Vec<_> = self.displaced.drain().map(|(_, record)| *record).collect();
        for id in wrong {
            if let Some(lock) = table.lock(id) {
                self.look_at(lock, table, moment);
            }
            let look = self.look;
            let Some(known) = self.locks.get_mut(&id) else { continue };
            known.flushes_wrong = 0;
            gone.extend(known.contenders.extract_if(|_, record| record.look != look).map(|(_, record)| *record));
            if known.contenders.is_empty() {
                self.locks.remove(&id);
            }
        }
        self.end_unseen(gone, moment);
    }

    /// Ends the records of contenders that vanished unseen.
    fn end_unseen(&mut self, gone: Vec<ContenderRecord>, moment: EventTime) {
        for mut record in gone {
            record.ends(ContenderEnd::Unknown, moment.bounds());
            record.source = record.source.and(self.source);
            self.push_ended(record);
        }
    }

    pub fn look_at(&mut self, lock: &LockQueue, table: &LockTable, moment: EventTime) {
        let (look_number, no_data, name) = (self.look, self.no_data, lock.lock_name());
        // Returned nodes were deleted before.
        for row in lock.rows(0..lock.len()).filter(|row| !row.contender.returned) {
            let id = row.contender.id();
            self.lock_entry(&name, Some(lock));
            let mut changed = false;
            if self.record(lock.id(), &id).is_none() {
                let before = self
                    .displaced
                    .remove(&id)
                    .map(|record| *record)
                    .or_else(|| self.unfinished.remove(&name, row.contender));
                let own_lock = self.locks.get(&lock.id()).map(|standing| Arc::clone(&standing.lock));
                let Some(own_lock) = own_lock else { continue };
                let record = match before {
                    Some(record) => ContenderRecord { lock: own_lock, is_listed: false, ..record },
                    None => self.found(own_lock, row, table, moment),
                };
                if let Some(standing) = self.locks.get_mut(&lock.id()) {
                    standing.contenders.insert(id.clone(), record.into());
                }
                changed = true;
            }
            let Some(record) = self.locks.get_mut(&lock.id()).and_then(|lock| lock.contenders.get_mut(&id)) else {
                continue;
            };
            record.look = look_number;
            changed |= record.reread(row, table, no_data);
            if row.state == ContenderState::Holds && record.acquired.is_none() {
                record.acquires(held_since(row, table, moment, record.first_seen_at).unwrap_or(moment.bounds()));
                self.tracer.acquired(record);
                changed = true;
            }
            if changed {
                self.changes(lock.id(), &id);
            }
        }
    }

    /// Creates the record of a contender that was already there.
    fn found(
        &mut self,
        lock: Arc<RecordedLock>,
        row: ContenderRow<'_>,
        table: &LockTable,
        moment: EventTime,
    ) -> ContenderRecord {
        let id = self.next_id;
        self.next_id += 1;
        let contender = row.contender;
        ContenderRecord {
            id,
            lock,
            client: RecordedClient::default(),
            session: contender.session(),
            first_seen_at: moment.at,
            enqueued_at: Some(contender.contends_since(table.clock().ahead_ms())),
            acquired: None,
            ended: None,
            end: ContenderEnd::Open,
            deleted_by: None,
            source: self.source,
            mode: row.mode,
            node: Arc::clone(&contender.node),
            czxid: None,
            data: None,
            is_listed: false,
            look: self.look,
        }
    }

    /// Repairs what the events did not report, and takes the due rows: contenders that ended, and
    /// contenders that were present at the last flush and have changed.
    pub fn take_due(&mut self, table: &LockTable, moment: EventTime, seen_until: Timestamp) -> Vec<ContenderRecord> {
        if moment.unseen_since.is_none() {
            self.mend(table, moment);
        }
        let mut due = std::mem::take(&mut self.ended);
        for key in std::mem::take(&mut self.changed) {
            let (lock, id) = &key;
            let Some(record) = self.locks.get_mut(lock).and_then(|lock| lock.contenders.get_mut(id)) else { continue };
            if record.first_seen_at > seen_until {
                self.changed.push(key);
                continue;
            }
            // The node may have been read since.
            if let Some(row) = find(table, *lock, id, Some(&*record.node)) {
                record.reread(row, table, self.no_data);
            }
            self.tracer.stood(record);
            due.push(ContenderRecord::clone(record));
            record.is_listed = record.czxid.is_none();
            if record.is_listed {
                self.changed.push(key);
            }
        }
        due
    }
}
