//! What the table of locks knows of a contender, at a moment when something happens to it.

use std::sync::Arc;

use super::contender::{ContenderRecord, TimeBounds};
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::{ClientIdentity, ContenderId, ContenderRow, LockId, LockTable};

/// What is known while something happens: when, and what was not seen before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub at: Timestamp,
    /// Up to when everything had been seen; `None` while everything is.
    pub unseen_since: Option<Timestamp>,
}

impl Moment {
    /// It was seen now, or happened since the last time that anybody looked.
    pub fn bounds(self) -> TimeBounds {
        self.unseen_since.map_or(TimeBounds::exact(self.at), |since| TimeBounds::between(since, self.at))
    }
}

/// A contender in the table.
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

/// Since when somebody has held who held already when everything was read.
pub(super) fn held_since(row: ContenderRow<'_>, table: &LockTable, moment: Moment) -> Option<TimeBounds> {
    let held = table.hold_bounds(row.contender, moment.at)?;
    let ago = |time: std::time::Duration| {
        Timestamp(moment.at.0.saturating_sub(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
    };
    let earliest = moment.unseen_since.unwrap_or(Timestamp(i64::MIN));
    Some(TimeBounds::between(ago(held.at_most).max(earliest), ago(held.at_least).max(earliest)))
}

impl ContenderRecord {
    /// Takes over what the table knows of it; answers whether that is news.
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

    /// Takes over who it is, as far as that is known; answers whether that is news.
    pub fn names_client(&mut self, client: &ClientIdentity, no_data: bool) -> bool {
        let before = self.client.clone();
        self.client.address = client.address.clone().or(self.client.address.take());
        if !no_data {
            self.client.name = client.name.clone().or(self.client.name.take());
        }
        self.client != before
    }
}
