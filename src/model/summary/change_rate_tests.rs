//! Tests of `change rate`.

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp(1_700_000_000_000 + seconds * 1_000)
}

#[test]
fn changes_leave_the_rate_after_ten_seconds() {
    let mut rate = ChangeRate::default();
    rate.add(30, at(0));
    rate.add(20, at(4));
    let seen = [4, 9, 10, 13, 14, 100].map(|second| rate.per_second(at(second)).to_string());
    assert_eq!(seen, ["5", "5", "2", "2", "0", "0"]);
    rate.add(10, at(100));
    assert_eq!(rate.per_second(at(101)).to_string(), "1", "what was counted before is forgotten");
}

#[test]
fn a_clock_that_goes_back_starts_over() {
    let mut rate = ChangeRate::default();
    rate.add(100, at(50));
    rate.add(10, at(7));
    assert_eq!(rate.per_second(at(7)).to_string(), "1");
}
