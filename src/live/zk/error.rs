//! Errors of connecting.

use std::path::PathBuf;
use std::time::Duration;

use super::BadConnectString;
use super::fault::Unreachable;
use super::kerberos::KerberosFault;

/// Why there is no session. Each message is one sentence that says what happened and what to do. No
/// message shows a credential.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The connect string is malformed.
    #[error(transparent)]
    BadConnectString(#[from] BadConnectString),
    /// An identity is malformed.
    #[error("the {scheme} credentials cannot be used: {why}")]
    BadCredentials {
        /// The scheme of the identity.
        scheme: String,
        /// The defect of the identity.
        why: &'static str,
    },
    /// A TLS file cannot be read or does not hold what it should.
    #[error("the TLS file {path:?} cannot be used: {why}")]
    BadTlsFile {
        /// The path of the file.
        path: PathBuf,
        /// The defect of the file.
        why: String,
    },
    /// The TLS files do not match, or no certificate can name the server's host.
    #[error("TLS cannot be used: {0}")]
    BadTls(String),
    /// The ensemble does not accept an identity.
    #[error("{}", refusal(schemes))]
    AuthRefused {
        /// The schemes that were offered.
        schemes: Vec<String>,
    },
    /// A login by Kerberos fails at every server.
    #[error("no session: a login by Kerberos is not possible: {0}")]
    Kerberos(KerberosFault),
    /// No server gave a session.
    #[error("no session: {0}")]
    Unreachable(Unreachable),
    /// A server was reached, but did not give a session in time.
    #[error("no session within {}: {servers}", humantime::format_duration(*.within))]
    TooLate {
        /// The time limit of the attempt.
        within: Duration,
        /// The state of each server as seen from here.
        servers: Unreachable,
    },
    /// The chroot of the connect string does not exist.
    #[error("the chroot {chroot} does not exist in the ensemble: create it, or correct the end of the connect string")]
    NoChroot {
        /// The chroot.
        chroot: String,
    },
    /// The system has no loopback port, or too few of them.
    #[error(
        "no session: this machine has no socket left ({0}); raise the limit of open files (ulimit -n), or close other programs"
    )]
    NoTransport(std::io::Error),
    /// Any other error of the client library.
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
    /// Returns whether the same attempt can only fail again until somebody changes an option, a
    /// file, or the server's rules for our identity.
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

    /// Returns whether a command without a session so far should end instead of waiting, because
    /// somebody must act first. This holds for every permanent error, for a missing chroot, and
    /// without a Kerberos ticket. The screen waits in the last two cases, because its user may be
    /// about to create one.
    pub fn ends_a_command(&self) -> bool {
        match self {
            Self::NoChroot { .. } => true,
            Self::Kerberos(fault) => fault.ends_a_command(),
            Self::Unreachable(servers) => servers.ends_a_command(),
            error => error.is_permanent(),
        }
    }

    /// Returns whether no server can be there: every server refused the connection or has an
    /// unknown name.
    pub fn nobody_listens(&self) -> bool {
        matches!(self, Self::Unreachable(servers) if servers.nobody_listens())
    }

    /// Returns the message for a caller that gives up after some tries but could wait longer.
    pub fn after_tries(&self, tries: u32) -> String {
        format!("gave up after {tries} tries: {self}; to wait for a server, give a --timeout")
    }

    /// Returns the message for a caller that keeps trying: this error, and what the caller waits
    /// for.
    pub fn while_waiting(&self) -> String {
        match self {
            Self::NoChroot { .. } => format!("{self}; waiting until it exists"),
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
    fn only_errors_that_need_a_change_are_permanent() {
        assert!(ConnectError::AuthRefused { schemes: vec!["digest".to_owned()] }.is_permanent());
        assert!(!ConnectError::Unreachable(Unreachable { servers: Vec::new() }).is_permanent());
        let no_chroot = ConnectError::NoChroot { chroot: "/a".to_owned() };
        assert!(!no_chroot.is_permanent() && no_chroot.ends_a_command());
        assert!(no_chroot.while_waiting().ends_with("; waiting until it exists"), "{}", no_chroot.while_waiting());
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
