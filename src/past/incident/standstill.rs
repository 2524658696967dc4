//! Standstills: holds during which others waited.

use std::cmp::Reverse;

use crate::record::history::PastContender;
use lockscope_base::znode::Timestamp;

/// A hold during which others waited for the same lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// The holder, as an index into the contenders of the incident.
    pub holder: usize,
    /// The first time during the hold at which another contender waited.
    pub from: Timestamp,
    /// The last time during the hold at which another contender waited.
    pub to: Timestamp,
    /// How long at least one contender waited during the hold, in milliseconds.
    pub ms: u64,
    /// The number of waiting contenders.
    pub waiters: usize,
}

/// Returns the time in which a contender is known to have held, within the window.
pub(super) fn certain_hold(past: &PastContender, window: (Timestamp, Timestamp)) -> Option<(i64, i64)> {
    let ended = past.ended.map_or(past.known_until, |ended| ended.after);
    clip(past.acquired?.before, ended, window)
}

/// Returns the time in which a contender is known to have waited, within the window.
pub(super) fn certain_wait(past: &PastContender, window: (Timestamp, Timestamp)) -> Option<(i64, i64)> {
    let ended = past.ended.map_or(past.known_until, |ended| ended.after);
    clip(past.enqueued_at?, past.acquired.map_or(ended, |acquired| acquired.after), window)
}

fn clip(from: Timestamp, to: Timestamp, (first, last): (Timestamp, Timestamp)) -> Option<(i64, i64)> {
    let (from, to) = (from.0.max(first.0), to.0.min(last.0));
    (from < to).then_some((from, to))
}

/// The times in which contenders waited for a lock, and their number.
#[derive(Debug, Default)]
struct Waits {
    /// The merged times in order, each with the total length of those before.
    merged: Vec<(i64, i64, i64)>,
    starts: Vec<i64>,
    ends: Vec<i64>,
}

impl Waits {
    fn of(mut waits: Vec<(i64, i64)>) -> Self {
        waits.sort_unstable();
        let (mut merged, mut before): (Vec<(i64, i64, i64)>, i64) = (Vec::new(), 0);
        for (from, to) in &waits {
            match merged.last_mut() {
                Some(last) if *from <= last.1 => last.1 = last.1.max(*to),
                last => {
                    before += last.map_or(0, |last| last.1 - last.0);
                    merged.push((*from, *to, before));
                }
            }
        }
        let starts = waits.iter().map(|(from, _)| *from).collect();
        let mut ends: Vec<i64> = waits.iter().map(|(_, to)| *to).collect();
        ends.sort_unstable();
        Self { merged, starts, ends }
    }

    /// Returns how long at least one contender waited before `time`.
    fn until(&self, time: i64) -> i64 {
        let at = self.merged.partition_point(|(from, ..)| *from < time);
        let Some((from, to, before)) = at.checked_sub(1).and_then(|at| self.merged.get(at)) else { return 0 };
        before + time.min(*to) - from
    }

    /// Returns the standstill caused by a hold, if others waited during it.
    fn during(&self, holder: usize, (from, to): (i64, i64)) -> Option<Standstill> {
        let ms = u64::try_from(self.until(to) - self.until(from)).ok().filter(|ms| *ms > 0)?;
        let first = self.merged.get(self.merged.partition_point(|(_, end, _)| *end <= from))?;
        let last = self.merged.get(self.merged.partition_point(|(start, ..)| *start < to).checked_sub(1)?)?;
        let came = self.starts.partition_point(|start| *start < to);
        let gone = self.ends.partition_point(|end| *end <= from);
        Some(Standstill {
            holder,
            from: Timestamp(first.0.max(from)),
            to: Timestamp(last.1.min(to)),
            ms,
            waiters: came.saturating_sub(gone),
        })
    }
}

/// Returns the standstills of one lock, the longest first. `of` holds the indexes of its
/// contenders.
pub(super) fn standstills(
    contenders: &[PastContender],
    of: &[usize],
    window: (Timestamp, Timestamp),
) -> Vec<Standstill> {
    let waits = Waits::of(of.iter().filter_map(|at| certain_wait(contenders.get(*at)?, window)).collect());
    let holds = of.iter().filter_map(|at| Some((*at, certain_hold(contenders.get(*at)?, window)?)));
    let mut found: Vec<Standstill> = holds.filter_map(|(at, hold)| waits.during(at, hold)).collect();
    found.sort_unstable_by_key(|found| (Reverse(found.ms), found.from, found.holder));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_with_a_waiter_counts() {
        let waits = Waits::of(vec![(10, 20), (15, 30), (50, 60), (70, 71)]);
        assert_eq!([0, 10, 15, 30, 40, 55, 60, 100].map(|time| waits.until(time)), [0, 0, 5, 20, 20, 25, 30, 31]);
        let found =
            |from, to| waits.during(7, (from, to)).map(|found| (found.from.0, found.to.0, found.ms, found.waiters));
        assert_eq!(found(0, 12), Some((10, 12, 2, 1)));
        assert_eq!(found(12, 55), Some((12, 55, 23, 3)));
        assert_eq!(found(20, 25), Some((20, 25, 5, 1)), "one had gone");
        assert_eq!(found(30, 50), None);
        assert_eq!(Waits::of(Vec::new()).during(0, (0, 100)), None);
    }
}
