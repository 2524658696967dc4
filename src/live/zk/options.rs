//! The options of a connection: servers, session timeout, credentials, TLS files.

use std::path::PathBuf;
use std::time::Duration;

use super::kerberos::ServerPrincipal;
use lockscope_base::znode::marked_timeout;

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
