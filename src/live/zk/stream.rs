//! Connections to servers: which addresses may be called, TCP that causes no needless wake-ups, and
//! TLS with the reasons of its failures.
//!
//! # Addresses from the ensemble's config
//!
//! A server that is asked about itself may have its address from the ensemble's config instead of
//! the user. An attacker who writes the ensemble's config, or changes data on a plain connection,
//! could otherwise make this machine connect to any local service, or send HTTP to the metadata
//! service of a cloud.

use std::io;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream as StdStream};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{AlertDescription, CertificateError, ClientConfig, Error, RootCertStore};

use super::fault::ServerFault;
use super::{ConnectError, TlsFiles};
use lockscope_files as files;
use lockscope_files::{FileError, Sensitivity};

#[cfg(test)]
mod tests;

pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// The source of a server's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NamedBy {
    /// The user named it in the connect string: any address is allowed.
    User,
    /// Only the ensemble's config names it.
    Config {
        /// Whether the address may be on this machine: only when a server named by the user is
        /// there too.
        on_this_machine: bool,
    },
}

/// Why there is no connection.
#[derive(Debug)]
pub enum NotCalled {
    /// The operating system's reason.
    Io(io::Error),
    /// The address comes only from the config, and is one that a config must not lead to.
    NotFollowed,
}

/// Explains why a server is not asked, and what to do about it.
pub const NOT_FOLLOWED: &str = "only the ensemble's config names it, and its address is this machine's own, link-local or \
                                       that of a cloud's metadata service: to ask it anyway, add it to the connect string";

/// Metadata services of clouds that are not link-local: those of Oracle, Alibaba and Azure, and
/// Amazon's over IPv6.
const METADATA: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// Connects to `HOST:PORT`. The check is made on the addresses that are then called, not on the
/// name: a name could resolve to other addresses in between. Cancel safe.
pub async fn call(address: &str, named_by: NamedBy) -> Result<TcpStream, NotCalled> {
    let NamedBy::Config { on_this_machine } = named_by else {
        return TcpStream::connect(address).await.map_err(NotCalled::Io);
    };
    let found: Vec<SocketAddr> = lookup_host(address).await.map_err(NotCalled::Io)?.collect();
    let followed: Vec<SocketAddr> =
        found.into_iter().filter(|found| is_followed(found.ip(), on_this_machine)).collect();
    if followed.is_empty() {
        return Err(NotCalled::NotFollowed);
    }
    TcpStream::connect(followed.as_slice()).await.map_err(NotCalled::Io)
}

fn is_followed(address: IpAddr, on_this_machine: bool) -> bool {
    let address = embedded(address);
    if address.is_loopback() {
        return on_this_machine;
    }
    let special = match address {
        IpAddr::V4(address) => address.octets()[0] == 0 || address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unspecified() || address.is_unicast_link_local(),
    };
    !special && !address.is_multicast() && !METADATA.contains(&address)
}

/// Returns the IPv4 address embedded in an IPv6 address that routes to it: mapped, compatible, 6to4
/// or NAT64.
fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else { return address };
    if six.is_loopback() || six.is_unspecified() {
        return address;
    }
    let parts = six.segments();
    let four = |at: usize| IpAddr::V4(Ipv4Addr::from(u32::from(parts[at]) << 16 | u32::from(parts[at + 1])));
    match parts {
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => four(6),
        [0x2002, ..] => four(1),
        _ => address,
    }
}

/// A TCP connection that is registered with the runtime only while a read or a write waits.
///
/// A registered connection wakes a thread for every packet that arrives, even while reading pauses
/// to [gather](super::Flow::gather) data. A server sends each watch event as a packet of its own,
/// and waking a thread costs several times as much as handling an event. Here packets stay in the
/// system's buffer while nobody waits for them. A read that has to wait costs two more system
/// calls.
#[derive(Debug)]
pub struct QuietStream {
    state: State,
    /// Whether a write waits for room.
    write_waits: bool,
}

#[derive(Debug)]
enum State {
    Unnoticed(StdStream),
    Noticed(TcpStream),
    /// The runtime could not register or release the socket.
    Lost,
}

/// The outcome of an attempt without waiting.
enum Tried<'a, T> {
    Done(T),
    /// The attempt has to wait; the connection is registered with the runtime from now on.
    Waits(&'a mut TcpStream),
}

impl QuietStream {
    /// Takes over a connection of the runtime.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        Ok(Self { state: State::Unnoticed(stream.into_std()?), write_waits: false })
    }

    /// Tries without the runtime, unless something waits already.
    fn try_unnoticed<T>(
        &mut self,
        mut attempt: impl FnMut(&mut StdStream) -> io::Result<T>,
    ) -> io::Result<Tried<'_, T>> {
        if let State::Unnoticed(stream) = &mut self.state {
            loop {
                match attempt(stream) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    done => return done.map(Tried::Done),
                }
            }
        }
        match std::mem::replace(&mut self.state, State::Lost) {
            State::Unnoticed(stream) => self.state = State::Noticed(TcpStream::from_std(stream)?),
            other => self.state = other,
        }
        match &mut self.state {
            State::Noticed(stream) => Ok(Tried::Waits(stream)),
            _ => Err(ErrorKind::NotConnected.into()),
        }
    }

    /// Releases the connection from the runtime, because no read waits any more.
    fn rest(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.state, State::Lost) {
            State::Noticed(stream) if !self.write_waits => self.state = State::Unnoticed(stream.into_std()?),
            other => self.state = other,
        }
        Ok(())
    }
}

impl AsyncRead for QuietStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.try_unnoticed(|stream| stream.read(buffer.initialize_unfilled()))? {
            Tried::Done(length) => buffer.advance(length),
            Tried::Waits(stream) => {
                ready!(Pin::new(stream).poll_read(context, buffer))?;
                self.rest()?;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for QuietStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    /// Passes all pieces to the system at once. A TLS handshake ends with several: a server that
    /// refuses the first one and closes would reset the connection at the next, and its reason would
    /// be lost.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.try_unnoticed(|stream| stream.write_vectored(pieces))? {
            Tried::Done(length) => Poll::Ready(Ok(length)),
            Tried::Waits(stream) => {
                let written = Pin::new(stream).poll_write_vectored(context, pieces);
                self.write_waits = written.is_pending();
                written
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does nothing: all written bytes have been passed to the system.
    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.state {
            State::Unnoticed(stream) => Poll::Ready(stream.shutdown(std::net::Shutdown::Write)),
            State::Noticed(stream) => Pin::new(stream).poll_shutdown(context),
            State::Lost => Poll::Ready(Ok(())),
        }
    }
}

/// The largest file that is read, in bytes: a bundle of all public authorities has a fifth of this
/// size.
const MAX_FILE_SIZE: u64 = 1 << 20;

/// The most names of a certificate that an error shows.
const MAX_PRESENTED: usize = 5;

/// Reads the PEM files. Servers must present a certificate for their host that is signed by the
/// authority. Errors about a key show none of its content.
pub async fn tls_connector(files: &TlsFiles) -> Result<TlsConnector, ConnectError> {
    let mut roots = RootCertStore::empty();
    let authorities = read(&files.ca, Sensitivity::Public).await?;
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(authorities.as_bytes()).filter_map(Result::ok));
    if roots.is_empty() {
        return Err(bad(&files.ca, "it holds no certificate of an authority in PEM form"));
    }
    let roots = Arc::new(roots);
    let config = ClientConfig::builder().with_root_certificates(Arc::clone(&roots));
    let config = match (&files.cert, &files.key) {
        (None, None) => config.with_no_client_auth(),
        (Some(_), None) => {
            return Err(ConnectError::BadTls("a client certificate needs its key: give --tls-key too".to_owned()));
        }
        (None, Some(_)) => {
            return Err(ConnectError::BadTls("a client key needs its certificate: give --tls-cert too".to_owned()));
        }
        (Some(cert_file), Some(key_file)) => {
            let (chain, key) = identity(cert_file, key_file).await?;
            if let Some(why) = out_of_date(&chain, roots) {
                return Err(bad(cert_file, &why));
            }
            config
                .with_client_auth_cert(chain, key)
                .map_err(|_| bad(key_file, "it does not belong to the certificate, or is not supported"))?
        }
    };
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn identity(
    cert_file: &Path,
    key_file: &Path,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), ConnectError> {
    let (cert, key) = (read(cert_file, Sensitivity::Public).await?, read(key_file, Sensitivity::Secret).await?);
    let chain: Vec<_> = CertificateDer::pem_slice_iter(cert.as_bytes()).filter_map(Result::ok).collect();
    if chain.is_empty() {
        return Err(bad(cert_file, "it holds no certificate in PEM form"));
    }
    if key.contains("ENCRYPTED PRIVATE KEY") || key.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(bad(key_file, "its key is encrypted; write it unencrypted to a file that only you can read"));
    }
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
        .map_err(|_| bad(key_file, "it holds no private key in PEM form"))?;
    Ok((chain, key))
}

/// Returns why our own certificate is not valid now; `None` when it is valid or the check is
/// impossible.
///
/// The signer does not matter here: the servers may trust authorities that we do not know. The
/// verifier checks the dates before it looks for a signer.
fn out_of_date(chain: &[CertificateDer<'_>], authorities: Arc<RootCertStore>) -> Option<String> {
    let (own, others) = chain.split_first()?;
    let verifier = WebPkiClientVerifier::builder(authorities).build().ok()?;
    match verifier.verify_client_cert(own, others, UnixTime::now()).err()? {
        Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. }) => Some(format!(
            "our own certificate expired at {}: have it renewed, and check this machine's clock",
            minute(not_after)
        )),
        Error::InvalidCertificate(CertificateError::NotValidYetContext { not_before, .. }) => {
            Some(format!("our own certificate is valid from {} only: check this machine's clock", minute(not_before)))
        }
        _ => None,
    }
}

fn minute(time: UnixTime) -> String {
    let time = i64::try_from(time.as_secs()).ok().and_then(|seconds| chrono::DateTime::from_timestamp(seconds, 0));
    time.map_or_else(|| "an unknown time".to_owned(), |time| time.format("%Y-%m-%d %H:%M UTC").to_string())
}

/// Returns what an error of a TLS connection says about the server; `None` when the error does not
/// concern TLS.
pub fn tls_fault_of(error: &io::Error, has_certificate: bool) -> Option<ServerFault> {
    Some(match error.get_ref()?.downcast_ref::<Error>()? {
        Error::InvalidCertificate(why) => certificate_fault(why),
        Error::AlertReceived(alert) => alert_fault(*alert, has_certificate),
        // The bytes are not TLS.
        Error::InvalidMessage(_) => ServerFault::WantsPlain,
        other => ServerFault::Handshake(other.to_string()),
    })
}

fn certificate_fault(why: &CertificateError) -> ServerFault {
    match why {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => ServerFault::UnknownIssuer,
        CertificateError::ExpiredContext { not_after, .. } => ServerFault::Expired(minute(*not_after)),
        CertificateError::NotValidYetContext { not_before, .. } => ServerFault::NotYetValid(minute(*not_before)),
        CertificateError::NotValidForNameContext { presented, .. } if !presented.is_empty() => ServerFault::WrongName(
            presented.iter().take(MAX_PRESENTED).map(|shown| name(shown)).collect::<Vec<_>>().join(", "),
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            ServerFault::WrongName("other names".to_owned())
        }
        other => ServerFault::Handshake(other.to_string()),
    }
}

/// Extracts a name from the output of rustls (`DnsName("zk1")`).
fn name(shown: &str) -> &str {
    shown.split('"').nth(1).unwrap_or(shown)
}

fn alert_fault(alert: AlertDescription, has_certificate: bool) -> ServerFault {
    use AlertDescription as Alert;
    match alert {
        Alert::CertificateRequired => ServerFault::WantsCertificate,
        Alert::BadCertificate
        | Alert::CertificateUnknown
        | Alert::CertificateExpired
        | Alert::CertificateRevoked
        | Alert::UnsupportedCertificate
        | Alert::UnknownCA
        | Alert::AccessDenied => {
            if has_certificate {
                ServerFault::RefusesCertificate(format!("{alert:?}"))
            } else {
                ServerFault::WantsCertificate
            }
        }
        other => ServerFault::Handshake(format!("the server's alert was {other:?}")),
    }
}

async fn read(path: &Path, guard: Sensitivity) -> Result<String, ConnectError> {
    let file = path.to_owned();
    let text = tokio::task::spawn_blocking(move || files::read_text(&file, guard, MAX_FILE_SIZE)).await;
    text.map_err(|error| bad(path, &error.to_string()))?.map_err(|why| match &why {
        FileError::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            bad(path, "it is not a text file, so not in PEM form")
        }
        _ => bad(path, &why.to_string()),
    })
}

fn bad(path: &Path, why: &str) -> ConnectError {
    ConnectError::BadTlsFile { path: path.to_owned(), why: why.to_owned() }
}
