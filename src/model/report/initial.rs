//! The locks and contenders at the start of watching, as lines of JSON and for people.

use serde::Serialize;

use super::contender::millis;
use super::lines;
use super::{HappeningLine, rfc3339};
use crate::queue::{ContenderRow, ContenderState, Happening, HoldBounds, LockEvent, LockQueue, LockTable, WatchEvents};
use crate::text::human::duration;
use lockscope_base::znode::Timestamp;

/// A lock that existed when watching began, or one of its contenders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initial {
    happening: Happening,
    /// When the contender's node was created, by the server's clock; `None` for a lock.
    created_at: Option<Timestamp>,
    /// How long a holder has held; `None` for all others, and where this is unknown.
    held: Option<HoldBounds>,
}

/// A lock or a contender at the start, as a line of `lockscope watch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InitialLine<'a> {
    #[serde(flatten)]
    line: HappeningLine<'a>,
    initial: bool,
    created_at: Option<String>,
    held_at_least_ms: Option<u64>,
    held_at_most_ms: Option<u64>,
}

impl Initial {
    /// Returns a lock that was found at `at`, followed by its contenders in queue order. Holders
    /// have `acquired` it, all others have `enqueued`. Linear in the queue.
    pub fn of_lock(lock: &LockQueue, at: Timestamp, table: &LockTable) -> Vec<Self> {
        let found = Happening::lock_found(lock, at);
        let rows = lock.rows(0..lock.len());
        let contenders: Vec<Self> = rows.map(|row| Self::of_contender(&found, row, table)).collect();
        [Self { happening: found, created_at: None, held: None }].into_iter().chain(contenders).collect()
    }

    fn of_contender(found: &Happening, row: ContenderRow<'_>, table: &LockTable) -> Self {
        let contender = row.contender;
        let holds = row.state == ContenderState::Holds;
        let happening = Happening {
            event: if holds { LockEvent::Acquired } else { LockEvent::Enqueued },
            node: Some(contender.node.clone()),
            contender: Some(contender.id()),
            session: contender.session(),
            client: table.identity_of(contender),
            watch_events: WatchEvents::default(),
            ..found.clone()
        };
        let held = table.hold_bounds(contender, found.at);
        Self { happening, created_at: Some(contender.created_at), held }
    }

    /// Returns the line for people, with its line break. Times are local unless `utc` is set.
    pub fn for_people(&self, utc: bool) -> String {
        let held = self.held.map(|held| {
            let upper = (!held.is_exact()).then(|| format!(" to {}", duration(held.at_most)));
            format!(", held for {}{}", duration(held.at_least), upper.unwrap_or_default())
        });
        let reason = format!("there at the start{}", held.unwrap_or_default());
        lines::happening(&self.happening, Some(&reason), utc)
    }
}

impl<'a> From<&'a Initial> for InitialLine<'a> {
    fn from(initial: &'a Initial) -> Self {
        Self {
            line: HappeningLine::new(&initial.happening, None),
            initial: true,
            created_at: initial.created_at.and_then(rfc3339),
            held_at_least_ms: initial.held.map(|held| millis(held.at_least)),
            held_at_most_ms: initial.held.map(|held| millis(held.at_most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{seen, table};
    use lockscope_base::znode::{SessionId, ZnodeStat, Zxid};

    #[test]
    fn a_client_at_the_start_is_named_as_later_on() {
        let at = Timestamp(1_714_574_467_250);
        let found = [(3, "worker-3"), (4, "worker-4")].map(|(number, name)| {
            let stat = ZnodeStat::of_new(Zxid(number), Timestamp(at.0 - 60_000), Some(SessionId(number)));
            seen(&format!("/a/{number:032x}__lock__000000000{number}"), stat, name.as_bytes())
        });
        let table = table(found, at);
        let lock = table.locks().next().unwrap();
        let lines: Vec<String> =
            Initial::of_lock(lock, at, &table).iter().map(|initial| initial.for_people(true)).collect();
        insta::assert_snapshot!(lines.concat(), @r"
        14:41:07.250 lock-found    /a  there at the start
        14:41:07.250 acquired      /a  00000000000000000000000000000003__lock__0000000003  worker-3 (session 0x3)  queue 2  there at the start, held for 0.0s to 1m00s
        14:41:07.250 enqueued      /a  00000000000000000000000000000004__lock__0000000004  worker-4 (session 0x4)  queue 2  there at the start
        ");
    }
}
