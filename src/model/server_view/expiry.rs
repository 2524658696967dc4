//! When sessions expire: as a server wrote it, and in certain bounds by our clock.
//!
//! `expires_at` of a [`ListedSession`] is the best guess and may be off by a tick and a second. A
//! certain claim needs bounds. Two facts provide them: our own session's last request, which the
//! server answered at a known time, and the server's tick, since sessions expire at its multiples.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Keyed;
use lockscope_base::znode::{SessionId, Timestamp};

/// When a session expires, as a server wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expiry {
    /// By the server's monotonic clock, in milliseconds. This is the clock of
    /// [`Connection::last_response`](super::Connection::last_response).
    Monotonic {
        /// Milliseconds since an unknown point in the past.
        millis: i64,
    },
    /// By the server's calendar, in whole seconds.
    Date {
        /// The date in milliseconds, read as if it were in UTC.
        millis: i64,
        /// Whether the date is in UTC.
        utc: bool,
    },
}

impl Expiry {
    /// Returns the milliseconds by the clock that the server used.
    pub(super) fn millis(self) -> i64 {
        match self {
            Self::Monotonic { millis } | Self::Date { millis, .. } => millis,
        }
    }
}

/// A session in the list of the leader or a standalone server, connected or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedSession {
    /// The session's id.
    pub id: SessionId,
    /// When the session expires unless its client sends something before, as the server wrote it.
    pub expiry: Expiry,
    /// When the session expires by our clock, to about a second; `None` when the server's clock
    /// cannot be converted.
    pub expires_at: Option<Timestamp>,
}

impl Keyed for ListedSession {
    type Key = SessionId;

    fn key(&self) -> &SessionId {
        &self.id
    }
}

/// The evidence that makes a server's expiry times certain, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTiming {
    /// The clock by which the server wrote its sessions' expiries; `None` where it cannot be
    /// converted with certainty.
    pub clock: Option<ExpiryClock>,
    /// The server's settings, as last reported.
    pub settings: Option<ServerSettings>,
}

/// A server's settings that determine how long its sessions live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSettings {
    tick_ms: u32,
    min_session_timeout_ms: u32,
}

impl ServerSettings {
    /// Creates the settings. `None` when a value is out of a server's range: a tick of zero, or a
    /// time of more than 49 days.
    pub fn new(tick: Duration, min_session_timeout: Duration) -> Option<Self> {
        let millis = |time: Duration| u32::try_from(time.as_millis()).ok();
        let (tick_ms, min_session_timeout_ms) = (millis(tick)?, millis(min_session_timeout)?);
        (tick_ms > 0).then_some(Self { tick_ms, min_session_timeout_ms })
    }

    /// Returns `tickTime`. Sessions expire at multiples of it, by the server's monotonic clock.
    pub fn tick(self) -> Duration {
        Duration::from_millis(self.tick_ms.into())
    }

    /// Returns `minSessionTimeout`, the shortest session timeout that the server grants.
    pub fn min_session_timeout(self) -> Duration {
        Duration::from_millis(self.min_session_timeout_ms.into())
    }
}

/// A server cuts a written time to the whole second before it, by up to this many milliseconds.
const CUT_MS: i64 = 999;

/// A lower and an upper bound, in milliseconds.
pub type Bounds = (i64, i64);

/// Bounds, by our clock, for when a session expires unless its client is heard before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpiryBounds {
    /// The session does not expire before this time.
    pub earliest: Timestamp,
    /// The session expires by this time, plus the time that the server takes to end it.
    pub latest: Timestamp,
}

/// The relation between our clock and the clock by which a server writes its sessions' expiries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpiryClock {
    /// The offset of the server's monotonic clock from our clock, in milliseconds.
    pub(super) ahead: Bounds,
    /// The offset of the written dates, in whatever time zone, from the server's monotonic clock,
    /// in milliseconds; `None` when the server writes no dates.
    pub(super) calendar: Option<Bounds>,
    /// The tick, in milliseconds, where it is known. Sessions expire at multiples of it by the
    /// server's monotonic clock.
    pub(super) tick_ms: Option<i64>,
}

impl ExpiryClock {
    /// Creates the clock of a server that writes its monotonic clock, which equals ours.
    pub fn same_as_ours() -> Self {
        Self { ahead: (0, 0), calendar: None, tick_ms: None }
    }

    /// Converts an expiry that the server wrote to our clock. `None` when the server's times
    /// contradict each other.
    pub fn bounds(&self, expiry: Expiry) -> Option<ExpiryBounds> {
        let (from, to) = match (expiry, self.calendar) {
            (Expiry::Monotonic { millis }, _) => (millis, millis),
            (Expiry::Date { millis, .. }, Some(calendar)) => self.at_ticks((
                millis.saturating_sub(calendar.1),
                millis.saturating_add(CUT_MS).saturating_sub(calendar.0),
            ))?,
            (Expiry::Date { .. }, None) => return None,
        };
        let (earliest, latest) = (from.saturating_sub(self.ahead.1), to.saturating_sub(self.ahead.0));
        (earliest <= latest).then_some(ExpiryBounds { earliest: Timestamp(earliest), latest: Timestamp(latest) })
    }

    fn at_ticks(&self, (from, to): Bounds) -> Option<Bounds> {
        let Some(tick) = self.tick_ms.filter(|tick| *tick > 0) else { return Some((from, to)) };
        let first = from.saturating_add(tick - 1).div_euclid(tick).saturating_mul(tick);
        let last = to.div_euclid(tick).saturating_mul(tick);
        (first <= last).then_some((first, last))
    }
}

/// Our own session as its server lists it.
#[derive(Clone, Copy, Debug)]
pub struct OwnExpiry {
    pub(super) listed: Expiry,
    /// When the server last heard the session, by the clock that the calling method names.
    pub(super) heard: Bounds,
    pub(super) timeout_ms: i64,
    pub(super) tick_ms: i64,
}

impl OwnExpiry {
    /// Returns the offset of the server's calendar from its monotonic clock; `heard` is by the
    /// latter. `None` when the server writes no dates.
    pub fn calendar(&self) -> Option<Bounds> {
        let Expiry::Date { millis, .. } = self.listed else { return None };
        let expires = |heard: i64| {
            let end = heard.saturating_add(self.timeout_ms);
            end.div_euclid(self.tick_ms).saturating_add(1).saturating_mul(self.tick_ms)
        };
        let (from, to) = (expires(self.heard.0), expires(self.heard.1));
        Some((millis.saturating_sub(to), millis.saturating_add(CUT_MS).saturating_sub(from)))
    }

    /// Returns the offset of the clock by which the server writes from our clock; `heard` is by our
    /// clock.
    pub fn ahead(&self) -> Bounds {
        let from = self.heard.0.saturating_add(self.timeout_ms);
        let to = self.heard.1.saturating_add(self.timeout_ms).saturating_add(self.tick_ms);
        let cut = if matches!(self.listed, Expiry::Date { .. }) { CUT_MS } else { 0 };
        let millis = self.listed.millis();
        (millis.saturating_sub(to), millis.saturating_add(cut).saturating_sub(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(millis: i64) -> Expiry {
        Expiry::Date { millis: millis.div_euclid(1_000) * 1_000, utc: false }
    }

    #[test]
    fn a_date_lies_at_one_tick_when_the_tick_is_a_second_or_longer() {
        // The server's monotonic clock is 5 000 to 5 010 ms ahead of ours.
        // Its calendar is 1 000 300 ms ahead of its monotonic clock.
        for tick_ms in [1_000, 2_000, 3_000] {
            let own =
                OwnExpiry { listed: date(36_000 + 1_000_300), heard: (5_100, 5_110), timeout_ms: 30_000, tick_ms };
            let clock = ExpiryClock { ahead: (5_000, 5_010), calendar: own.calendar(), tick_ms: Some(tick_ms) };
            let expires = 48_000;
            let found = clock.bounds(date(expires + 1_000_300));
            assert_eq!(
                found,
                Some(ExpiryBounds { earliest: Timestamp(42_990), latest: Timestamp(43_000) }),
                "{tick_ms}"
            );
        }
    }

    #[test]
    fn the_truth_lies_within_the_bounds_whatever_the_tick_and_the_calendar() {
        for tick_ms in [200, 500, 1_000, 2_000] {
            for calendar in [0, 1, 499, 999, -7_200_001] {
                for heard in [10_000, 10_199, 11_960] {
                    let expires = |heard: i64| ((heard + 30_000) / tick_ms + 1) * tick_ms;
                    let listed = date(expires(heard) + calendar);
                    let own = OwnExpiry { listed, heard: (heard - 20, heard + 30), timeout_ms: 30_000, tick_ms };
                    let clock = ExpiryClock { ahead: (-4, 6), calendar: own.calendar(), tick_ms: Some(tick_ms) };
                    for truth in [expires(heard) - 5 * tick_ms, expires(heard), expires(heard) + tick_ms] {
                        let found = clock.bounds(date(truth + calendar)).expect("the times are consistent");
                        assert!(found.earliest.0 <= truth && truth <= found.latest.0, "{found:?} of {truth}");
                        assert!(found.latest.0 - found.earliest.0 < 2_100, "{found:?}");
                    }
                    let elsewhere = ExpiryClock { ahead: own.ahead(), calendar: Some((0, 0)), tick_ms: None };
                    let found = elsewhere.bounds(date(expires(heard) + calendar)).expect("the times are consistent");
                    assert!(found.earliest.0 <= expires(heard) && expires(heard) <= found.latest.0, "{found:?}");
                }
            }
        }
    }

    #[test]
    fn contradictory_times_have_no_bounds() {
        let clock = ExpiryClock { ahead: (9, 3), calendar: None, tick_ms: None };
        assert_eq!(clock.bounds(Expiry::Monotonic { millis: 7 }), None);
        assert_eq!(ExpiryClock { ahead: (0, 0), ..clock }.bounds(date(7)), None, "no date can be read");
        let between = ExpiryClock { ahead: (0, 0), calendar: Some((0, 0)), tick_ms: Some(60_000) };
        assert_eq!(between.bounds(date(7_000)), None, "no tick lies there");
        let extreme =
            ExpiryClock { ahead: (i64::MIN, i64::MAX), calendar: Some((i64::MIN, i64::MAX)), tick_ms: Some(1) };
        assert!(extreme.bounds(Expiry::Date { millis: i64::MAX, utc: true }).is_some());
    }
}
