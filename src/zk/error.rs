use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::BadConnectString;

/// Why there is no session. Each message is one sentence that says what happened and what to do; none shows a
/// credential.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The connect string is malformed.
    #[error(transparent)]
    BadConnectString(#[from] BadConnectString),
    /// An identity is malformed.
    #[error("the {scheme} credentials cannot be used: {why}")]
    BadCredentials {
        /// Its scheme.
        scheme: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A TLS file cannot be read or does not hold what it should.
    #[error("the TLS file {path:?} cannot be used: {why}")]
    BadTlsFile {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// TLS cannot be set up from files that are each right by themselves, or with such a server.
    #[error("TLS cannot be used: {0}")]
    BadTls(String),
    /// The ensemble does not accept an identity.
    #[error("{}", refusal(schemes))]
    AuthRefused {
        /// The schemes that were offered.
        schemes: Vec<String>,
    },
    /// No server gave a session.
    #[error("no session: {0}")]
    Unreachable(Unreachable),
    /// A server was reached, but the session did not come about in time.
    #[error("no session within {}: {servers}", humantime::format_duration(*.within))]
    TooLate {
        /// How long it was waited.
        within: Duration,
        /// What the servers look like from here.
        servers: Unreachable,
    },
    /// The chroot of the connect string does not exist.
    #[error("the chroot {chroot} does not exist in the ensemble: create it, or correct the end of the connect string")]
    NoChroot {
        /// The chroot.
        chroot: String,
    },
    /// Anything else that the client library reports.
    #[error("no session: {0}; this was not expected, so try again, and look into the servers' logs when it stays")]
    Other(zookeeper_client::Error),
}

fn refusal(schemes: &[String]) -> String {
    if schemes.is_empty() {
        return "the ensemble asks for a login, and there was none: give credentials (--auth-file)".to_owned();
    }
    let schemes = schemes.join(", ");
    format!(
        "the ensemble refused the {schemes} credentials: check user and password, and that the servers know the scheme"
    )
}

impl ConnectError {
    /// Whether the same attempt can only fail again until somebody changes an option, a file or the servers' idea of us.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::BadConnectString(_)
            | Self::BadCredentials { .. }
            | Self::BadTlsFile { .. }
            | Self::BadTls(_)
            | Self::AuthRefused { .. } => true,
            Self::Unreachable(_) | Self::TooLate { .. } | Self::NoChroot { .. } | Self::Other(_) => false,
        }
    }
}

/// What a probe found at each server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreachable {
    /// `HOST:PORT` and what is the matter there, in the order of the connect string.
    pub servers: Vec<(String, ServerFault)>,
}

impl fmt::Display for Unreachable {
    /// Servers with the same fault stand together, and each kind of fault gives its advice once.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut groups: Vec<(&ServerFault, Vec<&str>)> = Vec::new();
        for (server, fault) in &self.servers {
            match groups.iter_mut().find(|(known, _)| *known == fault) {
                Some((_, servers)) => servers.push(server),
                None => groups.push((fault, vec![server])),
            }
        }
        for (index, (fault, servers)) in groups.iter().enumerate() {
            write!(f, "{}{} {fault}", if index == 0 { "" } else { "; " }, servers.join(", "))?;
        }
        Ok(())
    }
}

/// What is the matter with a server, as far as can be told from outside. Its text continues a sentence that starts with
/// the server's address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerFault {
    /// Nobody listens there.
    #[error("refused the connection: check the port, and that the server runs")]
    Refused,
    /// Nothing came back.
    #[error("did not answer in time: check the address, and that no firewall stands between")]
    TimedOut,
    /// The name resolves to no address.
    #[error("is not known by that name: check the host name and the resolver")]
    NotFound,
    /// The operating system says something else.
    #[error("cannot be reached: {0}")]
    Io(String),
    /// It accepts connections and closes them.
    #[error("closed the connection at once: check that it is ZooKeeper's client port and lets this host in")]
    Closes,
    /// It accepts connections and stays silent.
    #[error("accepted the connection and stayed silent: check that it is ZooKeeper's client port")]
    Silent,
    /// It speaks another protocol.
    #[error("does not speak ZooKeeper's protocol: check the port")]
    Foreign,
    /// It wants TLS, and we spoke plain.
    #[error("wants TLS: give the authority's certificate (--tls-ca), or take the plain client port")]
    WantsTls,
    /// It speaks plain, and we wanted TLS.
    #[error("does not speak TLS on that port: take the secure client port, or leave TLS out")]
    WantsPlain,
    /// It speaks TLS, but no handshake came about.
    #[error(
        "did not come to terms over TLS: check that its certificate is signed by the given authority and names this host, \
         and whether it asks for a client certificate"
    )]
    Handshake,
    /// It is a ZooKeeper server without a quorum.
    #[error("is a ZooKeeper server that serves nobody now: look whether a majority of the ensemble runs")]
    NotServing,
    /// It is a ZooKeeper server, and yet there is no session.
    #[error(
        "is a ZooKeeper server but gave no session: look into its log; too many connections or a required login are usual"
    )]
    NoSession,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_with_the_same_fault_stand_together() {
        let fault = Unreachable {
            servers: vec![
                ("zk1:2181".to_owned(), ServerFault::Refused),
                ("zk2:2181".to_owned(), ServerFault::NotFound),
                ("zk3:2181".to_owned(), ServerFault::Refused),
            ],
        };
        assert_eq!(
            fault.to_string(),
            "zk1:2181, zk3:2181 refused the connection: check the port, and that the server runs; \
             zk2:2181 is not known by that name: check the host name and the resolver"
        );
    }

    #[test]
    fn only_what_stays_wrong_by_itself_is_permanent() {
        assert!(ConnectError::AuthRefused { schemes: vec!["digest".to_owned()] }.is_permanent());
        assert!(!ConnectError::Unreachable(Unreachable { servers: Vec::new() }).is_permanent());
        assert!(!ConnectError::NoChroot { chroot: "/a".to_owned() }.is_permanent());
    }
}
