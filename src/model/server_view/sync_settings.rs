//! How long a member serves its clients without its leader, and which session timeouts exceed that.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The settings that determine how long a member continues without its leader.
///
/// Only the four-letter word `conf` reports them. AdminServer's `configuration` has `tick_time` but
/// no `syncLimit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncSettings {
    /// `tickTime`, in milliseconds.
    pub tick_ms: u32,
    /// `syncLimit`, in ticks.
    pub sync_limit: u32,
}

impl SyncSettings {
    /// Reads the answer to `conf`, which may be truncated anywhere. `None` for a standalone server,
    /// which reports no `syncLimit`.
    pub fn from_conf(answer: &str) -> Option<Self> {
        let whole = &answer[..=answer.rfind('\n')?];
        let number = |name: &str| {
            let mut values = whole.lines().filter_map(|line| line.split_once('=').filter(|(key, _)| *key == name));
            values.next()?.1.trim().parse().ok()
        };
        Some(Self { tick_ms: number("tickTime")?, sync_limit: number("syncLimit")? })
    }

    /// Returns how long a member that lost its leader still answers its clients: `syncLimit` ×
    /// `tickTime`.
    pub fn keeps_clients_for(self) -> Duration {
        Duration::from_millis(u64::from(self.tick_ms) * u64::from(self.sync_limit))
    }

    /// Returns the shortest safe session timeout: 1.25 × (`syncLimit` + 0.5) × `tickTime`.
    ///
    /// With it, no client is still answered after its session expired, as long as the client can
    /// reach another member.
    ///
    /// A follower drops its clients up to `syncLimit` × `tickTime` after it last heard of its
    /// leader. The leader counts the session timeout from a message of the client. That message may
    /// be older than the follower's last contact with the leader, for two reasons:
    ///
    /// - a client may leave 0.2 timeouts between two messages;
    /// - a follower reports its clients to the leader only twice per tick, which adds half a tick.
    ///
    /// So the session outlasts the follower's answers if 0.8 timeouts are at least (`syncLimit` +
    /// 0.5) × `tickTime`.
    pub fn safe_session_timeout(self) -> Duration {
        // In eighths of a millisecond, 1.25 × (limit + 0.5) is 5 × (2 × limit + 1).
        let half_limits = 2 * u64::from(self.sync_limit) + 1;
        let eighths = half_limits.saturating_mul(5).saturating_mul(u64::from(self.tick_ms));
        Duration::from_millis(eighths.div_ceil(8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_the_sample_file_sessions_of_13_75_seconds_are_safe() {
        let sample = SyncSettings { tick_ms: 2000, sync_limit: 5 };
        assert_eq!(sample.keeps_clients_for(), Duration::from_secs(10));
        assert_eq!(sample.safe_session_timeout(), Duration::from_millis(13_750));
        let tests = SyncSettings { tick_ms: 200, sync_limit: 10 };
        assert_eq!(tests.safe_session_timeout(), Duration::from_millis(2625));
    }

    #[test]
    fn no_setting_is_too_large_to_count_with() {
        let largest = SyncSettings { tick_ms: u32::MAX, sync_limit: u32::MAX };
        assert!(largest.safe_session_timeout() > Duration::from_secs(u64::from(u32::MAX)));
        assert!(largest.keeps_clients_for() > Duration::from_secs(u64::from(u32::MAX)));
    }

    #[test]
    fn a_member_of_an_ensemble_reports_its_settings() {
        let answer = include_str!("captures/ensemble-conf.txt");
        let sample = SyncSettings { tick_ms: 2000, sync_limit: 5 };
        assert_eq!(SyncSettings::from_conf(answer), Some(sample));
        for cut in 0..answer.len() {
            assert!(matches!(SyncSettings::from_conf(&answer[..cut]), None | Some(SyncSettings { sync_limit: 5, .. })));
        }
    }

    #[test]
    fn a_standalone_server_and_garbage_have_no_settings() {
        for answer in [
            "",
            "clientPort=2181\ntickTime=2000\nminSessionTimeout=4000\nserverId=0\n",
            "tickTime=2000\nsyncLimit=-1\n",
            "tickTime=99999999999\nsyncLimit=5\n",
            "syncLimit=5\n",
        ] {
            assert_eq!(SyncSettings::from_conf(answer), None, "{answer}");
        }
    }
}
