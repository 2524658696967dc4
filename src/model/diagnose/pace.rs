//! How often it pays to look.

use std::time::Duration;

use crate::queue::LockTable;

/// Up to so many locks and contenders a look is quick: some 20 ms.
const FEW: usize = 25_000;

/// Findings of however many locks are at most so old, and what a look takes.
const MAX_REST: Duration = Duration::from_secs(10);

/// How long whoever looks again and again waits after a look before it looks again, besides the second between two looks of few locks:
/// a second for each 25,000 locks and contenders, and 10 s at most. A look costs some 1 µs for each of them, so that it takes some 3 % of
/// a core however many there are, up to 250,000.
///
/// Zero for fewer than that.
pub fn rest_between_looks(table: &LockTable) -> Duration {
    rest_between_looks_at(table.lock_count() + table.contender_count())
}

fn rest_between_looks_at(nodes: usize) -> Duration {
    Duration::from_secs((nodes / FEW) as u64).min(MAX_REST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, curator};

    #[test]
    fn few_are_looked_at_without_rest_and_many_more_seldom_up_to_a_bound() {
        let seconds =
            [0, 24_999, 25_000, 100_000, 275_000, usize::MAX].map(|nodes| rest_between_looks_at(nodes).as_secs());
        assert_eq!(seconds, [0, 0, 1, 4, 10, 10]);
    }

    #[test]
    fn locks_count_and_contenders_too() {
        let mut world = DiagnosisFixture::new();
        for lock in 0..12_500 {
            world.create(&curator(&format!("/{lock}"), 1), 1);
        }
        assert_eq!(rest_between_looks(&world.table), Duration::from_secs(1));
    }
}
