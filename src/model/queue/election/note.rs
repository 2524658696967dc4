//! Records what events mean for elections.

use super::kind::ElectionKind;
use super::{Departure, DepartureEnd};
use crate::queue::{Happening, LockEvent, LockId, LockQueue, LockTable};
use lockscope_base::znode::Timestamp;

/// Maximum number of contenders that are searched for a name.
const MAX_LOOKED_AT: usize = 1_000;

impl LockTable {
    /// Records the events of elections. Other locks cost a look at their recipe and path.
    pub(in crate::queue) fn note_elections(&mut self, happenings: &[Happening]) {
        for happening in happenings {
            let Some(id) = happening.lock.as_ref().map(|lock| lock.id) else { continue };
            if happening.event == LockEvent::LockGone {
                self.elections.records.remove(&id);
                continue;
            }
            let Some(kind) = self.locks.get(&id).and_then(|lock| self.suspected_election(lock)) else { continue };
            let last_request = self.last_request(happening);
            let expired = matches!(happening.event, LockEvent::Expired | LockEvent::Settled);
            let is_queued = expired && self.queues_again(id, happening);
            let record = self.elections.record_mut(id, happening.at);
            record.names_participants |= kind == ElectionKind::Likely;
            match happening.event {
                LockEvent::Acquired => record.acquired(happening.at),
                LockEvent::Enqueued => record.came(happening.at, &happening.client),
                LockEvent::Released | LockEvent::Left | LockEvent::Expired => {
                    record.went(departure(happening, last_request), happening.ends_hold, is_queued);
                }
                LockEvent::Settled => record.settled(happening, is_queued),
                _ => {}
            }
        }
    }

    /// Returns whether the client of a node that went is in the queue by another node.
    fn queues_again(&self, id: LockId, happening: &Happening) -> bool {
        let lock = self.locks.get(&id);
        happening.client.name_of_one_client().zip(lock).is_some_and(|(name, lock)| self.is_queued(lock, name))
    }

    /// Returns whether the client of this name is in the queue of a lock, by any session. Linear in
    /// the queue, of which it looks at the first [`MAX_LOOKED_AT`].
    ///
    /// A word that contenders of several hosts bear at once is the name of none of them.
    pub(crate) fn is_queued(&self, lock: &LockQueue, name: &str) -> bool {
        let clients = lock.rows(0..lock.len().min(MAX_LOOKED_AT)).map(|row| self.identity_of(row.contender));
        let mut bearers = clients.filter(|client| client.name_of_one_client() == Some(name));
        let Some(first) = bearers.next() else { return false };
        bearers.all(|other| first.host().zip(other.host()).is_none_or(|(first, other)| first == other))
    }

    /// Records that a candidate is known by its name now. Its node was not read when it came.
    pub(in crate::queue) fn note_candidate_is_read(&mut self, id: LockId, slot: usize, now: Timestamp) {
        let Some(lock) = self.locks.get(&id).filter(|lock| self.suspected_election(lock).is_some()) else { return };
        let Some(client) = lock.contender(slot).map(|contender| self.identity_of(contender)) else { return };
        if let Some(record) = self.elections.records.get_mut(&id) {
            record.came(now, &client);
        }
    }

    /// Returns the number of the client's last request, as a server listed it before the event.
    ///
    /// A list may be newer than the event that is being taken in: a last request that can delete may
    /// be the one that deleted the node.
    fn last_request(&self, happening: &Happening) -> Option<i64> {
        let (_, connection) = self.view.connection_of(happening.session?)?;
        let deletes = |operation: &str| operation.starts_with("DEL") || operation.starts_with("MUL");
        connection.last_cxid.filter(|_| !connection.last_operation.as_deref().is_some_and(deletes))
    }

    /// Notes the end of the first complete reading. Nothing was seen before.
    pub(in crate::queue) fn elections_watched(&mut self, now: Timestamp) {
        self.elections.since.get_or_insert(now);
    }
}

fn departure(happening: &Happening, last_request: Option<i64>) -> Departure {
    let held = happening.held_ms.and_then(|held| i64::try_from(held).ok());
    Departure {
        client: happening.client.clone(),
        session: happening.session,
        node: happening.node.clone().unwrap_or_else(|| "".into()),
        at: happening.at,
        end: DepartureEnd::of(happening),
        led_since: held.map(|held| Timestamp(happening.at.0.saturating_sub(held))),
        last_request,
    }
}
