//! Opens connections to the servers of a connect string, plain or over TLS, and finds out why one
//! failed.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::call::NamedBy;
use super::connect_string::{ConnectString, ServerAddress};
use super::fault::ServerFault;
use super::four_letter::{self, AskError, FourLetterAnswer, QuestionLimits, Word};
use super::kerberos::{self, KerberosFault, Login};
use super::quiet_stream::QuietStream;
use super::stream::Stream;
use super::{Auth, ConnectError, ConnectOptions, KerberosLogin, probe, tls};
use lockscope_base::znode::ZnodePath;

/// The most time that a server may take to explain why it closed a connection.
const WHY_CLOSED_TIMEOUT: Duration = Duration::from_millis(1500);

/// Opens plain or TLS connections to the servers of a connect string.
pub struct Dialer {
    servers: Vec<ServerAddress>,
    chroot: Option<ZnodePath>,
    tls: Option<TlsConnector>,
    has_certificate: bool,
    kerberos: Option<KerberosLogin>,
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialer").field("servers", &self.servers).finish_non_exhaustive()
    }
}

impl Dialer {
    /// Checks the options, reads the TLS files and looks for a Kerberos ticket where one is wanted.
    /// Contacts no ZooKeeper server.
    pub async fn new(options: &ConnectOptions) -> Result<Self, ConnectError> {
        let target = ConnectString::parse(&options.connect, options.tls.is_some())?;
        let secure = target.servers.iter().find(|server| server.tls);
        if let Some(server) = target.servers.iter().find(|server| server.tls && !server.can_be_certified()) {
            return Err(ConnectError::BadTls(format!("no certificate can name the host {:?}", server.host)));
        }
        let (tls, has_certificate) = match &options.tls {
            Some(files) => (Some(tls::connector(files).await?), files.cert.is_some()),
            None => (None, false),
        };
        if let (Some(server), None) = (secure, &tls) {
            let why = format!("TLS to {} needs the authority's certificate: give it with --tls-ca", server.address());
            return Err(ConnectError::BadTls(why));
        }
        if let Some(login) = &options.kerberos {
            only_login(&options.auth)?;
            kerberos::check(login).await.map_err(ConnectError::Kerberos)?;
        }
        let kerberos = options.kerberos.clone();
        Ok(Self { servers: target.servers, chroot: target.chroot, tls, has_certificate, kerberos })
    }

    /// Gets a ticket for a server by `until`, if Kerberos is wanted. Cancel safe.
    pub(super) async fn begin_login(
        &self,
        server: &ServerAddress,
        until: Instant,
    ) -> Result<Option<Login>, KerberosFault> {
        match &self.kerberos {
            Some(login) => Login::begin(login, &server.host, until).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns the chroot of the connect string.
    pub fn chroot(&self) -> Option<&ZnodePath> {
        self.chroot.as_ref()
    }

    /// Returns the servers of the connect string, in order.
    pub(super) fn members(&self) -> &[ServerAddress] {
        &self.servers
    }

    /// Sends one word to every server at once, with the default limits. Cancel safe.
    pub async fn ask_each(&self, word: Word) -> Vec<(String, Result<FourLetterAnswer, AskError>)> {
        let ask = |server: &ServerAddress| {
            let (address, tls) = (server.address(), self.tls_for(server));
            async move {
                let answer =
                    four_letter::ask_over(tls, &address, NamedBy::User, word, QuestionLimits::default(), None).await;
                (address, answer)
            }
        };
        futures::future::join_all(self.servers.iter().map(ask)).await
    }

    /// Connects to a server without a time limit of its own. Cancel safe.
    pub(super) async fn open(&self, server: &ServerAddress) -> Result<Box<dyn Stream>, ServerFault> {
        let addresses: Vec<_> = match tokio::net::lookup_host((server.host.as_str(), server.port)).await {
            Ok(addresses) => addresses.collect(),
            Err(_) => return Err(ServerFault::NotFound),
        };
        let stream = TcpStream::connect(addresses.as_slice()).await.map_err(|error| self.fault_of(&error))?;
        // Sends small frames without delay.
        let _ = stream.set_nodelay(true);
        let stream = QuietStream::new(stream).map_err(|error| self.fault_of(&error))?;
        let Some(connector) = self.tls_for(server) else { return Ok(Box::new(stream)) };
        let name = ServerName::try_from(server.host.clone()).map_err(|error| ServerFault::Io(error.to_string()))?;
        match connector.connect(name, stream).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(match self.fault_of(&error) {
                ServerFault::Closes => ServerFault::Handshake("the server closed the connection".to_owned()),
                fault => fault,
            }),
        }
    }

    /// Returns what an error of a connection says about its server.
    pub(super) fn fault_of(&self, error: &io::Error) -> ServerFault {
        if let Some(fault) = tls::fault_of(error, self.has_certificate) {
            return fault;
        }
        ServerFault::of_connection(error)
    }

    /// Finds out, on a new connection, why a server closed a connection without a reply.
    pub(super) async fn why_closed(&self, server: &ServerAddress, fault: &ServerFault) -> ServerFault {
        let reason = match (self.tls_for(server), fault) {
            (Some(tls), ServerFault::Closes) => {
                let (address, limits) = (server.address(), QuestionLimits::default());
                let answer = timeout(
                    WHY_CLOSED_TIMEOUT,
                    four_letter::ask_over(Some(tls), &address, NamedBy::User, Word::Srvr, limits, None),
                )
                .await;
                answer.ok().and_then(Result::ok).map(|answer| probe::read_srvr(answer.text.as_bytes()))
            }
            _ => Some(probe::why_closed(server).await),
        };
        reason.filter(|reason| *reason != ServerFault::Closes).unwrap_or_else(|| fault.clone())
    }

    fn tls_for(&self, server: &ServerAddress) -> Option<&TlsConnector> {
        self.tls.as_ref().filter(|_| server.tls)
    }
}

/// Checks that there is at most one login: a session has one by Kerberos, or one by user and
/// password.
fn only_login(auth: &[Auth]) -> Result<(), ConnectError> {
    match auth.iter().find(|auth| auth.scheme == "sasl") {
        Some(auth) => Err(ConnectError::BadCredentials {
            scheme: auth.scheme.clone(),
            why: "a session has one login, and --kerberos asks for another: leave one of them out",
        }),
        None => Ok(()),
    }
}
