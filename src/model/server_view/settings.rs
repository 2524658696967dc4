//! Settings of the ensemble: its members and their addresses, how long a member serves its clients
//! without its leader, and which session timeouts exceed that.

use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A server in the ensemble's own config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredServer {
    /// The server's number.
    pub id: i64,
    /// The host by which the other servers know the server.
    pub host: String,
    /// The server's address for clients, `HOST:PORT`. `None` when `zoo.cfg` sets it with
    /// `clientPort=`, which the config does not contain.
    pub client: Option<String>,
    /// Whether the server votes; observers do not.
    pub votes: bool,
}

/// The servers in the ensemble's own config.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnsembleConfig {
    /// At most [`MAX_MEMBERS`] servers, each with a well-formed host and port.
    pub servers: Vec<ConfiguredServer>,
    /// Whether the config names further servers, which are left out because their host, address or
    /// port is malformed or because there are too many. The members are then not all known.
    pub incomplete: bool,
}

/// Maximum number of members, more than any ensemble has. The author of the config decides which
/// servers we ask, so the config is not trusted.
pub const MAX_MEMBERS: usize = 32;

/// Maximum length of a DNS host name, in bytes.
const MAX_HOST_NAME: usize = 253;

/// Maximum length of a part between two dots of a host name, in bytes.
const MAX_LABEL: usize = 63;

impl EnsembleConfig {
    /// Reads the data of `/zookeeper/config`: lines such as
    /// `server.1=zk1:2888:3888:participant;0.0.0.0:2181`. Other lines are ignored.
    pub fn read(data: &[u8]) -> Self {
        let text = String::from_utf8_lossy(data);
        let mut found = Self::default();
        for line in text.split('\n').filter_map(|line| line.trim_ascii().strip_prefix("server.")) {
            match server(line) {
                Some(server) if found.servers.len() < MAX_MEMBERS => found.servers.push(server),
                _ => found.incomplete = true,
            }
        }
        found
    }

    /// Returns the number of servers that vote; one for a standalone server, which has no config.
    pub fn voters(&self) -> u16 {
        let voters = self.servers.iter().filter(|server| server.votes).count();
        if self.servers.is_empty() { 1 } else { u16::try_from(voters).unwrap_or(u16::MAX) }
    }
}

/// Reads `1=HOST:PORT:PORT[:role][|...][;[ADDRESS:]PORT]`. `None` when any part is malformed.
fn server(line: &str) -> Option<ConfiguredServer> {
    let (id, value) = line.split_once('=')?;
    let (quorum, client) = value.split_once(';').map_or((value, None), |(quorum, client)| (quorum, Some(client)));
    // Bars separate several addresses of one server. The first is enough.
    let host = quorum_host(quorum.split('|').next()?)?;
    let client = match client.map(str::trim_ascii).filter(|client| !client.is_empty()) {
        Some(client) => Some(client_address(client, &host)?),
        None => None,
    };
    let votes = !quorum.trim_ascii().ends_with(":observer");
    Some(ConfiguredServer { id: id.parse().ok()?, host, client, votes })
}

/// Returns the address for clients from a port alone, or from a listening address and a port. An
/// unspecified address means `host`.
fn client_address(client: &str, host: &str) -> Option<String> {
    let (at, port) = client.rsplit_once(':').unwrap_or(("", client));
    let port = port_of(port)?;
    let at = at.strip_prefix('[').and_then(|at| at.strip_suffix(']')).unwrap_or(at);
    let is_any = at.is_empty() || at.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified());
    let at = if is_any { host } else { well_formed_host(at)? };
    Some(if at.contains(':') { format!("[{at}]:{port}") } else { format!("{at}:{port}") })
}

/// Returns the host of `HOST:PORT:PORT[:role]`.
fn quorum_host(quorum: &str) -> Option<String> {
    let (host, rest) = match quorum.strip_prefix('[') {
        Some(rest) => rest.split_once("]:")?,
        None => quorum.split_once(':')?,
    };
    let mut ports = rest.split(':');
    port_of(ports.next()?)?;
    port_of(ports.next()?)?;
    well_formed_host(host).map(str::to_owned)
}

fn port_of(text: &str) -> Option<u16> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port != 0)
}

/// Returns the text if it is an IP address or a host name: letters, digits, hyphens and underscores
/// between dots. Rejects numbers in other notations that resolvers accept (`0x7f.1`).
fn well_formed_host(text: &str) -> Option<&str> {
    if text.parse::<IpAddr>().is_ok() {
        return Some(text);
    }
    let label = |label: &str| {
        (1..=MAX_LABEL).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let name = text.strip_suffix('.').unwrap_or(text);
    let last = name.rsplit('.').next()?;
    let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit())
        || hex.is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    (name.len() <= MAX_HOST_NAME && name.split('.').all(label) && !is_number).then_some(text)
}

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

    fn clients(config: &str) -> Vec<Option<String>> {
        EnsembleConfig::read(config.as_bytes()).servers.into_iter().map(|server| server.client).collect()
    }

    #[test]
    fn a_config_names_the_servers_and_their_client_addresses() {
        let config = "server.1=zk1:2888:3888:participant;2181\nserver.2=zk2:1:2:observer;0.0.0.0:2182\n\
            server.3=10.0.0.3:1:2:participant;10.1.0.3:2183\nserver.4=[::1]:1:2|[::2]:1:2;[::]:2184\nversion=100000000";
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(clients(config), [some("zk1:2181"), some("zk2:2182"), some("10.1.0.3:2183"), some("[::1]:2184")]);
        assert_eq!(EnsembleConfig::read(config.as_bytes()).voters(), 3, "an observer does not vote");
        assert_eq!(EnsembleConfig::default().voters(), 1);
    }

    #[test]
    fn a_server_with_its_client_port_in_its_own_file_has_no_client_address() {
        let config = "server.1=127.0.0.1:11201:11211:participant\nversion=0";
        let servers = EnsembleConfig::read(config.as_bytes()).servers;
        assert_eq!(servers, [ConfiguredServer { id: 1, host: "127.0.0.1".to_owned(), client: None, votes: true }]);
    }

    #[test]
    fn garbage_names_no_server() {
        for text in ["", "server", "server.=", "server.x=a:1:2", "server.1=", "server.1=:1:2", "server.1=[::1"] {
            assert_eq!(EnsembleConfig::read(text.as_bytes()).servers, [], "{text}");
        }
    }

    #[test]
    fn malformed_servers_are_left_out_and_the_config_counts_as_incomplete() {
        let good = "server.1=zk-1.example_corp.com.:2888:3888:participant;2181\nversion=1";
        assert!(!EnsembleConfig::read(good.as_bytes()).incomplete);
        for bad in [
            "zk1@evil:1:2;2181",
            "zk1/x:1:2;2181",
            "zk1#x:1:2;2181",
            "zk 1:1:2;2181",
            "zk1\rX:1:2;2181",
            "-zk:1:2;2181",
            "zk1..x:1:2;2181",
            "/run/sock:1:2;2181",
            "zk1:1:2;0",
            "zk1:1:2;65536",
            "zk1:1:2;+80",
            "zk1:1:2;evil@h:80",
            "zk1:1:2;h/x:80",
            "zk1:0:2;80",
            "[::1%eth0]:1:2;80",
            "0x7f.1:1:2;80",
            "2130706433:1:2;80",
            "127.1:1:2;80",
            "\u{442}est:1:2;80",
            "zk1:1:2;[::1:80",
        ] {
            let read = EnsembleConfig::read(format!("{good}\nserver.2={bad}\n").as_bytes());
            assert_eq!((read.servers.len(), read.incomplete), (1, true), "{bad}");
        }
        let many: Vec<String> = (1..=40).map(|id| format!("server.{id}=zk{id}:1:2;2181")).collect();
        let read = EnsembleConfig::read(many.join("\n").as_bytes());
        assert_eq!((read.servers.len(), read.incomplete), (MAX_MEMBERS, true));
    }

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
