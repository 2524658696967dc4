//! Decides when to ask a server again, so that all questions together take little of its time.
//!
//! A server that ends sessions is asked how many it expired when one is gone whose time may be
//! over.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use lockscope_base::time::{Backoff, now};
use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_model::server_view::{ListedSession, Listing};

/// The share of a server's time for one kind of question. All kinds together take 1.4 % of the
/// promised 2 %. The rest covers costs that a client cannot see, such as several threads working on
/// one question, or garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeBudget {
    /// The share is one part in `one_in`.
    one_in: u32,
    max_interval: Duration,
}

/// The connections and sessions: about 0.7 %.
pub const CLIENTS: TimeBudget = TimeBudget { one_in: 150, max_interval: Duration::from_secs(60) };

/// The numbers of watches and sent events: about 0.17 %. A server computes hundreds of figures for
/// the answer.
pub const FIGURES: TimeBudget = TimeBudget { one_in: 600, max_interval: Duration::from_secs(60) };

/// The number of expired sessions, in the rounds in which a session may have expired: about 0.33 %.
pub const ENDS: TimeBudget = TimeBudget { one_in: 300, max_interval: Duration::from_secs(60) };

/// The watchers of each path: about 0.17 %.
pub const WATCHERS: TimeBudget = TimeBudget { one_in: 600, max_interval: Duration::from_secs(300) };

/// The shortest time between two rounds.
pub const MIN_INTERVAL: Duration = Duration::from_secs(1);

/// The longest time until an unresponsive server is asked again.
const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// The assumed upper bound of the first answer's cost: a server that was never asked before takes
/// long, which says nothing about later answers.
const ASSUMED_FIRST_COST: Duration = Duration::from_millis(20);

/// The number of answers whose cost is remembered.
const MAX_COSTS: usize = 5;

/// Decides when to ask a server the same question again.
#[derive(Clone, Debug)]
pub struct Pace {
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
    pub fn new(budget: TimeBudget, min_interval: Duration, max_interval: Duration) -> Self {
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
    pub fn is_due(&self) -> bool {
        self.due.is_none_or(|due| Instant::now() >= due)
    }

    /// Records an answer that took `took`. The median of the last few counts, and the wait at most
    /// doubles: a server that collects garbage, or has just been elected, is slow for a moment only,
    /// in which an answer is wanted most.
    pub fn answered(&mut self, took: Duration) -> Duration {
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
    pub fn failed(&mut self) -> Duration {
        let wait = self.backoff.next_pause().max(MIN_INTERVAL);
        self.wait(wait)
    }

    fn wait(&mut self, wait: Duration) -> Duration {
        // Slightly early counts as due, so that the question joins the round of that time.
        self.due = Some(Instant::now() + wait * 9 / 10);
        wait
    }
}

/// Maximum error of the expected expiry of a session: a tick and a second.
const MAX_EXPIRY_ERROR: Duration = Duration::from_secs(3);

/// How long the count is asked in each round after a session may have expired. A server removes the
/// sessions of a tick from its list before it counts them.
const COUNTS_LATE: Duration = Duration::from_secs(5);

/// When to ask for the number of expired sessions, apart from the other figures.
#[derive(Clone, Copy, Debug)]
pub enum EndsWanted<'a> {
    Never,
    Always,
    /// If a session of the last list is gone that may have expired.
    IfOneExpired(&'a Listing<ListedSession>),
}

impl EndsWanted<'_> {
    /// Returns whether to ask a server that lists these sessions now.
    pub fn are_due(self, sessions: &[ListedSession]) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::IfOneExpired(former) => one_may_have_expired(former, sessions, now()),
        }
    }
}

/// The pace of the question.
#[derive(Clone, Debug)]
pub struct EndsPace {
    pace: Pace,
    /// When a session was last seen to be gone that may have expired.
    gone_at: Option<Instant>,
}

impl EndsPace {
    pub fn new(pace: Pace) -> Self {
        Self { pace, gone_at: None }
    }

    /// Returns when to ask a server that listed these sessions last.
    pub fn wanted<'a>(&self, former: Option<&'a Listing<ListedSession>>) -> EndsWanted<'a> {
        match former {
            Some(_) if !self.pace.is_due() => EndsWanted::Never,
            Some(_) if self.gone_at.is_some_and(|at| at.elapsed() < COUNTS_LATE) => EndsWanted::Always,
            Some(former) => EndsWanted::IfOneExpired(former),
            None => EndsWanted::Never,
        }
    }

    /// Compares the last two lists. After the first one the count is asked too: a later one is
    /// compared with it.
    pub fn listed(&mut self, former: Option<&Listing<ListedSession>>, sessions: Option<&Listing<ListedSession>>) {
        let Some(sessions) = sessions else { return };
        if former.is_none_or(|former| one_may_have_expired(former, sessions.items(), now())) {
            self.gone_at = Some(Instant::now());
        }
    }

    /// Records an answer that took `took`.
    pub fn answered(&mut self, took: Duration) {
        self.pace.answered(took);
    }
}

/// Returns whether a listed session is gone whose time may be over.
fn one_may_have_expired(former: &Listing<ListedSession>, sessions: &[ListedSession], now: Timestamp) -> bool {
    let soon = now.plus(MAX_EXPIRY_ERROR);
    let is_over = |listed: &&ListedSession| listed.expires_at.is_none_or(|expiry| expiry <= soon);
    let mut over = former.items().iter().filter(is_over).peekable();
    over.peek().is_some() && {
        let listed: HashSet<SessionId> = sessions.iter().map(|session| session.id).collect();
        over.any(|former| !listed.contains(&former.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zk::survey::pace::{ENDS, MIN_INTERVAL};
    use lockscope_model::server_view::Expiry;

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

    /// Returns a list of sessions, each with the seconds that it is expected to live.
    fn list(sessions: &[(i64, i64)]) -> Listing<ListedSession> {
        let at = now();
        let listed = |(id, left): &(i64, i64)| ListedSession {
            id: SessionId(*id),
            expiry: Expiry::Monotonic { millis: 0 },
            expires_at: Some(Timestamp(at.0 + left * 1_000)),
        };
        Listing::new(sessions.iter().map(listed).collect(), true, at)
    }

    fn is_due(ends: &EndsPace, former: &Listing<ListedSession>, sessions: &Listing<ListedSession>) -> bool {
        ends.wanted(Some(former)).are_due(sessions.items())
    }

    #[test]
    fn the_count_is_asked_when_a_session_is_gone_whose_time_may_be_over() {
        let mut ends = EndsPace::new(Pace::new(ENDS, MIN_INTERVAL, Duration::MAX));
        let (all, live) = (list(&[(1, 2), (2, 9)]), list(&[(2, 9)]));
        ends.listed(None, Some(&all));
        assert!(is_due(&ends, &all, &all), "the first count");
        ends.gone_at = None;
        assert!(!is_due(&ends, &all, &all) && !is_due(&ends, &all, &list(&[(1, 2)])), "2 closed");
        assert!(is_due(&ends, &all, &live));
        ends.listed(Some(&all), Some(&live));
        assert!(is_due(&ends, &live, &live), "it may be counted late");
        ends.answered(Duration::from_millis(2));
        assert!(!is_due(&ends, &all, &live), "the budget is used");
    }
}
