//! Compares the reports of one observer with what has happened: why its next report is not true,
//! and what it has not reported.
//!
//! The history has the life of each node that a session owns or owned, in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::ensemble::{Author, Commit, Committed};
use crate::program::{ProgramReport, ShownQueue};
use lockscope_base::znode::Sequence;
use lockscope_model::queue::LockEvent;
use lockscope_sandbox::parts::{name, parent};

/// A node, by its place in the history.
type LifeId = usize;

/// The place of a node in its queue: its number, and the transaction that created it.
pub type Rank = (Option<i32>, i64);

/// The life of a node.
#[derive(Clone, Debug, Hash)]
pub struct Life {
    pub path: Arc<str>,
    pub lock: Arc<str>,
    pub czxid: i64,
    pub owner: i64,
    /// The place of its creation in the log.
    pub began: usize,
    /// Whether it was the first of its queue at any time.
    pub was_first: bool,
    pub end: Option<ReportedEnd>,
}

/// The end of a node.
#[derive(Clone, Copy, Debug, Hash)]
pub struct ReportedEnd {
    pub zxid: i64,
    /// Its place in the log.
    pub at: usize,
    /// Whether it is that of the session.
    pub by_expiry: bool,
}

/// What happens to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReportKind {
    Joins,
    Acquires,
    Ends,
}

/// The lives of all nodes that sessions own or owned.
#[derive(Clone, Debug, Default, Hash)]
pub struct ReportHistory {
    lives: Vec<Life>,
    at_path: BTreeMap<Arc<str>, Vec<LifeId>>,
    /// The nodes of each lock that exist.
    queues: BTreeMap<Arc<str>, BTreeMap<Rank, LifeId>>,
    /// What has happened. The changes of one transaction are told one after the other.
    pub log: Vec<(ReportKind, LifeId)>,
}

impl ReportHistory {
    pub fn life(&self, id: LifeId) -> &Life {
        &self.lives[id]
    }

    /// Returns the nodes that have had a path, oldest first.
    pub fn at_path(&self, path: &str) -> &[LifeId] {
        self.at_path.get(path).map_or(&[], Vec::as_slice)
    }

    /// Returns the node that a transaction created at a path.
    pub fn find(&self, path: &str, czxid: i64) -> Option<LifeId> {
        self.at_path(path).iter().copied().find(|id| self.life(*id).czxid == czxid)
    }

    pub fn add(&mut self, commit: &Commit) {
        for change in &commit.changes {
            match change {
                Committed::Created { path, owner: Some(owner) } => self.created(path, commit.zxid, *owner),
                Committed::Deleted { path, czxid, owner: Some(_), .. } => {
                    let Some(id) = self.find(path, *czxid) else { continue };
                    let by_expiry = matches!(commit.by, Author::Expiry(_));
                    self.lives[id].end = Some(ReportedEnd { zxid: commit.zxid, at: self.log.len(), by_expiry });
                    self.log.push((ReportKind::Ends, id));
                    let lock = Arc::clone(&self.life(id).lock);
                    self.queues.entry(Arc::clone(&lock)).or_default().remove(&(number(path), *czxid));
                    self.note_first(&lock);
                }
                _ => {}
            }
        }
    }

    fn created(&mut self, path: &Arc<str>, czxid: i64, owner: i64) {
        let (id, lock) = (self.lives.len(), lock_of(path));
        self.lives.push(Life {
            path: Arc::clone(path),
            lock: Arc::clone(&lock),
            czxid,
            owner,
            began: self.log.len(),
            was_first: false,
            end: None,
        });
        self.log.push((ReportKind::Joins, id));
        self.at_path.entry(Arc::clone(path)).or_default().push(id);
        self.queues.entry(Arc::clone(&lock)).or_default().insert((number(path), czxid), id);
        self.note_first(&lock);
    }

    fn note_first(&mut self, lock: &str) {
        let Some(first) = self.queues.get(lock).and_then(|queue| queue.values().next().copied()) else { return };
        if !std::mem::replace(&mut self.lives[first].was_first, true) {
            self.log.push((ReportKind::Acquires, first));
        }
    }
}

/// Returns the path of a node's lock: its parent, or itself if it has no number.
pub fn lock_of(path: &Arc<str>) -> Arc<str> {
    if number(path).is_none() { Arc::clone(path) } else { parent(path).unwrap_or_default().into() }
}

pub fn number(path: &str) -> Option<i32> {
    Sequence::split(name(path)).map(|(_, number)| number.0)
}

/// What an observer has reported.
#[derive(Clone, Debug, Default, Hash)]
pub struct Reports {
    /// The nodes that it found or reported as joined, and did not report as ended, by lock.
    present: BTreeMap<Arc<str>, BTreeMap<Rank, LifeId>>,
    /// The nodes that it has reported as joined, or has found.
    joined: BTreeSet<LifeId>,
    acquired: BTreeSet<LifeId>,
    ended: BTreeSet<LifeId>,
    /// The nodes that were reported before they were read, by the number that stands for the
    /// transaction.
    unread: BTreeMap<(Arc<str>, i64), LifeId>,
    /// The places in the log of the latest node that was reported as joined, and of the latest end.
    last_join: usize,
    last_end: usize,
    /// Whether it has told that the connection was lost, and not that it is back.
    is_disconnected: bool,
    /// Whether it has told of a cut, and not that everything was read again. What happens during a
    /// cut has no order.
    pub is_cut: bool,
    /// The number of cuts that it has told the end of.
    pub resyncs: u32,
    /// The connections that it may still report as lost.
    pub losses: u32,
    /// What happened before this place of the log need not be reported each for itself: it may have
    /// been missed in a cut, or before the first reading.
    pub told_from: usize,
}

impl Reports {
    /// Returns whether a report is missing of something that happened at or after this place of the
    /// log.
    pub fn lacks(&self, history: &ReportHistory, kind: ReportKind, id: LifeId, from: usize) -> bool {
        let told = match kind {
            ReportKind::Joins => &self.joined,
            ReportKind::Acquires => &self.acquired,
            ReportKind::Ends => &self.ended,
        };
        let life = history.life(id);
        // A single node that is gone before it was read may have been anything, unless there was a
        // lock at its path before.
        let is_guess = || {
            let mut before = history.at_path(&life.path).iter().take_while(|before| **before != id);
            number(&life.path).is_none() && life.end.is_some() && !before.any(|before| self.joined.contains(before))
        };
        !told.contains(&id) && (self.joined.contains(&id) || life.began >= from && !is_guess())
    }

    /// Takes over what the first complete reading found. Returns a node that does not exist.
    pub fn found(&mut self, history: &ReportHistory, queues: &[ShownQueue]) -> Option<Arc<str>> {
        for queue in queues {
            for (place, (path, czxid, _)) in queue.nodes.iter().enumerate() {
                if queue.returned.contains(path) {
                    continue;
                }
                let Some(id) = history.find(path, *czxid) else { return Some(Arc::clone(path)) };
                self.joins(history, id);
                if place < queue.holding {
                    self.acquired.insert(id);
                }
            }
        }
        (self.is_cut, self.told_from) = (false, history.log.len());
        None
    }

    fn joins(&mut self, history: &ReportHistory, id: LifeId) {
        let life = history.life(id);
        self.joined.insert(id);
        self.present.entry(Arc::clone(&life.lock)).or_default().insert((number(&life.path), life.czxid), id);
    }

    /// Returns how a settled table differs from what was reported, as a part of a sentence.
    pub fn differs(&self, history: &ReportHistory, queues: &[ShownQueue]) -> Option<String> {
        let mut shown = 0;
        for queue in queues {
            for (place, (path, czxid, owner)) in queue.nodes.iter().enumerate() {
                if queue.returned.contains(path) {
                    continue;
                }
                let known =
                    history.find(path, *czxid).filter(|id| self.joined.contains(id) && !self.ended.contains(id));
                let Some(id) = known else {
                    return Some(format!("{path}, which it has not reported as joined, or has reported as gone"));
                };
                if *owner != Some(history.life(id).owner) {
                    return Some(format!("{path} with the owner {owner:?}"));
                }
                if queue.returned.is_empty() && (place < queue.holding) != self.acquired.contains(&id) {
                    return Some(format!("{path} as a holder, or as none, and reports differently"));
                }
                shown += 1;
            }
            if queue.holding != 1 {
                return Some(format!("{} holders of {}", queue.holding, queue.lock));
            }
        }
        let present: usize = self.present.values().map(BTreeMap::len).sum();
        (present != shown).then(|| format!("{shown} nodes, and has reported {present}"))
    }

    /// Adds a report. Returns why it is not true.
    pub fn wrong(
        &mut self,
        history: &ReportHistory,
        report: &ProgramReport,
        rest: &[ProgramReport],
        is_recursive: bool,
    ) -> Option<&'static str> {
        match report.event {
            LockEvent::Enqueued => self.wrong_join(history, report, rest, is_recursive),
            LockEvent::Acquired => self.wrong_turn(history, report),
            LockEvent::Released | LockEvent::Left | LockEvent::Expired => self.wrong_end(history, report, is_recursive),
            LockEvent::Disconnected => {
                let wrong = if self.is_disconnected {
                    Some("that was reported before")
                } else if self.losses == 0 {
                    Some("no connection was lost")
                } else {
                    None
                };
                self.losses = self.losses.saturating_sub(1);
                (self.is_disconnected, self.is_cut) = (true, true);
                wrong
            }
            LockEvent::Reconnected => {
                let was_lost = std::mem::take(&mut self.is_disconnected);
                (!was_lost).then_some("no loss was reported")
            }
            LockEvent::Overloaded => {
                self.is_cut = true;
                None
            }
            LockEvent::Resynced => {
                let was_cut = std::mem::take(&mut self.is_cut);
                self.resyncs += 1;
                (self.last_join, self.last_end, self.told_from) = (0, 0, history.log.len());
                if self.is_disconnected {
                    Some("there is no connection")
                } else {
                    (!was_cut).then_some("no cut was reported")
                }
            }
            LockEvent::Waits => Some("no client that stands first waits"),
            LockEvent::Settled => Some("no server was asked"),
            LockEvent::LockFound | LockEvent::LockGone => None,
        }
    }

    /// Returns the node that a report means.
    fn life(&self, history: &ReportHistory, report: &ProgramReport) -> Option<LifeId> {
        match report.czxid {
            unread if unread < 0 => self.unread.get(&(Arc::clone(&report.path), unread)).copied(),
            czxid => history.find(&report.path, czxid),
        }
    }

    /// Returns the node that joins without being read: the one that ends as a later report says, or
    /// the oldest of its path that was not reported and can still have been there.
    fn unread_life(&self, history: &ReportHistory, report: &ProgramReport, rest: &[ProgramReport]) -> Option<LifeId> {
        let at_path = history.at_path(&report.path);
        let left = at_path.iter().copied().filter(|id| !self.joined.contains(id));
        let is_same = |later: &&ProgramReport| later.czxid == report.czxid && later.path == report.path;
        let end = rest.iter().filter(is_same).find_map(|later| later.deleted_by);
        let by_end = left.clone().find(|id| history.life(*id).end.is_some_and(|found| Some(found.zxid) == end));
        let is_there = |id: &LifeId| history.life(*id).end.is_none_or(|end| end.at >= self.told_from);
        by_end.or_else(|| left.clone().find(is_there)).or_else(|| left.clone().next_back())
    }

    fn wrong_join(
        &mut self,
        history: &ReportHistory,
        report: &ProgramReport,
        rest: &[ProgramReport],
        is_recursive: bool,
    ) -> Option<&'static str> {
        let is_read = report.czxid >= 0;
        let life = if is_read { self.life(history, report) } else { self.unread_life(history, report, rest) };
        let Some(id) = life else { return Some("there was no such node") };
        let life = history.life(id);
        if !is_read {
            self.unread.insert((Arc::clone(&report.path), report.czxid), id);
        } else if report.session != Some(life.owner) {
            return Some("another session owns it");
        }
        if self.comes_back(id, report) {
            self.ended.remove(&id);
            self.acquired.remove(&id);
        } else if self.joined.contains(&id) {
            return Some("that was reported before");
        }
        self.joins(history, id);
        let is_late = is_recursive && !self.is_cut && life.began < self.last_join;
        self.last_join = self.last_join.max(life.began);
        is_late.then_some("a later node was reported before it")
    }

    /// Returns whether a node that was gone before it was read may look new: a member that lags shows
    /// it again after a cut.
    fn comes_back(&self, id: LifeId, report: &ProgramReport) -> bool {
        let was_unread = || self.unread.values().any(|unread| *unread == id);
        self.is_cut && report.czxid >= 0 && self.ended.contains(&id) && was_unread()
    }

    fn wrong_turn(&mut self, history: &ReportHistory, report: &ProgramReport) -> Option<&'static str> {
        let Some(id) = self.life(history, report) else { return Some("there was no such node") };
        let life = history.life(id);
        let present = self.present.get(&life.lock);
        if !self.joined.contains(&id) || self.ended.contains(&id) {
            Some("it is not in the queue")
        } else if !self.acquired.insert(id) {
            Some("that was reported before")
        } else if !life.was_first {
            Some("it was never the first")
        } else if present.and_then(|queue| queue.values().next()) != Some(&id) {
            Some("one before it was not reported as gone")
        } else {
            None
        }
    }

    fn wrong_end(
        &mut self,
        history: &ReportHistory,
        report: &ProgramReport,
        is_recursive: bool,
    ) -> Option<&'static str> {
        let Some(id) = self.life(history, report) else { return Some("there was no such node") };
        let life = history.life(id);
        if !self.joined.contains(&id) {
            return Some("it was not reported as joined");
        }
        if !self.ended.insert(id) {
            return Some("that was reported before");
        }
        let queue = self.present.entry(Arc::clone(&life.lock)).or_default();
        queue.remove(&(number(&life.path), life.czxid));
        let left = queue.len();
        let Some(end) = life.end else { return Some("it still exists") };
        let is_late = is_recursive && !self.is_cut && end.at < self.last_end;
        self.last_end = self.last_end.max(end.at);
        let has_acquired = self.acquired.contains(&id);
        if report.event == LockEvent::Expired && !end.by_expiry {
            Some("its session lived")
        } else if report.event == LockEvent::Released && !has_acquired {
            Some("it never held")
        } else if report.event == LockEvent::Left && has_acquired {
            Some("it held")
        } else if report.event != LockEvent::Expired && end.by_expiry && !report.may_have_expired {
            Some("its session expired")
        } else if report.deleted_by.is_some_and(|by| by != end.zxid) {
            Some("another transaction deleted it")
        } else if report.deleted_by.is_none() && report.event != LockEvent::Expired && is_recursive && !self.is_cut {
            Some("the transaction that deleted it is known")
        } else if report.queue != left {
            Some("it leaves another number of nodes behind")
        } else {
            is_late.then_some("a later end was reported before it")
        }
    }
}
