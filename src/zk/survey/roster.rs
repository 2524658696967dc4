use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::timeout;

use crate::server_view::ConfiguredServer;
use crate::zk::connect_string::{ConnectString, Server};

/// How long a name may take to be resolved.
const RESOLVING: Duration = Duration::from_secs(1);

/// A member's place: what it is called, and where it can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    /// As it is shown.
    pub(super) address: String,
    /// Where it answers words; `None` when that is not known.
    pub(super) words: Option<String>,
    /// The host of its AdminServer; `None` when it shares that with another member, so that an answer could be either's.
    pub(super) http: Option<String>,
    /// Whether it answers words over TLS.
    pub(super) tls: bool,
    host: String,
}

impl Seat {
    fn of(server: &Server) -> Self {
        let address = server.address();
        Self {
            words: Some(address.clone()),
            address,
            http: Some(server.host.clone()),
            host: server.host.clone(),
            tls: server.tls,
        }
    }

    pub(super) fn why_no_words(&self) -> String {
        format!("the ensemble's config names {} without its client port: add it to the connect string", self.address)
    }

    pub(super) fn why_no_http(&self) -> String {
        format!(
            "several members run on {}, and one AdminServer address cannot tell them apart: let words be asked",
            self.host
        )
    }
}

/// The members: those of the connect string, then those that only the ensemble's config names. Takes a second at most.
pub(super) async fn roster(target: &ConnectString, configured: &[ConfiguredServer]) -> Vec<Seat> {
    let mut seats: Vec<Seat> = Vec::new();
    for server in &target.servers {
        let seat = Seat::of(server);
        if !seats.iter().any(|other| other.address == seat.address) {
            seats.push(seat);
        }
    }
    let of_string = seats.len();
    let mut known = futures::future::join_all(seats.iter().map(|seat| resolve(seat.address.clone()))).await;
    let clients = configured.iter().map(|server| resolve(guess(server, target).unwrap_or_default()));
    let clients = futures::future::join_all(clients).await;
    let mut taken = vec![false; of_string];
    let mut strangers = Vec::new();
    // First by the very address, then by the host: the connect string may name another port, that for TLS.
    for (server, at) in configured.iter().zip(&clients) {
        match (0..of_string).find(|index| !taken[*index] && !known[*index].is_disjoint(at)) {
            Some(index) => taken[index] = true,
            None => strangers.push((server, at)),
        }
    }
    for (server, at) in strangers {
        let hosts: HashSet<_> = at.iter().map(SocketAddr::ip).collect();
        let same_host = |index: &usize| {
            seats[*index].host == server.host || known[*index].iter().any(|address| hosts.contains(&address.ip()))
        };
        // A server whose port for clients is known is another one than that on another port of its host, TLS aside.
        let may_be = |index: &usize| server.client.is_none() || seats[*index].tls;
        match (0..of_string).find(|index| !taken[*index] && may_be(index) && same_host(index)) {
            Some(index) => taken[index] = true,
            None => seats.push(seat_of(server, guess(server, target), &mut known, at)),
        }
    }
    forget_shared_hosts(&mut seats);
    seats
}

/// Where a server of the config serves clients: where the config says, else the port that all servers of the connect string
/// have.
fn guess(server: &ConfiguredServer, target: &ConnectString) -> Option<String> {
    if server.client.is_some() {
        return server.client.clone();
    }
    let mut ports = target.servers.iter().map(|one| (one.port, one.tls));
    let (port, tls) = ports.next()?;
    let other = Server { host: server.host.clone(), port, tls: false };
    (!tls && ports.all(|one| one == (port, false))).then(|| other.address())
}

/// A member that only the config names.
fn seat_of(
    server: &ConfiguredServer,
    client: Option<String>,
    known: &mut Vec<HashSet<SocketAddr>>,
    at: &HashSet<SocketAddr>,
) -> Seat {
    // A guess that hits a member which is known already was wrong.
    let fresh = known.iter().all(|addresses| addresses.is_disjoint(at));
    let words = client.filter(|_| fresh || server.client.is_some());
    let address = words.clone().unwrap_or_else(|| format!("server.{} ({})", server.id, server.host));
    known.push(if words.is_some() { at.clone() } else { HashSet::new() });
    Seat { address, words, http: Some(server.host.clone()), host: server.host.clone(), tls: false }
}

fn forget_shared_hosts(seats: &mut [Seat]) {
    let hosts: Vec<String> = seats.iter().map(|seat| seat.host.clone()).collect();
    for seat in seats {
        if hosts.iter().filter(|host| **host == seat.host).count() > 1 {
            seat.http = None;
        }
    }
}

/// The addresses behind `HOST:PORT`; none when the name is not known, or not in time.
async fn resolve(address: String) -> HashSet<SocketAddr> {
    match timeout(RESOLVING, tokio::net::lookup_host(address)).await {
        Ok(Ok(found)) => found.collect(),
        _ => HashSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_view::configured_servers;

    async fn addresses(connect: &str, config: &str) -> Vec<String> {
        let target = ConnectString::parse(connect, false).expect("a connect string");
        let seats = roster(&target, &configured_servers(config.as_bytes())).await;
        seats.into_iter().map(|seat| seat.words.unwrap_or(format!("? {}", seat.address))).collect()
    }

    #[tokio::test]
    async fn members_that_only_the_config_names_are_asked_too() {
        let config = "server.1=127.0.0.1:1:2;2181\nserver.2=127.0.0.2:1:2;2181\nserver.3=127.0.0.1:3:4;2182";
        let found = addresses("127.0.0.2:2181", config).await;
        assert_eq!(found, ["127.0.0.2:2181", "127.0.0.1:2181", "127.0.0.1:2182"]);
        assert_eq!(addresses("localhost:2181", config).await.len(), 3);
    }

    #[tokio::test]
    async fn without_a_client_port_in_the_config_the_one_of_the_connect_string_is_tried() {
        let config = "server.1=127.0.0.1:1:2\nserver.2=127.0.0.2:1:2";
        assert_eq!(addresses("127.0.0.1:2181", config).await, ["127.0.0.1:2181", "127.0.0.2:2181"]);
        let found = addresses("127.0.0.1:2181,127.0.0.3:2182", config).await;
        assert_eq!(found, ["127.0.0.1:2181", "127.0.0.3:2182", "? server.2 (127.0.0.2)"]);
    }

    #[tokio::test]
    async fn members_on_one_host_are_told_apart_by_their_ports() {
        let config = "server.1=127.0.0.1:1:2\nserver.2=127.0.0.1:3:4";
        assert_eq!(addresses("127.0.0.1:5,127.0.0.1:6", config).await, ["127.0.0.1:5", "127.0.0.1:6"]);
        assert_eq!(addresses("127.0.0.1:5", config).await, ["127.0.0.1:5", "? server.2 (127.0.0.1)"]);
    }

    #[tokio::test]
    async fn a_member_that_is_connected_to_over_tls_is_the_one_that_the_config_names_with_its_plain_port() {
        let config = "server.1=127.0.0.1:1:2;2181";
        assert_eq!(addresses("tcp+tls://127.0.0.1:2281", config).await, ["127.0.0.1:2281"]);
    }
}
