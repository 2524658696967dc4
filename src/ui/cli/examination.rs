//! When the locks are examined for findings, and what an examination changed. Pure.

use std::sync::Arc;
use std::time::Duration;
use std::vec;

use tokio::time::Instant;

use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::Finding;
use lockscope_past::record::Looked;

/// How often the locks are examined for findings.
const EXAMINATION_INTERVAL: Duration = Duration::from_secs(1);

/// When the locks are examined: once a second and after each view, and more seldom where there are very many.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExaminationPace {
    /// `None` when no findings are wanted.
    next: Option<Instant>,
    /// Before this they are not examined again.
    not_before: Option<Instant>,
    rests: bool,
}

impl ExaminationPace {
    /// Findings are wanted from now on. `rests`: whether it rests between two examinations of very many locks.
    pub(super) fn start(&mut self, now: Instant, rests: bool) {
        *self = Self { next: Some(now + EXAMINATION_INTERVAL), not_before: None, rests };
    }

    /// When the next examination begins; `None` when none will.
    pub(super) fn due(&self) -> Option<Instant> {
        self.next
    }

    /// The servers said something about themselves: what that shows is looked at as soon as possible.
    pub(super) fn view_came(&mut self, now: Instant) {
        self.next = self.next.map(|_| self.not_before.map_or(now, |not_before| not_before.max(now)));
    }

    /// The locks were examined, and there are so many that this much rest is due.
    pub(super) fn examined(&mut self, now: Instant, rest: Duration) {
        let rest = if self.rests { rest } else { Duration::ZERO };
        self.not_before = Some(now + rest);
        self.next = self.next.map(|_| now + rest.max(EXAMINATION_INTERVAL));
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
    /// What a look changed. What was forgotten after a cut is cleared: it is raised again if it still stands.
    pub(super) fn new(looked: Looked) -> Self {
        let Looked { at, forgotten: mut cleared, changes } = looked;
        cleared.extend(changes.cleared);
        Self { cleared: cleared.into_iter(), raised: changes.raised.into_iter(), at }
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

    /// Examines when that is due; gives the time from then until the next time.
    fn pause_after(pace: &mut ExaminationPace, rest: Duration) -> Duration {
        let now = pace.due().expect("findings are wanted");
        pace.examined(now, rest);
        pace.due().expect("they are still wanted") - now
    }

    #[test]
    fn few_locks_are_examined_once_a_second_and_very_many_when_the_rest_is_over() {
        let mut pace = ExaminationPace::default();
        let start = Instant::now();
        assert_eq!(pace.due(), None, "nobody wants findings");
        pace.start(start, true);
        assert_eq!(pace.due(), Some(start + EXAMINATION_INTERVAL));
        assert_eq!([0, 1, 7].map(|rest| pause_after(&mut pace, rest * SECOND)), [SECOND, SECOND, 7 * SECOND]);
    }

    #[test]
    fn who_reads_once_does_not_rest() {
        let mut pace = ExaminationPace::default();
        pace.start(Instant::now(), false);
        assert_eq!(pause_after(&mut pace, 10 * SECOND), SECOND);
    }

    #[test]
    fn what_the_servers_say_is_looked_at_at_once_unless_rest_is_due() {
        let mut pace = ExaminationPace::default();
        let now = Instant::now();
        pace.view_came(now);
        assert_eq!(pace.due(), None, "nobody wants findings");
        pace.start(now, true);
        pace.view_came(now);
        assert_eq!(pace.due(), Some(now));
        pace.examined(now, 10 * SECOND);
        for second in 2..=5 {
            pace.view_came(now + second * SECOND);
            assert_eq!(pace.due(), Some(now + 10 * SECOND));
        }
        pace.view_came(now + 12 * SECOND);
        assert_eq!(pace.due(), Some(now + 12 * SECOND));
    }
}
