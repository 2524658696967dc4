//! When the locks are examined for findings, and what an examination changed. Pure.

use std::sync::Arc;
use std::time::Duration;
use std::vec;

use tokio::time::Instant;

use crate::diagnose::{Finding, FindingChanges};
use crate::znode::Timestamp;

/// How often the locks are examined for findings.
const EXAMINATION_INTERVAL: Duration = Duration::from_secs(1);

/// Who watches for long waits between two examinations for so many times as long as the last one took, so that very many locks
/// do not keep it busy, and [`MAX_PAUSE`] at most.
const PAUSE_FACTOR: u32 = 32;

/// Findings of however many locks are at most so old, and what an examination takes.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// When the locks are examined: once a second and after each view, and more seldom where that takes long.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExaminationPace {
    /// `None` when no findings are wanted.
    next: Option<Instant>,
    /// Before this they are not examined again.
    not_before: Option<Instant>,
    pauses: bool,
}

impl ExaminationPace {
    /// Findings are wanted from now on. `pauses`: whether it waits the longer the longer an examination took.
    pub(super) fn start(&mut self, now: Instant, pauses: bool) {
        *self = Self { next: Some(now + EXAMINATION_INTERVAL), not_before: None, pauses };
    }

    /// When the next examination begins; `None` when none will.
    pub(super) fn due(&self) -> Option<Instant> {
        self.next
    }

    /// The servers said something about themselves: what that shows is looked at as soon as possible.
    pub(super) fn view_came(&mut self, now: Instant) {
        self.next = self.next.map(|_| self.not_before.map_or(now, |not_before| not_before.max(now)));
    }

    /// The locks were examined.
    pub(super) fn examined(&mut self, began: Instant, ended: Instant) {
        let took = ended.saturating_duration_since(began);
        let pause = if self.pauses { took.saturating_mul(PAUSE_FACTOR).min(MAX_PAUSE) } else { Duration::ZERO };
        self.not_before = Some(ended + pause);
        self.next = self.next.map(|_| ended + pause.max(EXAMINATION_INTERVAL));
    }
}

/// What an examination changed and is not reported yet: first what was cleared, then what was raised.
#[derive(Debug, Default)]
pub(super) struct UnreportedFindings {
    cleared: vec::IntoIter<Arc<Finding>>,
    raised: vec::IntoIter<Arc<Finding>>,
    at: Timestamp,
}

impl UnreportedFindings {
    /// What an examination at that time changed.
    pub(super) fn new(changes: FindingChanges, at: Timestamp) -> Self {
        Self { cleared: changes.cleared.into_iter(), raised: changes.raised.into_iter(), at }
    }
}

impl Iterator for UnreportedFindings {
    /// A finding, whether it was raised, and when.
    type Item = (Arc<Finding>, bool, Timestamp);

    fn next(&mut self) -> Option<Self::Item> {
        let cleared = self.cleared.next().map(|finding| (finding, false, self.at));
        cleared.or_else(|| self.raised.next().map(|finding| (finding, true, self.at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// An examination that is due takes so long; gives the time from its end until the next one.
    fn pause_after(pace: &mut ExaminationPace, took: Duration) -> Duration {
        let began = pace.due().expect("findings are wanted");
        pace.examined(began, began + took);
        pace.due().expect("they are still wanted") - (began + took)
    }

    #[test]
    fn locks_are_examined_once_a_second_as_long_as_that_is_quick() {
        let mut pace = ExaminationPace::default();
        let start = Instant::now();
        assert_eq!(pace.due(), None, "nobody wants findings");
        pace.start(start, true);
        assert_eq!(pace.due(), Some(start + EXAMINATION_INTERVAL));
        for took in [0, 1, 20] {
            assert_eq!(pause_after(&mut pace, Duration::from_millis(took)), SECOND);
        }
    }

    #[test]
    fn who_watches_pauses_for_many_times_as_long_as_an_examination_took_but_not_for_longer_than_the_bound() {
        let mut pace = ExaminationPace::default();
        pace.start(Instant::now(), true);
        let took = Duration::from_millis(200);
        assert_eq!(pause_after(&mut pace, took), took * PAUSE_FACTOR);
        assert_eq!(pause_after(&mut pace, SECOND), MAX_PAUSE);
        assert_eq!(pause_after(&mut pace, Duration::MAX / 64), MAX_PAUSE);
        assert_eq!(
            pause_after(&mut pace, Duration::ZERO),
            SECOND,
            "a slow one does not make the later ones more seldom"
        );
    }

    #[test]
    fn who_reads_once_does_not_pause() {
        let mut pace = ExaminationPace::default();
        pace.start(Instant::now(), false);
        assert_eq!(pause_after(&mut pace, 60 * SECOND), SECOND);
    }

    #[test]
    fn what_the_servers_say_is_looked_at_at_once_unless_the_last_examination_was_slow() {
        let mut pace = ExaminationPace::default();
        let now = Instant::now();
        pace.view_came(now);
        assert_eq!(pace.due(), None, "nobody wants findings");
        pace.start(now, true);
        pace.view_came(now);
        assert_eq!(pace.due(), Some(now));
        pace.examined(now, now + SECOND);
        for second in 2..=5 {
            pace.view_came(now + second * SECOND);
            assert_eq!(pace.due(), Some(now + SECOND + MAX_PAUSE));
        }
        let late = now + 2 * SECOND + MAX_PAUSE;
        pace.view_came(late);
        assert_eq!(pace.due(), Some(late));
    }
}
