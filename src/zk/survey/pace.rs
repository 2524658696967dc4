use std::time::Duration;

use tokio::time::Instant;

/// A kind of question and how much of a server's time it may take. Together they are half of a fiftieth, which leaves room for
/// what cannot be seen from outside: several threads at work for one question, and garbage to be collected after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeBudget {
    /// It may take one part in so many of a server's time.
    one_in: u32,
    max_interval: Duration,
}

/// Who is connected, and which sessions there are: about 0.7 %.
pub(super) const CLIENTS: TimeBudget = TimeBudget { one_in: 150, max_interval: Duration::from_secs(60) };

/// How many watches there are, and how many events were sent: about 0.17 %. A server computes hundreds of figures for that.
pub(super) const FIGURES: TimeBudget = TimeBudget { one_in: 600, max_interval: Duration::from_secs(60) };

/// Who watches what: about 0.17 %.
pub(super) const WATCHERS: TimeBudget = TimeBudget { one_in: 600, max_interval: Duration::from_secs(300) };

const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// The longest time until a server that does not answer is asked again.
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// A server that was never asked before takes long for the first answer, and that says nothing of the next.
const ASSUMED_FIRST_COST: Duration = Duration::from_millis(20);

/// When to ask a server the same again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    share: TimeBudget,
    longest: Duration,
    failures: u32,
    before: Duration,
    due: Option<Instant>,
}

impl Pace {
    /// A server that answers is asked at least once in `longest`, whatever that costs it.
    pub(super) fn new(share: TimeBudget, longest: Duration) -> Self {
        Self { share, longest: share.max_interval.min(longest), failures: 0, before: ASSUMED_FIRST_COST, due: None }
    }

    /// Whether it is time to ask.
    pub(super) fn is_due(&self) -> bool {
        self.due.is_none_or(|due| Instant::now() >= due)
    }

    /// After an answer that took that long. Of two in a row the shorter counts: a server that collects its garbage during one
    /// is not slow.
    pub(super) fn answered(&mut self, took: Duration) -> Duration {
        self.failures = 0;
        let cost = took.min(std::mem::replace(&mut self.before, took));
        self.wait((cost * self.share.one_in).min(self.longest).max(MIN_INTERVAL))
    }

    /// After no answer: a second, then twice as long each time.
    pub(super) fn failed(&mut self) -> Duration {
        let wait = MIN_INTERVAL * (1 << self.failures.min(4));
        self.failures = self.failures.saturating_add(1);
        self.wait(wait.min(LONGEST_RETRY))
    }

    fn wait(&mut self, wait: Duration) -> Duration {
        // A little early is in time for the round that comes then.
        self.due = Some(Instant::now() + wait * 9 / 10);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_takes_longer_is_asked_less_often() {
        let mut pace = Pace::new(CLIENTS, Duration::MAX);
        assert_eq!(pace.answered(Duration::from_millis(1)), MIN_INTERVAL);
        pace.answered(Duration::from_millis(100));
        assert_eq!(pace.answered(Duration::from_millis(200)), Duration::from_secs(15));
        pace.answered(Duration::from_secs(5));
        assert_eq!(pace.answered(Duration::from_secs(5)), CLIENTS.max_interval);
    }

    #[test]
    fn a_server_is_asked_as_often_as_is_asked_for_whatever_that_costs() {
        let mut pace = Pace::new(WATCHERS, Duration::from_secs(5));
        pace.answered(Duration::from_secs(1));
        assert_eq!(pace.answered(Duration::from_secs(1)), Duration::from_secs(5));
    }

    #[test]
    fn one_slow_answer_does_not_blind_us() {
        let mut pace = Pace::new(CLIENTS, Duration::MAX);
        assert!(pace.answered(Duration::from_secs(2)) < Duration::from_secs(4), "the first");
        pace.answered(Duration::from_millis(2));
        assert_eq!(pace.answered(Duration::from_secs(2)), MIN_INTERVAL);
        assert_eq!(pace.answered(Duration::from_secs(2)), CLIENTS.max_interval);
    }

    #[test]
    fn all_questions_together_take_less_than_half_of_a_fiftieth() {
        let taken: f64 = [CLIENTS, FIGURES, WATCHERS].iter().map(|share| 1.0 / f64::from(share.one_in)).sum();
        assert!(taken <= 0.0101, "{taken}");
    }

    #[test]
    fn a_server_that_does_not_answer_is_asked_less_and_less_often_up_to_a_bound() {
        let mut pace = Pace::new(CLIENTS, Duration::MAX);
        let waits: Vec<u64> = (0..6).map(|_| pace.failed().as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
        pace.answered(Duration::ZERO);
        assert_eq!(pace.failed(), MIN_INTERVAL);
    }
}
