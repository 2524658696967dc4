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

/// The minutes that are kept: the current one, and those before.
const MINUTES: i64 = 11;

const MINUTE_MS: i64 = 60_000;

/// The nanoseconds in a millisecond.
const MILLISECOND: u64 = 1_000_000;

/// The waits of the last minutes.
#[derive(Clone, Copy, Debug, Default)]
struct WaitMinutes {
    /// The number of the newest minute. A minute modulo their number is its place.
    newest: i64,
    /// The nanoseconds of each minute.
    spent: [u64; 11],
    /// Since the beginning.
    total: Duration,
}

impl WaitMinutes {
    fn place(minute: i64) -> usize {
        usize::try_from(minute.rem_euclid(MINUTES)).unwrap_or(0)
    }

    /// Adds a time of which each millisecond costs so many nanoseconds.
    fn add(&mut self, from: Timestamp, to: Timestamp, each: u64) {
        let newest = to.0.div_euclid(MINUTE_MS);
        for minute in (self.newest + 1).max(newest - MINUTES + 1)..=newest {
            self.spent[Self::place(minute)] = 0;
        }
        self.newest = self.newest.max(newest);
        for minute in from.0.div_euclid(MINUTE_MS).max(newest - MINUTES + 1)..=newest {
            let begin = from.0.max(minute.saturating_mul(MINUTE_MS));
            let length = to.0.min((minute + 1).saturating_mul(MINUTE_MS)).saturating_sub(begin);
            let spent = &mut self.spent[Self::place(minute)];
            *spent = spent.saturating_add(u64::try_from(length).unwrap_or(0).saturating_mul(each));
        }
        let ms = u64::try_from(to.since(from).as_millis()).unwrap_or(u64::MAX);
        self.total = self.total.saturating_add(Duration::from_nanos(ms.saturating_mul(each)));
    }
}

/// Waits that are added up while a number of contenders waits.
#[derive(Clone, Debug, Default)]
struct AddedWaits {
    /// The time up to which they are added.
    until: Timestamp,
    /// What each millisecond adds from then on, in nanoseconds.
    each: u64,
    /// Boxed, because a queue that stands has none.
    minutes: Option<Box<WaitMinutes>>,
}

impl AddedWaits {
    /// Adds the time up to `now`. From then on, each millisecond adds so many nanoseconds.
    fn go_on(&mut self, now: Timestamp, each: u64) {
        let to = now.max(self.until);
        if self.each > 0 && self.until < to {
            self.minutes.get_or_insert_default().add(self.until, to, self.each);
        }
        (self.until, self.each) = (to, each);
    }

    fn up_to(&self, now: Timestamp) -> WaitMinutes {
        let mut minutes = self.minutes.as_deref().copied().unwrap_or_default();
        minutes.add(self.until, now.max(self.until), self.each);
        minutes
    }

    /// Returns what the last ten minutes have. Of the oldest, which is only partly within them, it
    /// takes that part.
    fn sum(&self, now: Timestamp) -> WaiterTime {
        let of = self.up_to(now);
        let (current, into) = (now.0.div_euclid(MINUTE_MS), now.0.rem_euclid(MINUTE_MS));
        let oldest = u128::from(of.spent[WaitMinutes::place(current + 1)]);
        let left = u128::try_from(MINUTE_MS - into).unwrap_or(0);
        let all: u128 = of.spent.iter().map(|spent| u128::from(*spent)).sum();
        let sum = all.saturating_sub(oldest) + oldest * left / 60_000;
        WaiterTime(Duration::from_nanos(u64::try_from(sum).unwrap_or(u64::MAX)))
    }

    /// Returns whether the last ten minutes have nothing, and nothing is being added.
    fn is_over(&self, now: Timestamp) -> bool {
        let is_old = |minutes: &WaitMinutes| minutes.newest + MINUTES <= now.0.div_euclid(MINUTE_MS);
        self.each == 0 && self.minutes.as_deref().is_none_or(is_old)
    }
}

/// The most holders of one lock that are charged, each with its share.
const MAX_CHARGED: usize = 8;

/// The most holders that are remembered. Beyond it the half that cost less is forgotten.
const MAX_REMEMBERED: usize = 1_024;

type ChargedHolders = SmallVec<[Option<SessionId>; 1]>;

/// A holder of a lock: the session, if its node has one.
pub type HolderKey = (LockId, Option<SessionId>);

/// The waits of all locks while they were seen. Kept in memory only: a recording has the times of
/// each contender.
#[derive(Clone, Debug, Default)]
pub struct WaitCosts {
    is_running: bool,
    all: AddedWaits,
    /// The time that was seen.
    seen: AddedWaits,
    /// The locks that were waited for, each with the holders that are charged.
    locks: FxHashMap<LockId, (AddedWaits, ChargedHolders)>,
    /// The holders, each with the most that waited at once.
    holders: FxHashMap<HolderKey, (AddedWaits, u32)>,
}

impl WaitCosts {
    /// Takes the change of a queue.
    pub(super) fn changed(&mut self, id: LockId, queue: Option<&LockQueue>, now: Timestamp) {
        let waiting = queue.map_or(0, waiting);
        let before = self.locks.get(&id).map(|(lock, _)| lock.each);
        if waiting == 0 && before.is_none() {
            return;
        }
        if now.0.div_euclid(MINUTE_MS) > self.all.until.0.div_euclid(MINUTE_MS) {
            self.locks.retain(|_, (lock, _)| !lock.is_over(now));
            self.holders.retain(|_, (holder, _)| !holder.is_over(now));
        }
        let each = u64::from(waiting) * MILLISECOND;
        self.all.go_on(now, (self.all.each + each).saturating_sub(before.unwrap_or(0)));
        let (lock, charged) = self.locks.entry(id).or_default();
        lock.go_on(now, each);
        for session in charged.drain(..) {
            if let Some((holder, _)) = self.holders.get_mut(&(id, session)) {
                holder.go_on(now, 0);
            }
        }
        let Some(queue) = queue.filter(|_| waiting > 0) else { return };
        let share = each / (queue.holding() as u64).max(1);
        charged.extend(queue.rows(0..queue.holding().min(MAX_CHARGED)).map(|row| row.contender.session()));
        for session in charged.iter() {
            let (holder, most) = self.holders.entry((id, *session)).or_default();
            holder.go_on(now, holder.each + share);
            *most = (*most).max(waiting);
        }
        if self.holders.len() > MAX_REMEMBERED {
            self.forget_cheap(now);
        }
    }

    fn forget_cheap(&mut self, now: Timestamp) {
        let mut costs: Vec<_> = self.holders.iter().map(|(key, (holder, _))| (holder.sum(now), *key)).collect();
        let middle = costs.len() / 2;
        costs.select_nth_unstable(middle);
        for (_, key) in &costs[..middle] {
            self.holders.remove(key);
        }
    }

    /// Takes over whether the locks are seen: if not any more, `last_true` is when they last were.
    /// Returns whether they still are, so that the changes of their queues count.
    pub(super) fn goes_on<'a>(
        &mut self,
        is_live: bool,
        locks: impl Iterator<Item = &'a LockQueue>,
        last_true: Timestamp,
        now: Timestamp,
    ) -> bool {
        match (std::mem::replace(&mut self.is_running, is_live), is_live) {
            (true, false) => {
                let ids: Vec<LockId> = self.locks.keys().copied().collect();
                for id in ids {
                    self.changed(id, None, last_true);
                }
                self.seen.go_on(last_true, 0);
            }
            (false, true) => {
                self.seen.go_on(now, MILLISECOND);
                locks.for_each(|lock| self.changed(lock.id(), Some(lock), now));
            }
            (is_running, _) => return is_running,
        }
        false
    }

    /// Returns what all waited for a lock within the last ten minutes, as far as it was seen.
    pub fn of_lock(&self, lock: LockId, now: Timestamp) -> WaiterTime {
        self.locks.get(&lock).map_or_else(WaiterTime::default, |(lock, _)| lock.sum(now))
    }

    /// Returns what all waited for any lock within the last ten minutes.
    pub fn of_all(&self, now: Timestamp) -> WaiterTime {
        self.all.sum(now)
    }

    /// Returns what others waited while a session held a lock, within the last ten minutes.
    pub fn of_holder(&self, key: HolderKey, now: Timestamp) -> WaiterTime {
        self.holders.get(&key).map_or_else(WaiterTime::default, |(holder, _)| holder.sum(now))
    }

    /// Returns the holders for which others waited within the last ten minutes, the costliest first,
    /// each with the most that waited at once. Linear in the holders that are remembered.
    pub fn holders(&self, now: Timestamp) -> Vec<(WaiterTime, HolderKey, u32)> {
        let cost = |(key, (holder, most)): (&HolderKey, &(AddedWaits, u32))| (holder.sum(now), *key, *most);
        let mut all: Vec<_> = self.holders.iter().map(cost).filter(|(waited, ..)| !waited.0.is_zero()).collect();
        all.sort_unstable_by_key(|(waited, key, _)| (Reverse(*waited), *key));
        all
    }

    /// Returns the locks that were waited for, in no order.
    pub fn locks(&self) -> impl Iterator<Item = LockId> {
        self.locks.keys().copied()
    }

    /// Returns what all have waited for a lock, or for all, since it is remembered. The time of a lock
    /// for which nobody waited for ten minutes begins again at zero.
    pub fn total(&self, lock: Option<LockId>, now: Timestamp) -> Duration {
        let waits = lock.map_or(Some(&self.all), |lock| Some(&self.locks.get(&lock)?.0));
        waits.map_or(Duration::ZERO, |waits| waits.up_to(now).total)
    }

    /// Returns how much of the last ten minutes was seen.
    pub fn seen(&self, now: Timestamp) -> Duration {
        self.seen.sum(now).0
    }
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
