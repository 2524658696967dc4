//! What a connection needs: servers, session timeout, credentials, TLS files.

use std::path::PathBuf;
use std::time::Duration;

use super::kerberos::ServerPrincipal;

/// How to reach an ensemble and who we are there.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// `HOST:PORT[,HOST:PORT…][/chroot]`.
    pub connect: String,
    /// The session timeout to ask for; the server clamps it.
    pub session_timeout: Duration,
    /// Identities to add to the session, in order.
    pub auth: Vec<Auth>,
    /// TLS, when the servers want it.
    pub tls: Option<TlsFiles>,
    /// A login by Kerberos, on each connection to a server.
    pub kerberos: Option<KerberosLogin>,
}

/// Who logs in by Kerberos, and to whom. The tickets are those of whoever runs the program, as `kinit` gets them, or come by the
/// keytab that `KRB5_CLIENT_KTNAME` names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KerberosLogin {
    /// The servers' principal.
    pub server: ServerPrincipal,
    /// The principal whose ticket is used; `None` for that of the credential cache or the keytab.
    pub principal: Option<String>,
}

/// One identity to add to a session.
#[derive(Clone)]
pub struct Auth {
    /// `digest`, or another scheme that the servers know; `sasl` authenticates by DIGEST-MD5.
    pub scheme: String,
    /// For `digest` and `sasl`: `user:password`. Never shown.
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
    /// The key to it.
    pub key: Option<PathBuf>,
}
