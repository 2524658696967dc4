//! Decides when news cause a status. News in quick succession share one. Pure.

use std::time::Duration;

use tokio::time::Instant;

/// The shortest time between a status caused by news and the one before it. Together with the
/// periodic statuses there are at most 60 a second.
const MIN_STATUS_PAUSE: Duration = Duration::from_millis(20);

/// The pacing of the statuses that news cause. Without news there are none.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatusPacing {
    last: Instant,
    due: Option<Instant>,
}

impl StatusPacing {
    pub(super) fn new(now: Instant) -> Self {
        Self { last: now, due: None }
    }

    /// Records that there is news.
    pub(super) fn has_news(&mut self) {
        self.due = self.due.or(Some(self.last + MIN_STATUS_PAUSE));
    }

    /// Returns when a status is due because of news, or `None` without news. The time may be in the
    /// past.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Drops the news: they are known already.
    pub(super) fn forget_news(&mut self) {
        self.due = None;
    }

    /// Records that a status with all news up to now was published.
    pub(super) fn published(&mut self, now: Instant) {
        (self.last, self.due) = (now, None);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_news_after_a_pause_are_due_at_once_and_later_ones_share_a_status() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut pacing = StatusPacing::new(start);
        assert_eq!(pacing.due(), None, "without news there is no status");
        pacing.has_news();
        assert_eq!(pacing.due(), Some(at(20)), "due, and that at 100 ms is in the past");
        pacing.published(at(100));
        assert_eq!(pacing.due(), None);
        pacing.has_news();
        pacing.has_news();
        assert_eq!(pacing.due(), Some(at(120)));
        pacing.forget_news();
        assert_eq!(pacing.due(), None);
    }

    proptest! {
        #[test]
        fn however_news_come_two_statuses_by_news_are_twenty_ms_apart_and_no_news_wait_longer(
            pauses in prop::collection::vec(0..60_u64, 1..200),
        ) {
            let start = Instant::now();
            let mut pacing = StatusPacing::new(start);
            let (mut now, mut published) = (start, vec![start]);
            for pause in pauses {
                let next = now + Duration::from_millis(pause);
                if let Some(due) = pacing.due().filter(|due| *due <= next) {
                    let at = due.max(now);
                    prop_assert!(at - *published.last().unwrap() >= MIN_STATUS_PAUSE);
                    pacing.published(at);
                    published.push(at);
                }
                now = next;
                pacing.has_news();
                let due = pacing.due().unwrap();
                prop_assert!(due.saturating_duration_since(now) <= MIN_STATUS_PAUSE, "news wait no longer");
            }
            let in_a_second = |from: &Instant| published.iter().filter(|at| *at >= from && **at - *from < Duration::from_secs(1)).count();
            prop_assert!(published.iter().map(in_a_second).all(|statuses| statuses <= 50));
        }
    }
}
