//! Tests of `waits`.

use super::*;

fn range((from, to): (i64, i64)) -> TimeRange {
    TimeRange { from: Timestamp(from), to: Timestamp(to) }
}

/// Waits, each with a latest end five milliseconds after it.
fn waits<const N: usize>(times: [(i64, i64); N]) -> KnownWaits {
    let wait = |time: TimeRange| KnownWait { certain: time, latest: Timestamp(time.to.0 + 5) };
    KnownWaits::of(times.map(range).map(wait).to_vec())
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
    let none = KnownWaits::of(Vec::new());
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
