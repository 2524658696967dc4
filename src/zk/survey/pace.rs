use std::time::Duration;

/// A cheap round may take one part in so many of a server's time: 1.4 %.
const CHEAP: u32 = 70;

/// The dear question may take one part in so many: 0.5 %.
const DEAR: u32 = 200;

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// The longest time between two dear questions: on such a server, each takes a second and a half.
const LONGEST_DEAR: Duration = Duration::from_secs(300);

/// The longest time until a server that does not answer is asked again.
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// When to ask a server again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    failures: u32,
}

impl Pace {
    /// After an answer that took that long.
    pub(super) fn answered(&mut self, took: Duration) -> Duration {
        self.failures = 0;
        (took * CHEAP).clamp(SHORTEST, LONGEST)
    }

    /// After no answer: a second, then twice as long each time.
    pub(super) fn failed(&mut self) -> Duration {
        let wait = SHORTEST * (1 << self.failures.min(4));
        self.failures = self.failures.saturating_add(1);
        wait.min(LONGEST_RETRY)
    }

    /// After the dear question, which took that long.
    pub(super) fn dear(took: Duration) -> Duration {
        (took * DEAR).clamp(SHORTEST, LONGEST_DEAR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_takes_longer_is_asked_less_often() {
        let mut pace = Pace::default();
        assert_eq!(pace.answered(Duration::from_millis(1)), SHORTEST);
        assert_eq!(pace.answered(Duration::from_millis(100)), Duration::from_secs(7));
        assert_eq!(pace.answered(Duration::from_secs(5)), LONGEST);
        assert_eq!(Pace::dear(Duration::from_millis(100)), Duration::from_secs(20));
    }

    #[test]
    fn a_server_that_does_not_answer_is_asked_less_and_less_often_up_to_a_bound() {
        let mut pace = Pace::default();
        let waits: Vec<u64> = (0..6).map(|_| pace.failed().as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
        pace.answered(Duration::ZERO);
        assert_eq!(pace.failed(), SHORTEST);
    }
}
