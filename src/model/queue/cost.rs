//! What waiting costs: the time that contenders wait, summed up, over the last ten minutes.
//!
//! A lock costs its number of waiters for each moment. A holder costs what others waited while it
//! held; several holders of one time share that equally. While nobody holds, no holder is charged.
//! [Those who stand by](stand_by) wait only then.
//!
//! Each lock with waiters remembers since when its queue is as it is. A change adds the time since
//! then, with the number that waited, to the minutes that it lies in: its work does not grow with
//! the queue. Times in which the table is not live are left out, because nobody saw who waited.

use std::cmp::Reverse;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize, Serializer};
use smallvec::SmallVec;

use super::{LockId, LockQueue};
use lockscope_base::recipe::{LockKind, Recipe, is_named_election};
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};

/// The waits of several contenders, summed up. In JSON it is a number of seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaiterTime(pub Duration);

impl WaiterTime {
    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Serialize for WaiterTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0.as_secs_f64())
    }
}

/// Returns whether the contenders behind the holder stand by and do not wait, because a lock is an
/// election by its recipe or its path.
pub fn stand_by(recipe: Recipe, path: &ZnodePath) -> bool {
    let can_be = !matches!(recipe.kind(), LockKind::ReadWrite | LockKind::Semaphore);
    recipe.is_election() || can_be && is_named_election(path)
}

/// The minutes that are kept before the current one.
const MINUTES: usize = 10;

const MINUTE_MS: i64 = 60_000;

/// Nanoseconds in each of the last minutes.
#[derive(Clone, Copy, Debug, Default)]
struct Minutes {
    /// The number of the newest minute. A minute modulo their number is its place.
    newest: i64,
    spent: [u64; MINUTES + 1],
}

impl Minutes {
    /// The number of the places.
    const PLACES: i64 = MINUTES as i64 + 1;

    fn place(minute: i64) -> usize {
        usize::try_from(minute.rem_euclid(Self::PLACES)).unwrap_or(0)
    }

    /// Adds a time that counts so many nanoseconds for each of its milliseconds.
    fn add(&mut self, from: Timestamp, to: Timestamp, each: u64) {
        let newest = to.0.div_euclid(MINUTE_MS);
        for minute in (self.newest + 1).max(newest - Self::PLACES + 1)..=newest {
            self.spent[Self::place(minute)] = 0;
        }
        self.newest = self.newest.max(newest);
        let first = from.0.div_euclid(MINUTE_MS).max(self.newest - Self::PLACES + 1);
        for minute in first..=newest {
            let begin = from.0.max(minute.saturating_mul(MINUTE_MS));
            let length = to.0.min((minute + 1).saturating_mul(MINUTE_MS)).saturating_sub(begin);
            let spent = &mut self.spent[Self::place(minute)];
            *spent = spent.saturating_add(u64::try_from(length).unwrap_or(0).saturating_mul(each));
        }
    }

    /// Returns what the last ten minutes have. Of the oldest, which is only partly within them, it
    /// takes that part.
    fn sum(&self, now: Timestamp) -> WaiterTime {
        let (current, into) = (now.0.div_euclid(MINUTE_MS), now.0.rem_euclid(MINUTE_MS));
        let kept = self.newest - Self::PLACES + 1..=self.newest;
        let of = |minute| if kept.contains(&minute) { u128::from(self.spent[Self::place(minute)]) } else { 0 };
        let left = u128::try_from(MINUTE_MS - into).unwrap_or(0);
        let oldest = of(current - Self::PLACES + 1) * left / 60_000;
        let sum = oldest + (current - Self::PLACES + 2..=current).map(of).sum::<u128>();
        WaiterTime(Duration::from_nanos(u64::try_from(sum).unwrap_or(u64::MAX)))
    }

    fn is_old(&self, now: Timestamp) -> bool {
        self.newest < now.0.div_euclid(MINUTE_MS) - Self::PLACES
    }
}

/// The nanoseconds in a millisecond.
const MILLISECOND: u64 = 1_000_000;

/// The most holders of one lock that are charged, each with its share.
const MAX_CHARGED: usize = 8;

/// The most holders that are remembered. Of more, the half that cost less is forgotten.
const MAX_REMEMBERED: usize = 4_096;

/// A holder of a lock: the session, if its node has one.
pub type HolderKey = (LockId, Option<SessionId>);

/// The waits for one lock.
#[derive(Clone, Debug, Default)]
struct LockWaits {
    /// Since when the queue is as it is.
    since: Timestamp,
    waiting: u32,
    holding: u32,
    charged: SmallVec<[Option<SessionId>; 1]>,
    spent: Minutes,
    /// Since the lock is remembered.
    total: Duration,
}

impl LockWaits {
    /// Returns the nanoseconds that a millisecond costs: all, and of each holder.
    fn each(&self) -> (u64, u64) {
        let all = u64::from(self.waiting) * MILLISECOND;
        (all, all / u64::from(self.holding.max(1)))
    }
}

/// The waits for one holder.
#[derive(Clone, Copy, Debug, Default)]
struct HolderWaits {
    spent: Minutes,
    /// The most that waited at once.
    waiters: u32,
}

/// The waits of all locks while they were seen. Kept in memory only: a recording has the times of
/// each contender.
#[derive(Clone, Debug, Default)]
pub struct WaitCosts {
    /// Until when the waits of all locks together, and the time that was seen, are added.
    added: Timestamp,
    /// Whether the locks are seen.
    is_running: bool,
    waiting: u64,
    all: Minutes,
    seen: Minutes,
    /// Since the table was made.
    total: Duration,
    locks: FxHashMap<LockId, LockWaits>,
    holders: FxHashMap<HolderKey, HolderWaits>,
}

impl WaitCosts {
    /// Adds the waits for all locks together up to now.
    fn add_all(&mut self, to: Timestamp) {
        let each = self.waiting.saturating_mul(MILLISECOND);
        if to.0.div_euclid(MINUTE_MS) > self.added.0.div_euclid(MINUTE_MS) {
            self.locks.retain(|_, lock| lock.waiting > 0 || !lock.spent.is_old(to));
            let Self { holders, locks, .. } = self;
            let is_charged =
                |(lock, session): &HolderKey| locks.get(lock).is_some_and(|lock| lock.charged.contains(session));
            holders.retain(|key, holder| is_charged(key) || !holder.spent.is_old(to));
        }
        self.all.add(self.added, to, each);
        self.seen.add(self.added, to, MILLISECOND);
        self.total = self.total.saturating_add(spent(self.added, to, each));
        self.added = self.added.max(to);
    }

    /// Adds the waits for a lock up to now.
    fn add(&mut self, id: LockId, to: Timestamp) {
        let Some(lock) = self.locks.get_mut(&id).filter(|lock| lock.waiting > 0 && lock.since < to) else { return };
        let (all, share) = lock.each();
        lock.spent.add(lock.since, to, all);
        lock.total = lock.total.saturating_add(spent(lock.since, to, all));
        for session in &lock.charged {
            let holder = self.holders.entry((id, *session)).or_default();
            holder.spent.add(lock.since, to, share);
        }
        lock.since = to;
    }

    /// Adds the waits for a lock up to a change of its queue.
    pub fn changed(&mut self, id: LockId, queue: Option<&LockQueue>, now: Timestamp) {
        self.add_all(now);
        self.add(id, now);
        let waiting = queue.map_or(0, waiting);
        let before = self.locks.get(&id).map_or(0, |lock| lock.waiting);
        self.waiting = (self.waiting + u64::from(waiting)).saturating_sub(before.into());
        let Some(queue) = queue.filter(|_| waiting > 0) else {
            if let Some(lock) = self.locks.get_mut(&id) {
                (lock.waiting, lock.charged) = (0, SmallVec::new());
            }
            return;
        };
        let lock = self.locks.entry(id).or_default();
        (lock.since, lock.waiting, lock.holding) = (now, waiting, queue.holding);
        let charged = queue.rows(0..queue.holding().min(MAX_CHARGED));
        lock.charged = charged.map(|row| row.contender.session()).collect();
        for session in &lock.charged {
            let holder = self.holders.entry((id, *session)).or_default();
            holder.waiters = holder.waiters.max(waiting);
        }
        if self.holders.len() > MAX_REMEMBERED {
            self.forget_cheap(now);
        }
    }

    fn forget_cheap(&mut self, now: Timestamp) {
        let cost = |(key, holder): (&HolderKey, &HolderWaits)| (self.cost_of(*key, holder, now), *key);
        let mut costs: Vec<(WaiterTime, HolderKey)> = self.holders.iter().map(cost).collect();
        let middle = costs.len() / 2;
        costs.select_nth_unstable(middle);
        for (_, key) in &costs[..middle] {
            self.holders.remove(key);
        }
    }

    /// Starts, with all locks that have waiters.
    pub fn start<'a>(&mut self, locks: impl Iterator<Item = &'a LockQueue>, now: Timestamp) {
        (self.is_running, self.added) = (true, now);
        locks.filter(|lock| lock.waiting() > 0).for_each(|lock| self.changed(lock.id(), Some(lock), now));
    }

    /// Returns whether the locks are seen.
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// Stops at the last moment at which the locks were seen.
    pub fn stop(&mut self, at: Timestamp) {
        self.add_all(at);
        let ids: Vec<LockId> = self.locks.keys().copied().collect();
        for id in ids {
            self.add(id, at);
            if let Some(lock) = self.locks.get_mut(&id) {
                (lock.waiting, lock.charged) = (0, SmallVec::new());
            }
        }
        (self.waiting, self.is_running) = (0, false);
    }

    /// Returns a lock's or a holder's minutes up to now.
    fn up_to(&self, spent: Minutes, since: Timestamp, each: u64, now: Timestamp) -> WaiterTime {
        let mut spent = spent;
        if self.is_running && since < now {
            spent.add(since, now, each);
        }
        spent.sum(now)
    }

    fn cost_of(&self, (id, session): HolderKey, holder: &HolderWaits, now: Timestamp) -> WaiterTime {
        let lock = self.locks.get(&id).filter(|lock| lock.charged.contains(&session));
        let times = |lock: &LockWaits| lock.charged.iter().filter(|charged| **charged == session).count() as u64;
        let (since, each) = lock.map_or((now, 0), |lock| (lock.since, times(lock) * lock.each().1));
        self.up_to(holder.spent, since, each, now)
    }
}

impl WaitCosts {
    /// Returns what all waited for a lock within the last ten minutes.
    pub fn of_lock(&self, lock: LockId, now: Timestamp) -> WaiterTime {
        let lock = self.locks.get(&lock);
        lock.map_or_else(WaiterTime::default, |lock| self.up_to(lock.spent, lock.since, lock.each().0, now))
    }

    /// Returns what all waited for any lock within the last ten minutes.
    pub fn of_all(&self, now: Timestamp) -> WaiterTime {
        self.up_to(self.all, self.added, self.waiting.saturating_mul(MILLISECOND), now)
    }

    /// Returns what all have waited for a lock, or for all, since it is remembered. The time of a lock
    /// for which nobody waited for ten minutes begins again at zero.
    pub fn total(&self, lock: Option<LockId>, now: Timestamp) -> Duration {
        let all = (self.total, self.added, self.waiting.saturating_mul(MILLISECOND));
        let of = |id| self.locks.get(&id).map(|lock| (lock.total, lock.since, lock.each().0));
        let (total, since, each) = lock.map_or(all, |id| of(id).unwrap_or_default());
        if self.is_running { total.saturating_add(spent(since, now, each)) } else { total }
    }

    /// Returns how much of the last ten minutes was seen.
    pub fn seen(&self, now: Timestamp) -> Duration {
        self.up_to(self.seen, self.added, MILLISECOND, now).0
    }

    /// Returns what others waited while a session held, within the last ten minutes.
    pub fn of_holder(&self, key: HolderKey, now: Timestamp) -> WaiterTime {
        self.holders.get(&key).map_or_else(WaiterTime::default, |holder| self.cost_of(key, holder, now))
    }

    /// Returns the same for all holders for which anybody waited, the costliest first, each with the
    /// most that waited at once.
    pub fn holders(&self, now: Timestamp) -> Vec<(WaiterTime, HolderKey, u32)> {
        let cost = |(key, holder): (&HolderKey, &HolderWaits)| {
            let waited = self.cost_of(*key, holder, now);
            (!waited.0.is_zero()).then_some((waited, *key, holder.waiters))
        };
        let mut all: Vec<_> = self.holders.iter().filter_map(cost).collect();
        all.sort_unstable_by_key(|(waited, key, _)| (Reverse(*waited), *key));
        all
    }

    /// Returns the locks that were waited for, in no order.
    pub fn locks(&self) -> impl Iterator<Item = LockId> {
        self.locks.keys().copied()
    }
}

/// Returns what a time costs that costs so many nanoseconds for each of its milliseconds.
fn spent(from: Timestamp, to: Timestamp, each: u64) -> Duration {
    let ms = u64::try_from(to.since(from).as_millis()).unwrap_or(u64::MAX);
    Duration::from_nanos(ms.saturating_mul(each))
}

/// Returns how many wait for a lock.
fn waiting(queue: &LockQueue) -> u32 {
    let waiting = u32::try_from(queue.waiting()).unwrap_or(u32::MAX);
    if queue.holding() > 0 && waiting > 0 && stand_by(queue.recipe(), queue.path()) { 0 } else { waiting }
}

/// The locks that changed: since they were last asked for, and in the last change.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TouchedLocks {
    all: FxHashSet<LockId>,
    #[serde(skip)]
    recent: SmallVec<[LockId; 4]>,
}

impl TouchedLocks {
    /// Adds a lock.
    pub fn insert(&mut self, id: LockId) {
        self.recent.push(id);
        self.all.insert(id);
    }

    /// Returns those of the last change, and forgets that they are.
    pub fn take_recent(&mut self) -> SmallVec<[LockId; 4]> {
        std::mem::take(&mut self.recent)
    }

    /// Returns all, and forgets them.
    pub fn take_all(&mut self) -> Vec<LockId> {
        self.all.drain().collect()
    }
}
