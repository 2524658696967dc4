//! The events of a lock, what they cost in watch events, and how often they happen, per lock and
//! for all locks.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use lockscope_base::znode::Timestamp;

/// The name for the end of a node whose session lived on: its client released it, or another client
/// deleted it.
pub const GONE: &str = "gone";

/// The name for the end of a node that another session deleted.
pub const DELETED: &str = "deleted";

/// The name for the end of a node whose client closed its session.
pub const CLOSED: &str = "closed";

/// An event of a lock or of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockEvent {
    /// A contender joined the queue.
    Enqueued,
    /// A contender became a holder.
    Acquired,
    /// A holder's node is gone, and nothing proves that its session expired.
    ///
    /// [`Happening::may_have_expired`](super::Happening::may_have_expired) tells whether the
    /// session can have expired. ZooKeeper does not report who deleted a node: the holder released
    /// the lock, or another client deleted the node.
    Released,
    /// A waiter's node is gone before its turn. As for `Released`, ZooKeeper does not report who
    /// deleted it.
    Left,
    /// A contender's session expired and took the node with it.
    Expired,
    /// A lock was found.
    LockFound,
    /// A lock is gone. Either its parent was deleted, or its contenders belong to another lock now
    /// and are reported as enqueued there.
    LockGone,
    /// The connection was cut. Nothing is known from here on.
    Disconnected,
    /// Events arrived faster than they could be processed. Nothing is known until the next complete
    /// reading.
    Overloaded,
    /// The connection is back.
    Reconnected,
    /// The complete reading after a cut is finished. Events during the cut come before this one,
    /// without their true times.
    Resynced,
    /// The servers have told that the session of a contender that released or left had expired.
    Settled,
    /// The servers have told that a contender that stood first, and counted as the holder, waits
    /// itself.
    Waits,
}

impl LockEvent {
    /// Returns the name on the screen and in lines for people.
    ///
    /// The name is `gone` where JSON says `released` or `left`, since nothing proves that the
    /// client itself deleted the node.
    pub fn title(self) -> &'static str {
        match self {
            Self::Released | Self::Left => GONE,
            event => event.id(),
        }
    }

    /// Returns the name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Enqueued => "enqueued",
            Self::Acquired => "acquired",
            Self::Released => "released",
            Self::Left => "left",
            Self::Expired => "expired",
            Self::LockFound => "lock-found",
            Self::LockGone => "lock-gone",
            Self::Disconnected => "disconnected",
            Self::Overloaded => "overloaded",
            Self::Reconnected => "reconnected",
            Self::Resynced => "resynced",
            Self::Settled => "settled",
            Self::Waits => "waits",
        }
    }
}

/// What is known about a session at the moment one of its nodes is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::queue) enum SessionAtEnd {
    /// The session cannot have expired, or the node has none. The client deleted the node or closed
    /// its session, or another client deleted the node.
    Lived,
    /// Unknown: the session was last heard too long ago.
    #[default]
    MayHaveExpired,
    /// The session expired.
    Expired,
}

/// The watch events that a change costs the ensemble and its clients.
///
/// Both numbers are bounds that follow from the recipes, not measurements. A watch fires once, so a
/// waiter that is late to set its watch again gets fewer events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchEvents {
    /// The cost when every waiter watches the children of the lock parent.
    pub herd: u64,
    /// The cost when each waiter watches its predecessor.
    pub chain: u64,
}

/// The window of a lock's rates, in milliseconds.
const WINDOW_MS: i64 = 10_000;

/// The length of the history, in seconds.
const HISTORY_SECONDS: usize = 60;

/// A lock's activity per second, over about the last ten seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Acquisitions per second.
    pub acquisitions: f64,
    /// Watch events per second if every waiter watched the parent.
    pub herd: f64,
    /// Watch events per second if each waiter watched its predecessor.
    pub chain: f64,
}

/// Counts in the current and the previous window: a sliding rate in 20 bytes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Sliding {
    window: i64,
    current: u32,
    previous: u32,
}

impl Sliding {
    fn roll(&mut self, now: Timestamp) {
        let window = now.0.div_euclid(WINDOW_MS);
        if window > self.window {
            self.previous = if window == self.window + 1 { self.current } else { 0 };
            self.current = 0;
            self.window = window;
        }
    }

    fn add(&mut self, count: u64, now: Timestamp) {
        self.roll(now);
        self.current = self.current.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    }

    #[expect(clippy::cast_precision_loss, reason = "the milliseconds of one window fit a float exactly")]
    fn per_second(mut self, now: Timestamp) -> f64 {
        self.roll(now);
        let into = now.0.rem_euclid(WINDOW_MS) as f64 / WINDOW_MS as f64;
        (f64::from(self.previous) * (1.0 - into) + f64::from(self.current)) * 1000.0 / WINDOW_MS as f64
    }
}

/// The counters of one lock.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Activity {
    acquisitions: Sliding,
    herd: Sliding,
    chain: Sliding,
    /// When a change last cost watch events in a herd.
    woke_herd_at: Option<Timestamp>,
}

impl Activity {
    pub fn acquired(&mut self, now: Timestamp) {
        self.acquisitions.add(1, now);
    }

    pub fn cost(&mut self, events: WatchEvents, now: Timestamp) {
        self.herd.add(events.herd, now);
        self.chain.add(events.chain, now);
        if events.herd > 0 {
            self.woke_herd_at = Some(now);
        }
    }

    pub fn woke_herd_at(&self) -> Option<Timestamp> {
        self.woke_herd_at
    }

    /// Returns a time within the last ten seconds before the last acquisition.
    pub fn acquired_after(&self) -> Option<Timestamp> {
        (self.acquisitions.current > 0).then(|| Timestamp(self.acquisitions.window.saturating_mul(WINDOW_MS)))
    }

    pub fn rates(&self, now: Timestamp) -> Rates {
        Rates {
            acquisitions: self.acquisitions.per_second(now),
            herd: self.herd.per_second(now),
            chain: self.chain.per_second(now),
        }
    }
}

/// Counters over all locks since the console started.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// The number of acquisitions seen.
    pub acquisitions: u64,
    /// The cost of all changes.
    pub watch_events: WatchEvents,
    /// The last minute, second by second.
    pub history: RateHistory,
}

impl Totals {
    pub(super) fn acquired(&mut self, now: Timestamp) {
        self.acquisitions += 1;
        self.history.at(now).acquisitions += 1;
    }

    pub(super) fn cost(&mut self, events: WatchEvents, now: Timestamp) {
        self.watch_events.herd += events.herd;
        self.watch_events.chain += events.chain;
        let second = self.history.at(now);
        second.watch_events.herd += events.herd;
        second.watch_events.chain += events.chain;
    }
}

/// The counts of one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Second {
    /// The number of acquisitions.
    pub acquisitions: u64,
    /// The cost of the changes.
    pub watch_events: WatchEvents,
}

/// The last minute, second by second.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RateHistory {
    seconds: VecDeque<Second>,
    last: i64,
}

impl RateHistory {
    fn at(&mut self, now: Timestamp) -> &mut Second {
        let second = now.0.div_euclid(1000);
        if self.seconds.is_empty() || i128::from(second) - i128::from(self.last) >= HISTORY_SECONDS as i128 {
            self.seconds.clear();
            self.seconds.push_back(Second::default());
            self.last = second;
        }
        while self.last < second {
            self.seconds.push_back(Second::default());
            self.last += 1;
        }
        while self.seconds.len() > HISTORY_SECONDS {
            self.seconds.pop_front();
        }
        // A clock that went back adds to the newest second, so the sum stays right.
        self.seconds.back_mut().expect("a second was pushed above")
    }

    /// Returns the last 60 seconds up to `now`, oldest first. Idle seconds are included. The last
    /// entry is the current, unfinished second.
    pub fn seconds(&self, now: Timestamp) -> Vec<Second> {
        let behind = usize::try_from(now.0.div_euclid(1000).saturating_sub(self.last).max(0)).unwrap_or(usize::MAX);
        let mut line = vec![Second::default(); HISTORY_SECONDS];
        if self.seconds.is_empty() || behind >= HISTORY_SECONDS {
            return line;
        }
        let end = HISTORY_SECONDS - behind;
        for (slot, second) in line[..end].iter_mut().rev().zip(self.seconds.iter().rev()) {
            *slot = *second;
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_rate_is_measured_correctly_and_fades_when_it_ends() {
        let mut activity = Activity::default();
        for tick in 0..300 {
            activity.acquired(Timestamp(tick * 100));
        }
        let rate = activity.rates(Timestamp(30_000)).acquisitions;
        assert!((9.0..=11.0).contains(&rate), "{rate}");
        assert!(activity.rates(Timestamp(60_000)).acquisitions.abs() < f64::EPSILON);
    }

    #[test]
    fn history_moves_on_through_silent_seconds() {
        let mut totals = Totals::default();
        totals.acquired(Timestamp(1_000));
        totals.acquired(Timestamp(4_500));
        let line = totals.history.seconds(Timestamp(5_900));
        let tail: Vec<_> = line[HISTORY_SECONDS - 5..].iter().map(|second| second.acquisitions).collect();
        assert_eq!(tail, [1, 0, 0, 1, 0]);
        assert!(totals.history.seconds(Timestamp(200_000)).iter().all(|second| *second == Second::default()));
    }
}
