//! Tests of `percentiles`.

use super::*;

#[test]
fn a_percentile_is_one_of_the_lengths() {
    let of = |lengths: &[u64]| Percentiles::of(lengths.to_vec());
    assert_eq!(of(&[]), Percentiles::default());
    assert_eq!(of(&[7]), Percentiles { count: 1, p50: 7, p90: 7, p99: 7, max: 7 });
    let hundred: Vec<u64> = (1..=100).rev().collect();
    assert_eq!(of(&hundred), Percentiles { count: 100, p50: 50, p90: 90, p99: 99, max: 100 });
    assert_eq!(of(&[1, 2, 3, 1000]), Percentiles { count: 4, p50: 2, p90: 1000, p99: 1000, max: 1000 });
}
