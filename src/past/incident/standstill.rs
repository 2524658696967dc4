//! Standstills: times in which contenders waited for a lock and none of them got it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::time::Duration;

use super::waits::{Wait, Waits, certain_hold, tries, wait};
use crate::record::history::{PastAttempts, PastContender};
use lockscope_base::znode::{TimeRange, Timestamp};

/// A reader that waits for less beside another holder joins it: nobody was handed the lock.
const LONGEST_JOIN: Duration = Duration::from_millis(100);

/// The most holders that a standstill names.
const MAX_HOLDERS: usize = 8;

/// The most holders of one time that are compared: those that held first.
const MAX_COMPARED: usize = 64;

/// A longest time in which at least one contender waited for a lock and nobody acquired it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standstill {
    pub time: TimeRange,
    /// Those that held during most of it, as indexes into the contenders of the incident, the longest
    /// first. Empty if no holder is known.
    pub holders: Vec<usize>,
    /// The number of holders that are not named.
    pub more_holders: usize,
    /// The number of waiting contenders, and of sessions that tried in vain.
    pub waiters: usize,
    /// How long all of them waited, summed up, in milliseconds.
    pub cost_ms: u64,
}

/// The known time of a hold.
#[derive(Clone, Copy, Debug)]
struct Hold {
    time: TimeRange,
    /// The holder, as an index into the contenders of the incident.
    at: usize,
}

/// The holds of a lock in the order of their beginnings.
#[derive(Debug)]
struct Holds {
    holds: Vec<Hold>,
    /// The latest end of the holds up to each of them.
    latest: Vec<Timestamp>,
}

impl Holds {
    fn of(contenders: &[PastContender], of: &[usize], window: TimeRange) -> Self {
        let hold = |at: &usize| Some(Hold { time: certain_hold(contenders.get(*at)?, window)?, at: *at });
        let mut holds: Vec<Hold> = of.iter().filter_map(hold).collect();
        holds.sort_unstable_by_key(|hold| (hold.time, hold.at));
        let later = |latest: &mut Timestamp, hold: &Hold| {
            *latest = hold.time.to.max(*latest);
            Some(*latest)
        };
        let latest = holds.iter().scan(Timestamp(i64::MIN), later).collect();
        Self { holds, latest }
    }

    /// Returns whether a contender acquired beside a holder as soon as it came.
    fn joined(&self, past: &PastContender) -> bool {
        let Some((acquired, came)) = past.acquired.zip(past.enqueued_at) else { return false };
        let earlier = self.holds.partition_point(|hold| hold.time.from < acquired.before);
        let is_held =
            earlier.checked_sub(1).and_then(|last| self.latest.get(last)).is_some_and(|to| *to > acquired.before);
        past.mode == "read" && is_held && acquired.before.since(came) < LONGEST_JOIN
    }
}

/// Returns the waits for one lock and its standstills, in the order of time. `of` holds the indexes
/// of its contenders, and `attempts` those in vain in the order of time.
pub(super) fn standstills(
    contenders: &[PastContender],
    of: &[usize],
    attempts: &[&PastAttempts],
    window: TimeRange,
) -> (Waits, Vec<Standstill>) {
    let holds = Holds::of(contenders, of, window);
    let queued = || of.iter().filter_map(|at| contenders.get(*at)).filter(|past| !holds.joined(past));
    let tries = tries(attempts, window).into_iter().map(|certain| Wait { certain, latest: certain.to });
    let waits = Waits::of(queued().filter_map(|past| wait(past, window)).chain(tries).collect());
    let mut acquired: Vec<Timestamp> = queued().filter_map(|past| Some(past.acquired?.before)).collect();
    acquired.sort_unstable();
    let standstill = |time| Standstill {
        time,
        holders: Vec::new(),
        more_holders: 0,
        waiters: waits.count(time),
        cost_ms: waits.cost_ms(time),
    };
    let mut found: Vec<Standstill> = waits.cut_at(&acquired).into_iter().map(standstill).collect();
    add_holders(&mut found, &holds.holds);
    (waits, found)
}

/// Adds the holders to standstills in the order of time.
fn add_holders(found: &mut [Standstill], holds: &[Hold]) {
    let mut standing: BTreeSet<usize> = BTreeSet::new();
    let mut ends: BinaryHeap<Reverse<(Timestamp, usize)>> = BinaryHeap::new();
    let mut next = 0;
    for standstill in found {
        let TimeRange { from, to } = standstill.time;
        while let Some(hold) = holds.get(next).filter(|hold| hold.time.from < to) {
            standing.insert(next);
            ends.push(Reverse((hold.time.to, next)));
            next += 1;
        }
        while let Some(Reverse((_, ended))) = ends.peek().copied().filter(|Reverse((end, _))| *end <= from) {
            ends.pop();
            standing.remove(&ended);
        }
        let held = |at: &usize| Some((Reverse(holds[*at].time.within(standstill.time)?.length()), holds[*at].at));
        let mut held: Vec<_> = standing.iter().take(MAX_COMPARED).filter_map(held).collect();
        held.sort_unstable();
        // A holder that released just then held for a moment of it, and is no holder of that time.
        let longest = held.first().map_or(Duration::ZERO, |(Reverse(length), _)| *length);
        held.retain(|(Reverse(length), _)| *length >= longest / 10);
        let more = standing.len().saturating_sub(MAX_COMPARED);
        standstill.more_holders = held.len().saturating_sub(MAX_HOLDERS) + more;
        standstill.holders = held.into_iter().take(MAX_HOLDERS).map(|(_, at)| at).collect();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::incident::testing::{at, contender, holder, reader};
    use crate::record::tables::ContenderEnd;
    use lockscope_base::znode::TimeBounds;

    fn of(contenders: &[PastContender]) -> Vec<Standstill> {
        let all: Vec<usize> = (0..contenders.len()).collect();
        standstills(contenders, &all, &[], TimeRange { from: at(0), to: at(60_000) }).1
    }

    fn times(found: &[Standstill]) -> Vec<(i64, i64)> {
        found.iter().map(|found| (found.time.from.0 - at(0).0, found.time.to.0 - at(0).0)).collect()
    }

    #[test]
    fn two_readers_stand_once() {
        let writer = holder("w", [5_000, 40_000, 41_000], ContenderEnd::Gone);
        let found = of(&[reader("a", [0, 0, 40_000]), reader("b", [1_000, 1_003, 39_000]), writer]);
        assert_eq!(times(&found), [(5_000, 40_000)]);
        assert_eq!((&found[0].holders[..], found[0].waiters, found[0].cost_ms), (&[0, 1][..], 1, 35_000));
    }

    #[test]
    fn a_co_holder_is_no_waiter() {
        let writer = holder("w", [10_000, 40_000, 41_000], ContenderEnd::Gone);
        // It comes while others hold, and joins them at once; the writer goes on to wait.
        let late = reader("c", [20_000, 20_040, 40_000]);
        let found = of(&[reader("a", [0, 0, 40_000]), reader("b", [0, 2, 40_000]), late, writer]);
        assert_eq!(times(&found), [(10_000, 40_000)], "it was handed to nobody");
        assert_eq!((found[0].holders.len(), found[0].waiters), (3, 1));
    }

    #[test]
    fn each_hand_over_ends_a_standstill() {
        let next = |node: &str, came, got| holder(node, [came, got, got + 200], ContenderEnd::Gone);
        let found = of(&[next("a", 0, 0), next("b", 100, 200), next("c", 150, 400)]);
        assert_eq!(times(&found), [(100, 200), (200, 400)]);
        // A lease is handed on beside other holders.
        let mut lease = next("d", 1_000, 1_050);
        lease.mode = "lease".to_owned();
        let found = of(&[
            holder("a", [0, 0, 9_000], ContenderEnd::Gone),
            lease,
            holder("w", [900, 8_000, 9_000], ContenderEnd::Gone),
        ]);
        assert_eq!(times(&found), [(900, 1_050), (1_050, 8_000)]);
    }

    #[test]
    fn many_holders_of_one_time_are_counted() {
        let mut contenders: Vec<PastContender> = (0..100).map(|id| reader(&format!("{id}"), [0, id, 50_000])).collect();
        contenders.push(contender("w", at(10_000)));
        let found = of(&contenders);
        assert_eq!((found.len(), found[0].holders.len(), found[0].more_holders), (1, 8, 92));
    }

    /// Returns how many wait at a moment, as a naive count has it.
    fn waiting_at(contenders: &[PastContender], moment: i64) -> u64 {
        let is_waiting = |past: &&PastContender| {
            let until = past.acquired.or(past.ended).map_or(past.known_until, |bounds| bounds.after);
            past.enqueued_at.is_some_and(|came| came <= at(moment)) && at(moment) < until
        };
        contenders.iter().filter(is_waiting).count().try_into().expect("few")
    }

    proptest! {
        #[test]
        fn standstills_are_the_waits_between_acquisitions(times in prop::collection::vec((0_i64..60, 0_i64..30, 0_i64..30, any::<bool>()), 0..12)) {
            let contenders: Vec<PastContender> = times.iter().map(|(came, waited, held, acquires)| {
                let mut past = holder("n", [*came, came + waited, came + waited + held], ContenderEnd::Gone);
                if !acquires {
                    past.acquired = None;
                    past.ended = Some(TimeBounds::exact(at(came + waited)));
                }
                past
            }).collect();
            let found = of(&contenders);
            prop_assert!(found.windows(2).all(|pair| pair[0].time.to <= pair[1].time.from), "{:?}", found);
            let mut cost = 0;
            for standstill in &found {
                let (from, to) = (standstill.time.from.0 - at(0).0, standstill.time.to.0 - at(0).0);
                let naive: u64 = (from..to).map(|moment| waiting_at(&contenders, moment)).sum();
                prop_assert_eq!(standstill.cost_ms, naive);
                prop_assert!((from..to).all(|moment| waiting_at(&contenders, moment) > 0));
                let acquired_within = contenders.iter().filter_map(|past| past.acquired).any(|acquired| from < acquired.before.0 - at(0).0 && acquired.before.0 - at(0).0 < to);
                prop_assert!(!acquired_within && standstill.waiters > 0);
                cost += standstill.cost_ms;
            }
            let all: u64 = (0..200).map(|moment| waiting_at(&contenders, moment)).sum();
            prop_assert_eq!(cost, all);
        }
    }
}
