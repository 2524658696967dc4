//! The figures of `mntr` and of AdminServer's `monitor`: the sent watch events, and how a server is
//! doing.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The number of watch events of each type that a server sent since it started, to all clients and
/// for all paths.
///
/// `children` is exactly the cost of herds, since recursive watches do not affect it. `deleted`
/// includes the events of chains. It also includes one event per deletion for each recursive watch
/// above the node, and two before 3.9.0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchEventTotals {
    /// Events about created nodes.
    pub created: u64,
    /// Events about deleted nodes.
    pub deleted: u64,
    /// Events about nodes whose data changed.
    pub changed: u64,
    /// Events about nodes whose children changed.
    pub children: u64,
}

impl WatchEventTotals {
    /// Returns the events between two answers of one server. `None` when the server restarted in
    /// between, which resets its counts to zero.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        Some(Self {
            created: self.created.checked_sub(earlier.created)?,
            deleted: self.deleted.checked_sub(earlier.deleted)?,
            changed: self.changed.checked_sub(earlier.changed)?,
            children: self.children.checked_sub(earlier.children)?,
        })
    }

    /// Returns the sums of two servers.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            created: self.created.saturating_add(other.created),
            deleted: self.deleted.saturating_add(other.deleted),
            changed: self.changed.saturating_add(other.changed),
            children: self.children.saturating_add(other.children),
        }
    }
}

/// The answer to `mntr`, or to AdminServer's `monitor`; `None` for missing values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Monitor {
    /// The server's version, in its own words.
    pub version: Option<String>,
    /// The server's role in its own word: `leader`, `follower`, `observer`, `standalone` or
    /// `read-only`.
    pub state: Option<String>,
    /// The number of watches of all kinds.
    pub watches: Option<u64>,
    /// The number of connections on all ports. Includes our own question if it was a four-letter
    /// word.
    pub connections: Option<u64>,
    /// The sent watch events, from ZooKeeper 3.6.0 on. `None` if any of the four counts is missing.
    pub fired: Option<WatchEventTotals>,
    /// How the server is doing.
    pub health: Health,
}

impl Monitor {
    /// Collects figures by their names, without `zk_`. Unknown names are ignored.
    pub(super) fn collect<'a>(figures: impl Iterator<Item = (&'a str, MonitorFigure)>) -> Self {
        let mut found = Self::default();
        let [mut created, mut deleted, mut changed, mut children] = [None; 4];
        for (name, figure) in figures {
            found.health.take(name, &figure);
            match name {
                "version" => found.version = figure.text,
                "server_state" => found.state = figure.text,
                "watch_count" => found.watches = figure.number,
                "num_alive_connections" => found.connections = figure.number,
                "sum_node_created_watch_count" => created = figure.number,
                "sum_node_deleted_watch_count" => deleted = figure.number,
                "sum_node_changed_watch_count" => changed = figure.number,
                "sum_node_children_watch_count" => children = figure.number,
                _ => {}
            }
        }
        if let (Some(created), Some(deleted), Some(changed), Some(children)) = (created, deleted, changed, children) {
            found.fired = Some(WatchEventTotals { created, deleted, changed, children });
        }
        found
    }
}

/// From this 99th percentile of the time of a write on, a server is called slow. A healthy one needs
/// some milliseconds.
pub const SLOW_WRITES: Duration = Duration::from_secs(1);

/// Milliseconds above this stand for no measurement.
const MAX_MILLIS: f64 = 1e12;

/// How a server is doing, by its own figures; `None` for those that it does not report. Times and
/// counts are since it started, or since somebody reset them (`srst`).
///
/// Times of writes, and the percentiles, need ZooKeeper 3.6. A server keeps a percentile over the
/// requests of about the last five minutes.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Health {
    /// The mean time from a request to its answer.
    #[serde(rename = "latency_avg_ms", serialize_with = "millis")]
    pub latency_avg: Option<Duration>,
    /// The longest time from a request to its answer.
    #[serde(rename = "latency_max_ms", serialize_with = "millis")]
    pub latency_max: Option<Duration>,
    /// The 99th percentile of the time of a write.
    #[serde(rename = "write_p99_ms", serialize_with = "millis")]
    pub write_p99: Option<Duration>,
    /// The 99th percentile of the time of a read.
    #[serde(rename = "read_p99_ms", serialize_with = "millis")]
    pub read_p99: Option<Duration>,
    /// The mean time to write the transaction log to the disk.
    #[serde(rename = "fsync_avg_ms", serialize_with = "millis")]
    pub fsync_avg: Option<Duration>,
    /// The longest time to write the transaction log to the disk.
    #[serde(rename = "fsync_max_ms", serialize_with = "millis")]
    pub fsync_max: Option<Duration>,
    /// The mean time from a proposal to the acknowledgement of a majority; only at the leader.
    #[serde(rename = "proposal_avg_ms", serialize_with = "millis")]
    pub proposal_avg: Option<Duration>,
    /// The 99th percentile of that time.
    #[serde(rename = "proposal_p99_ms", serialize_with = "millis")]
    pub proposal_p99: Option<Duration>,
    /// How often the server took part in an election of the ensemble's leader.
    pub elections: Option<u64>,
    /// The longest of these elections.
    #[serde(rename = "election_max_ms", serialize_with = "millis")]
    pub election_max: Option<Duration>,
    /// The requests that wait in the server.
    pub outstanding: Option<u64>,
    /// The connections on all ports.
    pub connections: Option<u64>,
    /// How many connections one host may have; 0 for any number.
    pub max_connections_per_host: Option<u64>,
    /// The connections that were refused.
    pub rejected_connections: Option<u64>,
    /// The requests that were held back because too many waited.
    pub throttled: Option<u64>,
    /// The shortest session timeout that the server grants.
    #[serde(rename = "session_timeout_min_ms", serialize_with = "millis")]
    pub session_timeout_min: Option<Duration>,
    /// The longest session timeout that the server grants.
    #[serde(rename = "session_timeout_max_ms", serialize_with = "millis")]
    pub session_timeout_max: Option<Duration>,
    /// The followers; only at the leader.
    pub followers: Option<u64>,
    /// The followers that are in step; only at the leader.
    pub synced_followers: Option<u64>,
    /// How many sessions the server expired; only where it keeps the sessions.
    pub expired_sessions: Option<u64>,
    /// How often the server's tree had another digest than the leader's. Above 0, it has other data.
    pub digest_mismatches: Option<u64>,
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn millis<S: serde::Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.serialize_f64(time.as_secs_f64() * 1_000.0),
        None => serializer.serialize_none(),
    }
}

impl Health {
    /// Takes over one figure of `mntr` or `monitor`, by its name without `zk_`. Unknown names are
    /// ignored.
    fn take(&mut self, name: &str, figure: &MonitorFigure) {
        let time = || figure.decimal.filter(|millis| (0.0..MAX_MILLIS).contains(millis)).map(from_millis);
        match name {
            "avg_latency" => self.latency_avg = time(),
            "max_latency" => self.latency_max = time(),
            "p99_updatelatency" => self.write_p99 = time(),
            "p99_readlatency" => self.read_p99 = time(),
            "avg_fsynctime" => self.fsync_avg = time(),
            "max_fsynctime" => self.fsync_max = time(),
            "avg_proposal_latency" => self.proposal_avg = time(),
            "p99_proposal_latency" => self.proposal_p99 = time(),
            "cnt_election_time" => self.elections = figure.number,
            "max_election_time" => self.election_max = time(),
            "outstanding_requests" => self.outstanding = figure.number,
            "num_alive_connections" => self.connections = figure.number,
            "connection_rejected" => self.rejected_connections = figure.number,
            "request_throttle_wait_count" => self.throttled = figure.number,
            "learners" | "followers" => self.followers = figure.number,
            "synced_followers" => self.synced_followers = figure.number,
            "stale_sessions_expired" => self.expired_sessions = figure.number,
            "digest_mismatches_count" => self.digest_mismatches = figure.number,
            _ => {}
        }
    }

    /// Takes over the limits from the answer to `conf` or `configuration`.
    #[must_use]
    pub fn with_limits(self, limits: &ServerLimits) -> Self {
        Self {
            max_connections_per_host: limits.max_connections_per_host.or(self.max_connections_per_host),
            session_timeout_min: limits.session_timeout_min.or(self.session_timeout_min),
            session_timeout_max: limits.session_timeout_max.or(self.session_timeout_max),
            ..self
        }
    }

    /// Returns the time of a write, if it is so long that it explains waits.
    pub fn slow_writes(&self) -> Option<Duration> {
        self.write_p99.max(self.proposal_p99).filter(|time| *time >= SLOW_WRITES)
    }
}

/// The limits that a server sets its clients, by its settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerLimits {
    /// How many connections one host may have; 0 for any number.
    pub max_connections_per_host: Option<u64>,
    /// The shortest session timeout that the server grants.
    pub session_timeout_min: Option<Duration>,
    /// The longest session timeout that the server grants.
    pub session_timeout_max: Option<Duration>,
}

impl ServerLimits {
    /// Creates limits from settings by the names of `conf` and of `configuration`.
    pub(super) fn collect<'a>(settings: impl Iterator<Item = (&'a str, u64)>) -> Self {
        let mut limits = Self::default();
        for (name, value) in settings {
            match name {
                "maxClientCnxns" | "max_client_cnxns" => limits.max_connections_per_host = Some(value),
                "minSessionTimeout" | "min_session_timeout" | "min_session_timeout_ms" => {
                    limits.session_timeout_min = Some(Duration::from_millis(value));
                }
                "maxSessionTimeout" | "max_session_timeout" | "session_timeout_ms" => {
                    limits.session_timeout_max = Some(Duration::from_millis(value));
                }
                _ => {}
            }
        }
        limits
    }
}

/// Converts milliseconds to a time, to the microsecond.
fn from_millis(millis: f64) -> Duration {
    Duration::from_secs_f64(millis / 1_000.0)
}

/// The value of a figure, as text or as a number.
pub(super) struct MonitorFigure {
    pub(super) text: Option<String>,
    pub(super) number: Option<u64>,
    /// The number with its decimals.
    pub(super) decimal: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::super::{admin, four_letter};
    use super::*;

    #[test]
    fn a_restarted_server_has_no_difference_to_before() {
        let some = WatchEventTotals { children: 4, ..WatchEventTotals::default() };
        assert_eq!(some.since(&WatchEventTotals::default()), Some(some));
        assert_eq!(WatchEventTotals::default().since(&some), None);
    }

    #[test]
    fn a_real_answer_in_both_ways_contains_latency_queues_and_limits() {
        let words = four_letter::mntr(include_str!("captures/standalone-mntr.txt")).health;
        let http = admin::monitor(include_bytes!("captures/standalone-monitor.json")).expect("an answer").health;
        assert_eq!(words.latency_avg, Some(Duration::from_micros(346) + Duration::from_nanos(500)));
        for health in [&words, &http] {
            assert!(health.latency_max.is_some() && health.write_p99.is_some() && health.fsync_max.is_some());
            assert_eq!((health.outstanding, health.digest_mismatches, health.elections), (Some(0), Some(0), Some(0)));
            assert_eq!(health.expired_sessions, Some(8));
            assert_eq!(health.slow_writes(), None);
        }
        let limits = four_letter::limits(include_str!("captures/ensemble-conf.txt"));
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs());
        assert_eq!(limits.max_connections_per_host, Some(60));
        assert_eq!((seconds(limits.session_timeout_min), seconds(limits.session_timeout_max)), (Some(4), Some(40)));
        let of_http = admin::limits(include_bytes!("captures/standalone-configuration.json")).expect("an answer");
        assert!(of_http.session_timeout_max.is_some() && of_http.max_connections_per_host.is_some());
    }

    #[test]
    fn values_that_are_no_times_are_left_out() {
        for value in ["NaN", "-1", "inf", "1e300", "", "1,5"] {
            let health = four_letter::mntr(&format!("zk_avg_latency\t{value}\n")).health;
            assert_eq!(health.latency_avg, None, "{value}");
        }
    }

    #[test]
    fn a_write_is_slow_from_a_second_on() {
        let slow = |millis: &str| four_letter::mntr(&format!("zk_p99_updatelatency\t{millis}\n")).health.slow_writes();
        assert_eq!(slow("999.0"), None);
        assert_eq!(slow("4000.0"), Some(Duration::from_secs(4)));
    }
}
