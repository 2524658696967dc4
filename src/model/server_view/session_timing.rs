//! Evidence about how long a server's sessions live.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ExpiryClock;

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
