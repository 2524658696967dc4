//! How long the sessions of a server live, for certain.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ExpiryClock;

/// What makes the times of a server's sessions certain, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTiming {
    /// By which clock the server wrote when sessions expire; `None` where that clock cannot be translated for certain.
    pub clock: Option<ExpiryClock>,
    /// What it is set to, as it last said.
    pub settings: Option<ServerSettings>,
}

/// A server's settings that say how long its sessions live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSettings {
    tick_ms: u32,
    min_session_timeout_ms: u32,
}

impl ServerSettings {
    /// `None` when one of them cannot be a server's: a tick of zero, or more than 49 days.
    pub fn new(tick: Duration, min_session_timeout: Duration) -> Option<Self> {
        let millis = |time: Duration| u32::try_from(time.as_millis()).ok();
        let (tick_ms, min_session_timeout_ms) = (millis(tick)?, millis(min_session_timeout)?);
        (tick_ms > 0).then_some(Self { tick_ms, min_session_timeout_ms })
    }

    /// `tickTime`: sessions expire at multiples of it, by the server's monotonic clock.
    pub fn tick(self) -> Duration {
        Duration::from_millis(self.tick_ms.into())
    }

    /// `minSessionTimeout`: the shortest session timeout that it grants.
    pub fn min_session_timeout(self) -> Duration {
        Duration::from_millis(self.min_session_timeout_ms.into())
    }
}
