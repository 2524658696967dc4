//! Where and how to connect: the connect string with its servers and chroot, session timeout,
//! credentials, TLS files.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::kerberos::ServerPrincipal;
use lockscope_base::znode::{ZnodePath, marked_timeout};
use lockscope_model::server_view::WireSecurity;

/// The address of an ensemble, and the identities to log in with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectOptions {
    /// `HOST:PORT[,HOST:PORT…][/chroot]`.
    pub connect: String,
    /// The requested session timeout; the server clamps it.
    pub session_timeout: Duration,
    /// What the session is for.
    pub role: SessionRole,
    /// The identities to add to the session, in order.
    pub auth: Vec<Auth>,
    /// The files for TLS, when the servers want it.
    pub tls: Option<TlsFiles>,
    /// A login by Kerberos, on each connection to a server.
    pub kerberos: Option<KerberosLogin>,
}

/// What a session is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionRole {
    /// One of lockscope's own. It asks for a [marked](marked_timeout) timeout, so that no console
    /// takes it for the session of an application.
    #[default]
    Console,
    /// A client that contends for locks, as applications do.
    Client,
}

impl ConnectOptions {
    /// Returns the session timeout to ask the servers for.
    pub(super) fn asked_timeout(&self) -> Duration {
        match self.role {
            SessionRole::Console => marked_timeout(self.session_timeout),
            SessionRole::Client => self.session_timeout,
        }
    }
}

/// A login by Kerberos. The tickets are those of the user who runs the program, as `kinit` gets
/// them, or come from the keytab named by `KRB5_CLIENT_KTNAME`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KerberosLogin {
    /// The principal of the servers.
    pub server: ServerPrincipal,
    /// The principal whose ticket is used; `None` for that of the credential cache or the keytab.
    pub principal: Option<String>,
}

/// One identity to add to a session.
#[derive(Clone, PartialEq, Eq)]
pub struct Auth {
    /// `digest`, or another scheme that the servers know; `sasl` authenticates by DIGEST-MD5.
    pub scheme: String,
    /// The credentials; for `digest` and `sasl` `user:password`. Never shown.
    pub credentials: Vec<u8>,
}

impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Auth").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

/// PEM files for TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The authorities that sign the servers' certificates.
    pub ca: PathBuf,
    /// Our own certificate, for servers that ask for one.
    pub cert: Option<PathBuf>,
    /// The key of that certificate.
    pub key: Option<PathBuf>,
}

/// The default client port of ZooKeeper.
const DEFAULT_PORT: u16 = 2181;

/// Why a connect string cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connect string {text:?} cannot be used: {why}; write it as HOST:PORT[,HOST:PORT…][/chroot]")]
pub struct BadConnectString {
    text: String,
    why: String,
}

/// Why a connect string with an identity cannot be used. What is around may be part of a password,
/// so nothing else is said of it.
const IDENTITY: &str = "it has an identity before an @: leave that out, and give it with --auth-file";

/// Returns a text that was given as an address, without what may be a password: an error shows it.
pub fn without_identity(text: &str) -> String {
    text.rfind('@').map_or_else(|| text.to_owned(), |at| format!("***{}", &text[at..]))
}

/// Returns the servers of a connect string that are reached in plain text over a network. `tls`
/// applies to servers without a scheme. Empty for a connect string that cannot be used.
pub fn plain_servers(connect: &str, tls: bool) -> Vec<String> {
    let servers = ConnectString::parse(connect, tls).map(|target| target.servers).unwrap_or_default();
    let is_here = |host: &str| {
        host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(|ip: IpAddr| ip.to_canonical().is_loopback())
    };
    servers.iter().filter(|server| !server.tls && !is_here(&server.host)).map(ServerAddress::address).collect()
}

/// A parsed connect string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectString {
    pub(super) servers: Vec<ServerAddress>,
    pub(super) chroot: Option<ZnodePath>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerAddress {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: bool,
}

/// Returns the servers of a connect string as `HOST:PORT`, and its chroot, for display.
///
/// ```
/// use lockscope_live::zk::servers;
///
/// let (servers, chroot) = servers("zk1,zk2:2182/prod").expect("a connect string");
/// assert_eq!(servers, ["zk1:2181", "zk2:2182"]);
/// assert_eq!(chroot.as_deref(), Some("/prod"));
/// ```
pub fn servers(connect: &str) -> Result<(Vec<String>, Option<String>), BadConnectString> {
    let parsed = ConnectString::parse(connect, false)?;
    let servers = parsed.servers.iter().map(ServerAddress::address).collect();
    Ok((servers, parsed.chroot.map(String::from)))
}

impl ConnectString {
    /// Parses a connect string. `tls` applies to servers without a `tcp://` or `tcp+tls://` prefix.
    pub fn parse(text: &str, tls: bool) -> Result<Self, BadConnectString> {
        let bad = |why: String| {
            let why = if text.contains('@') { IDENTITY.to_owned() } else { why };
            BadConnectString { text: without_identity(text), why }
        };
        let text = text.trim();
        if text.is_empty() {
            return Err(bad("it is empty".to_owned()));
        }
        if let Some(scheme) = foreign_scheme(text) {
            return Err(bad(format!("the scheme {scheme}:// is not one of ZooKeeper's: leave it out")));
        }
        let (hosts, chroot) = split_chroot(text);
        if let Some(chroot) = chroot.filter(|chroot| is_repeated(chroot)) {
            let chroot = chroot.split(',').next().unwrap_or_default();
            return Err(bad(format!("the chroot {chroot} may stand only once, after the last server")));
        }
        let chroot = match chroot {
            None | Some("/") => None,
            Some(path) => Some(ZnodePath::new(path).map_err(|error| bad(error.to_string()))?),
        };
        let servers = hosts.split(',').map(|server| ServerAddress::parse(server.trim(), tls)).collect::<Result<_, _>>();
        Ok(Self { servers: servers.map_err(bad)?, chroot })
    }

    /// Returns the transport of a session that may be with any of the servers. It is TLS when at
    /// least one server is marked for TLS, because the user then relies on it.
    pub fn transport(&self) -> WireSecurity {
        if self.servers.iter().any(|server| server.tls) { WireSecurity::Tls } else { WireSecurity::Plain }
    }
}

impl fmt::Display for ConnectString {
    /// Writes the connect string in the syntax of the client library.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, server) in self.servers.iter().enumerate() {
            let scheme = if server.tls { "tcp+tls" } else { "tcp" };
            write!(f, "{}{scheme}://{}", if index == 0 { "" } else { "," }, server.address())?;
        }
        self.chroot.as_ref().map_or(Ok(()), |chroot| f.write_str(chroot.as_str()))
    }
}

/// Returns a URL scheme that is not one of ours.
fn foreign_scheme(text: &str) -> Option<&str> {
    let scheme = |server: &'_ str| server.trim().split_once("://").map(|(scheme, _)| scheme.len());
    text.split(',').find_map(|server| {
        let length = scheme(server)?;
        let scheme = &server.trim()[..length];
        let is_word =
            !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        (is_word && !["tcp", "tcp+tls"].contains(&scheme)).then_some(scheme)
    })
}

/// Returns whether the chroot contains further servers, each with a chroot of its own:
/// `/a,zk2:2181/a`.
fn is_repeated(chroot: &str) -> bool {
    let mut parts = chroot.split(',');
    let first = parts.next().unwrap_or_default();
    parts.any(|part| {
        let host = part.split('/').next().unwrap_or_default();
        let port = host.rsplit_once(':').map(|(_, port)| port);
        port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
            || !host.is_empty() && part[host.len()..] == *first
    })
}

/// Splits off the chroot, which starts at the first slash that belongs to no `tcp://`.
fn split_chroot(text: &str) -> (&str, Option<&str>) {
    let mut from = 0;
    while let Some(at) = text[from..].find('/').map(|at| from + at) {
        if !(text[at..].starts_with("//") && text[..at].ends_with(':')) {
            return (&text[..at], Some(&text[at..]));
        }
        from = at + 2;
    }
    (text, None)
}

impl ServerAddress {
    fn parse(text: &str, tls: bool) -> Result<Self, String> {
        let (rest, tls) = if let Some(rest) = text.strip_prefix("tcp://") {
            (rest, false)
        } else if let Some(rest) = text.strip_prefix("tcp+tls://") {
            (rest, true)
        } else {
            (text, tls)
        };
        let (host, port) = match rest.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or_else(|| format!("{text:?} lacks a closing bracket"))?;
                match rest.strip_prefix(':') {
                    Some(port) => (host, port),
                    None if rest.is_empty() => (host, ""),
                    None => return Err(format!("{text:?} has something other than a port after its bracket")),
                }
            }
            None => rest.rsplit_once(':').unwrap_or((rest, "")),
        };
        if host.contains('@') {
            return Err(IDENTITY.to_owned());
        }
        if host.is_empty() {
            return Err(format!("{text:?} names no host"));
        }
        if host.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(format!("{host:?} is not a host name"));
        }
        let port = match port {
            "" => DEFAULT_PORT,
            port => match port.parse() {
                Ok(0) | Err(_) => return Err(format!("{port:?} is not a port")),
                Ok(port) => port,
            },
        };
        Ok(Self { host: host.to_owned(), port, tls })
    }

    /// Returns `HOST:PORT`, with brackets around an IPv6 address.
    pub(super) fn address(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Returns whether a certificate can name this host. The client library panics on other hosts.
    pub(super) fn can_be_certified(&self) -> bool {
        let label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        let name = self.host.strip_suffix('.').unwrap_or(&self.host);
        let last_is_number = name.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
        self.host.parse::<std::net::IpAddr>().is_ok()
            || (self.host.len() <= 253 && !last_is_number && name.split('.').all(label))
    }
}

/// Identifies an ensemble as far as a connect string tells. Two connect strings lead to the same
/// ensemble when they share a server below the same chroot, because a server belongs to one
/// ensemble. The order and the number of the servers do not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnsembleAddress {
    /// The servers as `HOST:PORT` in lower case; the whole text when the connect string cannot be
    /// read.
    servers: BTreeSet<String>,
    /// The node that stands for `/`, unless that is `/` itself.
    chroot: Option<String>,
}

impl EnsembleAddress {
    /// Reads a connect string without identities.
    pub fn of(connect: &str) -> Self {
        let Ok((servers, chroot)) = servers(connect) else {
            return Self { servers: BTreeSet::from([connect.to_owned()]), chroot: None };
        };
        Self { servers: servers.iter().map(|server| server.to_lowercase()).collect(), chroot }
    }

    /// Returns the servers and the chroot as one text, the same for every order of the servers.
    pub fn key(&self) -> String {
        let servers: Vec<&str> = self.servers().collect();
        format!("{}{}", servers.join(","), self.chroot.as_deref().unwrap_or_default())
    }

    /// Returns the servers as `HOST:PORT` in lower case.
    pub(super) fn servers(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(String::as_str)
    }

    /// Returns whether one chroot is at or below the other, so that both lead to common nodes if
    /// they lead to one ensemble.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let path = |one: &Self| one.chroot.as_ref().map_or_else(|| "/".to_owned(), |chroot| format!("{chroot}/"));
        let (here, there) = (path(self), path(other));
        here.starts_with(&there) || there.starts_with(&here)
    }

    /// Returns whether both lead to common nodes. Different names of the same server are not
    /// recognized.
    pub fn shares_nodes(&self, other: &Self) -> bool {
        self.overlaps(other) && !self.servers.is_disjoint(&other.servers)
    }

    /// Returns whether both lead to the same ensemble. Different names of the same server are not
    /// recognized.
    pub fn is_of_the_same(&self, other: &Self) -> bool {
        self.chroot == other.chroot && !self.servers.is_disjoint(&other.servers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> ConnectString {
        ConnectString::parse(text, false).expect("a connect string")
    }

    #[test]
    fn servers_may_be_written_with_spaces_without_a_port_and_as_ipv6() {
        assert_eq!(servers(" zk1 , zk2:2182, [::1]:2183 ").expect("servers").0, ["zk1:2181", "zk2:2182", "[::1]:2183"]);
    }

    #[test]
    fn the_chroot_follows_the_last_server() {
        assert_eq!(parse("zk1,zk2/a/b").chroot.expect("a chroot").as_str(), "/a/b");
        assert_eq!(parse("tcp+tls://zk1,tcp://zk2:1/a").chroot.expect("a chroot").as_str(), "/a");
        assert_eq!(parse("zk1/").chroot, None);
    }

    #[test]
    fn each_server_may_choose_between_plain_and_tls() {
        let tls: Vec<bool> = parse("zk1,tcp+tls://zk2,tcp://zk3").servers.iter().map(|server| server.tls).collect();
        assert_eq!(tls, [false, true, false]);
        let secure = ConnectString::parse("zk1,tcp://zk2", true).expect("a connect string");
        assert_eq!(secure.to_string(), "tcp+tls://zk1:2181,tcp://zk2:2181");
    }

    #[test]
    fn unusable_strings_are_refused_with_a_reason() {
        for text in
            ["", " ", "zk1,,zk2", ":2181", "zk1:0", "zk1:99999", "zk1:x", "[::1", "[::1]x", "zk1//a", "zk1/a/", "z k"]
        {
            assert!(ConnectString::parse(text, false).is_err(), "{text:?}");
        }
        let error = servers("zk1:x").expect_err("no port").to_string();
        assert!(error.contains("\"x\" is not a port") && error.contains("HOST:PORT"), "{error}");
    }

    #[test]
    fn a_scheme_and_a_chroot_after_each_server_are_named() {
        let why = |text: &str| servers(text).expect_err("unusable").to_string();
        for text in ["zk://zk1:2181", "zookeeper://zk1,zk2/a", "http://zk1:2181/a", "zk1:2181,zk://zk2"] {
            assert!(why(text).contains(":// is not one of ZooKeeper's: leave it out"), "{}", why(text));
        }
        for text in ["a:2181/x,b:2181/x", "a/x,b/x", "a:2181/x,b:2181", "a/x/y,b/x/y"] {
            assert!(why(text).contains("once, after the last server"), "{}", why(text));
        }
        assert_eq!(parse("zk1/a,b").chroot.expect("an odd chroot").as_str(), "/a,b");
    }

    #[test]
    fn hosts_that_no_certificate_can_name_are_told_apart() {
        let certified = |host: &str| ServerAddress { host: host.to_owned(), port: 1, tls: true }.can_be_certified();
        for host in ["zk1", "zk1.example.com.", "a_b", "10.0.0.1", "::1", "1a"] {
            assert!(certified(host), "{host}");
        }
        for host in ["-a", "a-", "a..b", "ü", "1.2.3", "a b", ""] {
            assert!(!certified(host), "{host}");
        }
    }

    #[test]
    fn a_shared_server_below_the_same_chroot_means_the_same_ensemble() {
        let is_same = |one: &str, other: &str| {
            let (one, other) = (EnsembleAddress::of(one), EnsembleAddress::of(other));
            assert_eq!(one.is_of_the_same(&other), other.is_of_the_same(&one));
            one.is_of_the_same(&other)
        };
        for other in [
            "zk1:2181,zk2:2181,zk3:2181/prod",
            "zk3:2181,zk1:2181/prod",
            "zk2/prod",
            "ZK2:2181/prod",
            "tcp+tls://zk3,zk9:2181/prod",
        ] {
            assert!(is_same("zk1:2181,zk2:2181,zk3:2181/prod", other), "{other}");
        }
        for other in
            ["zk1:2181,zk2:2181,zk3:2181", "zk1,zk2/test", "zk1:2182/prod", "zk4/prod", "10.0.0.1/prod", "", "a,,b"]
        {
            assert!(!is_same("zk1:2181,zk2:2181,zk3:2181/prod", other), "{other}");
        }
        assert!(is_same("zk1", "zk1:2181/"), "the root is no chroot");
        assert!(is_same("a,,b", "a,,b") && !is_same("a,,b", "a"), "what cannot be read is compared as it is");
    }

    #[test]
    fn an_identity_in_an_address_is_refused_and_never_shown() {
        for text in ["me:secret@zk1:2181", "zk1,me:secret@zk2", "me:se/cret@zk1", "tcp://me:secret@zk1/app", "secret@"]
        {
            let said = ConnectString::parse(text, false).expect_err(text).to_string();
            assert!(!said.contains("cret") && said.contains("--auth-file"), "{said}");
        }
        assert!(ConnectString::parse("zk1:2181/a@b", false).is_ok(), "a chroot may have one");
    }
}
