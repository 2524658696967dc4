//! The ensemble's own config: its members and their addresses.

use std::net::IpAddr;

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
}
