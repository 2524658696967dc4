//! Standstills: holds during which others waited.

use std::cmp::Reverse;
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::record::history::{PastAttempts, PastContender};
use lockscope_base::znode::{SessionId, TimeRange, Timestamp};

/// A session that tries again within this time has wanted the lock all the time.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

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
    /// The number of waiting contenders, and of sessions that tried in vain.
    pub waiters: usize,
    /// The number of attempts in vain during the hold.
    pub attempts: u64,
}

/// Returns the time in which a contender is known to have held, within the window.
pub(super) fn certain_hold(past: &PastContender, window: TimeRange) -> Option<TimeRange> {
    let ended = past.ended.map_or(past.known_until, |ended| ended.after);
    TimeRange { from: past.acquired?.before, to: ended }.within(window)
}

/// Returns the time in which a contender is known to have waited, within the window.
pub(super) fn certain_wait(past: &PastContender, window: TimeRange) -> Option<TimeRange> {
    let ended = past.ended.map_or(past.known_until, |ended| ended.after);
    let to = past.acquired.map_or(ended, |acquired| acquired.after);
    TimeRange { from: past.enqueued_at?, to }.within(window)
}

/// The times in which contenders waited for a lock, and their number.
#[derive(Debug, Default)]
struct Waits {
    /// The merged times in order.
    merged: Vec<Waited>,
    starts: Vec<Timestamp>,
    ends: Vec<Timestamp>,
}

/// A time in which at least one contender waited at every moment.
#[derive(Clone, Copy, Debug)]
struct Waited {
    time: TimeRange,
    /// The total length of the times before it.
    before: Duration,
}

impl Waits {
    fn of(mut waits: Vec<TimeRange>) -> Self {
        waits.sort_unstable();
        let mut merged: Vec<Waited> = Vec::new();
        for wait in &waits {
            match merged.last_mut() {
                Some(last) if wait.from <= last.time.to => last.time.to = last.time.to.max(wait.to),
                last => {
                    let before = last.map_or(Duration::ZERO, |last| last.before + last.time.length());
                    merged.push(Waited { time: *wait, before });
                }
            }
        }
        let starts = waits.iter().map(|wait| wait.from).collect();
        let mut ends: Vec<Timestamp> = waits.iter().map(|wait| wait.to).collect();
        ends.sort_unstable();
        Self { merged, starts, ends }
    }

    /// Returns how long at least one contender waited before `time`.
    fn until(&self, time: Timestamp) -> Duration {
        let at = self.merged.partition_point(|waited| waited.time.from < time);
        let Some(last) = at.checked_sub(1).and_then(|at| self.merged.get(at)) else { return Duration::ZERO };
        last.before + time.min(last.time.to).since(last.time.from)
    }

    /// Returns the standstill caused by a hold, if others waited during it.
    fn during(&self, holder: usize, hold: TimeRange) -> Option<Standstill> {
        let waited = self.until(hold.to).saturating_sub(self.until(hold.from));
        let ms = u64::try_from(waited.as_millis()).ok().filter(|ms| *ms > 0)?;
        let first = self.merged.get(self.merged.partition_point(|waited| waited.time.to <= hold.from))?;
        let last = self.merged.partition_point(|waited| waited.time.from < hold.to).checked_sub(1)?;
        let last = self.merged.get(last)?;
        let came = self.starts.partition_point(|start| *start < hold.to);
        let gone = self.ends.partition_point(|end| *end <= hold.from);
        Some(Standstill {
            holder,
            from: first.time.from.max(hold.from),
            to: last.time.to.min(hold.to),
            ms,
            waiters: came.saturating_sub(gone),
            attempts: 0,
        })
    }
}

/// Returns the times in which sessions tried again and again, each with a session.
fn tries(attempts: &[&PastAttempts], window: TimeRange) -> Vec<TimeRange> {
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

/// Returns the standstills of one lock, the longest first. `of` holds the indexes of its
/// contenders, and `attempts` those in vain in the order of time.
pub(super) fn standstills(
    contenders: &[PastContender],
    of: &[usize],
    attempts: &[&PastAttempts],
    window: TimeRange,
) -> Vec<Standstill> {
    let waits = of.iter().filter_map(|at| certain_wait(contenders.get(*at)?, window));
    let waits = Waits::of(waits.chain(tries(attempts, window)).collect());
    let holds = of.iter().filter_map(|at| Some((*at, certain_hold(contenders.get(*at)?, window)?)));
    let during = |(at, hold): (usize, TimeRange)| {
        let first = attempts.partition_point(|attempts| attempts.to < hold.from);
        let later = attempts[first..].iter().take_while(|attempts| attempts.from <= hold.to);
        let count = later.fold(0_u64, |all, attempts| all.saturating_add(attempts.count));
        Some(Standstill { attempts: count, ..waits.during(at, hold)? })
    };
    let mut found: Vec<Standstill> = holds.filter_map(during).collect();
    found.sort_unstable_by_key(|found| (Reverse(found.ms), found.from, found.holder));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_in_which_somebody_waited_counts() {
        let range = |(from, to)| TimeRange { from: Timestamp(from), to: Timestamp(to) };
        let waits = Waits::of([(10, 20), (15, 30), (50, 60), (70, 71)].map(range).to_vec());
        let until = [0, 10, 15, 30, 40, 55, 60, 100].map(|time| waits.until(Timestamp(time)).as_millis());
        assert_eq!(until, [0, 0, 5, 20, 20, 25, 30, 31]);
        let found = |from, to| {
            let found = waits.during(7, range((from, to)))?;
            Some((found.from.0, found.to.0, found.ms, found.waiters))
        };
        assert_eq!(found(0, 12), Some((10, 12, 2, 1)));
        assert_eq!(found(12, 55), Some((12, 55, 23, 3)));
        assert_eq!(found(20, 25), Some((20, 25, 5, 1)), "one had gone");
        assert_eq!(found(30, 50), None);
        assert_eq!(Waits::of(Vec::new()).during(0, range((0, 100))), None);
    }
}
