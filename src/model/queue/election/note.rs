//! Records what events mean for elections.

use super::kind::ElectionKind;
use super::{Departure, DepartureEnd};
use crate::queue::{Happening, LockEvent, LockTable};
use lockscope_base::znode::Timestamp;

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
            let record = self.elections.record_mut(id, happening.at);
            record.names_participants |= kind == ElectionKind::Likely;
            match happening.event {
                LockEvent::Acquired => record.acquired(happening.at),
                LockEvent::Enqueued => record.came(happening.at, &happening.client),
                LockEvent::Released | LockEvent::Left | LockEvent::Expired => {
                    record.went(departure(happening, last_request), happening.ends_hold);
                }
                _ => {}
            }
        }
    }

    /// Returns the number of the client's last request, as a server listed it before the event.
    fn last_request(&self, happening: &Happening) -> Option<i64> {
        let (_, connection) = self.view.connection_of(happening.session?)?;
        connection.last_cxid
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
