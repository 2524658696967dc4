//! Why there is no session.

use std::path::PathBuf;
use std::time::Duration;

use super::BadConnectString;
use super::fault::Unreachable;
use super::kerberos::KerberosFault;

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
        /// The identity's scheme.
        scheme: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A TLS file cannot be read or does not hold what it should.
    #[error("the TLS file {path:?} cannot be used: {why}")]
    BadTlsFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The TLS files do not fit together, or the server's host cannot be in a certificate.
    #[error("TLS cannot be used: {0}")]
    BadTls(String),
    /// The ensemble does not accept an identity.
    #[error("{}", refusal(schemes))]
    AuthRefused {
        /// The schemes that were offered.
        schemes: Vec<String>,
    },
    /// We cannot log in by Kerberos, whichever server is asked.
    #[error("no session: a login by Kerberos is not possible: {0}")]
    Kerberos(KerberosFault),
    /// No server gave a session.
    #[error("no session: {0}")]
    Unreachable(Unreachable),
    /// A server was reached, but the session did not come about in time.
    #[error("no session within {}: {servers}", humantime::format_duration(*.within))]
    TooLate {
        /// How long the attempt took.
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
    /// The system gives no port on loopback, or not enough of them.
    #[error(
        "no session: this machine has no socket left ({0}); raise the limit of open files (ulimit -n), or close other programs"
    )]
    NoTransport(std::io::Error),
    /// Anything else that the client library reports.
    #[error("no session: {0}; this is unexpected: try again, and look into the servers' logs if it happens again")]
    Other(zookeeper_client::Error),
}

fn refusal(schemes: &[String]) -> String {
    if schemes.is_empty() {
        return "the ensemble requires a login, and none was given: give credentials (--auth-file), or log in by \
                Kerberos (--kerberos)"
            .to_owned();
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
            Self::Kerberos(fault) => fault.is_permanent(),
            Self::Unreachable(servers) => servers.is_permanent(),
            Self::TooLate { .. } | Self::NoChroot { .. } | Self::NoTransport(_) | Self::Other(_) => false,
        }
    }

    /// Whether a command that has had no session yet should end now and not wait, since somebody must change something first. So
    /// it is with every permanent error, with a chroot that does not exist, and without a ticket of Kerberos; the screen waits for
    /// these two, since whoever looks at it may be about to create one.
    pub fn ends_a_command(&self) -> bool {
        match self {
            Self::NoChroot { .. } => true,
            Self::Kerberos(fault) => fault.ends_a_command(),
            Self::Unreachable(servers) => servers.ends_a_command(),
            error => error.is_permanent(),
        }
    }

    /// Whether no server can be there: every one refused the connection, or its name is not known.
    pub fn nobody_listens(&self) -> bool {
        matches!(self, Self::Unreachable(servers) if servers.nobody_listens())
    }

    /// The message for a caller that gives up after some tries, which could wait for longer.
    pub fn after_tries(&self, tries: u32) -> String {
        format!("gave up after {tries} tries: {self}; to wait until a server is there, give a --timeout")
    }

    /// The message for a caller that goes on trying: this error, and what is waited for.
    pub fn while_waiting(&self) -> String {
        match self {
            Self::NoChroot { .. } => format!("{self}; waiting until it is there"),
            Self::Unreachable(servers) if servers.lacks_majority() => format!("{self}; waiting for a majority"),
            error => error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zk::ServerFault;

    #[test]
    fn only_what_stays_wrong_by_itself_is_permanent() {
        assert!(ConnectError::AuthRefused { schemes: vec!["digest".to_owned()] }.is_permanent());
        assert!(!ConnectError::Unreachable(Unreachable { servers: Vec::new() }).is_permanent());
        let no_chroot = ConnectError::NoChroot { chroot: "/a".to_owned() };
        assert!(!no_chroot.is_permanent() && no_chroot.ends_a_command());
        assert!(no_chroot.while_waiting().ends_with("; waiting until it is there"), "{}", no_chroot.while_waiting());
        let of = |faults: &[ServerFault]| {
            let servers = faults.iter().map(|fault| ("zk:1".to_owned(), fault.clone())).collect();
            ConnectError::Unreachable(Unreachable { servers })
        };
        assert!(of(&[ServerFault::WantsTls, ServerFault::UnknownIssuer]).is_permanent());
        assert!(of(&[ServerFault::Refused, ServerFault::NotFound]).nobody_listens());
        assert!(!of(&[ServerFault::Refused, ServerFault::TimedOut]).nobody_listens(), "one may be slow");
        let some = of(&[ServerFault::WantsTls, ServerFault::Refused]);
        assert!(!some.is_permanent() && !some.ends_a_command());
    }
}
