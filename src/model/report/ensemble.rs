//! The ensemble as JSON.

use serde::Serialize;

use crate::server_view::{AskedBy, Health, MemberView, ServerMode, ServerView, Software};
use lockscope_base::znode::SessionId;

/// The port of an address without one.
const DEFAULT_PORT: u16 = 2181;

/// The ensemble that was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ensemble {
    /// The connect string.
    connect: String,
    /// The node that all paths here are relative to; `/` without a chroot.
    chroot: String,
    /// Our session, as unsigned hex.
    session: Option<String>,
    servers: Vec<Server>,
}

/// A server of the connect string or of the ensemble's own config.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Server {
    /// The address, `host:port`.
    address: String,
    /// The server's role in its own word, such as `leader` or `follower`.
    mode: Option<&'static str>,
    /// The server's version, in its own words.
    version: Option<String>,
    /// The software: `zookeeper`, `clickhouse-keeper` or `unknown`.
    software: &'static str,
    /// The interface by which the server was asked about itself: `words`, `http` or `none`.
    view: &'static str,
    /// Whether the answers arrived in plain text while the session uses TLS, so that they prove
    /// nothing.
    plain_beside_tls: bool,
    /// What the server did not answer, and what to change there.
    error: Option<String>,
    /// How the server is doing; absent if it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    health: Option<Health>,
}

impl Ensemble {
    /// Splits a connect string, valid or not; connecting validates it. In an address, everything
    /// before an `@` is dropped, since it may be a password.
    pub fn new(connect: &str, session: Option<SessionId>) -> Self {
        let (servers, chroot) = split(connect);
        Self {
            connect: connect.split(',').map(without_credentials).collect::<Vec<_>>().join(","),
            chroot: chroot.to_owned(),
            session: session.map(|session| session.to_string()),
            servers: servers.map(Server::new).collect(),
        }
    }

    /// Adds the servers' answers about themselves, if they were asked.
    #[must_use]
    pub fn with_view(mut self, view: &ServerView) -> Self {
        if !view.members.is_empty() {
            self.servers = view.members.iter().map(Server::of_member).collect();
        }
        self
    }

    /// Returns the connect string without credentials.
    pub fn connect(&self) -> &str {
        &self.connect
    }
}

impl Server {
    fn new(address: &str) -> Self {
        Self {
            address: with_port(address),
            mode: None,
            version: None,
            software: Software::Unknown.id(),
            view: "none",
            plain_beside_tls: false,
            error: None,
            health: None,
        }
    }

    fn of_member(member: &MemberView) -> Self {
        Self {
            address: member.address.clone(),
            mode: member.mode.map(ServerMode::name),
            version: member.version.clone(),
            software: member.software().id(),
            view: match member.asked_by {
                AskedBy::Words => "words",
                AskedBy::Http => "http",
                AskedBy::None => "none",
            },
            plain_beside_tls: !member.provenance.can_prove(),
            error: member.error.clone(),
            health: member.health.clone(),
        }
    }
}

/// Returns the addresses, and the chroot or `/`.
fn split(connect: &str) -> (impl Iterator<Item = &str>, &str) {
    // Only the last address can have a chroot. The slashes of a scheme do not begin one.
    let last = connect.rfind(',').map_or(0, |at| at + 1);
    let host = last + connect[last..].find("://").map_or(0, |at| at + 3);
    let end = connect[host..].find('/').map_or(connect.len(), |at| host + at);
    let chroot = if end == connect.len() { "/" } else { &connect[end..] };
    (connect[..end].split(',').filter(|address| !address.is_empty()), chroot)
}

fn with_port(address: &str) -> String {
    let address = address.split_once("://").map_or(address, |(_, rest)| rest);
    let address = address.rsplit_once('@').map_or(address, |(_, rest)| rest);
    let host_ends = address.rfind(']').map_or(0, |at| at + 1);
    match address[host_ends..].rfind(':') {
        Some(at) if host_ends + at + 1 < address.len() => address.to_owned(),
        Some(_) => format!("{address}{DEFAULT_PORT}"),
        None => format!("{address}:{DEFAULT_PORT}"),
    }
}

fn without_credentials(address: &str) -> String {
    let (scheme, rest) = match address.find("://") {
        Some(at) => address.split_at(at + 3),
        None => ("", address),
    };
    let host_ends = rest.find('/').unwrap_or(rest.len());
    match rest[..host_ends].rfind('@') {
        Some(at) => format!("{scheme}{}", &rest[at + 1..]),
        None => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(connect: &str) -> (Vec<String>, String) {
        let ensemble = Ensemble::new(connect, None);
        (ensemble.servers.into_iter().map(|server| server.address).collect(), ensemble.chroot)
    }

    #[test]
    fn every_server_of_the_connect_string_is_listed_with_its_port() {
        for (connect, servers, chroot) in [
            ("zk1", &["zk1:2181"][..], "/"),
            ("zk1,zk2:2182/prod/a", &["zk1:2181", "zk2:2182"], "/prod/a"),
            ("tcp+tls://zk1:1,tcp://zk2/x", &["zk1:1", "zk2:2181"], "/x"),
            ("[::1]:2183,[fe80::1]", &["[::1]:2183", "[fe80::1]:2181"], "/"),
            ("zk1:", &["zk1:2181"], "/"),
            ("", &[], "/"),
            ("/only", &[], "/only"),
        ] {
            let servers = servers.iter().map(ToString::to_string).collect();
            assert_eq!(addresses(connect), (servers, chroot.to_owned()), "{connect}");
        }
    }

    #[test]
    fn a_password_in_the_connect_string_is_not_reported() {
        let ensemble = Ensemble::new("me:secret@zk1:2181,tcp://you:hidden@zk2/a@b", Some(SessionId(-1)));
        let json = serde_json::to_string(&ensemble).unwrap();
        assert!(!json.contains("secret") && !json.contains("hidden"), "{json}");
        assert_eq!(ensemble.connect, "zk1:2181,tcp://zk2/a@b");
        assert_eq!(ensemble.chroot, "/a@b");
        assert_eq!(ensemble.session.as_deref(), Some("0xffffffffffffffff"));
    }
}
