//! Finds the members of an ensemble from the connect string and the ensemble's config.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::timeout;

use crate::zk::options::{ConnectString, ServerAddress};
use crate::zk::stream::NamedBy;
use lockscope_model::server_view::{ConfiguredServer, EnsembleConfig, MAX_MEMBERS};

/// The time limit for resolving a name.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(1);

/// A member's name and the addresses at which it can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberAddress {
    /// The name on the screen.
    pub(super) label: String,
    /// The address for four-letter words; `None` when it is unknown.
    pub(super) four_letter: Option<String>,
    /// The host of the member's AdminServer; `None` when another member shares the host, so that an
    /// answer could be from either.
    pub(super) admin_host: Option<String>,
    /// Whether the member answers words over TLS.
    pub(super) tls: bool,
    /// The source of the member's address.
    pub(super) named_by: NamedBy,
    host: String,
}

impl MemberAddress {
    fn of(server: &ServerAddress) -> Self {
        let address = server.address();
        Self {
            four_letter: Some(address.clone()),
            label: address,
            admin_host: Some(server.host.clone()),
            host: server.host.clone(),
            tls: server.tls,
            named_by: NamedBy::User,
        }
    }

    pub fn why_no_four_letter(&self) -> String {
        format!("the ensemble's config names {} without its client port: add it to the connect string", self.label)
    }

    pub fn why_no_http(&self) -> String {
        format!(
            "several members run on {}, and one AdminServer address cannot tell them apart: ask with four-letter words (--server-view words)",
            self.host
        )
    }
}

/// The members to ask.
#[derive(Debug, PartialEq, Eq)]
pub struct MemberList {
    /// The members of the connect string, then those that only the ensemble's config names, up to
    /// [`MAX_MEMBERS`] in total.
    pub(super) members: Vec<MemberAddress>,
    /// Whether the config names further members.
    pub(super) incomplete: bool,
}

/// Finds the members. Takes two seconds at most.
pub async fn find_members(target: &ConnectString, config: &EnsembleConfig) -> MemberList {
    let configured = &config.servers;
    let mut members: Vec<MemberAddress> = Vec::new();
    for server in &target.servers {
        let member = MemberAddress::of(server);
        if !members.iter().any(|other| other.label == member.label) {
            members.push(member);
        }
    }
    let of_string = members.len();
    let mut known = futures::future::join_all(members.iter().map(|member| resolve(member.label.clone()))).await;
    let clients = configured.iter().map(|server| resolve(client_address(server, target).unwrap_or_default()));
    let clients = futures::future::join_all(clients).await;
    let mut taken = vec![false; of_string];
    let mut strangers = Vec::new();
    // Members match first by address, then by host: the connect string may name another port, the
    // one for TLS.
    for (server, at) in configured.iter().zip(&clients) {
        match (0..of_string).find(|index| !taken[*index] && !known[*index].is_disjoint(at)) {
            Some(index) => taken[index] = true,
            None => strangers.push((server, at)),
        }
    }
    let on_this_machine = known.iter().flatten().any(|address| address.ip().is_loopback());
    let named_by = NamedBy::Config { on_this_machine };
    let mut incomplete = config.incomplete;
    for (server, at) in strangers {
        let hosts: HashSet<_> = at.iter().map(SocketAddr::ip).collect();
        let same_host = |index: &usize| {
            members[*index].host == server.host || known[*index].iter().any(|address| hosts.contains(&address.ip()))
        };
        // A server with a known client port differs from one on another port of the same host, TLS
        // aside.
        let may_be = |index: &usize| server.client.is_none() || members[*index].tls;
        match (0..of_string).find(|index| !taken[*index] && may_be(index) && same_host(index)) {
            Some(index) => taken[index] = true,
            None if members.len() < MAX_MEMBERS => {
                let client = client_address(server, target);
                members.push(configured_member(server, client, named_by, &mut known, at));
            }
            None => incomplete = true,
        }
    }
    forget_shared_hosts(&mut members);
    MemberList { members, incomplete }
}

/// Returns the client address of a configured server: from the config if given, otherwise with the
/// port that all servers of the connect string share.
pub fn client_address(server: &ConfiguredServer, target: &ConnectString) -> Option<String> {
    if server.client.is_some() {
        return server.client.clone();
    }
    let mut ports = target.servers.iter().map(|one| (one.port, one.tls));
    let (port, tls) = ports.next()?;
    let other = ServerAddress { host: server.host.clone(), port, tls: false };
    (!tls && ports.all(|one| one == (port, false))).then(|| other.address())
}

fn configured_member(
    server: &ConfiguredServer,
    client: Option<String>,
    named_by: NamedBy,
    known: &mut Vec<HashSet<SocketAddr>>,
    at: &HashSet<SocketAddr>,
) -> MemberAddress {
    // A guessed address that belongs to a known member was wrong.
    let fresh = known.iter().all(|addresses| addresses.is_disjoint(at));
    let words = client.filter(|_| fresh || server.client.is_some());
    let address = words.clone().unwrap_or_else(|| format!("server.{} ({})", server.id, server.host));
    known.push(if words.is_some() { at.clone() } else { HashSet::new() });
    MemberAddress {
        label: address,
        four_letter: words,
        admin_host: Some(server.host.clone()),
        host: server.host.clone(),
        tls: false,
        named_by,
    }
}

fn forget_shared_hosts(members: &mut [MemberAddress]) {
    let hosts: Vec<String> = members.iter().map(|member| member.host.clone()).collect();
    for member in members {
        if hosts.iter().filter(|host| **host == member.host).count() > 1 {
            member.admin_host = None;
        }
    }
}

/// Resolves `HOST:PORT`. Returns nothing when the name is unknown or was not resolved in time.
pub async fn resolve(address: String) -> HashSet<SocketAddr> {
    match timeout(RESOLVE_TIMEOUT, tokio::net::lookup_host(address)).await {
        Ok(Ok(found)) => found.collect(),
        _ => HashSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::zk::admin::AdminUrl;
    async fn addresses(connect: &str, config: &str) -> Vec<String> {
        let target = ConnectString::parse(connect, false).expect("a connect string");
        let members = find_members(&target, &EnsembleConfig::read(config.as_bytes())).await.members;
        members.into_iter().map(|member| member.four_letter.unwrap_or(format!("? {}", member.label))).collect()
    }

    #[tokio::test]
    async fn members_named_only_by_the_config_are_asked_too() {
        let config = "server.1=127.0.0.1:1:2;2181\nserver.2=127.0.0.2:1:2;2181\nserver.3=127.0.0.1:3:4;2182";
        let found = addresses("127.0.0.2:2181", config).await;
        assert_eq!(found, ["127.0.0.2:2181", "127.0.0.1:2181", "127.0.0.1:2182"]);
        assert_eq!(addresses("localhost:2181", config).await.len(), 3);
    }

    #[tokio::test]
    async fn the_port_of_the_connect_string_is_tried_when_the_config_has_none() {
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
    async fn a_member_with_a_tls_port_matches_its_plain_port_in_the_config() {
        let config = "server.1=127.0.0.1:1:2;2181";
        assert_eq!(addresses("tcp+tls://127.0.0.1:2281", config).await, ["127.0.0.1:2281"]);
    }

    /// Fragments of lines in a hostile config.
    const PARTS: [&str; 24] = [
        "server.1=",
        "server.2=",
        "127.0.0.1",
        "[::1]",
        "169.254.169.254",
        "evil.example",
        "user:pw@evil",
        ":1:2",
        ":1:2;",
        ":2888:3888:participant;",
        ";",
        "|",
        ":80",
        "80",
        "0",
        "\r\n",
        "\n",
        "Host: evil",
        "/latest/meta-data",
        "#",
        "?a=b",
        " ",
        "unix:/run/x.sock",
        "\u{202e}",
    ];

    fn is_member_address(address: &str) -> bool {
        let Some((host, port)) = address.rsplit_once(':') else { return false };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        port.parse::<u16>().is_ok_and(|port| port != 0) && is_host(host)
    }

    fn is_host(host: &str) -> bool {
        let is_name = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        host.parse::<std::net::IpAddr>().is_ok() || (is_name && (1..=253).contains(&host.len()))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn whatever_a_config_says_only_member_addresses_are_asked_and_at_most_32(
            parts in proptest::collection::vec(0..PARTS.len(), 0..300),
            junk in ".{0,40}",
        ) {
            let config: String = parts.into_iter().map(|part| PARTS[part]).collect::<String>() + &junk;
            // Addresses only: no test uses the DNS.
            let config = EnsembleConfig::read(config.replace("evil.example", "10.0.0.9").as_bytes());
            let target = ConnectString::parse("10.0.0.1:2181,10.0.0.2:2181", false).expect("a connect string");
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            let members = runtime.block_on(find_members(&target, &config)).members;
            prop_assert!(members.len() <= MAX_MEMBERS);
            for member in members {
                prop_assert!(member.four_letter.as_deref().is_none_or(is_member_address), "{:?}", member);
                prop_assert!(member.admin_host.as_deref().is_none_or(is_host), "{:?}", member);
                if let Some(host) = &member.admin_host {
                    let url = AdminUrl::default().at(host).parse::<hyper::Uri>().expect("a URL");
                    prop_assert_eq!((url.path(), url.port_u16(), url.query()), ("/commands", Some(8080), None));
                }
                let named = ["10.0.0.1:2181", "10.0.0.2:2181"].contains(&&*member.label);
                prop_assert_eq!(member.named_by == NamedBy::User, named, "{:?}", member);
            }
        }
    }
}
