//! The times in which contenders waited for a lock: whether anybody did, how many, and how long in
//! all.

use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::record::history::{PastAttempts, PastContender};
use lockscope_base::znode::{SessionId, TimeBounds, TimeRange, Timestamp};

/// A session that tries again within this time has wanted the lock all the time.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Returns the time in which a contender is known to have held, within the window.
pub(super) fn certain_hold(past: &PastContender, window: TimeRange) -> Option<TimeRange> {
    let ended = past.ended.map_or(past.known_until, |ended| ended.after);
    TimeRange { from: past.acquired?.before, to: ended }.within(window)
}

/// A time in which a contender waited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub certain: TimeRange,
    /// The latest end: what ended while nothing was seen is found afterwards.
    pub latest: Timestamp,
}

/// Returns the time in which a contender waited, within the window.
pub(super) fn wait(past: &PastContender, window: TimeRange) -> Option<Wait> {
    let until = past.acquired.or(past.ended).unwrap_or(TimeBounds::exact(past.known_until));
    let certain = TimeRange { from: past.enqueued_at?, to: until.after }.within(window)?;
    Some(Wait { certain, latest: until.before.min(window.to).max(certain.to) })
}

/// Returns the time in which a contender is known to have waited, within the window.
pub(super) fn certain_wait(past: &PastContender, window: TimeRange) -> Option<TimeRange> {
    wait(past, window).map(|wait| wait.certain)
}

/// Returns the times in which sessions tried again and again, each with a session.
pub(super) fn tries(attempts: &[&PastAttempts], window: TimeRange) -> Vec<TimeRange> {
    let mut tries: Vec<TimeRange> = Vec::new();
    let mut last_of: FxHashMap<Option<SessionId>, usize> = FxHashMap::default();
    for attempts in attempts {
        let Some(time) = (TimeRange { from: attempts.from, to: attempts.to }).within(window) else { continue };
        match last_of.get(&attempts.session).and_then(|at| tries.get_mut(*at)) {
            Some(last) if time.from.since(last.to) <= LONGEST_PAUSE => last.to = last.to.max(time.to),
            _ => {
                last_of.insert(attempts.session, tries.len());
                tries.push(time);
            }
        }
    }
    tries
}

/// The times in which contenders waited for a lock.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// The longest times in which at least one waited at every moment, in order.
    merged: Vec<TimeRange>,
    starts: Moments,
    ends: Moments,
    latest_ends: Moments,
}

impl Waits {
    pub fn of(mut waits: Vec<Wait>) -> Self {
        waits.sort_unstable_by_key(|wait| wait.certain);
        let mut merged: Vec<TimeRange> = Vec::new();
        for Wait { certain, .. } in &waits {
            match merged.last_mut() {
                Some(last) if certain.from <= last.to => last.to = last.to.max(certain.to),
                _ => merged.push(*certain),
            }
        }
        let starts = Moments::of(waits.iter().map(|wait| wait.certain.from).collect());
        let ends = Moments::of(waits.iter().map(|wait| wait.certain.to).collect());
        Self { merged, starts, ends, latest_ends: Moments::of(waits.iter().map(|wait| wait.latest).collect()) }
    }

    /// Returns the times in which at least one waited, cut at each of `cuts`, which are in order.
    pub fn cut_at(&self, cuts: &[Timestamp]) -> Vec<TimeRange> {
        let mut pieces = Vec::new();
        for waited in &self.merged {
            let mut from = waited.from;
            let first = cuts.partition_point(|cut| *cut <= waited.from);
            for cut in cuts[first..].iter().take_while(|cut| **cut < waited.to) {
                if *cut > from {
                    pieces.push(TimeRange { from, to: *cut });
                    from = *cut;
                }
            }
            pieces.push(TimeRange { from, to: waited.to });
        }
        pieces
    }

    /// Returns how many waited at any moment of a time.
    pub fn count(&self, time: TimeRange) -> usize {
        self.starts.number_before(time.to).saturating_sub(self.ends.number_up_to(time.from))
    }

    /// Returns how long all of them are known to have waited within a time, summed up, in milliseconds.
    pub fn cost_ms(&self, time: TimeRange) -> u64 {
        self.cost_until(&self.ends, time)
    }

    /// Returns the longest that all of them can have waited within a time, summed up, in milliseconds.
    pub fn most_cost_ms(&self, time: TimeRange) -> u64 {
        self.cost_until(&self.latest_ends, time)
    }

    fn cost_until(&self, ends: &Moments, time: TimeRange) -> u64 {
        let until = |at| self.starts.until(at) - ends.until(at);
        u64::try_from(until(time.to) - until(time.from)).unwrap_or(0)
    }
}

/// Moments in order.
#[derive(Debug, Default)]
struct Moments {
    at: Vec<Timestamp>,
    /// For each number of moments, the sum of the first ones.
    sums: Vec<i128>,
}

impl Moments {
    fn of(mut at: Vec<Timestamp>) -> Self {
        at.sort_unstable();
        let next = |sum: &mut i128, at: &Timestamp| {
            *sum += i128::from(at.0);
            Some(*sum)
        };
        let sums = std::iter::once(0).chain(at.iter().scan(0, next)).collect();
        Self { at, sums }
    }

    fn number_before(&self, time: Timestamp) -> usize {
        self.at.partition_point(|at| *at < time)
    }

    fn number_up_to(&self, time: Timestamp) -> usize {
        self.at.partition_point(|at| *at <= time)
    }

    /// Returns the time from each earlier moment to `time`, summed up, in milliseconds.
    fn until(&self, time: Timestamp) -> i128 {
        let before = self.number_before(time);
        let sum = self.sums.get(before).copied().unwrap_or(0);
        i128::from(time.0) * i128::try_from(before).unwrap_or(0) - sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range((from, to): (i64, i64)) -> TimeRange {
        TimeRange { from: Timestamp(from), to: Timestamp(to) }
    }

    /// Waits, each with a latest end five milliseconds after it.
    fn waits<const N: usize>(times: [(i64, i64); N]) -> Waits {
        let wait = |time: TimeRange| Wait { certain: time, latest: Timestamp(time.to.0 + 5) };
        Waits::of(times.map(range).map(wait).to_vec())
    }

    #[test]
    fn waiters_are_counted_and_their_times_summed_up_within_any_time() {
        let waits = waits([(10, 20), (15, 30), (50, 60), (70, 71)]);
        let told = |time| (waits.count(range(time)), waits.cost_ms(range(time)));
        assert_eq!(told((0, 100)), (4, 10 + 15 + 10 + 1));
        assert_eq!(told((12, 55)), (3, 8 + 15 + 5));
        assert_eq!(told((20, 25)), (1, 5), "one had gone");
        assert_eq!(told((30, 50)), (0, 0));
        assert_eq!(waits.most_cost_ms(range((12, 34))), 8 + 5 + 15 + 4, "each may have ended later");
        let none = Waits::of(Vec::new());
        assert_eq!((none.count(range((0, 100))), none.cost_ms(range((0, 100)))), (0, 0));
    }

    #[test]
    fn the_time_in_which_somebody_waited_is_cut_at_given_moments() {
        let waits = waits([(10, 20), (15, 30), (50, 60)]);
        let cut = |cuts: &[i64]| {
            let cuts: Vec<Timestamp> = cuts.iter().copied().map(Timestamp).collect();
            waits.cut_at(&cuts).iter().map(|piece| (piece.from.0, piece.to.0)).collect::<Vec<_>>()
        };
        assert_eq!(cut(&[]), [(10, 30), (50, 60)]);
        assert_eq!(cut(&[5, 10, 20, 20, 30, 40, 55]), [(10, 20), (20, 30), (50, 55), (55, 60)]);
    }
}
