//! AdminServer: its address, and one command to one server over HTTP or HTTPS, bounded in time and
//! bytes.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::handshake;
use hyper::header::{ACCEPT, HOST};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::fault::ServerFault;
use super::four_letter::QuestionLimits;
use super::options::without_identity;
use super::stream;
use super::stream::{NOT_FOLLOWED, NamedBy, NotCalled, Stream, call};
use lockscope_model::server_view::admin::BadAnswer;

/// Why AdminServer gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdminError {
    /// No process listens at the address.
    #[error("nothing listens at {0}")]
    Refused(String),
    /// No answer arrived in time.
    #[error("{url} did not answer within {}", humantime::format_duration(*.within))]
    Silent {
        /// The address of the command.
        url: String,
        /// The time limit of a question.
        within: Duration,
    },
    /// The address comes only from the ensemble's config, and is one that a config must not lead
    /// to.
    #[error("{0} is not asked: {NOT_FOLLOWED}")]
    NotFollowed(String),
    /// The server answered with an HTTP status other than 200.
    #[error("{url} answered with status {status}")]
    Status {
        /// The address of the command.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// The address uses TLS, and no authority is given to check the server.
    #[error("{0} cannot be verified without an authority: name its PEM file with --tls-ca")]
    NoAuthority(String),
    /// The TLS handshake failed.
    #[error("{url} {fault}")]
    Tls {
        /// The address of the command.
        url: String,
        /// The reason of the failure.
        fault: ServerFault,
    },
    /// The server does not speak plain HTTP.
    #[error(
        "{0} does not speak plain HTTP: where AdminServer wants TLS (admin.forceHttps), write https:// in --admin-url"
    )]
    NotHttp(String),
    /// The server does not speak TLS.
    #[error(
        "{0} does not speak TLS: write http:// in --admin-url, or turn on admin.portUnification in the servers' config"
    )]
    PlainOnly(String),
    /// The answer is longer than the limit.
    #[error("{url} answered more than {most} bytes")]
    TooLong {
        /// The address of the command.
        url: String,
        /// The limit, in bytes.
        most: usize,
    },
    /// The connection or the protocol failed.
    #[error("{url} cannot be asked: {why}")]
    Io {
        /// The address of the command.
        url: String,
        /// What went wrong.
        why: String,
    },
    /// The answer does not match the question.
    #[error("{url}: {bad}")]
    Bad {
        /// The address of all commands.
        url: String,
        /// The defect of the answer.
        bad: BadAnswer,
    },
}

impl AdminError {
    /// Returns whether nothing came from the server: nobody listens, or nobody answers.
    pub(in crate::zk) fn is_silence(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Silent { .. } | Self::Io { .. })
    }
}

/// An answer of AdminServer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminReply {
    /// The answer, as JSON.
    pub bytes: Vec<u8>,
    /// The time from the question to the last byte, without one network round trip.
    pub took: Duration,
}

/// The TLS settings for questions to AdminServer.
pub(super) struct AdminTls<'a> {
    pub(super) connector: &'a TlsConnector,
    /// Whether the connector presents a client certificate.
    pub(super) has_certificate: bool,
}

/// Sends one command to one AdminServer, on a connection of its own. `tls` matters only where the
/// address starts with `https`. Cancel safe.
///
/// # Errors
///
/// Also fails when the answer reaches a limit, because half a JSON document cannot be read.
pub(super) async fn get_from(
    url: &AdminUrl,
    tls: Option<&AdminTls<'_>>,
    host: &str,
    named_by: NamedBy,
    command: &str,
    limits: QuestionLimits,
) -> Result<AdminReply, AdminError> {
    // Without a placeholder for the server's host, the address is the user's own.
    let named_by = if url.has_placeholder() { named_by } else { NamedBy::User };
    let is_secure = url.is_secure();
    let url = url.of(host, command);
    let tls = match tls {
        _ if !is_secure => None,
        Some(tls) => Some(tls),
        None => return Err(AdminError::NoAuthority(url)),
    };
    let deadline = Instant::now() + limits.within;
    match timeout_at(deadline, exchange(&url, tls, named_by, limits.bytes)).await {
        Ok(answer) => answer,
        Err(_) => Err(AdminError::Silent { url, within: limits.within }),
    }
}

async fn exchange(
    url: &str,
    tls: Option<&AdminTls<'_>>,
    named_by: NamedBy,
    most: usize,
) -> Result<AdminReply, AdminError> {
    let io = |why: String| AdminError::Io { url: url.to_owned(), why };
    let uri: Uri = url.parse().map_err(|_| io("it is not a URL".to_owned()))?;
    let host = uri.host().unwrap_or_default();
    let called = Instant::now();
    let address = format!("{host}:{}", uri.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 }));
    let stream = call(&address, named_by).await.map_err(|error| match error {
        NotCalled::NotFollowed => AdminError::NotFollowed(url.to_owned()),
        NotCalled::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            AdminError::Refused(url.to_owned())
        }
        NotCalled::Io(error) => io(error.to_string()),
    })?;
    let there_and_back = called.elapsed();
    let stream: Box<dyn Stream> = match tls {
        Some(tls) => secured(url, tls, host, stream).await?,
        None => Box::new(stream),
    };
    let asked = Instant::now();
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| io(error.to_string()))?;
    let request = Request::get(uri.path())
        .header(HOST, uri.authority().map_or_else(|| host.to_owned(), ToString::to_string))
        .header(ACCEPT, "application/json")
        .body(Empty::<Bytes>::new())
        .map_err(|error| io(error.to_string()))?;
    let no_answer = |error: hyper::Error| {
        if error.is_parse() && tls.is_none() { AdminError::NotHttp(url.to_owned()) } else { io(error.to_string()) }
    };
    let answer = async {
        let response = sender.send_request(request).await.map_err(no_answer)?;
        if response.status() != StatusCode::OK {
            return Err(AdminError::Status { url: url.to_owned(), status: response.status().as_u16() });
        }
        read(url, response.into_body(), most).await
    };
    // The answer arrives only while the connection is polled; both end with this future.
    let bytes = tokio::select! {
        bytes = answer => bytes?,
        Err(error) = connection => return Err(no_answer(error)),
    };
    Ok(AdminReply { bytes, took: asked.elapsed().saturating_sub(there_and_back) })
}

async fn secured(url: &str, tls: &AdminTls<'_>, host: &str, stream: TcpStream) -> Result<Box<dyn Stream>, AdminError> {
    let io = |why: String| AdminError::Io { url: url.to_owned(), why };
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
    let name = name.map_err(|_| io("no certificate can name its host".to_owned()))?;
    match tls.connector.connect(name, stream).await {
        Ok(stream) => Ok(Box::new(stream)),
        Err(error) => Err(match stream::tls_fault_of(&error, tls.has_certificate) {
            Some(ServerFault::WantsPlain) => AdminError::PlainOnly(url.to_owned()),
            Some(fault) => AdminError::Tls { url: url.to_owned(), fault },
            None => io(error.to_string()),
        }),
    }
}

async fn read(url: &str, mut body: Incoming, most: usize) -> Result<Vec<u8>, AdminError> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| AdminError::Io { url: url.to_owned(), why: error.to_string() })?;
        let data = frame.data_ref().map_or(&[][..], |data| data);
        if data.len() > most - bytes.len() {
            return Err(AdminError::TooLong { url: url.to_owned(), most });
        }
        bytes.extend_from_slice(data);
    }
    Ok(bytes)
}

/// The placeholder for the server's host in an address.
const HOST_PLACEHOLDER: &str = "HOST";

/// The prefix of addresses that are asked over TLS.
const HTTPS: &str = "https://";

/// Why a text is not a valid address of AdminServer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the address of AdminServer {text:?} cannot be used: {why}; write it as http://HOST:8080/commands (or https://...), where HOST stands for each server's own host"
)]
pub struct BadAdminUrl {
    text: String,
    why: &'static str,
}

/// The address of each server's AdminServer: `http://HOST:8080/commands`, or the same with `https`.
/// `HOST` stands for the host of each server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminUrl(String);

impl Default for AdminUrl {
    fn default() -> Self {
        Self("http://HOST:8080/commands".to_owned())
    }
}

impl FromStr for AdminUrl {
    type Err = BadAdminUrl;

    fn from_str(text: &str) -> Result<Self, BadAdminUrl> {
        let bad = |why| Err(BadAdminUrl { text: without_identity(text), why });
        let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix(HTTPS)).unwrap_or_default();
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return bad("it must not contain a user name");
        }
        // A host name that comes from the ensemble must not become part of a path.
        if path.contains(HOST_PLACEHOLDER) {
            return bad("HOST may stand only in place of the host");
        }
        let url = Self(text.trim_end_matches('/').to_owned());
        match url.of("localhost", "ruok").parse::<Uri>() {
            Ok(uri)
                if matches!(uri.scheme_str(), Some("http" | "https"))
                    && uri.host().is_some_and(|host| !host.is_empty()) =>
            {
                Ok(url)
            }
            Ok(_) => bad("it does not start with http:// or https:// and a host"),
            Err(_) => bad("it is not a URL"),
        }
    }
}

impl fmt::Display for AdminUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AdminUrl {
    /// Returns the base address of the commands of the server on `host`.
    pub fn at(&self, host: &str) -> String {
        if host.contains(':') {
            self.0.replace(HOST_PLACEHOLDER, &format!("[{host}]"))
        } else {
            self.0.replace(HOST_PLACEHOLDER, host)
        }
    }

    /// Returns whether the address uses TLS.
    pub fn is_secure(&self) -> bool {
        self.0.starts_with(HTTPS)
    }

    /// Returns whether the address contains the placeholder for the host.
    fn has_placeholder(&self) -> bool {
        self.0.contains(HOST_PLACEHOLDER)
    }

    /// Returns the address of one command on `host`.
    fn of(&self, host: &str, command: &str) -> String {
        format!("{}/{command}", self.at(host))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    async fn get(url: &AdminUrl, command: &str, limits: QuestionLimits) -> Result<AdminReply, AdminError> {
        get_from(url, None, "127.0.0.1", NamedBy::User, command, limits).await
    }

    /// Answers each connection with `answer`, then closes it or keeps it open.
    async fn serve(answer: &'static str, closes: bool) -> AdminUrl {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let _ = stream.read(&mut [0; 1024]).await;
                    let _ = stream.write_all(answer.as_bytes()).await;
                    if !closes {
                        std::future::pending::<()>().await;
                    }
                });
            }
        });
        format!("http://HOST:{port}/commands").parse().expect("an address")
    }

    async fn ask(answer: &'static str, closes: bool) -> Result<Vec<u8>, AdminError> {
        let url = serve(answer, closes).await;
        let limits = QuestionLimits { within: Duration::from_millis(300), bytes: 10 };
        get(&url, "dump", limits).await.map(|reply| reply.bytes)
    }

    #[tokio::test]
    async fn an_answer_is_read_up_to_its_limit() {
        let answer = ask("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789", false).await;
        assert_eq!(answer.expect("an answer"), b"0123456789");
        let error = ask("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n0123456789x", false).await.expect_err("too long");
        assert!(matches!(error, AdminError::TooLong { .. }), "{error}");
        let endless = ask("HTTP/1.1 200 OK\r\n\r\n01234567890123", false).await.expect_err("too long");
        assert!(matches!(endless, AdminError::TooLong { .. }), "{endless}");
    }

    #[tokio::test]
    async fn the_ways_of_failing_are_told_apart() {
        let status = ask("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", true).await.expect_err("refused");
        assert!(matches!(status, AdminError::Status { status: 403, .. }), "{status}");
        let silent = ask("", false).await.expect_err("silent");
        assert!(matches!(silent, AdminError::Silent { .. }), "{silent}");
        let foreign = ask("rubbish\r\n\r\n", true).await.expect_err("no HTTP");
        assert!(matches!(foreign, AdminError::NotHttp(_)), "{foreign}");
        for answer in ["", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"] {
            let error = ask(answer, true).await.expect_err("no answer");
            assert!(matches!(error, AdminError::Io { .. }), "{answer:?}: {error}");
        }
    }

    #[tokio::test]
    async fn a_server_that_wants_tls_needs_https_and_an_authority() {
        let told = ask("\u{15}\u{3}\u{3}\0\u{2}\u{2}P", true).await.expect_err("an alert of TLS").to_string();
        assert!(told.contains("does not speak plain HTTP") && told.contains("write https:// in --admin-url"), "{told}");
        let url: AdminUrl = "https://HOST:8080/commands".parse().expect("an address");
        let told = get(&url, "dump", QuestionLimits::default()).await.expect_err("no authority").to_string();
        assert!(told.starts_with("https://127.0.0.1:8080/commands/dump") && told.contains("--tls-ca"), "{told}");
    }

    #[tokio::test]
    async fn redirects_are_not_followed() {
        let elsewhere = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = elsewhere.local_addr().expect("an address");
        let body = format!("{{\"url\":\"http://{address}/\",\"leader_ip\":\"{address}\"}}");
        let answers = [
            format!("HTTP/1.1 302 Found\r\nLocation: http://{address}/\r\nContent-Length: 0\r\n\r\n"),
            format!(
                "HTTP/1.1 200 OK\r\nRefresh: 0; url=http://{address}/\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ),
        ];
        for answer in answers {
            let url = serve(answer.leak(), true).await;
            let _ = get(&url, "leader", QuestionLimits::default()).await;
        }
        let visited = tokio::time::timeout(Duration::from_millis(100), elsewhere.accept()).await;
        assert!(visited.is_err(), "somebody came");
    }

    #[test]
    fn one_address_serves_all_servers() {
        let url = AdminUrl::default();
        assert_eq!(url.of("zk1", "dump"), "http://zk1:8080/commands/dump");
        assert_eq!(url.of("::1", "dump"), "http://[::1]:8080/commands/dump");
        for text in [
            "",
            "http://a/HOST/b",
            "http://me:secret@a/b",
            "zk1",
            "https://me:secret@zk1/commands",
            "https:///x",
            "ftp://a/b",
            "http:///x",
            "http://a b/",
        ] {
            assert!(text.parse::<AdminUrl>().is_err(), "{text}");
        }
    }
}
