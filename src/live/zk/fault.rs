//! The faults of servers, as seen by a client.

use std::{fmt, io};

use super::kerberos::KerberosFault;
use super::reply_fault::ReplyFault;

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
    /// The server speaks another protocol.
    #[error("does not speak ZooKeeper's protocol: check the port")]
    Foreign,
    /// The server expects TLS, and we spoke plain text.
    #[error("wants TLS: give the authority's certificate (--tls-ca), or use the plain client port")]
    WantsTls,
    /// The server speaks plain text, and we expected TLS.
    #[error("does not speak TLS on that port: use the secure client port, or connect without TLS")]
    WantsPlain,
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
    pub(super) fn ends_a_command(&self) -> bool {
        let ends = |fault: &ServerFault| match fault {
            ServerFault::Kerberos(fault) => fault.ends_a_command(),
            fault => fault.is_permanent(),
        };
        !self.servers.is_empty() && self.servers.iter().all(|(_, fault)| ends(fault))
    }

    /// Returns whether every server refused the connection or has an unknown name.
    pub(super) fn nobody_listens(&self) -> bool {
        let is_absent = |fault: &ServerFault| matches!(fault, ServerFault::Refused | ServerFault::NotFound);
        !self.servers.is_empty() && self.servers.iter().all(|(_, fault)| is_absent(fault))
    }

    /// Returns whether a server is waiting for a majority of its ensemble.
    pub(super) fn lacks_majority(&self) -> bool {
        self.servers.iter().any(|(_, fault)| matches!(fault, ServerFault::ReadOnly | ServerFault::NotServing))
    }

    /// Returns whether a server refused the login.
    pub(super) fn refused_login(&self) -> bool {
        self.servers.iter().any(|(_, fault)| *fault == ServerFault::LoginRefused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
