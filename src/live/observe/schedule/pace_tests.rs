//! Tests of `pace`.

use super::*;

const MS: Duration = Duration::from_millis(1);

#[test]
fn rare_changes_are_read_at_once() {
    let mut pace = ReadPace::default();
    for turn in 0..1000 {
        let now = COST * turn;
        assert_eq!(pace.due(now), now);
        pace.sent(now, false);
    }
}

#[test]
fn constant_changes_are_read_at_the_rate_of_the_budget() {
    let mut pace = ReadPace::default();
    let (mut sent, mut oldest) = (0, Duration::ZERO);
    for now in (0..10_000).map(|turn| MS * turn) {
        let since = *pace.waiting_since.get_or_insert(now);
        if pace.due(now) <= now {
            oldest = oldest.max(now.saturating_sub(since));
            pace.sent(now, false);
            sent += 1;
        }
    }
    assert!(sent <= 10 * REQUESTS_PER_SECOND + MAX_BURST, "{sent}");
    assert!(oldest <= MAX_READ_AGE, "{oldest:?}");
}

#[test]
fn old_reads_are_sent_even_without_budget() {
    let mut pace = ReadPace::default();
    for _ in 0..100 {
        pace.due(Duration::ZERO);
        pace.sent(Duration::ZERO, true);
    }
    assert_eq!(pace.due(MS), COST, "the budget allows one in {COST:?}");
    pace.waiting_since = Some(Duration::ZERO);
    assert!(pace.due(MS * 40) <= MS * 40);
}
