//! Decides when to ask a server again, so that all questions together take little of its time.

use std::time::Duration;

use tokio::time::Instant;

use lockscope_base::time::Backoff;

/// The share of a server's time for one kind of question. All kinds together take 1 %, half of the
/// promised 2 %. The rest covers costs that a client cannot see, such as several threads working on
/// one question, or garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TimeBudget {
    /// The share is one part in `one_in`.
    one_in: u32,
    max_interval: Duration,
}

/// The connections and sessions: about 0.7 %.
pub(super) const CLIENTS: TimeBudget = TimeBudget { one_in: 150, max_interval: Duration::from_secs(60) };

/// The numbers of watches and sent events: about 0.17 %. A server computes hundreds of figures for
/// the answer.
pub(super) const FIGURES: TimeBudget = TimeBudget { one_in: 600, max_interval: Duration::from_secs(60) };

/// The watchers of each path: about 0.17 %.
pub(super) const WATCHERS: TimeBudget = TimeBudget { one_in: 600, max_interval: Duration::from_secs(300) };

/// The shortest time between two rounds.
pub(super) const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// The longest time until an unresponsive server is asked again.
const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// The assumed upper bound of the first answer's cost: a server that was never asked before takes
/// long, which says nothing about later answers.
const ASSUMED_FIRST_COST: Duration = Duration::from_millis(20);

/// Decides when to ask a server the same question again.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    budget: TimeBudget,
    min_interval: Duration,
    max_interval: Duration,
    backoff: Backoff,
    last_cost: Duration,
    due: Option<Instant>,
}

impl Pace {
    /// Creates a pace. An answering server is asked at most once in `min_interval`, and at least
    /// once in `max_interval`, whatever the cost.
    pub(super) fn new(budget: TimeBudget, min_interval: Duration, max_interval: Duration) -> Self {
        Self {
            budget,
            min_interval,
            max_interval: budget.max_interval.min(max_interval),
            backoff: Backoff::new(MIN_INTERVAL, MAX_RETRY_INTERVAL),
            last_cost: ASSUMED_FIRST_COST,
            due: None,
        }
    }

    /// Returns whether it is time to ask.
    pub(super) fn is_due(&self) -> bool {
        self.due.is_none_or(|due| Instant::now() >= due)
    }

    /// Records an answer that took `took`. The shorter of the last two counts, because a server
    /// that collects garbage once is not slow.
    pub(super) fn answered(&mut self, took: Duration) -> Duration {
        self.backoff.reset();
        let cost = took.min(std::mem::replace(&mut self.last_cost, took));
        self.wait((cost * self.budget.one_in).min(self.max_interval).max(self.min_interval))
    }

    /// Records a missing answer: waits a second, then about twice as long each time.
    pub(super) fn failed(&mut self) -> Duration {
        let wait = self.backoff.next_pause().max(MIN_INTERVAL);
        self.wait(wait)
    }

    fn wait(&mut self, wait: Duration) -> Duration {
        // Slightly early counts as due, so that the question joins the round of that time.
        self.due = Some(Instant::now() + wait * 9 / 10);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_takes_longer_is_asked_less_often() {
        let mut pace = Pace::new(CLIENTS, MIN_INTERVAL, Duration::MAX);
        assert_eq!(pace.answered(Duration::from_millis(1)), MIN_INTERVAL);
        pace.answered(Duration::from_millis(100));
        assert_eq!(pace.answered(Duration::from_millis(200)), Duration::from_secs(15));
        pace.answered(Duration::from_secs(5));
        assert_eq!(pace.answered(Duration::from_secs(5)), CLIENTS.max_interval);
    }

    #[test]
    fn a_server_is_asked_at_the_given_interval_whatever_the_cost() {
        let mut pace = Pace::new(WATCHERS, MIN_INTERVAL, Duration::from_secs(5));
        pace.answered(Duration::from_secs(1));
        assert_eq!(pace.answered(Duration::from_secs(1)), Duration::from_secs(5));
    }

    #[test]
    fn one_slow_answer_does_not_slow_the_pace() {
        let mut pace = Pace::new(CLIENTS, MIN_INTERVAL, Duration::MAX);
        assert!(pace.answered(Duration::from_secs(2)) < Duration::from_secs(4), "the first");
        pace.answered(Duration::from_millis(2));
        assert_eq!(pace.answered(Duration::from_secs(2)), MIN_INTERVAL);
        assert_eq!(pace.answered(Duration::from_secs(2)), CLIENTS.max_interval);
    }

    #[test]
    fn all_questions_together_take_one_percent_of_a_servers_time() {
        let taken: f64 = [CLIENTS, FIGURES, WATCHERS].iter().map(|share| 1.0 / f64::from(share.one_in)).sum();
        assert!(taken <= 0.0101, "{taken}");
    }

    #[test]
    fn a_server_that_does_not_answer_is_asked_less_often_up_to_a_bound() {
        let mut pace = Pace::new(CLIENTS, MIN_INTERVAL, Duration::MAX);
        for full in [1, 2, 4, 8, 10, 10].map(Duration::from_secs) {
            let wait = pace.failed();
            assert!(wait <= full && wait >= MIN_INTERVAL.max(full * 3 / 4), "{wait:?} of {full:?}");
        }
        pace.answered(Duration::ZERO);
        assert_eq!(pace.failed(), MIN_INTERVAL);
    }
}
