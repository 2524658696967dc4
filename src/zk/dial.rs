use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::call::NamedBy;
use super::connect_string::{ConnectString, Server};
use super::words::{self, Answer, AskError, Limits, Word};
use super::{ConnectError, ConnectOptions, tls};
use crate::znode::ZnodePath;

/// How long one server may take to accept a connection, TLS included.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection to a server.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Opens plain connections, or such over TLS, to the servers of a connect string, for those who speak the protocol
/// themselves.
pub(crate) struct Dialer {
    servers: Vec<Server>,
    chroot: Option<ZnodePath>,
    tls: Option<TlsConnector>,
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialer").field("servers", &self.servers).finish_non_exhaustive()
    }
}

impl Dialer {
    /// Reads the TLS files, where there are any; asks no server.
    pub(crate) async fn new(options: &ConnectOptions) -> Result<Self, ConnectError> {
        let target = ConnectString::parse(&options.connect, options.tls.is_some())?;
        let tls = match &options.tls {
            Some(files) => Some(tls::connector(files).await?),
            None => None,
        };
        Ok(Self { servers: target.servers, chroot: target.chroot, tls })
    }

    /// The chroot of the connect string.
    pub(crate) fn chroot(&self) -> Option<&ZnodePath> {
        self.chroot.as_ref()
    }

    /// Connects to one of the servers, in random order; the last one's error when none accepts. Takes a few seconds at most for
    /// each. Cancel safe.
    pub(crate) async fn dial(&self) -> io::Result<Box<dyn Stream>> {
        let first = fastrand::usize(..self.servers.len().max(1));
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for index in 0..self.servers.len() {
            let server = &self.servers[(first + index) % self.servers.len()];
            match timeout(PATIENCE, self.open(server)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(last)
    }

    /// Asks every server one word, all at once, with the usual limits. Cancel safe.
    pub(crate) async fn ask_each(&self, word: Word) -> Vec<(String, Result<Answer, AskError>)> {
        let ask = |server: &Server| {
            let (address, tls) = (server.address(), self.tls.as_ref().filter(|_| server.tls));
            async move {
                let answer = words::ask_over(tls, &address, NamedBy::User, word, Limits::default()).await;
                (address, answer)
            }
        };
        futures::future::join_all(self.servers.iter().map(ask)).await
    }

    async fn open(&self, server: &Server) -> io::Result<Box<dyn Stream>> {
        let stream = TcpStream::connect((server.host.as_str(), server.port)).await?;
        stream.set_nodelay(true)?;
        let Some(connector) = self.tls.as_ref().filter(|_| server.tls) else { return Ok(Box::new(stream)) };
        let name = ServerName::try_from(server.host.clone()).map_err(io::Error::other)?;
        Ok(Box::new(connector.connect(name, stream).await?))
    }
}
