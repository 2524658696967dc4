//! Reads the answers of AdminServer.
//!
//! The answers are JSON, so a truncated answer is useless. Session ids are signed decimals.
//! AdminServer answers `200 OK` even for an error, which the answer then contains.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::four_letter::Srvr;
use super::listing::{ListedConnection, client_address};
use super::monitor::MonitorFigure;
use super::{Connection, Expiry, ListedSession, Monitor, ServerLimits, ServerSettings, WatchTotals, WatchedPath};
use lockscope_base::znode::{SessionId, ZnodePath, Zxid};

/// The reason why an answer cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAnswer {
    /// The server refused and gave a reason.
    #[error("AdminServer says: {0}")]
    Refused(String),
    /// The answer is no JSON, or its form is not that of ZooKeeper.
    #[error("the answer is not that of ZooKeeper's AdminServer ({0})")]
    Foreign(String),
}

/// Maximum length of a reason, in characters.
const MAX_ERROR_CHARS: usize = 200;

#[derive(Deserialize)]
struct MaybeError<'a> {
    #[serde(borrow, default)]
    error: Option<Cow<'a, str>>,
}

fn read<T: DeserializeOwned>(answer: &[u8]) -> Result<T, BadAnswer> {
    let foreign = |error: serde_json::Error| BadAnswer::Foreign(error.to_string());
    let parsed: MaybeError<'_> = serde_json::from_slice(answer).map_err(foreign)?;
    match parsed.error {
        Some(error) => Err(BadAnswer::Refused(error.chars().take(MAX_ERROR_CHARS).collect())),
        None => serde_json::from_slice(answer).map_err(foreign),
    }
}

#[derive(Deserialize)]
struct ConnectionsAnswer {
    connections: Vec<OneConnection>,
    #[serde(default)]
    secure_connections: Vec<OneConnection>,
}

#[derive(Deserialize)]
struct OneConnection {
    remote_socket_address: String,
    packets_received: u64,
    packets_sent: u64,
    session_id: Option<i64>,
    last_operation: Option<String>,
    established: Option<i64>,
    session_timeout: Option<u64>,
    last_cxid: Option<i64>,
    last_zxid: Option<i64>,
    last_response_time: Option<i64>,
}

/// Reads the answer to `connections`: the connections with a session, on all ports.
pub fn connections(answer: &[u8]) -> Result<Vec<Connection>, BadAnswer> {
    let ConnectionsAnswer { connections, secure_connections } = read(answer)?;
    Ok(connections.into_iter().chain(secure_connections).filter_map(connection).collect())
}

fn connection(one: OneConnection) -> Option<Connection> {
    let listed = ListedConnection {
        session: SessionId(one.session_id.filter(|id| *id != 0)?),
        client: client_address(&one.remote_socket_address),
        timeout_ms: one.session_timeout,
        established: one.established,
        last_operation: one.last_operation,
        last_cxid: one.last_cxid,
        last_zxid: one.last_zxid,
        last_response: one.last_response_time,
        received: one.packets_received,
        sent: one.packets_sent,
    };
    Some(listed.into())
}

#[derive(Deserialize)]
struct Stats {
    version: Option<String>,
    server_stats: StatsOfServer,
}

#[derive(Deserialize)]
struct StatsOfServer {
    server_state: Option<String>,
    num_alive_client_connections: Option<u64>,
    last_processed_zxid: Option<i64>,
}

/// Reads the answer to `server_stats`, which contains the same facts as the one to `srvr`.
pub fn server_stats(answer: &[u8]) -> Result<Srvr, BadAnswer> {
    let Stats { version, server_stats: stats } = read(answer)?;
    let short = |text: String| text.chars().take(MAX_ERROR_CHARS).collect();
    Ok(Srvr {
        version: version.map(short),
        mode: stats.server_state.map(short),
        connections: stats.num_alive_client_connections,
        zxid: stats.last_processed_zxid.filter(|zxid| *zxid >= 0).map(Zxid),
    })
}

#[derive(Deserialize)]
struct Dump {
    expiry_time_to_session_ids: HashMap<i64, Vec<i64>>,
    #[serde(default)]
    session_id_to_ephemeral_paths: HashMap<i64, Vec<String>>,
}

/// The sessions of an answer to `dump`, and their ephemeral nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionDump {
    /// The sessions. Empty for a follower, which does not know when sessions expire.
    pub sessions: Vec<ListedSession>,
    /// The ephemeral nodes, by absolute paths.
    pub ephemerals: Vec<(SessionId, Vec<String>)>,
}

/// Reads the answer to `dump`.
pub fn dump(answer: &[u8]) -> Result<SessionDump, BadAnswer> {
    let dump: Dump = read(answer)?;
    let sessions = dump.expiry_time_to_session_ids.into_iter().flat_map(|(millis, ids)| {
        let expiry = Expiry::Monotonic { millis };
        ids.into_iter().map(move |id| ListedSession { id: SessionId(id), expiry, expires_at: None })
    });
    let ephemerals = dump.session_id_to_ephemeral_paths.into_iter().map(|(id, paths)| (SessionId(id), paths));
    Ok(SessionDump { sessions: sessions.collect(), ephemerals: ephemerals.collect() })
}

#[derive(Deserialize)]
struct Configuration {
    tick_time: u64,
    min_session_timeout: u64,
}

/// Reads the answer to `configuration`, which contains the same facts as the one to `conf`. `None`
/// when a setting is out of a server's range.
pub fn configuration(answer: &[u8]) -> Result<Option<ServerSettings>, BadAnswer> {
    let Configuration { tick_time, min_session_timeout } = read(answer)?;
    Ok(ServerSettings::new(Duration::from_millis(tick_time), Duration::from_millis(min_session_timeout)))
}

/// Reads the limits for clients in the answer to `configuration`.
pub fn limits(answer: &[u8]) -> Result<ServerLimits, BadAnswer> {
    let settings: HashMap<String, serde_json::Value> = read(answer)?;
    Ok(ServerLimits::collect(settings.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_u64()?)))))
}

#[derive(Deserialize)]
struct Watches {
    path_to_session_ids: HashMap<String, Vec<i64>>,
}

/// Reads the answer to `watches_by_path`. The flag tells whether every path in it was valid.
pub fn watches_by_path(answer: &[u8]) -> Result<(Vec<WatchedPath>, bool), BadAnswer> {
    let watches: Watches = read(answer)?;
    let paths = watches.path_to_session_ids.len();
    let found: Vec<WatchedPath> = watches
        .path_to_session_ids
        .into_iter()
        .filter_map(|(path, sessions)| {
            let path = ZnodePath::new(&path).ok()?;
            Some(WatchedPath::new(path, sessions.into_iter().map(SessionId).collect()))
        })
        .collect();
    let whole = found.len() == paths;
    Ok((found, whole))
}

#[derive(Deserialize)]
struct Summary {
    #[serde(rename = "num_connections")]
    connections: u64,
    #[serde(rename = "num_paths")]
    paths: u64,
    #[serde(rename = "num_total_watches")]
    watches: u64,
}

/// Reads the answer to `watch_summary`.
pub fn watch_summary(answer: &[u8]) -> Result<WatchTotals, BadAnswer> {
    let Summary { connections, paths, watches } = read(answer)?;
    Ok(WatchTotals { connections, paths, watches })
}

/// Reads the answer to `monitor`.
pub fn monitor(answer: &[u8]) -> Result<Monitor, BadAnswer> {
    let figures: HashMap<String, serde_json::Value> = read(answer)?;
    Ok(Monitor::collect(figures.iter().map(|(name, value)| {
        let text = value.as_str().map(|text| text.chars().take(MAX_ERROR_CHARS).collect());
        (name.as_str(), MonitorFigure { text, number: value.as_u64(), decimal: value.as_f64() })
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_view::WatchEventTotals;

    #[test]
    fn a_real_answer_lists_the_connections() {
        let found = connections(include_bytes!("captures/standalone-connections.json")).expect("an answer");
        assert_eq!(found.len(), 4);
        let first = found.iter().find(|one| one.session == SessionId(72_058_362_343_522_313)).expect("listed");
        assert_eq!(first.session.to_string(), "0x10000b2e2950009");
        assert_eq!((first.client.as_str(), first.timeout_ms), ("127.0.0.1:40058", Some(30_000)));
        assert_eq!(first.last_cxid, Some(2));
    }

    #[test]
    fn a_session_that_has_just_moved_has_no_answer_yet() {
        let answer =
            br#"{"connections":[{"remote_socket_address":"127.0.0.1:54188","packets_received":1,"packets_sent":1,
            "session_id":216172884391395329,"last_operation":null,"established":1795811243410,"session_timeout":6000,
            "last_cxid":0,"last_zxid":0,"last_response_time":0}],"secure_connections":[],"error":null}"#;
        let found = connections(answer).expect("an answer").remove(0);
        assert_eq!((found.last_response, found.last_cxid, found.last_zxid), (None, None, None));
        assert_eq!((found.last_operation.as_deref(), found.timeout_ms), (None, Some(6_000)));
    }

    #[test]
    fn a_real_answer_lists_expiries_and_watches() {
        let SessionDump { sessions, ephemerals } =
            dump(include_bytes!("captures/standalone-dump.json")).expect("an answer");
        assert!(ephemerals.iter().all(|(_, paths)| paths.len() == 1) && ephemerals.len() == 4);
        assert_eq!(sessions.len(), 4);
        assert!(dump(include_bytes!("captures/follower-dump.json")).expect("an answer").sessions.is_empty());
        let (watched, whole) =
            watches_by_path(include_bytes!("captures/standalone-watches_by_path.json")).expect("one");
        assert!(whole);
        let odd = watched.iter().find(|one| one.path.as_str() == "/held/none such").expect("listed");
        assert_eq!(odd.sessions[..], [SessionId(72_058_362_343_522_314)]);
        let totals = watch_summary(include_bytes!("captures/standalone-watch_summary.json"));
        assert_eq!(totals, Ok(WatchTotals { connections: 3, paths: 4, watches: 4 }));
    }

    #[test]
    fn a_real_answer_contains_the_figures() {
        let found = monitor(include_bytes!("captures/standalone-monitor.json")).expect("an answer");
        assert_eq!(found.fired, Some(WatchEventTotals::default()));
        assert_eq!((found.watches, found.connections), (Some(6), Some(4)));
        assert_eq!(found.state.as_deref(), Some("standalone"));
        assert!(found.version.expect("a version").starts_with("3.8.0"));
        let stats = server_stats(include_bytes!("captures/standalone-server_stats.json")).expect("an answer");
        assert_eq!((stats.mode.as_deref(), stats.connections), (Some("standalone"), Some(4)));
    }

    #[test]
    fn a_real_answer_contains_the_shortest_session_timeout() {
        let found = configuration(include_bytes!("captures/standalone-configuration.json")).expect("an answer");
        let expected = ServerSettings::new(Duration::from_millis(500), Duration::from_millis(1_500));
        assert_eq!((found, found.is_some()), (expected, true));
        assert_eq!(configuration(br#"{"tick_time":0,"min_session_timeout":1}"#), Ok(None));
        assert!(configuration(br#"{"tick_time":500,"min_session_timeout":-1}"#).is_err());
    }

    #[test]
    fn an_error_with_a_success_status_is_an_error() {
        let answer = include_bytes!("captures/standalone-secure_connections.json");
        let error = connections(answer).expect_err("an unknown command");
        assert_eq!(error, BadAnswer::Refused("Unknown command: secure_connections".to_owned()));
    }

    #[test]
    fn a_cut_answer_is_an_error() {
        let answer = include_bytes!("captures/standalone-dump.json");
        for cut in 0..answer.len() - 1 {
            assert!(dump(&answer[..cut]).is_err(), "{cut}");
        }
    }
}
