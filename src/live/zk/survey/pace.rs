//! Decides when to ask a server again, so that all questions together take little of its time.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use lockscope_base::time::Backoff;

/// The share of a server's time for one kind of question. All kinds together take 1.4 % of the
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

/// The number of expired sessions, in the rounds in which a session may have expired: about 0.33 %.
pub(super) const ENDS: TimeBudget = TimeBudget { one_in: 300, max_interval: Duration::from_secs(60) };

/// The watchers of each path: about 0.17 %.
pub(super) const WATCHERS: TimeBudget = TimeBudget { one_in: 600, max_interval: Duration::from_secs(300) };

/// The shortest time between two rounds.
pub(super) const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// The longest time until an unresponsive server is asked again.
const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// The assumed upper bound of the first answer's cost: a server that was never asked before takes
/// long, which says nothing about later answers.
const ASSUMED_FIRST_COST: Duration = Duration::from_millis(20);

/// The number of answers whose cost is remembered.
const MAX_COSTS: usize = 5;

/// Decides when to ask a server the same question again.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    budget: TimeBudget,
    min_interval: Duration,
    max_interval: Duration,
    backoff: Backoff,
    /// The costs of the last answers, the oldest first.
    costs: VecDeque<Duration>,
    last_wait: Duration,
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
            costs: [ASSUMED_FIRST_COST].into(),
            last_wait: min_interval,
            due: None,
        }
    }

    /// Returns whether it is time to ask.
    pub(super) fn is_due(&self) -> bool {
        self.due.is_none_or(|due| Instant::now() >= due)
    }

    /// Records an answer that took `took`. The median of the last few counts, and the wait at most
    /// doubles: a server that collects garbage, or has just been elected, is slow for a moment only,
    /// in which an answer is wanted most.
    pub(super) fn answered(&mut self, took: Duration) -> Duration {
        self.backoff.reset();
        if self.costs.len() == MAX_COSTS {
            self.costs.pop_front();
        }
        self.costs.push_back(took);
        let wait = (self.median_cost() * self.budget.one_in).min(self.max_interval);
        self.last_wait = wait.min(self.last_wait * 2).max(self.min_interval);
        self.wait(self.last_wait)
    }

    /// Returns the median, the lower one of an even number.
    fn median_cost(&self) -> Duration {
        let mut costs: Vec<Duration> = self.costs.iter().copied().collect();
        costs.sort_unstable();
        costs.get(costs.len().saturating_sub(1) / 2).copied().unwrap_or_default()
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

    /// Returns the waits, in seconds, after answers that took so many milliseconds.
    fn waits(pace: &mut Pace, took: &[u64]) -> Vec<u64> {
        took.iter().map(|took| pace.answered(Duration::from_millis(*took)).as_secs()).collect()
    }

    #[test]
    fn a_server_that_takes_longer_is_asked_less_often_step_by_step() {
        let mut pace = Pace::new(CLIENTS, MIN_INTERVAL, Duration::MAX);
        assert_eq!(waits(&mut pace, &[1, 1, 1]), [1, 1, 1]);
        assert_eq!(waits(&mut pace, &[100, 200, 200, 200, 200, 200, 200, 200]), [1, 1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(waits(&mut pace, &[5_000; 5]), [30, 30, 60, 60, 60]);
        assert_eq!(waits(&mut pace, &[1, 1, 1]), [60, 60, 1], "it is fast again");
    }

    #[test]
    fn a_server_is_asked_at_the_given_interval_whatever_the_cost() {
        let mut pace = Pace::new(WATCHERS, MIN_INTERVAL, Duration::from_secs(5));
        assert_eq!(waits(&mut pace, &[1_000; 6]).last(), Some(&5));
    }

    #[test]
    fn a_few_slow_answers_do_not_slow_the_pace() {
        let mut pace = Pace::new(CLIENTS, MIN_INTERVAL, Duration::MAX);
        assert_eq!(waits(&mut pace, &[2_000]), [2], "the first");
        assert_eq!(waits(&mut pace, &[2, 2, 2_000, 2, 2_000, 2_000, 2, 2]), [3, 1, 2, 1, 1, 2, 4, 1]);
    }

    #[test]
    fn all_questions_together_take_little_of_a_servers_time() {
        let taken: f64 = [CLIENTS, FIGURES, ENDS, WATCHERS].iter().map(|share| 1.0 / f64::from(share.one_in)).sum();
        assert!(taken <= 0.0134, "{taken}");
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
