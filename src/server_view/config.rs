/// A server that the ensemble's own config names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredServer {
    /// Its number.
    pub id: i64,
    /// The host by which the other servers know it.
    pub host: String,
    /// `HOST:PORT` for clients, where the config says it: one of `clientPort=` in `zoo.cfg` does not appear here.
    pub client: Option<String>,
}

/// More lines than any ensemble has servers.
const MOST: usize = 1_000;

/// Reads the data of `/zookeeper/config`: lines such as `server.1=zk1:2888:3888:participant;0.0.0.0:2181`. Lines that it
/// does not know are passed over.
pub fn configured_servers(data: &[u8]) -> Vec<ConfiguredServer> {
    String::from_utf8_lossy(data).lines().filter_map(server).take(MOST).collect()
}

fn server(line: &str) -> Option<ConfiguredServer> {
    let (id, value) = line.trim().strip_prefix("server.")?.split_once('=')?;
    let (quorum, client) = value.split_once(';').map_or((value, None), |(quorum, client)| (quorum, Some(client)));
    // Several addresses of one server stand between bars; the first will do.
    let host = host_of(quorum.split('|').next()?)?;
    let client = client.map(str::trim).filter(|client| !client.is_empty()).map(|client| {
        // The port alone, or the address that it listens on, which may be all of them.
        let (at, port) = client.rsplit_once(':').unwrap_or(("", client));
        match at.trim_start_matches('[').trim_end_matches(']') {
            "" | "0.0.0.0" | "::" | "0:0:0:0:0:0:0:0" => join(&host, port),
            at => join(at, port),
        }
    });
    Some(ConfiguredServer { id: id.parse().ok()?, host, client })
}

/// The host of `HOST:PORT:PORT[:role]`.
fn host_of(quorum: &str) -> Option<String> {
    let host = match quorum.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None => quorum.split(':').next()?,
    };
    (!host.is_empty()).then(|| host.to_owned())
}

fn join(host: &str, port: &str) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clients(config: &str) -> Vec<Option<String>> {
        configured_servers(config.as_bytes()).into_iter().map(|server| server.client).collect()
    }

    #[test]
    fn a_config_names_the_servers_and_where_clients_reach_them() {
        let config = "server.1=zk1:2888:3888:participant;2181\nserver.2=zk2:1:2:observer;0.0.0.0:2182\n\
            server.3=10.0.0.3:1:2:participant;10.1.0.3:2183\nserver.4=[::1]:1:2|[::2]:1:2;[::]:2184\nversion=100000000";
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(clients(config), [some("zk1:2181"), some("zk2:2182"), some("10.1.0.3:2183"), some("[::1]:2184")]);
    }

    #[test]
    fn a_server_with_its_client_port_in_its_own_file_has_no_client_address() {
        let config = "server.1=127.0.0.1:11201:11211:participant\nversion=0";
        let servers = configured_servers(config.as_bytes());
        assert_eq!(servers, [ConfiguredServer { id: 1, host: "127.0.0.1".to_owned(), client: None }]);
    }

    #[test]
    fn rubbish_names_nobody() {
        for text in ["", "server", "server.=", "server.x=a:1:2", "server.1=", "server.1=:1:2", "server.1=[::1"] {
            assert_eq!(configured_servers(text.as_bytes()), [], "{text}");
        }
    }
}
