//! Finds out, by a short conversation on new connections, why a server closed a connection without
//! a reply.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::connect_string::ServerAddress;
use super::fault::ServerFault;

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

/// Asks a server in plain text, and checks whether it speaks TLS. Takes a few seconds at most.
pub(super) async fn why_closed(server: &ServerAddress) -> ServerFault {
    let (plain, hello) = tokio::join!(converse(server, SRVR), converse(server, CLIENT_HELLO));
    let speaks_tls = hello.as_deref().is_ok_and(is_tls);
    let plain = match plain {
        Ok(answer) => read_srvr(&answer),
        Err(fault) => fault,
    };
    match (server.tls, speaks_tls) {
        (true, true) => ServerFault::Closes,
        (false, true) => ServerFault::WantsTls,
        (true, false) if matches!(plain, ServerFault::NoSession | ServerFault::NotServing | ServerFault::ReadOnly) => {
            ServerFault::WantsPlain
        }
        _ => plain,
    }
}

/// Reads the answer to `srvr`.
pub(super) fn read_srvr(answer: &[u8]) -> ServerFault {
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
    let mut stream = connect(server).await?;
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

async fn connect(server: &ServerAddress) -> Result<TcpStream, ServerFault> {
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
        assert_eq!(found(zookeeper, true).await, ServerFault::WantsPlain);
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
