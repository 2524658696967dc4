//! How often to check a table for findings.

use std::time::Duration;

use crate::queue::LockTable;

/// Maximum number of locks and contenders that are checked in about 20 ms.
const FEW: usize = 25_000;

/// Maximum pause between two checks, however many locks there are.
const MAX_REST: Duration = Duration::from_secs(10);

/// Returns the pause between two checks, in addition to the second that always lies between them.
///
/// The pause is a second for each 25,000 locks and contenders, at most 10 s, and zero below 25,000.
/// A check takes about 1 µs for each of them. So checks use about 3 % of a core up to 250,000.
pub fn rest_between_checks(table: &LockTable) -> Duration {
    rest_between_checks_at(table.lock_count() + table.contender_count())
}

fn rest_between_checks_at(nodes: usize) -> Duration {
    Duration::from_secs((nodes / FEW) as u64).min(MAX_REST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, curator};

    #[test]
    fn the_pause_is_zero_for_few_locks_and_grows_up_to_a_bound() {
        let seconds =
            [0, 24_999, 25_000, 100_000, 275_000, usize::MAX].map(|nodes| rest_between_checks_at(nodes).as_secs());
        assert_eq!(seconds, [0, 0, 1, 4, 10, 10]);
    }

    #[test]
    fn locks_count_and_contenders_too() {
        let mut world = DiagnosisFixture::new();
        for lock in 0..12_500 {
            world.create(&curator(&format!("/{lock}"), 1), 1);
        }
        assert_eq!(rest_between_checks(&world.table), Duration::from_secs(1));
    }
}
