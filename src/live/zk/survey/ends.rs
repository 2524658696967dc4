//! When to ask a server that ends sessions how many it expired.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use super::pace::Pace;
use lockscope_base::time::now;
use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_model::server_view::{ListedSession, Listing};

/// Maximum error of the expected expiry of a session: a tick and a second.
const MAX_EXPIRY_ERROR: Duration = Duration::from_secs(3);

/// How long the count is asked in each round after a session may have expired. A server removes the
/// sessions of a tick from its list before it counts them.
const COUNTS_LATE: Duration = Duration::from_secs(5);

/// When to ask for the number of expired sessions, apart from the other figures.
#[derive(Clone, Copy, Debug)]
pub(super) enum EndsWanted<'a> {
    Never,
    Always,
    /// If a session of the last list is gone that may have expired.
    IfOneExpired(&'a Listing<ListedSession>),
}

impl EndsWanted<'_> {
    /// Returns whether to ask a server that lists these sessions now.
    pub(super) fn are_due(self, sessions: &[ListedSession]) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::IfOneExpired(former) => one_may_have_expired(former, sessions, now()),
        }
    }
}

/// The pace of the question.
#[derive(Clone, Debug)]
pub(super) struct EndsPace {
    pace: Pace,
    /// When a session was last seen to be gone that may have expired.
    gone_at: Option<Instant>,
}

impl EndsPace {
    pub(super) fn new(pace: Pace) -> Self {
        Self { pace, gone_at: None }
    }

    /// Returns when to ask a server that listed these sessions last.
    pub(super) fn wanted<'a>(&self, former: Option<&'a Listing<ListedSession>>) -> EndsWanted<'a> {
        match former {
            Some(_) if !self.pace.is_due() => EndsWanted::Never,
            Some(_) if self.gone_at.is_some_and(|at| at.elapsed() < COUNTS_LATE) => EndsWanted::Always,
            Some(former) => EndsWanted::IfOneExpired(former),
            None => EndsWanted::Never,
        }
    }

    /// Compares the last two lists. After the first one the count is asked too: a later one is
    /// compared with it.
    pub(super) fn listed(
        &mut self,
        former: Option<&Listing<ListedSession>>,
        sessions: Option<&Listing<ListedSession>>,
    ) {
        let Some(sessions) = sessions else { return };
        if former.is_none_or(|former| one_may_have_expired(former, sessions.items(), now())) {
            self.gone_at = Some(Instant::now());
        }
    }

    /// Records an answer that took `took`.
    pub(super) fn answered(&mut self, took: Duration) {
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
