//! Asks the table what waiting cost within the last ten minutes, by lock and by holder.

use std::time::Duration;

use super::cost::HolderKey;
use super::{ClientIdentity, LockId, LockName, LockTable, WaiterTime};
use lockscope_base::znode::{SessionId, Timestamp};

/// Who made others wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitedFor {
    /// The lock that it held.
    pub lock: LockName,
    /// The client.
    pub client: ClientIdentity,
    /// What others waited while it held, within the last ten minutes.
    pub waited: WaiterTime,
    /// The most that waited at once.
    pub waiters: u32,
}

impl LockTable {
    /// Adds the waits up to a change that was just applied.
    pub(super) fn note_waits(&mut self, now: Timestamp) {
        let (is_live, recent) = (self.is_live(), self.touched.take_recent());
        let Self { costs, locks, last_true, .. } = self;
        match (costs.is_running(), is_live) {
            (true, false) => costs.stop(last_true.unwrap_or(now).min(now)),
            (false, true) => costs.start(locks.values().map(Box::as_ref), now),
            (true, true) => recent.iter().for_each(|id| costs.changed(*id, locks.get(id).map(Box::as_ref), now)),
            (false, false) => {}
        }
    }

    /// Returns what all waited for a lock within the last ten minutes, as far as it was seen.
    pub fn waited_for(&self, lock: LockId, now: Timestamp) -> WaiterTime {
        self.costs.of_lock(lock, now)
    }

    /// Returns the locks that were waited for within the last ten minutes, in no order.
    pub fn locks_waited_for(&self) -> impl Iterator<Item = LockId> {
        self.costs.locks()
    }

    /// Returns what all waited for any lock within the last ten minutes, as far as it was seen.
    pub fn waited_for_all(&self, now: Timestamp) -> WaiterTime {
        self.costs.of_all(now)
    }

    /// Returns what all have waited, for a lock or for all of them, as far as it was seen. The time of a
    /// lock for which nobody waited for ten minutes begins again at zero.
    pub fn waited_in_all(&self, lock: Option<LockId>, now: Timestamp) -> Duration {
        self.costs.total(lock, now)
    }

    /// Returns how much of the last ten minutes was seen.
    pub fn waits_seen(&self, now: Timestamp) -> Duration {
        self.costs.seen(now)
    }

    /// Returns what others waited for a lock while a session held it, within the last ten minutes.
    pub fn waited_for_holder(&self, lock: LockId, session: Option<SessionId>, now: Timestamp) -> WaiterTime {
        self.costs.of_holder((lock, session), now)
    }

    /// Returns who made others wait most within the last ten minutes, the costliest first. Linear in
    /// the holders that are remembered. Locks that are gone are left out.
    pub fn most_waited_for(&self, most: usize, now: Timestamp) -> Vec<WaitedFor> {
        let named = |(waited, (id, session), waiters): (WaiterTime, HolderKey, u32)| {
            let lock = self.lock(id)?.lock_name();
            let client = session.map(|session| self.identity_of_holder(id, session)).unwrap_or_default();
            Some(WaitedFor { lock, client, waited, waiters })
        };
        self.costs.holders(now).into_iter().filter_map(named).take(most).collect()
    }
}
