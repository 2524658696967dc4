//! Tests of `run parts`.

use super::*;

#[test]
fn the_spread_is_that_of_ten_equal_parts() {
    let mut parts = RunParts::of(Some(105));
    let mut delivered = 0;
    for acquisition in 1..=105 {
        assert_eq!(parts.spread().is_some(), acquisition > 100, "{acquisition}");
        // The third part has the most events, the ninth the fewest.
        delivered += match acquisition {
            21..=30 => 9,
            81..=90 => 2,
            _ => 5,
        };
        if parts.ends_with(acquisition) {
            parts.end_part(delivered);
        }
    }
    assert_eq!(parts.spread(), Some([2.0, 9.0]));
}

#[test]
fn endless_and_short_runs_have_no_spread() {
    for acquisitions in [None, Some(0), Some(9)] {
        let parts = RunParts::of(acquisitions);
        assert!((0..100).all(|acquisition| !parts.ends_with(acquisition)), "{acquisitions:?}");
        assert_eq!(parts.spread(), None);
    }
}
