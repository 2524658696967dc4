//! Looks up a contender in the table of locks at the moment of an event.

use std::sync::Arc;

use super::contender::ContenderRecord;
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{TimeBounds, Timestamp};
use lockscope_model::queue::{ClientIdentity, ContenderId, ContenderRow, LockId, LockTable};

/// The time of an event, and the time not seen before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub at: Timestamp,
    /// The time up to which everything had been seen; `None` while everything is seen.
    pub unseen_since: Option<Timestamp>,
}

impl Moment {
    /// Returns the bounds of an event: now, or since the last time that everything was seen.
    pub fn bounds(self) -> TimeBounds {
        self.unseen_since.map_or(TimeBounds::exact(self.at), |since| TimeBounds::between(since, self.at))
    }
}

/// Returns the row of a contender.
pub(super) fn find<'a>(
    table: &'a LockTable,
    lock: LockId,
    id: &ContenderId,
    node: Option<&str>,
) -> Option<ContenderRow<'a>> {
    let lock = table.lock(lock)?;
    let node = node.unwrap_or(&id.node);
    let places = match lock.kind() {
        LockKind::SingleNode => vec![lock.path().clone()],
        LockKind::Semaphore => {
            vec![lock.queue_path().child(node), lock.path().child("leases").child(node), lock.path().child(node)]
        }
        _ => vec![lock.path().child(node)],
    };
    let rows = places.iter().filter_map(|path| table.position(path)).filter(|(found, _)| *found == lock.id());
    rows.filter_map(|(_, position)| lock.row(position)).find(|row| row.contender.id() == *id)
}

/// Returns the bounds of the acquisition of a holder that already held when everything was read.
pub(super) fn held_since(row: ContenderRow<'_>, table: &LockTable, moment: Moment) -> Option<TimeBounds> {
    let held = table.hold_bounds(row.contender, moment.at)?;
    let ago = |time: std::time::Duration| {
        Timestamp(moment.at.0.saturating_sub(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
    };
    let earliest = moment.unseen_since.unwrap_or(Timestamp(i64::MIN));
    Some(TimeBounds::between(ago(held.at_most).max(earliest), ago(held.at_least).max(earliest)))
}

impl ContenderRecord {
    /// Updates the record from the table. Returns whether something changed.
    pub fn reread(&mut self, row: ContenderRow<'_>, table: &LockTable, no_data: bool) -> bool {
        let contender = row.contender;
        let mut changed = self.names_client(&table.identity_of(contender), no_data);
        if !contender.is_read() {
            self.mode = row.mode;
            return changed;
        }
        let czxid = Some(contender.czxid);
        if (self.czxid, self.session, self.mode) != (czxid, contender.session(), row.mode)
            || self.node != contender.node
        {
            (self.czxid, self.session, self.mode) = (czxid, contender.session(), row.mode);
            self.node = Arc::clone(&contender.node);
            changed = true;
        }
        let data = Self::keep(contender.data.bytes()).filter(|_| !no_data);
        if self.data != data {
            self.data = data;
            changed = true;
        }
        changed
    }

    /// Updates the client's identity as far as it is known. Returns whether something changed.
    pub fn names_client(&mut self, client: &ClientIdentity, no_data: bool) -> bool {
        let before = self.client.clone();
        self.client.address = client.address.clone().or(self.client.address.take());
        if !no_data {
            self.client.name = client.name.clone().or(self.client.name.take());
        }
        self.client != before
    }
}
