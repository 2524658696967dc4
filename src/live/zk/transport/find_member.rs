//! Finds a member of the ensemble that accepts the client's session.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use super::TransportShared;
use super::secret::{MAX_HANDSHAKE, is_new};
use crate::zk::fault::ServerFault;
use crate::zk::stream::Stream;
use lockscope_base::wire::{ConnectRequest, ConnectResponse, LENGTH_BYTES, PASSWORD_BYTES, Writer, frame, op};

/// The time limit for a member to accept a connection and to answer the handshake.
const MEMBER_TIMEOUT: Duration = Duration::from_secs(5);

/// A member whose attempt starts within this time is the first one: it had all the time, so its
/// silence is a fault.
const FIRST_TRY_WITHIN: Duration = Duration::from_millis(100);

/// The number of the only request of a session that nobody wants.
const CLOSE_XID: i32 = 1;

/// A member that created or resumed the session.
pub(super) struct ServingMember {
    /// The index in the connect string.
    pub(super) index: usize,
    pub(super) stream: Box<dyn Stream>,
    pub(super) answer: ConnectResponse,
}

/// Tries members until one answers the handshake. Returns `None` when none did, or when the
/// library's own timeout is over.
pub(super) async fn find_member(asked: &ConnectRequest, shared: &TransportShared) -> Option<ServingMember> {
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
