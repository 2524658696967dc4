//! What the servers' own counts tell from one view to the next: which sessions a server expired,
//! and how many watch events were sent.
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
//! count that does not match may be late, and waits for the next one. If that does not match
//! either, some sessions were closed in the moment of their expiry. Then a session expired if a
//! node of it went at its very expiry, and the server counted at least as many.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::monitor::WatchEventTotals;
use super::view::Load;
use super::{ExpiryBounds, ExpiryClock, ListedSession, Listing, MemberView, ServerView};
use lockscope_base::znode::{SessionId, Timestamp};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod watch_event_rates_tests;

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
        let (Some(former), Some(look)) = (EndsLook::at(before), EndsLook::at(view)) else { return self.begin_again() };
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
struct EndsLook<'a> {
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

impl<'a> EndsLook<'a> {
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

/// The length of the history, in seconds.
const KEPT: i64 = 60;

/// The watch events that the servers sent in the last minute, and the cost of asking for them.
///
/// A server reports only the number since it started, and is asked every few seconds. The events
/// between two answers are spread evenly over the seconds between them.
#[derive(Clone, Debug, Default)]
pub struct WatchEventRates {
    last: FxHashMap<String, (Timestamp, WatchEventTotals)>,
    /// Events in each second.
    sent: BTreeMap<i64, f64>,
    /// The newest second that every server has reported.
    reported: Option<i64>,
    /// The total cost of asking, as of each view of the last minute.
    loads: VecDeque<(Timestamp, Load)>,
}

impl WatchEventRates {
    /// Takes a view. Linear in the number of servers.
    pub fn add(&mut self, view: &ServerView) {
        self.loads.push_back((view.at, view.asked));
        while self.loads.front().is_some_and(|(at, _)| view.at.0 - at.0 > KEPT * 1000) {
            self.loads.pop_front();
        }
        for member in &view.members {
            let (Some(at), Some(totals)) = (member.counted_at, member.fired) else { continue };
            match self.last.insert(member.address.clone(), (at, totals)) {
                Some((before, earlier)) if before < at => {
                    if let Some(since) = totals.since(&earlier) {
                        self.spread(before, at, all(&since));
                    }
                }
                _ => {}
            }
        }
        let known = |address: &String| view.members.iter().any(|member| member.address == *address);
        self.last.retain(|address, _| known(address));
        self.reported = view.fired().and_then(|_| {
            let counted = view.members.iter().filter_map(|member| member.counted_at);
            counted.min().map(second)
        });
        let oldest = second(view.at) - KEPT;
        self.sent = self.sent.split_off(&oldest);
    }

    #[expect(clippy::cast_precision_loss, reason = "a figure of a sparkline is rounded anyway")]
    fn spread(&mut self, from: Timestamp, to: Timestamp, events: u64) {
        let (first, last) = (second(from), second(to));
        // Older seconds are not kept.
        let first = first.max(last - KEPT);
        let seconds = (last - first).max(1);
        for at in last - seconds..last {
            *self.sent.entry(at).or_default() += events as f64 / seconds as f64;
        }
    }

    /// Returns the events in each of the last seconds that all servers reported, oldest first.
    /// `None` when not all servers report.
    pub fn seconds(&self) -> Option<Vec<f64>> {
        let end = self.reported?;
        Some((end - KEPT..end).map(|at| self.sent.get(&at).copied().unwrap_or(0.0)).collect())
    }

    /// Returns the cost of asking within at most the last minute, and the length of that time in
    /// milliseconds.
    pub fn recent_load(&self) -> Option<(Load, u64)> {
        let ((from, before), (to, after)) = (self.loads.front()?, self.loads.back()?);
        let during = u64::try_from(to.0 - from.0).ok().filter(|during| *during > 0)?;
        let load = Load {
            requests: after.requests.saturating_sub(before.requests),
            bytes: after.bytes.saturating_sub(before.bytes),
            time_ms: after.time_ms.saturating_sub(before.time_ms),
        };
        Some((load, during))
    }
}

fn second(at: Timestamp) -> i64 {
    at.0.div_euclid(1000)
}

fn all(totals: &WatchEventTotals) -> u64 {
    let WatchEventTotals { created, deleted, changed, children } = *totals;
    [deleted, changed, children].iter().fold(created, |sum, events| sum.saturating_add(*events))
}
