//! Tests of `standstill`.

use proptest::prelude::*;

use super::*;
use crate::incident::testing::{at, contender, holder, reader};
use crate::record::tables::ContenderEnd;
use lockscope_base::znode::TimeBounds;

fn of(contenders: &[PastContender]) -> Vec<PastStandstill> {
    let all: Vec<usize> = (0..contenders.len()).collect();
    standstills(contenders, &all, &[], TimeRange { from: at(0), to: at(60_000) }).1
}

fn times(found: &[PastStandstill]) -> Vec<(i64, i64)> {
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
