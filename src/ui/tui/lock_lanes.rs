//! The last ten minutes of each lock, in slots of ten seconds: for how long it was held, and what is
//! not known. Pure.
//!
//! A hold is added when it ends, so a lock that does not change hands takes no memory here. Memory
//! is bounded: at most [`MAX_LANES`] locks have a lane; when there would be more, all are forgotten,
//! and the time before that is not known.

use std::collections::VecDeque;
use std::ops::Range;

use rustc_hash::FxHashMap;

use lockscope_base::znode::Timestamp;
use lockscope_model::queue::LockId;

/// The slots of a lane.
pub const SLOTS: usize = 60;

/// Milliseconds of a slot.
const SLOT_MS: i64 = 10_000;

/// Maximum number of locks with a lane of their own.
const MAX_LANES: usize = 2_000;

/// Maximum number of gaps without a connection that are kept.
const MAX_GAPS: usize = 64;

/// A part of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneCell {
    NotKnown,
    Free,
    /// Held for that many eighths of the time, 1 to 8.
    Held(u8),
    Stuck,
}

/// The slots of a lock that changed hands.
#[derive(Clone, Debug)]
struct Lane {
    /// The number of the newest slot since 1970.
    newest: i64,
    /// Milliseconds for which the lock was held, by the number of the slot modulo [`SLOTS`].
    held: [u16; SLOTS],
    /// When the lock was found; its earlier states are not known.
    found: i64,
}

impl Lane {
    fn add(&mut self, time: Range<i64>) {
        let to = time.end.div_euclid(SLOT_MS);
        for slot in (self.newest + 1).max(to - SLOTS_BACK)..=to {
            self.held[place(slot)] = 0;
        }
        self.newest = self.newest.max(to);
        for slot in time.start.div_euclid(SLOT_MS).max(self.newest - SLOTS_BACK)..=to {
            let held = &mut self.held[place(slot)];
            let more = overlap(&time, &(slot * SLOT_MS..(slot + 1) * SLOT_MS));
            *held = u16::try_from((i64::from(*held) + more).min(SLOT_MS)).unwrap_or(u16::MAX);
        }
    }

    fn held_in(&self, slot: i64) -> i64 {
        if (self.newest - SLOTS_BACK..=self.newest).contains(&slot) { self.held[place(slot)].into() } else { 0 }
    }
}

/// The number of slots before the newest one.
#[expect(clippy::cast_possible_wrap, reason = "60")]
const SLOTS_BACK: i64 = SLOTS as i64 - 1;

fn place(slot: i64) -> usize {
    usize::try_from(slot.rem_euclid(SLOTS_BACK + 1)).unwrap_or(0)
}

/// Milliseconds that two times have in common.
fn overlap(one: &Range<i64>, other: &Range<i64>) -> i64 {
    (one.end.min(other.end) - one.start.max(other.start)).max(0)
}

/// The lanes of all locks.
#[derive(Clone, Debug, Default)]
pub struct LockLanes {
    lanes: FxHashMap<LockId, Box<Lane>>,
    /// Since when all holds are known; `None` before the first full reading.
    since: Option<i64>,
    /// The times without a connection, oldest first.
    gaps: VecDeque<Range<i64>>,
    /// Since when there is no connection.
    lost_at: Option<i64>,
}

impl LockLanes {
    /// Takes in whether the state of the locks is known. `last_true`: when it was known last.
    pub fn sees(&mut self, is_known: bool, at: Timestamp, last_true: Option<Timestamp>) {
        match (is_known, self.lost_at) {
            (true, Some(lost_at)) => {
                self.gaps.push_back(lost_at..at.0);
                self.lost_at = None;
                if self.gaps.len() > MAX_GAPS {
                    self.since = self.gaps.pop_front().map(|gap| gap.end).max(self.since);
                }
            }
            (true, None) => self.since = self.since.or(Some(at.0)),
            (false, None) if self.since.is_some() => self.lost_at = Some(last_true.unwrap_or(at).0.min(at.0)),
            (false, _) => {}
        }
    }

    /// Adds a hold that has ended.
    pub fn hold_ended(&mut self, lock: LockId, from: Timestamp, to: Timestamp) {
        self.lane(lock, i64::MIN, to).add(from.0.min(to.0)..to.0);
    }

    /// Takes in that a lock was found: an earlier lock at its path may have been held.
    pub fn found(&mut self, lock: LockId, at: Timestamp) {
        self.lane(lock, at.0, at);
    }

    fn lane(&mut self, lock: LockId, found: i64, now: Timestamp) -> &mut Lane {
        if self.lanes.len() >= MAX_LANES && !self.lanes.contains_key(&lock) {
            self.lanes.clear();
            self.since = self.since.max(Some(now.0));
        }
        let new = || Box::new(Lane { newest: now.0.div_euclid(SLOT_MS), held: [0; SLOTS], found });
        self.lanes.entry(lock).or_insert_with(new)
    }

    /// Returns the last ten minutes of a lock in cells of `slots` slots each, the oldest first.
    /// `holds` are the holds that last, and `stuck` the times in which the lock was stuck.
    pub fn cells(
        &self,
        lock: LockId,
        holds: &[Timestamp],
        stuck: &[Range<Timestamp>],
        now: Timestamp,
        slots: usize,
    ) -> Vec<LaneCell> {
        let newest = now.0.div_euclid(SLOT_MS);
        let lane = self.lanes.get(&lock);
        let since = self.since.unwrap_or(i64::MAX).max(lane.map_or(i64::MIN, |lane| lane.found));
        let is_not_known = |cell: &Range<i64>| {
            let lost = self.lost_at.map(|lost_at| lost_at..i64::MAX);
            let gaps = self.gaps.iter().cloned().chain(lost).chain(std::iter::once(i64::MIN..since));
            gaps.map(|gap| overlap_of(cell, &gap)).sum::<i64>() * 2 > cell.end - cell.start
        };
        let cell = |first: i64, last: i64| {
            let cell = first * SLOT_MS..((last + 1) * SLOT_MS).min(now.0 + 1);
            if is_not_known(&cell) {
                return LaneCell::NotKnown;
            }
            if stuck.iter().any(|stuck| overlap(&(stuck.start.0..stuck.end.0), &cell) > 0) {
                return LaneCell::Stuck;
            }
            let ended: i64 = (first..=last).map(|slot| lane.map_or(0, |lane| lane.held_in(slot))).sum();
            let lasting = holds.iter().map(|since| overlap(&(since.0..now.0 + 1), &cell)).max().unwrap_or(0);
            let eighths = ((ended + lasting) * 8 + cell.end - cell.start - 1) / (cell.end - cell.start);
            match u8::try_from(eighths.clamp(0, 8)) {
                Ok(0) | Err(_) => LaneCell::Free,
                Ok(eighths) => LaneCell::Held(eighths),
            }
        };
        let step = i64::try_from(slots.max(1)).unwrap_or(1);
        let firsts = (newest - SLOTS_BACK..=newest).step_by(slots.max(1));
        firsts.map(|first| cell(first, (first + step - 1).min(newest))).collect()
    }
}

/// Like [`overlap`], for a gap that may have no beginning or no end.
fn overlap_of(cell: &Range<i64>, gap: &Range<i64>) -> i64 {
    overlap(cell, &(gap.start.max(cell.start)..gap.end.min(cell.end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: LockId = LockId(1);
    const MINUTE: i64 = 60_000;

    fn drawn(cells: &[LaneCell]) -> String {
        let sign = |cell: &LaneCell| match cell {
            LaneCell::NotKnown => '?',
            LaneCell::Free => '.',
            LaneCell::Held(eighths) => char::from(b'0' + eighths),
            LaneCell::Stuck => 'x',
        };
        cells.iter().map(sign).collect()
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp(ms)
    }

    /// Lanes that know everything since the tenth minute.
    fn lanes() -> LockLanes {
        let mut lanes = LockLanes::default();
        lanes.sees(false, at(0), None);
        lanes.sees(true, at(10 * MINUTE), None);
        lanes
    }

    #[test]
    fn holds_that_ended_and_that_last_are_told_from_free_and_from_unknown_times() {
        let mut lanes = lanes();
        lanes.hold_ended(LOCK, at(10 * MINUTE), at(11 * MINUTE));
        lanes.hold_ended(LOCK, at(12 * MINUTE), at(12 * MINUTE + 5_000));
        let now = at(14 * MINUTE - 1);
        let cells = lanes.cells(LOCK, &[at(13 * MINUTE)], &[], now, 1);
        assert_eq!(drawn(&cells), format!("{}888888......4.....888888", "?".repeat(36)));
        let cells = lanes.cells(LOCK, &[at(13 * MINUTE)], &[at(13 * MINUTE + 20_000)..now], now, 2);
        assert_eq!(drawn(&cells), format!("{}888...2..8xx", "?".repeat(18)));
        assert_eq!(drawn(&lanes.cells(LockId(2), &[], &[], now, 2)), format!("{}............", "?".repeat(18)));
        // What is older than ten minutes is gone.
        let later = at(30 * MINUTE - 1);
        assert_eq!(drawn(&lanes.cells(LOCK, &[], &[], later, 2)), ".".repeat(30));
        lanes.hold_ended(LOCK, at(20 * MINUTE), at(30 * MINUTE - 1));
        assert_eq!(drawn(&lanes.cells(LOCK, &[], &[], later, 2)), "8".repeat(30));
    }

    #[test]
    fn a_time_without_connection_and_before_a_lock_was_found_is_not_known() {
        let mut lanes = lanes();
        lanes.sees(false, at(15 * MINUTE), Some(at(14 * MINUTE)));
        lanes.sees(false, at(15 * MINUTE + 1), Some(at(14 * MINUTE)));
        assert_eq!(drawn(&lanes.cells(LOCK, &[], &[], at(16 * MINUTE - 1), 6)), "????....??");
        lanes.sees(true, at(16 * MINUTE), None);
        lanes.found(LockId(3), at(18 * MINUTE));
        let now = at(20 * MINUTE - 1);
        assert_eq!(drawn(&lanes.cells(LOCK, &[at(12 * MINUTE)], &[], now, 6)), "..88??8888");
        assert_eq!(drawn(&lanes.cells(LockId(3), &[], &[], now, 6)), "????????..");
    }

    #[test]
    fn memory_is_bounded_and_what_was_forgotten_is_not_known() {
        let mut lanes = lanes();
        for lock in 0..10_000 {
            lanes.hold_ended(LockId(lock), at(10 * MINUTE), at(15 * MINUTE));
        }
        assert!(lanes.lanes.len() <= MAX_LANES);
        assert_eq!(drawn(&lanes.cells(LockId(0), &[], &[], at(20 * MINUTE - 1), 6)), "?????.....");
        for minute in 20..200 {
            lanes.sees(false, at(minute * MINUTE), None);
            lanes.sees(true, at(minute * MINUTE + 1), None);
        }
        assert_eq!(lanes.gaps.len(), MAX_GAPS);
    }
}
