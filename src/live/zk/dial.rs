//! Opens connections to the servers of a connect string, plain or over TLS, and finds out why one
//! failed.
//!
//! A server that closes a connection without a reply is asked why, by a short conversation on new
//! connections.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::fault::ServerFault;
use super::four_letter::{AskError, FourLetterAnswer, FourLetterWord, QuestionLimits};
use super::kerberos::{KerberosFault, KerberosSession};
use super::options::{ConnectString, ServerAddress};
use super::stream::{NamedBy, QuietStream, Stream};
use super::{Auth, ConnectError, ConnectOptions, KerberosLogin, four_letter, kerberos, stream};
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
            Some(files) => (Some(stream::tls_connector(files).await?), files.cert.is_some()),
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
    ) -> Result<Option<KerberosSession>, KerberosFault> {
        match &self.kerberos {
            Some(login) => KerberosSession::begin(login, &server.host, until).await.map(Some),
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
    pub async fn ask_each(&self, word: FourLetterWord) -> Vec<(String, Result<FourLetterAnswer, AskError>)> {
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
        if let Some(fault) = stream::tls_fault_of(error, self.has_certificate) {
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
                    four_letter::ask_over(Some(tls), &address, NamedBy::User, FourLetterWord::Srvr, limits, None),
                )
                .await;
                answer.ok().and_then(Result::ok).map(|answer| read_srvr(answer.text.as_bytes()))
            }
            _ => Some(why_closed(server).await),
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

/// The time limit of each step: resolving the name, connecting, answering.
const PROBE_TIMEOUT: Duration = Duration::from_millis(1500);

/// A word that every ZooKeeper server answers on a plain client port, even when it is not allowed.
const SRVR: &[u8] = b"srvr";

/// A TLS 1.2 `ClientHello` that offers one common cipher suite and nothing else. Every TLS server
/// answers it with a handshake record or an alert.
const CLIENT_HELLO: &[u8] = &[
    0x16, 0x03, 0x01, 0x00, 0x2d, // record: handshake, 45 bytes
    0x01, 0x00, 0x00, 0x29, 0x03, 0x03, // ClientHello, 41 bytes, TLS 1.2
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
    31, 0x00, // no session to resume
    0x00, 0x02, 0xc0, 0x2f, // ECDHE-RSA-AES128-GCM-SHA256
    0x01, 0x00, // no compression
];

/// Checks whether a server speaks TLS, and asks it in plain text unless it is to speak TLS. Takes a
/// few seconds at most.
async fn why_closed(server: &ServerAddress) -> ServerFault {
    if server.tls {
        // A question in plain text could be answered by anybody on the way, who could lead the user
        // away from TLS.
        return match converse(server, CLIENT_HELLO).await {
            Ok(answer) if is_tls(&answer) => ServerFault::Closes,
            Ok(_) => ServerFault::EndsTls,
            Err(fault) => fault,
        };
    }
    match tokio::join!(converse(server, SRVR), converse(server, CLIENT_HELLO)) {
        (_, Ok(hello)) if is_tls(&hello) => ServerFault::WantsTls,
        (Ok(answer), _) => read_srvr(&answer),
        (Err(fault), _) => fault,
    }
}

/// Reads the answer to `srvr`.
fn read_srvr(answer: &[u8]) -> ServerFault {
    let text = String::from_utf8_lossy(answer);
    if text.is_empty() {
        ServerFault::Closes
    } else if text.contains("not currently serving requests") {
        ServerFault::NotServing
    } else if text.lines().any(|line| line.trim() == "Mode: read-only") {
        ServerFault::ReadOnly
    } else if text.starts_with("Zookeeper version") || text.contains("srvr is not executed") {
        ServerFault::NoSession
    } else {
        ServerFault::Foreign
    }
}

/// Returns whether the answer starts with a TLS record of a handshake or an alert.
fn is_tls(answer: &[u8]) -> bool {
    matches!(answer, [0x15 | 0x16, 0x03, ..])
}

/// Sends bytes on a new connection and returns the beginning of the answer; empty when the server
/// closed.
async fn converse(server: &ServerAddress, words: &[u8]) -> Result<Vec<u8>, ServerFault> {
    let mut stream = connect_to(server).await?;
    let mut answer = vec![0; 512];
    let exchange = async {
        stream.write_all(words).await?;
        stream.read(&mut answer).await
    };
    match timeout(PROBE_TIMEOUT, exchange).await {
        Err(_) => Err(ServerFault::Silent),
        // A server that resets the connection has closed it.
        Ok(Err(_)) => Ok(Vec::new()),
        Ok(Ok(read)) => {
            answer.truncate(read);
            Ok(answer)
        }
    }
}

async fn connect_to(server: &ServerAddress) -> Result<TcpStream, ServerFault> {
    let addresses = match timeout(PROBE_TIMEOUT, tokio::net::lookup_host((server.host.as_str(), server.port))).await {
        Ok(Ok(addresses)) => addresses.collect::<Vec<_>>(),
        Ok(Err(_)) | Err(_) => return Err(ServerFault::NotFound),
    };
    match timeout(PROBE_TIMEOUT, TcpStream::connect(addresses.as_slice())).await {
        Err(_) => Err(ServerFault::TimedOut),
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(ServerFault::of_connection(&error)),
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Serves each connection with the reply of `answer` to its first bytes; `None` closes without
    /// a reply.
    async fn serve(answer: fn(&[u8]) -> Option<&'static [u8]>) -> ServerAddress {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut words = [0; 64];
                    let read = stream.read(&mut words).await.unwrap_or(0);
                    if let Some(bytes) = answer(&words[..read]) {
                        let _ = stream.write_all(bytes).await;
                    }
                });
            }
        });
        ServerAddress { host: "127.0.0.1".to_owned(), port, tls: false }
    }

    async fn found(answer: fn(&[u8]) -> Option<&'static [u8]>, tls: bool) -> ServerFault {
        let server = ServerAddress { tls, ..serve(answer).await };
        why_closed(&server).await
    }

    fn zookeeper(words: &[u8]) -> Option<&'static [u8]> {
        (words == SRVR).then_some(b"Zookeeper version: 3.8.0\nMode: standalone\n")
    }

    fn secure(words: &[u8]) -> Option<&'static [u8]> {
        (words == CLIENT_HELLO).then_some(&[0x15, 0x03, 0x03, 0, 2, 2, 40])
    }

    #[tokio::test]
    async fn a_refused_connection_is_told_from_an_unknown_name() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let closed = ServerAddress { host: "127.0.0.1".to_owned(), port, tls: false };
        let unknown = ServerAddress { host: "no-such-host.invalid".to_owned(), port, tls: false };
        let faults = (why_closed(&closed).await, why_closed(&unknown).await);
        assert_eq!(faults, (ServerFault::Refused, ServerFault::NotFound));
    }

    #[tokio::test]
    async fn plain_text_to_a_tls_port_and_tls_to_a_plain_port_are_told_apart() {
        assert_eq!(found(secure, false).await, ServerFault::WantsTls);
        assert_eq!(found(secure, true).await, ServerFault::Closes);
        assert_eq!(found(zookeeper, true).await, ServerFault::EndsTls);
        assert_eq!(found(zookeeper, false).await, ServerFault::NoSession);
    }

    #[tokio::test]
    async fn other_protocols_are_recognized() {
        assert_eq!(found(|_| Some(b"HTTP/1.1 400 Bad Request\r\n\r\n"), false).await, ServerFault::Foreign);
        assert_eq!(found(|_| None, false).await, ServerFault::Closes);
        let idle = |_: &[u8]| Some(&b"This ZooKeeper instance is not currently serving requests\n"[..]);
        assert_eq!(found(idle, false).await, ServerFault::NotServing);
    }
}
