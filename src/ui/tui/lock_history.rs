//! The history of each lock: its holders and waiters, how long they held or waited, how that ended,
//! and the findings. Pure.
//!
//! Each lock has a history of its own, so a busy lock displaces no entries of a quiet one. Memory
//! is bounded: at most 200 entries of one lock and 20 000 of all locks. Above the total, the lock
//! with the most entries drops its oldest. An entry takes a few hundred bytes, so all of them take
//! a few megabytes.
//!
//! An entry is a stay in the queue, or a finding.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use lockscope_base::recipe::RequestMode;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};
use lockscope_model::diagnose::Finding;
use lockscope_model::queue::{
    ClientIdentity, Contender, ContenderId, GONE, Happening, HoldBounds, LockEvent, LockId, LockTable,
};

#[cfg(test)]
mod tests;

/// Maximum bytes of a contender's data in an entry.
const MAX_DATA: usize = 64;

/// An entry of a lock's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryEntry {
    /// The stay of a contender that held the lock, or that left without having held it.
    Stay(Stay),
    /// A finding.
    Finding {
        /// When the finding was raised, by this machine's clock; `None` once the time was
        /// forgotten.
        raised_at: Option<Timestamp>,
        /// When the finding was cleared; `None` while it stands.
        cleared_at: Option<Timestamp>,
        finding: Arc<Finding>,
    },
}

impl HistoryEntry {
    /// Returns when the entry ended, as far as known.
    pub fn ended_at(&self) -> Option<Timestamp> {
        match self {
            Self::Stay(stay) => Some(stay.until),
            Self::Finding { cleared_at, .. } => *cleared_at,
        }
    }
}

/// How a stay in the queue ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StayEnd {
    /// The contender still holds.
    Open,
    /// The holder's node is gone, and nothing proves that its session expired: the client released
    /// it, or another client deleted it.
    HolderGone,
    /// The session expired.
    Expired,
    /// A waiter's node is gone before its turn, and nothing proves that its session expired.
    WaiterGone,
    /// The node was deleted from this console.
    Deleted,
}

impl StayEnd {
    /// Returns the name in JSON and on the screen.
    pub fn id(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::HolderGone | Self::WaiterGone => GONE,
            Self::Expired => "expired",
            Self::Deleted => "deleted",
        }
    }

    /// Returns the end that an event means for the contender; `None` for other events.
    fn of(event: LockEvent) -> Option<Self> {
        match event {
            LockEvent::Released => Some(Self::HolderGone),
            LockEvent::Expired => Some(Self::Expired),
            LockEvent::Left => Some(Self::WaiterGone),
            _ => None,
        }
    }
}

/// A contender's stay in the queue of a lock, from its arrival to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stay {
    /// The name of the contender's last node.
    pub node: Arc<str>,
    pub contender: Option<ContenderId>,
    pub session: Option<SessionId>,
    /// The client, as far as it was known at the end.
    pub client: ClientIdentity,
    /// Further details; `None` for a contender that was gone before it could be read.
    pub known: Option<Box<StayDetails>>,
    /// How long the contender waited before it held or left; `None` where the wait was not seen.
    pub waited: Option<Duration>,
    /// How long the contender held; `None` when it never did.
    pub held: Option<HoldBounds>,
    /// When the stay ended or, while it lasts, the time up to which it is counted; by this
    /// machine's clock.
    pub until: Timestamp,
    pub end: StayEnd,
    /// Whether the stay ended at some unknown time before `until`, while there was no connection.
    pub end_unseen: bool,
    /// Whether the session may have expired instead of a release; the tree cannot tell.
    pub may_have_expired: bool,
}

/// The details of a contender that are read while it is in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StayDetails {
    pub mode: RequestMode,
    /// The beginning of the data, if the data is text.
    pub data: Option<String>,
    /// When the node was created, by the server's clock.
    pub created_at: Timestamp,
    /// When the contender was seen to arrive, by this machine's clock; `None` if it was there at
    /// the first look.
    pub came_at: Option<Timestamp>,
    /// When the contender was seen to acquire, by this machine's clock; `None` if it never did, or
    /// held at the first look.
    pub acquired_at: Option<Timestamp>,
}

impl Stay {
    /// Creates the stay of a contender that is in the queue, counted up to `until`.
    pub fn of(contender: &Contender, table: &LockTable, until: Timestamp) -> Self {
        let came_at = contender.contends_since(table.clock().ahead_ms());
        let bytes = contender.data.bytes();
        let text = std::str::from_utf8(bytes).ok().map(|text| text.chars().take(MAX_DATA).collect::<String>());
        Self {
            node: Arc::clone(&contender.node),
            contender: Some(contender.id()),
            session: contender.session(),
            client: table.clients().identity_of(contender),
            waited: contender.acquired_at().map(|acquired| acquired.since(came_at)),
            held: table.clock().hold_bounds(contender, until),
            until,
            end: StayEnd::Open,
            end_unseen: false,
            may_have_expired: false,
            known: Some(Box::new(StayDetails {
                mode: contender.mode,
                data: text.filter(|text| !text.trim().is_empty()),
                created_at: contender.created_at,
                came_at: contender.enqueued_at(),
                acquired_at: contender.acquired_at(),
            })),
        }
    }

    /// Returns the earliest and the latest time at which the hold can have begun, by this machine's
    /// clock. Both are equal where the time is known.
    pub fn held_since(&self) -> Option<(Timestamp, Timestamp)> {
        let held = self.held?;
        let before = |held: Duration| {
            Timestamp(self.until.0.saturating_sub(i64::try_from(held.as_millis()).unwrap_or(i64::MAX)))
        };
        match self.known.as_ref().and_then(|known| known.acquired_at) {
            Some(acquired) => Some((acquired, acquired)),
            None => Some((before(held.at_most), before(held.at_least))),
        }
    }

    /// Returns the requested mode; `None` for a contender that was gone before it could be read.
    pub fn mode(&self) -> Option<RequestMode> {
        Some(self.known.as_ref()?.mode)
    }

    /// Returns the beginning of the data; `None` where the data is empty, unknown or no text.
    pub fn data(&self) -> Option<&str> {
        self.known.as_ref()?.data.as_deref()
    }
}

/// Maximum entries of one lock.
pub const MAX_ENTRIES_OF_LOCK: usize = 200;

/// Maximum entries of all locks together.
pub const MAX_ENTRIES: usize = 20_000;

/// Histories with fewer entries than this get memory for exactly their entries.
const FEW_ENTRIES: usize = 4;

/// Maximum deletions from this console whose nodes were not seen to go yet.
const MAX_AWAITED: usize = 64;

/// How long before the report of a deletion its node may have been seen to go, in milliseconds.
const MAX_DELETION_MS: i64 = 60_000;

/// The histories of all locks.
#[derive(Clone, Debug, Default)]
pub struct LockHistories {
    locks: FxHashMap<LockId, LockHistory>,
    /// The locks sorted by their number of entries; among equals, the lock that was found first
    /// comes last.
    by_length: BTreeSet<(usize, Reverse<LockId>)>,
    /// Locks that are gone but have a history. A new lock at the same path takes the history over.
    gone: FxHashMap<ZnodePath, LockId>,
    kept: usize,
    next: u64,
    awaited: VecDeque<(LockId, Arc<str>, Option<SessionId>)>,
}

/// The history of one lock.
#[derive(Clone, Debug, Default)]
struct LockHistory {
    /// The entries, oldest first, each with its number.
    entries: VecDeque<(u64, HistoryEntry)>,
    forgotten: u64,
    /// The lock's path, once the lock is gone.
    gone: Option<ZnodePath>,
}

impl LockHistories {
    /// Returns the entries of a lock, oldest first, each with a number that never changes.
    pub fn of(&self, lock: LockId) -> impl DoubleEndedIterator<Item = &(u64, HistoryEntry)> {
        self.locks.get(&lock).into_iter().flat_map(|history| &history.entries)
    }

    /// Returns whether a lock has entries.
    pub fn has(&self, lock: LockId) -> bool {
        self.locks.get(&lock).is_some_and(|history| !history.entries.is_empty())
    }

    /// Returns the last hold of a lock that has ended.
    pub fn last_hold(&self, lock: LockId) -> Option<&Stay> {
        self.of(lock).rev().find_map(|(_, entry)| match entry {
            HistoryEntry::Stay(stay) if stay.held.is_some() && stay.end != StayEnd::Open => Some(stay),
            _ => None,
        })
    }

    /// Returns the number of dropped entries of a lock.
    pub fn forgotten(&self, lock: LockId) -> u64 {
        self.locks.get(&lock).map_or(0, |history| history.forgotten)
    }

    /// Returns how many readers of a lock held it and left after `since`, and whether the history
    /// covers the whole time since then.
    pub fn readers_gone_since(&self, lock: LockId, since: Timestamp) -> (usize, bool) {
        let Some(history) = self.locks.get(&lock) else { return (0, true) };
        let stays = history.entries.iter().rev().filter_map(|(_, entry)| match entry {
            HistoryEntry::Stay(stay) => Some(stay),
            HistoryEntry::Finding { .. } => None,
        });
        let since_then = stays.take_while(|stay| stay.until >= since);
        let is_reader = |stay: &&Stay| stay.mode() == Some(RequestMode::Read) && stay.held.is_some();
        let oldest = history.entries.front().map(|(_, entry)| entry);
        let reaches_back = oldest.is_some_and(|entry| entry.ended_at().is_some_and(|at| at < since));
        (since_then.filter(is_reader).count(), history.forgotten == 0 || reaches_back)
    }

    /// Returns the number of entries of all locks.
    pub fn len(&self) -> usize {
        self.kept
    }

    /// Takes in an event. `before` has the contenders before the event, as far as they may be gone
    /// now; `unseen` says whether the event happened while there was no connection.
    pub fn record(&mut self, happening: &Happening, before: &FxHashMap<ContenderId, Stay>, unseen: bool) {
        let Some(lock) = &happening.lock else { return };
        match happening.event {
            LockEvent::LockGone => self.lock_gone(lock.id, &lock.path),
            LockEvent::LockFound => self.lock_found(lock.id, &lock.path),
            LockEvent::Settled => self.expired(lock.id, happening),
            event => {
                if let Some((end, node)) = StayEnd::of(event).zip(happening.node.as_ref()) {
                    let known = happening.contender.as_ref().and_then(|contender| before.get(contender));
                    let mut stay = known.cloned().unwrap_or_else(|| unknown(happening, node));
                    (stay.until, stay.end, stay.end_unseen) = (happening.at, end, unseen);
                    stay.may_have_expired = happening.may_have_expired;
                    stay.client.clone_from(&happening.client);
                    stay.waited = stay.waited.or(happening.waited_ms.map(Duration::from_millis));
                    if end == StayEnd::WaiterGone {
                        stay.held = None;
                    }
                    if self.was_deleted_here(lock.id, &stay) {
                        (stay.end, stay.may_have_expired) = (StayEnd::Deleted, false);
                    }
                    self.push(lock.id, HistoryEntry::Stay(stay));
                }
            }
        }
    }

    /// Marks the stay of a contender as ended by the expiry of its session.
    fn expired(&mut self, lock: LockId, happening: &Happening) {
        let entries = self.locks.get_mut(&lock).map(|history| history.entries.iter_mut().rev());
        let stay = entries.into_iter().flatten().find_map(|(_, entry)| match entry {
            HistoryEntry::Stay(stay) if stay.contender == happening.contender => Some(stay),
            _ => None,
        });
        if let Some(stay) = stay.filter(|stay| stay.may_have_expired) {
            (stay.end, stay.may_have_expired) = (StayEnd::Expired, false);
        }
    }

    /// Takes in a finding that was raised or cleared.
    pub fn take_finding(&mut self, finding: &Arc<Finding>, raised: bool, at: Timestamp) {
        let is_same = |known: &Finding| known.code == finding.code && known.node == finding.node;
        let entries = self.locks.get_mut(&finding.lock.id).map(|history| history.entries.iter_mut().rev());
        let open = entries.into_iter().flatten().find_map(|(_, entry)| match entry {
            HistoryEntry::Finding { cleared_at: cleared_at @ None, finding, .. } if is_same(finding) => {
                Some((cleared_at, finding))
            }
            _ => None,
        });
        match (open, raised) {
            // After a cut the same finding is raised again.
            (Some((_, known)), true) => known.clone_from(finding),
            (Some((cleared_at, _)), false) => *cleared_at = Some(at),
            (None, _) => {
                let (raised_at, cleared_at) = if raised { (Some(at), None) } else { (None, Some(at)) };
                let finding = Arc::clone(finding);
                self.push(finding.lock.id, HistoryEntry::Finding { raised_at, cleared_at, finding });
            }
        }
    }

    /// Marks the stay of a node as ended by a deletion from this console, whether its end was
    /// already seen or will be.
    pub fn take_deletion(&mut self, lock: LockId, node: &Arc<str>, session: Option<SessionId>, at: Timestamp) {
        let entries = self.locks.get_mut(&lock).map(|history| history.entries.iter_mut().rev());
        for (_, entry) in entries.into_iter().flatten() {
            if let HistoryEntry::Stay(stay) = entry
                && (&stay.node, stay.session) == (node, session)
                && at.0.saturating_sub(stay.until.0) <= MAX_DELETION_MS
            {
                (stay.end, stay.may_have_expired) = (StayEnd::Deleted, false);
                return;
            }
        }
        if self.awaited.len() == MAX_AWAITED {
            self.awaited.pop_front();
        }
        self.awaited.push_back((lock, Arc::clone(node), session));
    }

    fn was_deleted_here(&mut self, lock: LockId, stay: &Stay) -> bool {
        let is_it = |(of, node, session): &(LockId, Arc<str>, Option<SessionId>)| {
            (*of, node, *session) == (lock, &stay.node, stay.session)
        };
        let at = self.awaited.iter().position(is_it);
        at.is_some_and(|at| self.awaited.remove(at).is_some())
    }

    fn lock_gone(&mut self, lock: LockId, path: &ZnodePath) {
        if let Some(history) = self.locks.get_mut(&lock) {
            history.gone = Some(path.clone());
            self.gone.insert(path.clone(), lock);
        }
    }

    /// Transfers the history of an earlier lock at the same path to a new lock: to the user both
    /// are the same lock.
    fn lock_found(&mut self, lock: LockId, path: &ZnodePath) {
        let Some(before) = self.gone.remove(path).filter(|before| *before != lock) else { return };
        let Some(mut history) = self.locks.remove(&before) else { return };
        history.gone = None;
        self.by_length.remove(&(history.entries.len(), Reverse(before)));
        self.by_length.insert((history.entries.len(), Reverse(lock)));
        self.locks.insert(lock, history);
    }

    fn push(&mut self, lock: LockId, entry: HistoryEntry) {
        let number = self.next;
        self.next += 1;
        if self.locks.get(&lock).is_some_and(|history| history.entries.len() == MAX_ENTRIES_OF_LOCK) {
            self.forget_oldest(lock);
        }
        let history = self.locks.entry(lock).or_default();
        self.by_length.remove(&(history.entries.len(), Reverse(lock)));
        if history.entries.len() < FEW_ENTRIES {
            // A push would allocate room for four entries at once, but most of very many locks have
            // only one.
            history.entries.reserve_exact(1);
        }
        history.entries.push_back((number, entry));
        self.by_length.insert((history.entries.len(), Reverse(lock)));
        self.kept += 1;
        if self.kept > MAX_ENTRIES
            && let Some((_, Reverse(longest))) = self.by_length.last().copied()
        {
            self.forget_oldest(longest);
        }
    }

    fn forget_oldest(&mut self, lock: LockId) {
        let Some(history) = self.locks.get_mut(&lock) else { return };
        self.by_length.remove(&(history.entries.len(), Reverse(lock)));
        if history.entries.pop_front().is_some() {
            (self.kept, history.forgotten) = (self.kept - 1, history.forgotten + 1);
        }
        match (history.entries.len(), &history.gone) {
            // A lock that is gone and has no entries left is forgotten.
            (0, gone) => {
                if let Some(path) = gone {
                    self.gone.remove(path);
                    self.locks.remove(&lock);
                }
            }
            (length, _) => {
                self.by_length.insert((length, Reverse(lock)));
            }
        }
    }
}

/// Creates the stay of a contender that was gone before it could be read.
fn unknown(happening: &Happening, node: &Arc<str>) -> Stay {
    let held = happening.held_ms.map(Duration::from_millis);
    Stay {
        node: Arc::clone(node),
        contender: happening.contender.clone(),
        session: happening.session,
        client: happening.client.clone(),
        known: None,
        waited: None,
        held: held.map(|held| HoldBounds { at_least: held, at_most: held }),
        until: happening.at,
        end: StayEnd::Open,
        end_unseen: false,
        may_have_expired: false,
    }
}
