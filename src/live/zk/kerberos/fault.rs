//! The principal of the servers, and the errors of a login by Kerberos. Pure.

use std::fmt;
use std::str::FromStr;

/// The placeholder for each server's own host in a principal, as in Hadoop's config files.
const HOST_PLACEHOLDER: &str = "_HOST";

/// Why a text is not a valid principal of servers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a server principal: write it as zookeeper/_HOST or zookeeper/HOST@REALM, where _HOST stands for each server's own host"
)]
pub struct BadPrincipal(String);

/// The Kerberos principal of the servers: `SERVICE/HOST[@REALM]`. The host may be `_HOST`, which
/// stands for each server's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerPrincipal {
    service: String,
    host: String,
    realm: Option<String>,
}

impl Default for ServerPrincipal {
    /// Returns `zookeeper/_HOST`.
    fn default() -> Self {
        Self { service: "zookeeper".to_owned(), host: HOST_PLACEHOLDER.to_owned(), realm: None }
    }
}

impl FromStr for ServerPrincipal {
    type Err = BadPrincipal;

    fn from_str(text: &str) -> Result<Self, BadPrincipal> {
        let bad = || BadPrincipal(text.to_owned());
        let (name, realm) = match text.split_once('@') {
            Some((name, realm)) => (name, Some(realm)),
            None => (text, None),
        };
        let (service, host) = name.split_once('/').ok_or_else(bad)?;
        let is_good = |part: &str| {
            let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':');
            !part.is_empty() && part.bytes().all(is_allowed)
        };
        if ![service, host].into_iter().chain(realm).all(is_good) {
            return Err(bad());
        }
        Ok(Self { service: service.to_owned(), host: host.to_owned(), realm: realm.map(str::to_owned) })
    }
}

impl fmt::Display for ServerPrincipal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.service, self.host)?;
        self.realm.as_ref().map_or(Ok(()), |realm| write!(f, "@{realm}"))
    }
}

impl ServerPrincipal {
    /// Returns the principal of the server on `host`.
    #[cfg(any(feature = "gssapi", test))]
    pub(super) fn at(&self, host: &str) -> Self {
        let host = if self.host == HOST_PLACEHOLDER { host } else { &self.host };
        Self { host: host.to_owned(), ..self.clone() }
    }

    /// Returns `SERVICE@HOST`, for which Kerberos finds the realm and the canonical host; `None`
    /// when a realm is given.
    #[cfg(any(feature = "gssapi", test))]
    pub(super) fn as_service(&self) -> Option<String> {
        self.realm.is_none().then(|| format!("{}@{}", self.service, self.host))
    }
}

/// Why a login by Kerberos failed, and what to do about it. The text continues a sentence that says
/// that there is no login.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KerberosFault {
    /// The program was built without Kerberos.
    #[error("this program was built without it; build it again with the Cargo feature gssapi")]
    NotBuilt,
    /// There is no ticket on this machine.
    #[error("there is no ticket ({0}); get one with kinit, or name a keytab in KRB5_CLIENT_KTNAME")]
    NoTicket(String),
    /// The ticket has expired.
    #[error("the ticket has expired; get a new one with kinit, or name a keytab in KRB5_CLIENT_KTNAME")]
    Expired,
    /// The KDC does not know the server by that name.
    #[error("the KDC knows no server {0}; say what the servers' principal is (--kerberos-server)")]
    UnknownServer(String),
    /// The clocks differ by more than Kerberos allows.
    #[error("the clocks of this machine and of the KDC differ too much; set them")]
    ClockSkew,
    /// No KDC answered.
    #[error("no KDC answers ({0}); check the realm in krb5.conf, and that its KDC can be reached")]
    NoKdc(String),
    /// The server rejects our ticket.
    #[error(
        "it does not accept our ticket for {0}; check that it logs in with the key of that principal, its clock, and its log"
    )]
    Refused(String),
    /// The server does not use Kerberos logins.
    #[error("it does not take logins by Kerberos; check authProvider and the JAAS file of the server")]
    NotOffered,
    /// The login succeeded, but the server treats us as anonymous.
    #[error("it refused the login and treats us as anonymous; its log says why")]
    Nobody,
    /// Any other error of Kerberos.
    #[error("{0}; check krb5.conf, and that kinit and kvno work here")]
    Other(String),
}

impl KerberosFault {
    /// Returns whether the fault stays until somebody changes an option, the program or a server.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::NotBuilt | Self::UnknownServer(_) | Self::Refused(_) | Self::NotOffered | Self::Nobody => true,
            // A new ticket fixes these while the program waits.
            Self::NoTicket(_) | Self::Expired | Self::ClockSkew | Self::NoKdc(_) | Self::Other(_) => false,
        }
    }

    /// Returns whether a command should end instead of waiting, because somebody must act first.
    pub(in crate::zk) fn ends_a_command(&self) -> bool {
        self.is_permanent() || matches!(self, Self::NoTicket(_) | Self::Expired | Self::ClockSkew)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_is_a_service_on_a_host_with_or_without_a_realm() {
        for text in ["zookeeper/_HOST", "zk/zk1.example.net@EXAMPLE.NET", "zookeeper/_HOST@R"] {
            assert_eq!(text.parse::<ServerPrincipal>().map(|known| known.to_string()).as_deref(), Ok(text));
        }
        for text in
            ["", "zookeeper", "zookeeper/", "/zk1", "zookeeper/zk1@", "zoo keeper/zk1", "a/b/c", "a/b@c@d", "a/\u{7}"]
        {
            let refusal = text.parse::<ServerPrincipal>().expect_err(text).to_string();
            assert!(refusal.contains("zookeeper/_HOST"), "{refusal}");
        }
        assert_eq!(ServerPrincipal::default().to_string(), "zookeeper/_HOST");
    }

    #[test]
    fn each_server_has_its_own_principal_unless_a_host_is_named() {
        let own: ServerPrincipal = "zk/_HOST@R".parse().expect("a principal");
        assert_eq!((own.at("zk1").to_string(), own.at("zk1").as_service()), ("zk/zk1@R".to_owned(), None));
        let all: ServerPrincipal = "zk/shared".parse().expect("a principal");
        assert_eq!(all.at("zk1").as_service().as_deref(), Some("zk@shared"));
    }

    #[test]
    fn without_a_ticket_a_command_ends_and_a_screen_waits() {
        for fault in [KerberosFault::NoTicket("none".to_owned()), KerberosFault::Expired, KerberosFault::ClockSkew] {
            assert!(fault.ends_a_command() && !fault.is_permanent(), "{fault}");
        }
        assert!(!KerberosFault::NoKdc("down".to_owned()).ends_a_command(), "it may come back");
        assert!(KerberosFault::NotBuilt.is_permanent());
    }
}
