//! The two handshakes of a connection: the client shows the secret of this process, and a member of
//! the ensemble accepts the client's session.
//!
//! # The secret
//!
//! A client of a transport must show a secret that only this process knows, as the password of the
//! session that it asks for. The client library can show it from its first frame on, because it can
//! be asked to resume a session.
//!
//! Such a session can only be obtained through the library itself. So the process pairs once with
//! the library: a port of its own accepts exactly one connection and gives it a session with the
//! secret as its password. When the library got that session, no one else did.
//!
//! # The members
//!
//! Members are tried in random order, each once in a round. The faults of those tried are kept.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout, timeout_at};
use uuid::Uuid;
use zookeeper_client::{Client, SessionInfo};

use super::TransportShared;
use crate::zk::fault::ServerFault;
use crate::zk::stream::Stream;
use lockscope_base::wire::{
    ConnectRequest, ConnectResponse, LENGTH_BYTES, PASSWORD_BYTES, PING_XID, RequestHead, Writer, frame, op, reply,
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
const MAX_HANDSHAKE: usize = 256;

/// A secret known only to this process.
#[derive(Clone)]
pub struct Secret {
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
pub struct Proven {
    pub(super) stream: TcpStream,
    pub(super) request: ConnectRequest,
}

static SECRET: OnceCell<Secret> = OnceCell::const_new();

impl Secret {
    /// Returns the secret of this process, created on first use.
    pub async fn of_this_process() -> io::Result<&'static Self> {
        SECRET.get_or_try_init(pair).await
    }

    /// Returns the session that the library shows.
    pub fn session(&self) -> SessionInfo {
        self.session.clone()
    }

    /// Returns the password that replaces the password of every session towards the library.
    pub fn bytes(&self) -> &[u8; PASSWORD_BYTES] {
        &self.bytes
    }

    /// Returns whether the request shows the secret, in constant time for passwords of the same
    /// length.
    pub fn was_shown(&self, asked: &ConnectRequest) -> bool {
        if asked.password.len() != self.bytes.len() {
            return false;
        }
        let differs = self.bytes.iter().zip(&asked.password).fold(0, |differs, (one, other)| differs | (one ^ other));
        std::hint::black_box(differs) == 0
    }
}

/// Returns whether the library asks for a new session.
pub fn is_new(session: i64) -> bool {
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
pub async fn read_asked(stream: &mut TcpStream) -> io::Result<Option<ConnectRequest>> {
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

/// The members in the order in which they are tried, each once in a round.
#[derive(Debug)]
pub struct Round {
    /// The members not tried yet, the next one at the end.
    waiting: Vec<usize>,
    /// The fault of each member that was tried, by its index in the connect string.
    faults: Vec<Option<ServerFault>>,
}

impl Round {
    /// Starts the first round of `members` members.
    pub fn new(members: usize) -> Self {
        let mut round = Self { waiting: Vec::new(), faults: vec![None; members] };
        round.begin(None);
        round
    }

    /// Starts a new round in random order. If `last` is given, that member is tried last.
    pub fn begin(&mut self, last: Option<usize>) {
        self.waiting = (0..self.faults.len()).filter(|member| Some(*member) != last).collect();
        fastrand::shuffle(&mut self.waiting);
        if let Some(last) = last {
            self.waiting.insert(0, last);
        }
        self.faults.fill(None);
    }

    /// Returns the next member to try; `None` when all have been tried.
    fn next(&mut self) -> Option<usize> {
        self.waiting.pop()
    }

    /// Puts back a member that could not be tried completely: it is tried again first.
    fn put_back(&mut self, member: usize) {
        self.waiting.push(member);
    }

    /// Returns whether all members have been tried.
    pub fn is_over(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Records that the member gave no session, or none that lasted.
    pub fn fail(&mut self, member: usize, fault: ServerFault) {
        if let Some(known) = self.faults.get_mut(member) {
            *known = Some(fault);
        }
    }

    /// Returns the faults of the members tried, by their index in the connect string.
    pub fn faults(&self) -> impl Iterator<Item = (usize, &ServerFault)> {
        self.faults.iter().enumerate().filter_map(|(member, fault)| Some((member, fault.as_ref()?)))
    }
}

/// The time limit for a member to accept a connection and to answer the handshake.
const MEMBER_TIMEOUT: Duration = Duration::from_secs(5);

/// A member whose attempt starts within this time is the first one: it had all the time, so its
/// silence is a fault.
const FIRST_TRY_WITHIN: Duration = Duration::from_millis(100);

/// The number of the only request of a session that nobody wants.
const CLOSE_XID: i32 = 1;

/// A member that created or resumed the session.
pub struct ServingMember {
    /// The index in the connect string.
    pub(super) index: usize,
    pub(super) stream: Box<dyn Stream>,
    pub(super) answer: ConnectResponse,
}

/// Tries members until one answers the handshake. Returns `None` when none did, or when the
/// library's own timeout is over.
pub async fn find_member(asked: &ConnectRequest, shared: &TransportShared) -> Option<ServingMember> {
    let began = Instant::now();
    let until = began + library_timeout(asked);
    {
        let mut state = shared.state();
        if state.round.is_over() {
            state.round.begin(None);
        }
    }
    loop {
        let Some(index) = shared.state().round.next() else {
            exhausted(shared).await;
            return None;
        };
        let member_until = (Instant::now() + MEMBER_TIMEOUT).min(until);
        let is_first = began.elapsed() < FIRST_TRY_WITHIN;
        let fault = match attempt(index, asked, shared, member_until).await {
            Ok((stream, answer)) => return Some(ServingMember { index, stream, answer }),
            Err(ServerFault::TimedOut | ServerFault::Silent) if member_until == until && !is_first => {
                // This member had less time than the others.
                shared.state().round.put_back(index);
                return None;
            }
            Err(fault) => fault,
        };
        let mut state = shared.state();
        state.fail(index, fault);
        let servers = shared.unreachable(&state);
        shared.report.send_modify(|report| report.servers = Some(servers));
    }
}

/// Returns how long the client library waits for an answer: two fifths of the session timeout.
fn library_timeout(asked: &ConnectRequest) -> Duration {
    Duration::from_millis(u64::try_from(asked.timeout).unwrap_or_default()) * 2 / 5
}

/// Handles a round without success: asks the members that closed the connection without a reply
/// why, and reports the faults.
async fn exhausted(shared: &TransportShared) {
    let closed: Vec<(usize, ServerFault)> = {
        let state = shared.state();
        let unclear = |fault: &ServerFault| matches!(fault, ServerFault::Closes | ServerFault::Handshake(_));
        state.round.faults().filter(|(_, fault)| unclear(fault)).map(|(index, fault)| (index, fault.clone())).collect()
    };
    let members = shared.dialer.members();
    let asked = closed.iter().map(|(index, fault)| shared.dialer.why_closed(&members[*index], fault));
    let reasons = futures::future::join_all(asked).await;
    let mut state = shared.state();
    for ((index, _), fault) in closed.into_iter().zip(reasons) {
        state.round.fail(index, fault);
    }
    let servers = shared.unreachable(&state);
    shared.report.send_modify(|report| {
        report.servers = Some(servers);
        report.rounds += 1;
    });
}

/// Asks one member for the session.
async fn attempt(
    index: usize,
    asked: &ConnectRequest,
    shared: &TransportShared,
    until: Instant,
) -> Result<(Box<dyn Stream>, ConnectResponse), ServerFault> {
    let (dialer, member) = (&shared.dialer, &shared.dialer.members()[index]);
    // The login comes before the session: without a ticket, a server would keep an unused session
    // for a while.
    let login = dialer.begin_login(member, until).await?;
    let mut stream = timeout_at(until, dialer.open(member)).await.map_err(|_| ServerFault::TimedOut)??;
    let known = shared.state().session.clone().filter(|(session, _)| *session == asked.session);
    let (session, password) = match known {
        Some((session, password)) => (session, password),
        // A session unknown to this transport is requested as a new one.
        None => (0, vec![0; PASSWORD_BYTES]),
    };
    let request = ConnectRequest { session, password, ..asked.clone() }.to_frame();
    let handshake = async {
        stream.write_all(&request).await?;
        stream.flush().await?;
        read_answer(&mut stream).await
    };
    let first = timeout_at(until, handshake).await.map_err(|_| ServerFault::Silent)?;
    let answer = first.map_err(|error| dialer.fault_of(&error))??;
    if answer.read_only == Some(true) {
        return Err(ServerFault::ReadOnly);
    }
    if answer.session == 0 && is_new(asked.session) {
        return Err(ServerFault::NoSession);
    }
    if session != 0 && answer.session != 0 && answer.session != session {
        // Keeper gives a new session in place of one that has ended. The library would go on with
        // it under the id of the old one, so it learns of the end instead.
        close(&mut stream, until).await;
        return Ok((Box::new(tokio::io::empty()), ConnectResponse::expired()));
    }
    if let Some(login) = login.filter(|_| answer.session != 0) {
        login.finish(&mut stream, until).await?;
    }
    if answer.session != 0 {
        shared.state().session = Some((answer.session, answer.password.clone()));
    }
    Ok((stream, answer))
}

/// Closes a session that nobody wants, so that it does not stay until it expires. If that fails, it
/// expires.
async fn close(stream: &mut Box<dyn Stream>, until: Instant) {
    let mut request = Vec::new();
    frame(&mut request, |out| {
        out.put_int(CLOSE_XID);
        out.put_int(op::CLOSE_SESSION);
    });
    let closing = async {
        stream.write_all(&request).await?;
        stream.flush().await?;
        // The reply comes after the end of the session.
        stream.read_u8().await
    };
    let _ = timeout_at(until, closing).await;
}

/// Reads exactly the answer to a handshake.
async fn read_answer(stream: &mut Box<dyn Stream>) -> io::Result<Result<ConnectResponse, ServerFault>> {
    let mut head = [0; LENGTH_BYTES];
    stream.read_exact(&mut head).await?;
    let length = u32::from_be_bytes(head) as usize;
    if matches!(head, [0x15 | 0x16, 0x03, ..]) {
        return Ok(Err(ServerFault::WantsTls));
    }
    if length > MAX_HANDSHAKE {
        return Ok(Err(ServerFault::Foreign));
    }
    let mut frame = [0; MAX_HANDSHAKE];
    stream.read_exact(&mut frame[..length]).await?;
    Ok(ConnectResponse::read(&frame[..length]).map_err(|_| ServerFault::Foreign))
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

    #[test]
    fn each_member_is_tried_once_and_the_last_one_last() {
        let mut round = Round::new(3);
        round.begin(Some(1));
        let mut tried: Vec<usize> = std::iter::from_fn(|| round.next()).collect();
        assert_eq!(tried[2], 1);
        tried.sort_unstable();
        assert_eq!(tried, [0, 1, 2]);
        assert!(round.is_over());
        round.put_back(2);
        assert_eq!((round.next(), round.next()), (Some(2), None));
    }

    #[test]
    fn faults_are_kept_until_the_next_round() {
        let mut round = Round::new(2);
        round.fail(1, ServerFault::Refused);
        assert_eq!(round.faults().collect::<Vec<_>>(), [(1, &ServerFault::Refused)]);
        round.begin(None);
        assert_eq!(round.faults().count(), 0);
    }
}
