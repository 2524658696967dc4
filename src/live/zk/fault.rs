//! Why there is no session: the errors of connecting, the faults of servers as seen by a client,
//! and the defects of their replies.
//!
//! Each text says what happened and what to do. Replies have bounds on bytes and names.

use std::path::PathBuf;
use std::time::Duration;
use std::{fmt, io};

use super::BadConnectString;
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

/// The fault of each server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unreachable {
    /// `HOST:PORT` and the fault of each server, in the order of the connect string.
    pub servers: Vec<(String, ServerFault)>,
}

impl fmt::Display for Unreachable {
    /// Groups servers with the same fault, so that each advice appears once.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut groups: Vec<(&ServerFault, Vec<&str>)> = Vec::new();
        for (server, fault) in &self.servers {
            match groups.iter_mut().find(|(known, _)| *known == fault) {
                Some((_, servers)) => servers.push(server),
                None => groups.push((fault, vec![server])),
            }
        }
        if groups.is_empty() {
            f.write_str("no server was reached in that time: check the addresses, and that the servers run")?;
        }
        for (index, (fault, servers)) in groups.iter().enumerate() {
            write!(f, "{}{} {fault}", if index == 0 { "" } else { "; " }, servers.join(", "))?;
        }
        Ok(())
    }
}

/// The fault of a server, as far as a client can see. The text continues a sentence that starts
/// with the server's address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServerFault {
    /// No process listens at the address.
    #[error("refused the connection: check the port, and that the server runs")]
    Refused,
    /// No packet came back.
    #[error("did not answer in time: check the address, and that no firewall is in the way")]
    TimedOut,
    /// The name resolves to no address.
    #[error("is not known by that name: check the host name and the resolver")]
    NotFound,
    /// Another error of the operating system.
    #[error("cannot be reached: {0}")]
    Io(String),
    /// The server accepts connections and closes them.
    #[error(
        "closed the connection at once: this host may have as many connections as the server allows (maxClientCnxns); else \
         check that it is ZooKeeper's client port, and that it lets this host in"
    )]
    Closes,
    /// The server accepts connections and stays silent.
    #[error("accepted the connection and stayed silent: check that it is ZooKeeper's client port")]
    Silent,
    /// A server that gave a session to this client before accepts connections and stays silent.
    #[error("accepted the connection and does not answer, though it did before: it hangs, or is overloaded")]
    Hangs,
    /// A server that gave a session answered no request on it.
    #[error("gave a session and answered no request on it: it hangs, or is overloaded; look into its log")]
    Unanswering,
    /// The server speaks another protocol.
    #[error("does not speak ZooKeeper's protocol: check the port")]
    Foreign,
    /// The server expects TLS, and we spoke plain text.
    #[error("wants TLS: give the authority's certificate (--tls-ca), or use the plain client port")]
    WantsTls,
    /// The server speaks plain text, and we expected TLS.
    #[error("does not speak TLS on that port: name its secure client port")]
    WantsPlain,
    /// The server closed the connection when TLS began: a plain port does, and a server that starts.
    #[error("does not speak TLS on that port now: name its secure client port, or wait until it has started")]
    EndsTls,
    /// Another authority signed the server's certificate.
    #[error(
        "shows a certificate that the given authority did not sign: give the certificate of the authority that did \
         (--tls-ca)"
    )]
    UnknownIssuer,
    /// The server's certificate is for other names.
    #[error(
        "shows a certificate for {0} only: connect by one of these names, or have this one added to the certificate"
    )]
    WrongName(String),
    /// The server's certificate has expired.
    #[error(
        "shows a certificate that expired at {0}: have the server's certificate renewed, and check this machine's clock"
    )]
    Expired(String),
    /// The server's certificate is not valid yet.
    #[error(
        "shows a certificate that is valid from {0} only: check this machine's clock, and the server's certificate"
    )]
    NotYetValid(String),
    /// The server asks for a client certificate, and we have none.
    #[error("asks for a client certificate: give one that it trusts, and its key (--tls-cert, --tls-key)")]
    WantsCertificate,
    /// The server refused our client certificate.
    #[error(
        "refused our client certificate ({0}): check that it has not expired, and that an authority that the server trusts \
         signed it (--tls-cert)"
    )]
    RefusesCertificate(String),
    /// The server speaks TLS, but the handshake failed.
    #[error(
        "failed in the TLS handshake ({0}): check the TLS versions and ciphers of both sides, and the server's log"
    )]
    Handshake(String),
    /// A ZooKeeper server without a quorum.
    #[error("is a ZooKeeper server that serves no clients now: check that a majority of the ensemble runs")]
    NotServing,
    /// A server cut off from its ensemble, which serves only reads.
    #[error("is alone and serves reads only: a majority of the ensemble is down, so check its other members")]
    ReadOnly,
    /// The server refused the login, or requires one.
    #[error("refused the login: check user and password")]
    LoginRefused,
    /// A login by Kerberos failed.
    #[error("cannot be logged in to by Kerberos: {0}")]
    Kerberos(#[from] KerberosFault),
    /// A ZooKeeper server that gave no session for an unknown reason.
    #[error(
        "is a ZooKeeper server but gave no session: look into its log; too many connections or a required login are the usual causes"
    )]
    NoSession,
    /// The server broke the protocol.
    #[error(transparent)]
    Broken(#[from] ReplyFault),
}

impl ServerFault {
    /// Reads an error of the operating system about a connection. On Linux a connection that the
    /// server closes while it is being opened is reported as a broken pipe.
    pub(super) fn of_connection(error: &io::Error) -> Self {
        use io::ErrorKind;
        match error.kind() {
            ErrorKind::ConnectionRefused => Self::Refused,
            ErrorKind::TimedOut => Self::TimedOut,
            ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe => Self::Closes,
            _ => Self::Io(error.to_string()),
        }
    }

    /// Returns whether the fault stays until somebody changes an option, a file, or the server's
    /// certificate.
    pub fn is_permanent(&self) -> bool {
        if let Self::Kerberos(fault) = self {
            return fault.is_permanent();
        }
        matches!(
            self,
            Self::WantsTls
                | Self::WantsPlain
                | Self::UnknownIssuer
                | Self::WrongName(_)
                | Self::Expired(_)
                | Self::NotYetValid(_)
                | Self::WantsCertificate
                | Self::RefusesCertificate(_)
        )
    }
}

impl Unreachable {
    /// Returns whether every server has a fault that stays until somebody changes something.
    pub fn is_permanent(&self) -> bool {
        !self.servers.is_empty() && self.servers.iter().all(|(_, fault)| fault.is_permanent())
    }

    /// Returns whether a command should end instead of waiting: every server has a fault that stays
    /// until somebody acts.
    fn ends_a_command(&self) -> bool {
        let ends = |fault: &ServerFault| match fault {
            ServerFault::Kerberos(fault) => fault.ends_a_command(),
            fault => fault.is_permanent(),
        };
        !self.servers.is_empty() && self.servers.iter().all(|(_, fault)| ends(fault))
    }

    /// Returns whether every server refused the connection or has an unknown name.
    fn nobody_listens(&self) -> bool {
        let is_absent = |fault: &ServerFault| matches!(fault, ServerFault::Refused | ServerFault::NotFound);
        !self.servers.is_empty() && self.servers.iter().all(|(_, fault)| is_absent(fault))
    }

    /// Returns whether a server is waiting for a majority of its ensemble.
    fn lacks_majority(&self) -> bool {
        self.servers.iter().any(|(_, fault)| matches!(fault, ServerFault::ReadOnly | ServerFault::NotServing))
    }

    /// Returns whether a server refused the login.
    pub(super) fn refused_login(&self) -> bool {
        self.servers.iter().any(|(_, fault)| *fault == ServerFault::LoginRefused)
    }
}

/// The largest reply accepted from a server, in bytes: 64 MiB. ZooKeeper's own clients default to 1
/// MiB.
pub const MAX_REPLY: u32 = 64 << 20;

/// The most names accepted in one reply.
pub const MAX_NAMES: u32 = 1 << 20;

/// The largest watch event accepted, in bytes without its header: 1 MiB, and a few bytes more. A
/// server takes no request of more than 1 MiB unless it is configured otherwise, and so no longer
/// path. An event is kept until it is whole.
pub const MAX_EVENT: u32 = (1 << 20) + 64;

/// The most levels of a path in a watch event. The client library looks at each node above the
/// changed one, so its work grows with the square of the levels. No tree in use is a tenth as deep.
pub const MAX_EVENT_LEVELS: usize = 1_024;

/// The defect of bytes that a server sent. The text continues a sentence that starts with the
/// server's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyFault {
    /// A frame above [`MAX_REPLY`].
    #[error(
        "sent a reply of {0} bytes, more than the bound of 64 MiB: check that it is ZooKeeper's client port, and look for \
         a node with too many children or too much data"
    )]
    TooLarge(u32),
    /// A frame with a negative length.
    #[error("sent a reply of negative length ({0}): {ADVICE}")]
    NegativeLength(i32),
    /// More than [`MAX_NAMES`] names.
    #[error(
        "sent a list of {0} names, more than the bound of 1048576: look for a node with too many children, or choose \
         a root below it (--root)"
    )]
    TooMany(u32),
    /// A frame that ends before its content.
    #[error("cut a reply short: {ADVICE}")]
    Short,
    /// The connection ended within a frame.
    #[error(
        "sent only the beginning of a reply before the connection was cut: check that it runs, and look into its log"
    )]
    Unfinished,
    /// No bytes arrived for too long while a request was outstanding.
    #[error(
        "fell silent, so the connection to it was cut: check that it runs, and that the network lets its answers through"
    )]
    FellSilent,
    /// A reply that arrives so slowly that it would not end.
    #[error(
        "sent only {bytes} bytes of a reply in {seconds} s: check that it is not overloaded, and that the network lets its \
         answers through"
    )]
    TooSlow {
        /// The bytes of the reply so far.
        bytes: u64,
        /// The seconds since it began.
        seconds: u64,
    },
    /// More watch events than in-flight ones for nodes that the session does not watch.
    #[error("sent {0} watch events for nodes that nobody watches: {ADVICE}")]
    Unwatched(u64),
    /// An event above `MAX_EVENT`, or with more than `MAX_EVENT_LEVELS`.
    #[error("sent a watch event for a path of more than 1 MiB or 1024 levels: {ADVICE}")]
    EventTooLarge,
    /// A frame that continues after its content.
    #[error("sent a reply with extra bytes at its end: {ADVICE}")]
    Trailing,
    /// An impossible length or number within a frame.
    #[error("sent a reply with an impossible value ({0}): {ADVICE}")]
    Impossible(i32),
    /// A name that is not UTF-8.
    #[error("sent a name that is not UTF-8: {ADVICE}")]
    NotText,
    /// A reply without a request.
    #[error("answered a request that was never sent: {ADVICE}")]
    NeverAsked,
    /// A reply to a later request.
    #[error("answered requests out of their order: {ADVICE}")]
    OutOfOrder,
    /// An unknown error code.
    #[error("answered with an error code that does not exist ({0}): {ADVICE}")]
    UnknownError(i32),
}

/// The advice for a server that breaks the protocol.
const ADVICE: &str = "check that it is ZooKeeper's client port and that nothing in between changes the data, and look into the server's log";

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

    #[test]
    fn servers_with_the_same_fault_are_grouped() {
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
}
