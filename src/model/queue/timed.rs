//! Locks whose data is the time until which they are locked.
//!
//! Schedulers keep one persistent node per job, and no session owns it: `ShedLock` writes a time
//! into it, kazoo's leases an object with the time in `end`. Such a lock is free once the time is over,
//! although nothing changes in the tree.

use chrono::{DateTime, NaiveDateTime};
use serde::Deserialize;

use super::{Contender, Happening, LockQueue, LockTable};
use lockscope_base::recipe::{Classification, LockKind, Recipe, Role};
use lockscope_base::znode::{Node, Timestamp, ZnodePath};

/// What kazoo's leases write.
#[derive(Deserialize)]
struct Lease<'a> {
    end: &'a str,
}

/// Returns the time that a node's data holds, by the servers' clock; `None` for other data.
///
/// A time without a zone is in UTC, as kazoo writes it.
fn time_in(data: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(data).ok()?.trim();
    let text = serde_json::from_str::<Lease<'_>>(text).map_or(text, |lease| lease.end);
    let zoned = DateTime::parse_from_rfc3339(text).map(|time| time.timestamp_millis());
    let plain =
        || NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").map(|time| time.and_utc().timestamp_millis());
    zoned.or_else(|_| plain()).ok().map(Timestamp)
}

impl Contender {
    /// Returns the time until which a lock without a session is locked, by the servers' clock, as its
    /// data says.
    pub fn locked_until(&self) -> Option<Timestamp> {
        let may_be_timed = self.role == Role::SingleNode && self.is_read() && self.session().is_none();
        if may_be_timed { time_in(self.data.bytes()) } else { None }
    }
}

impl LockTable {
    /// Returns whether a node that is classified so is locked now, if its data says until when. A lock
    /// whose time is over is free.
    pub(super) fn is_locked_now(
        &mut self,
        place: &Classification,
        node: &Node,
        now: Timestamp,
        out: &mut Vec<Happening>,
    ) -> bool {
        if place.role != Role::SingleNode || node.stat.ephemeral_owner.is_some() {
            return true;
        }
        let Some(until) = time_in(node.data.bytes()) else { return place.recipe != Recipe::TimedLock };
        let is_locked = until > self.server_time(now);
        if !is_locked {
            let id = self.lock_of(place, now, out);
            self.after_removal(id, now, out);
        }
        is_locked
    }

    /// Frees the locks whose time is over. Linear in the number of locks.
    pub(super) fn free_timed_locks(&mut self, now: Timestamp, out: &mut Vec<Happening>) {
        let time = self.server_time(now);
        let is_over = |lock: &&LockQueue| {
            lock.kind() == LockKind::SingleNode
                && lock.contender_at(0).and_then(Contender::locked_until).is_some_and(|until| until <= time)
        };
        let over: Vec<ZnodePath> = self.locks().filter(is_over).map(|lock| lock.path().clone()).collect();
        for path in over {
            if let Some((id, slot)) = self.node(&path) {
                self.remove(&path, id, slot, now, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_schedulers_and_of_leases_are_read_and_nothing_else() {
        let ms = |text: &str| time_in(text.as_bytes()).map(|time| time.0);
        assert_eq!(ms("2024-05-01T14:41:07.250Z\n"), Some(1_714_574_467_250));
        assert_eq!(ms("2024-05-01T14:41:07.250123Z"), Some(1_714_574_467_250));
        assert_eq!(ms(r#"{"version": 1, "holder": "a", "end": "2024-05-01T14:41:07"}"#), Some(1_714_574_467_000));
        for other in ["", "worker-3", "1714574467250", r#"{"end": 7}"#, "2024-05-01", "\u{1b}[2J"] {
            assert_eq!(ms(other), None, "{other:?}");
        }
        assert_eq!(time_in(b"\xff\xfe"), None);
    }
}
