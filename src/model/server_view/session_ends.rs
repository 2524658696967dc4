//! Which sessions a server expired, by its own count.
//!
//! A leader or a standalone server counts the sessions that it expires: `zk_stale_sessions_expired`
//! of `mntr`, `stale_sessions_expired` of AdminServer's `monitor`, from ZooKeeper 3.6 on. Measured
//! with 3.8.0, on a standalone server and on an ensemble of three:
//!
//! - The count grows by one with each expiry, and with no close. Only the server that keeps the
//!   sessions counts, whichever member a client is connected to: followers stay at 0.
//! - At the tick of the expiry, the server first removes all sessions of that tick from its list,
//!   then counts them one by one, then deletes their nodes. `mntr` right after `dump` may miss some
//!   of them: of four it counted one, and all four 1 ms later. The nodes went 12 ms later.
//! - The count begins at 0 when the server's process starts.
//!
//! So when the count grew by as many as sessions went whose time was over, all of them expired. A
//! count that does not match may be late, and waits for the next one. If that does not match either,
//! some sessions were closed in the moment of their expiry. Then a session expired if a node of it
//! went at its very expiry, and the server counted at least as many.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ExpiryBounds, ExpiryClock, ListedSession, Listing, MemberView, ServerView};
use lockscope_base::znode::{SessionId, Timestamp};

/// Maximum time until a count matches. After that, the sessions that went before stay unknown.
const MAX_OPEN: Duration = Duration::from_secs(10);

/// Maximum number of sessions that wait for a count that matches.
const MAX_GONE: usize = 10_000;

/// A session that the server expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpiredSession {
    /// The session's id.
    pub session: SessionId,
    /// When the session expired, by our clock.
    pub at: ExpiryBounds,
}

/// Compares which sessions went with how many were expired. Feed it each view once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndLedger(Option<CountedEnds>);

/// The ends since all expiries were counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CountedEnds {
    /// The count then, and those that are settled since.
    settled: u64,
    /// The last count.
    counted: u64,
    /// The sessions that went since and may have expired.
    gone: Vec<ExpiredSession>,
    /// Whether the last count includes all of them that expired.
    is_final: bool,
    /// Since when no count matches.
    open_since: Option<Timestamp>,
}

impl EndLedger {
    /// Takes the next view of the servers, and returns the sessions that certainly expired. Linear
    /// in the listed sessions if the list is new.
    pub fn look(&mut self, before: &ServerView, view: &ServerView) -> Vec<ExpiredSession> {
        let (Some(former), Some(look)) = (Look::at(before), Look::at(view)) else { return self.begin_again() };
        if former.is_same_list(&look) {
            return Vec::new();
        }
        let Some(gone) = look.gone_since(&former) else { return self.begin_again() };
        let count = look.count();
        let Some(ends) = &mut self.0 else {
            // Without a missing session, no expiry is half counted.
            self.0 = count.filter(|_| gone.is_empty()).map(CountedEnds::since);
            return Vec::new();
        };
        match ends.add(gone, count, look.answered_at) {
            Some(expired) => expired,
            None => self.begin_again(),
        }
    }

    /// Returns the sessions of which a node went at their expiry, as `went` tells, if the server
    /// counted at least as many.
    pub fn settle(&mut self, went: impl Fn(&ExpiredSession) -> bool) -> Vec<ExpiredSession> {
        let Some(ends) = &mut self.0 else { return Vec::new() };
        let (expired, others): (Vec<_>, Vec<_>) = ends.gone.iter().copied().partition(went);
        if expired.len() as u64 > ends.counted.saturating_sub(ends.settled) {
            return Vec::new();
        }
        (ends.settled, ends.gone) = (ends.settled + expired.len() as u64, others);
        expired
    }

    /// Returns whether the end of a session that goes from now on can be told by the count.
    pub fn is_counting(&self) -> bool {
        self.0.is_some()
    }

    fn begin_again(&mut self) -> Vec<ExpiredSession> {
        self.0 = None;
        Vec::new()
    }
}

impl CountedEnds {
    fn since(count: u64) -> Self {
        Self { settled: count, counted: count, gone: Vec::new(), is_final: false, open_since: None }
    }

    /// Takes the sessions that went, and returns those that expired if the count matches. `None` if
    /// the server counts anew, or if no count has matched for too long.
    fn add(&mut self, gone: Vec<ExpiredSession>, count: Option<u64>, now: Timestamp) -> Option<Vec<ExpiredSession>> {
        if self.is_final {
            *self = Self::since(self.counted);
        }
        let (is_late, count) = (count.is_none() || !gone.is_empty(), count.unwrap_or(self.counted));
        self.gone.extend(gone);
        if count < self.counted {
            return None;
        }
        self.counted = count;
        if self.counted - self.settled == self.gone.len() as u64 {
            let gone = std::mem::take(&mut self.gone);
            *self = Self::since(self.counted);
            return Some(gone);
        }
        self.is_final = !is_late;
        let since = *self.open_since.get_or_insert(now);
        (now.since(since) <= MAX_OPEN && self.gone.len() <= MAX_GONE).then(Vec::new)
    }
}

/// The answers of the only server that listed the ensemble's sessions.
struct Look<'a> {
    member: &'a MemberView,
    sessions: &'a Listing<ListedSession>,
    clock: ExpiryClock,
    /// When the member's last answer had arrived.
    answered_at: Timestamp,
    /// When our own connection to the member was made. While it lasts, the member is the same
    /// process.
    connected: Timestamp,
    /// No session of the ensemble lives for a shorter time.
    min_timeout: Duration,
}

impl<'a> Look<'a> {
    fn at(view: &'a ServerView) -> Option<Self> {
        let mut keepers = view.members.iter().filter(|member| member.sessions.is_some());
        let (Some(member), None) = (keepers.next(), keepers.next()) else { return None };
        Some(Self {
            member,
            sessions: member.sessions.as_ref().filter(|sessions| sessions.whole)?,
            clock: member.timing.clock?,
            answered_at: member.answered_at?,
            connected: member.connections_of(view.own_session?).iter().filter_map(|own| own.established).max()?,
            // Also makes sure that the answers can prove something.
            min_timeout: view.min_session_timeout()?,
        })
    }

    fn is_same_list(&self, other: &Self) -> bool {
        (&self.member.address, self.sessions.at) == (&other.member.address, other.sessions.at)
    }

    /// Returns the sessions that went since a former look and may have expired. `None` if other
    /// sessions may have expired unseen.
    fn gone_since(&self, former: &Self) -> Option<Vec<ExpiredSession>> {
        let is_same = (&self.member.address, self.connected) == (&former.member.address, former.connected);
        // A session that began since has not run out yet, and nor has one that was heard since. So
        // the listed times are those of the expiries.
        let time = self.answered_at.since(former.sessions.at);
        if !is_same || time >= self.min_timeout.min(former.min_timeout) {
            return None;
        }
        let missing = former.sessions.items().iter().filter(|listed| self.sessions.with_key(&listed.id).is_empty());
        let gone =
            missing.map(|listed| Some(ExpiredSession { session: listed.id, at: former.clock.bounds(listed.expiry)? }));
        let gone: Option<Vec<_>> = gone.collect();
        gone.map(|gone| gone.into_iter().filter(|gone| gone.at.earliest <= self.answered_at).collect())
    }

    /// Returns how many sessions the member has expired, if none of the listed ones can be among
    /// them: the count was asked after the list.
    fn count(&self) -> Option<u64> {
        let may_have_expired = |listed: &ListedSession| {
            self.clock.bounds(listed.expiry).is_none_or(|expiry| expiry.earliest <= self.answered_at)
        };
        let count = self.member.extras.expired_sessions;
        count.filter(|_| !self.sessions.items().iter().any(may_have_expired))
    }
}

#[cfg(test)]
mod tests;
