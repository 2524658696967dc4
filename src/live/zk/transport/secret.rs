//! The secret by which a transport recognizes its own process.
//!
//! A client of a transport must show a secret that only this process knows, as the password of the
//! session that it asks for. The client library can show it from its first frame on, because it can
//! be asked to resume a session.
//!
//! Such a session can only be obtained through the library itself. So the process pairs once with
//! the library: a port of its own accepts exactly one connection and gives it a session with the
//! secret as its password. When the library got that session, no one else did.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OnceCell;
use tokio::time::timeout;
use uuid::Uuid;
use zookeeper_client::{Client, SessionInfo};

use lockscope_base::wire::{
    ConnectRequest, ConnectResponse, LENGTH_BYTES, PASSWORD_BYTES, PING_XID, RequestHead, reply,
};

/// The time limit of pairing, which takes a few milliseconds on an idle machine.
const PAIRING_TIMEOUT: Duration = Duration::from_secs(10);

/// The most attempts at pairing. A stranger who connects first ends an attempt, and learns a secret
/// that is then discarded.
const MAX_PAIRING_ATTEMPTS: u32 = 5;

/// The session id that the library asks to resume when it wants a new session. No server gives out
/// this id.
const NEW_SESSION: i64 = 1;

/// The largest handshake frame, in bytes; the known ones have less than fifty.
pub(super) const MAX_HANDSHAKE: usize = 256;

/// A secret known only to this process.
#[derive(Clone)]
pub(super) struct Secret {
    bytes: [u8; PASSWORD_BYTES],
    session: SessionInfo,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// A connection of our own process, and its request.
#[derive(Debug)]
pub(super) struct Proven {
    pub(super) stream: TcpStream,
    pub(super) request: ConnectRequest,
}

static SECRET: OnceCell<Secret> = OnceCell::const_new();

impl Secret {
    /// Returns the secret of this process, created on first use.
    pub(super) async fn of_this_process() -> io::Result<&'static Self> {
        SECRET.get_or_try_init(pair).await
    }

    /// Returns the session that the library shows.
    pub(super) fn session(&self) -> SessionInfo {
        self.session.clone()
    }

    /// Returns the password that replaces the password of every session towards the library.
    pub(super) fn bytes(&self) -> &[u8; PASSWORD_BYTES] {
        &self.bytes
    }

    /// Returns whether the request shows the secret, in constant time for passwords of the same
    /// length.
    pub(super) fn was_shown(&self, asked: &ConnectRequest) -> bool {
        if asked.password.len() != self.bytes.len() {
            return false;
        }
        let differs = self.bytes.iter().zip(&asked.password).fold(0, |differs, (one, other)| differs | (one ^ other));
        std::hint::black_box(differs) == 0
    }
}

/// Returns whether the library asks for a new session.
pub(super) fn is_new(session: i64) -> bool {
    session == NEW_SESSION || session == 0
}

async fn pair() -> io::Result<Secret> {
    let mut last = io::Error::from(io::ErrorKind::PermissionDenied);
    for _ in 0..MAX_PAIRING_ATTEMPTS {
        match timeout(PAIRING_TIMEOUT, pair_once()).await {
            Ok(Ok(secret)) => return Ok(secret),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(last)
}

async fn pair_once() -> io::Result<Secret> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?.to_string();
    let bytes = Uuid::new_v4().into_bytes();
    let serving = async {
        let (stream, _) = listener.accept().await?;
        drop(listener);
        serve(stream, bytes).await
    };
    let connector = Client::connector().with_detached().with_fail_eagerly().with_session_timeout(PAIRING_TIMEOUT);
    let mut connecting = std::pin::pin!(connector.connect(&address));
    let mut serving = std::pin::pin!(serving);
    let client = tokio::select! {
        served = &mut serving => match served {
            // The other side closed, which the library would not have done: it was a stranger.
            Ok(()) => return Err(io::ErrorKind::PermissionDenied.into()),
            Err(error) => return Err(error),
        },
        client = &mut connecting => client.map_err(io::Error::other)?,
    };
    let session = client.into_session();
    // The library must close first. Otherwise it would reconnect, and show the secret to any
    // process that has the port by then.
    serving.await?;
    Ok(Secret { bytes, session })
}

/// Grants a session with the secret, and answers heartbeats until the other side closes.
async fn serve(mut stream: TcpStream, bytes: [u8; PASSWORD_BYTES]) -> io::Result<()> {
    let Some(_) = read_asked(&mut stream).await? else { return Err(io::ErrorKind::InvalidData.into()) };
    let timeout = i32::try_from(PAIRING_TIMEOUT.as_millis()).unwrap_or(i32::MAX);
    let answer = ConnectResponse { timeout, session: NEW_SESSION, password: bytes.to_vec(), read_only: Some(false) };
    stream.write_all(&answer.to_frame()).await?;
    let mut answered = Vec::new();
    reply(&mut answered, PING_XID, 0, |_| {});
    // A heartbeat consists of a header only.
    let mut heartbeat = [0; LENGTH_BYTES + RequestHead::BYTES];
    while stream.read_exact(&mut heartbeat).await.is_ok() {
        stream.write_all(&answered).await?;
    }
    Ok(())
}

/// Reads exactly the request of a client; `None` when the bytes are not a request of the client
/// library.
pub(super) async fn read_asked(stream: &mut TcpStream) -> io::Result<Option<ConnectRequest>> {
    let length = stream.read_u32().await? as usize;
    if length > MAX_HANDSHAKE {
        return Ok(None);
    }
    let mut frame = [0; MAX_HANDSHAKE];
    stream.read_exact(&mut frame[..length]).await?;
    let frame = &frame[..length];
    let asked = ConnectRequest::read(frame).ok().filter(|asked| asked.password.len() == PASSWORD_BYTES);
    // The protocol's version is 0, and no bytes follow the request.
    Ok(asked.filter(|_| frame.starts_with(&[0; 4]) && frame.len() <= ConnectRequest::BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_library_gets_the_secret_of_its_process() {
        let secret = Secret::of_this_process().await.expect("a secret");
        assert_eq!(secret.session().id().0, NEW_SESSION);
        let again = Secret::of_this_process().await.expect("the same");
        assert_eq!(again.bytes(), secret.bytes());
        let asked = |password: &[u8]| ConnectRequest {
            last_zxid: 0,
            timeout: 1,
            session: NEW_SESSION,
            password: password.to_vec(),
            read_only: None,
        };
        assert!(secret.was_shown(&asked(secret.bytes())));
        assert!(!secret.was_shown(&asked(&secret.bytes()[1..])));
        for at in 0..PASSWORD_BYTES {
            let mut other = *secret.bytes();
            other[at] ^= 1;
            assert!(!secret.was_shown(&asked(&other)));
        }
    }
}
