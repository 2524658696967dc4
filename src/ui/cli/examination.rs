//! The schedule of the looks for findings, and the results not reported yet. Pure.

use std::sync::Arc;
use std::time::Duration;
use std::vec;

use tokio::time::Instant;

use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::Finding;
use lockscope_past::record::Looked;

/// The shortest interval between looks for findings without new server views.
const EXAMINATION_INTERVAL: Duration = Duration::from_secs(1);

/// Schedules the looks for findings: once a second and after each server view, and less often with
/// very many locks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExaminationPace {
    /// `None` when no findings are wanted.
    next: Option<Instant>,
    /// The earliest time of the next look.
    not_before: Option<Instant>,
    rests: bool,
}

impl ExaminationPace {
    /// Starts the schedule. `rests` tells whether to rest between two looks at very many locks.
    pub(super) fn start(&mut self, now: Instant, rests: bool) {
        *self = Self { next: Some(now + EXAMINATION_INTERVAL), not_before: None, rests };
    }

    /// Returns when the next look begins; `None` when there is none.
    pub(super) fn due(&self) -> Option<Instant> {
        self.next
    }

    /// Schedules a look as soon as possible, because a new server view arrived.
    pub(super) fn view_came(&mut self, now: Instant) {
        self.next = self.next.map(|_| self.not_before.map_or(now, |not_before| not_before.max(now)));
    }

    /// Records a look, after which `rest` is due because of the number of locks.
    pub(super) fn examined(&mut self, now: Instant, rest: Duration) {
        let rest = if self.rests { rest } else { Duration::ZERO };
        self.not_before = Some(now + rest);
        self.next = self.next.map(|_| now + rest.max(EXAMINATION_INTERVAL));
    }
}

/// The changes of a look that are not reported yet: first the cleared findings, then the raised
/// ones.
#[derive(Debug, Default)]
pub(super) struct UnreportedFindings {
    cleared: vec::IntoIter<Arc<Finding>>,
    raised: vec::IntoIter<Arc<Finding>>,
    at: Timestamp,
}

impl UnreportedFindings {
    /// Takes the result of a look. Findings forgotten after a cut count as cleared; they are raised
    /// again if they still apply.
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

    /// Makes the due look; returns the time from then until the next one.
    fn pause_after(pace: &mut ExaminationPace, rest: Duration) -> Duration {
        let now = pace.due().expect("findings are wanted");
        pace.examined(now, rest);
        pace.due().expect("findings are still wanted") - now
    }

    #[test]
    fn few_locks_are_examined_once_a_second_and_very_many_after_a_rest() {
        let mut pace = ExaminationPace::default();
        let start = Instant::now();
        assert_eq!(pace.due(), None, "nobody wants findings");
        pace.start(start, true);
        assert_eq!(pace.due(), Some(start + EXAMINATION_INTERVAL));
        assert_eq!([0, 1, 7].map(|rest| pause_after(&mut pace, rest * SECOND)), [SECOND, SECOND, 7 * SECOND]);
    }

    #[test]
    fn a_single_reading_does_not_rest() {
        let mut pace = ExaminationPace::default();
        pace.start(Instant::now(), false);
        assert_eq!(pause_after(&mut pace, 10 * SECOND), SECOND);
    }

    #[test]
    fn a_server_view_is_examined_at_once_unless_rest_is_due() {
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
