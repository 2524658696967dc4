//! Tells the costs of waiting what changed, and names those who made others wait.

use super::cost::{HolderKey, WaitCosts};
use super::{ClientIdentity, LockName, LockTable, WaiterTime};
use lockscope_base::znode::Timestamp;

/// A holder that made others wait.
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
        let last_true = last_true.unwrap_or(now).min(now);
        if costs.goes_on(is_live, locks.values().map(Box::as_ref), last_true, now) {
            recent.into_iter().for_each(|id| costs.changed(id, locks.get(&id).map(Box::as_ref), now));
        }
    }

    /// Returns what waiting cost.
    pub fn waits(&self) -> &WaitCosts {
        &self.costs
    }

    /// Returns who made others wait most within the last ten minutes, the costliest first. Locks that
    /// are gone are left out.
    pub fn most_waited_for(&self, most: usize, now: Timestamp) -> Vec<WaitedFor> {
        let named = |(waited, (id, session), waiters): (WaiterTime, HolderKey, u32)| {
            let lock = self.lock(id)?.lock_name();
            let client = session.map(|session| self.identity_of_holder(id, session)).unwrap_or_default();
            Some(WaitedFor { lock, client, waited, waiters })
        };
        self.costs.holders(now).into_iter().filter_map(named).take(most).collect()
    }
}
