//! One connection of the client: a member is found that takes its session, and then what both say passes.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};

use super::flow::Admission;
use super::handshake::{ConnectRequest, ConnectResponse, MAX_HANDSHAKE};
use super::outstanding::Outstanding;
use super::pump::{Direction, Ended, Gated, pump};
use super::replies::Replies;
use super::requests::Requests;
use super::secret::{Proven, is_new};
use super::{Flow, TransportShared};
use crate::zk::dial::Stream;
use crate::zk::fault::ServerFault;
use crate::zk::reply_fault::ReplyFault;

/// How long one member may take to accept a connection and to answer the handshake, at most.
const MEMBER_TIMEOUT: Duration = Duration::from_secs(5);

/// What is said when the library's task is gone.
const LIBRARY_ENDED: &str = "the ZooKeeper client library ended unexpectedly, which is a defect of this program and not of \
     the servers: please report it";

/// A member that gave a session, or took one over.
struct ServingMember {
    index: usize,
    stream: Box<dyn Stream>,
    answer: ConnectResponse,
}

/// Serves one connection until either side ends it, or there is a cut.
pub(super) async fn relay(proven: Proven, shared: Arc<TransportShared>, flow: watch::Receiver<Flow>) {
    let Some(admission) = shared.gate.admit() else {
        shared.report.send_modify(|report| report.rounds += 1);
        return;
    };
    let mut cut = flow.clone();
    tokio::select! {
        () = converse(proven, &shared, flow, admission) => {}
        // The transport's end is the end of its connection too.
        _ = cut.wait_for(|_| !shared.gate.admits(admission)) => {}
    }
}

async fn converse(proven: Proven, shared: &TransportShared, mut flow: watch::Receiver<Flow>, admission: Admission) {
    if flow.wait_for(|flow| !flow.paused).await.is_err() {
        return;
    }
    let Proven { stream: mut client, request: asked } = proven;
    if !is_new(asked.session) && !shared.knows(asked.session) {
        // A session of which the servers' password is not known cannot go on.
        let _ = client.write_all(&ConnectResponse::expired().write(shared.password())).await;
        return;
    }
    let Some(member) = find(&asked, shared).await else { return };
    // Small frames shall not wait for each other.
    let _ = client.set_nodelay(true);
    let (mut from_client, to_client) = client.into_split();
    let (mut from_server, to_server) = tokio::io::split(member.stream);
    let mut to_client = Gated { to: to_client, gate: &shared.gate, admission };
    let mut to_server = Gated { to: to_server, gate: &shared.gate, admission };
    let answer = member.answer.write(shared.password());
    if to_client.write(&answer).await.is_err() {
        return;
    }
    shared.meter.count_up(ConnectRequest::FRAME, 0);
    shared.meter.count_down(answer.len(), 0);
    let exchange = Exchange::default();
    let mut up = Up { shared, exchange: &exchange, requests: Requests::default(), found: 0 };
    let mut down = Down::new(shared, &exchange);
    let treated = flow.clone();
    let end = tokio::select! {
        ended = pump(&mut from_client, &mut to_server, flow.clone(), &mut up) => match ended {
            Ok(Ended::Closed) | Err(_) => EndedBy::Client,
            Ok(Ended::Unwritable) => EndedBy::Server(Ok(())),
            Ok(Ended::Stopped) => EndedBy::Transport,
        },
        ended = pump(&mut from_server, &mut to_client, flow, &mut down) => match ended {
            Ok(Ended::Closed) => EndedBy::Server(Ok(())),
            Err(error) => EndedBy::Server(Err(error)),
            Ok(Ended::Unwritable) => EndedBy::Client,
            Ok(Ended::Stopped) => EndedBy::Transport,
        },
    };
    // Of what this side holds up or loses the server knows nothing.
    let is_plain = *treated.borrow() == Flow::default();
    if down.fault.is_none() && is_plain {
        down.fault = down.left_open(&end);
    }
    // Both sides are still open: whoever learns of the end finds the reason there.
    shared.ended(member.index, &down, &end);
}

/// Who ended a connection.
#[derive(Debug)]
enum EndedBy {
    Client,
    Server(io::Result<()>),
    Transport,
}

/// Tries members until one answers the handshake; `None` when none did, or the library has waited as long as it does.
async fn find(asked: &ConnectRequest, shared: &TransportShared) -> Option<ServingMember> {
    let began = Instant::now();
    let until = began + asked.library_timeout();
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
        let is_first = began.elapsed() < Duration::from_millis(100);
        let fault = match attempt(index, asked, shared, member_until).await {
            Ok((stream, answer)) => return Some(ServingMember { index, stream, answer }),
            Err(ServerFault::TimedOut | ServerFault::Silent) if member_until == until && !is_first => {
                // It had less time than others.
                shared.state().round.put_back(index);
                return None;
            }
            Err(fault) => fault,
        };
        let mut state = shared.state();
        state.round.fail(index, fault);
        let servers = shared.unreachable(&state);
        shared.report.send_modify(|report| report.servers = Some(servers));
    }
}

/// All members were tried in vain: those that closed the connection without a word are asked why, and it is told.
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
    let mut stream = timeout_at(until, dialer.open(member)).await.map_err(|_| ServerFault::TimedOut)??;
    let known = shared.state().session.clone().filter(|(session, _)| *session == asked.session);
    let (session, password) = match known {
        Some((session, password)) => (session, password),
        // One that this transport does not know is a new one.
        None => (0, vec![0; 16]),
    };
    let request = ConnectRequest { session, ..*asked }.write(&password);
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
    if answer.session != 0 {
        shared.state().session = Some((answer.session, answer.password.clone()));
    }
    Ok((stream, answer))
}

/// Reads the answer to a handshake and nothing behind it.
async fn read_answer(stream: &mut Box<dyn Stream>) -> io::Result<Result<ConnectResponse, ServerFault>> {
    let mut head = [0; 4];
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
    Ok(ConnectResponse::read(&frame[..length]).ok_or(ServerFault::Foreign))
}

impl TransportShared {
    /// A connection has ended.
    fn ended(&self, index: usize, down: &Down<'_>, end: &EndedBy) {
        let mut state = self.state();
        let fault = down.fault.map(ServerFault::Broken);
        let broken = fault.as_ref().map(|fault| format!("{} {fault}", self.dialer.members()[index].address()));
        let mut over = false;
        if down.served {
            // Whoever stopped answering is tried last.
            state.round.begin(Some(index));
        } else {
            let other = || match end {
                EndedBy::Server(Err(error)) => self.dialer.fault_of(error),
                EndedBy::Server(Ok(())) => ServerFault::NoSession,
                EndedBy::Client | EndedBy::Transport => ServerFault::Silent,
            };
            let fault = if down.refused { ServerFault::LoginRefused } else { fault.unwrap_or_else(other) };
            state.round.fail(index, fault);
            over = state.round.is_over();
        }
        let servers = self.unreachable(&state);
        // The library tells its state before it closes a connection.
        let failed = matches!(end, EndedBy::Client) && state.client_believes_connected();
        if failed {
            state.clients.clear();
        }
        drop(state);
        self.report.send_modify(|report| {
            report.servers = Some(servers);
            report.broken = if failed { Some(LIBRARY_ENDED.to_owned()) } else { broken };
            report.library_ended |= failed;
            report.rounds += u64::from(over);
        });
    }

    /// A request was answered: the connection is good.
    fn served(&self) {
        self.report.send_modify(|report| report.servers = None);
    }

    /// Whether a session can go on here.
    fn knows(&self, session: i64) -> bool {
        self.state().session.as_ref().is_some_and(|(known, _)| *known == session)
    }
}

/// What both directions of a connection share.
#[derive(Debug, Default)]
struct Exchange {
    outstanding: Mutex<Outstanding>,
    answered: Notify,
}

impl Exchange {
    fn outstanding(&self) -> MutexGuard<'_, Outstanding> {
        self.outstanding.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the client says.
struct Up<'a> {
    shared: &'a TransportShared,
    exchange: &'a Exchange,
    requests: Requests,
    /// Requests in what is about to pass.
    found: u64,
}

impl Direction for Up<'_> {
    const IS_DOWN: bool = false;

    fn inspect(&mut self, bytes: &[u8]) -> usize {
        self.found = self.requests.feed(bytes, &mut self.exchange.outstanding());
        bytes.len()
    }

    fn is_over(&self) -> bool {
        false
    }

    fn passed(&mut self, bytes: usize) {
        self.shared.meter.count_up(bytes, self.found);
    }

    async fn ready(&self) {
        loop {
            let answered = self.exchange.answered.notified();
            if !self.exchange.outstanding().is_full() {
                return;
            }
            answered.await;
        }
    }
}

/// What the server says.
struct Down<'a> {
    shared: &'a TransportShared,
    exchange: &'a Exchange,
    replies: Replies,
    /// Watch events in what is about to pass.
    events: u64,
    /// Whether the server has answered a request.
    served: bool,
    fault: Option<ReplyFault>,
    /// Whether it refused a login.
    refused: bool,
}

impl<'a> Down<'a> {
    fn new(shared: &'a TransportShared, exchange: &'a Exchange) -> Self {
        Self { shared, exchange, replies: Replies::new(), events: 0, served: false, fault: None, refused: false }
    }
}

impl Down<'_> {
    /// What the server did not finish when the connection ended.
    fn left_open(&self, end: &EndedBy) -> Option<ReplyFault> {
        match end {
            EndedBy::Client | EndedBy::Server(_) if self.replies.is_within() => Some(ReplyFault::Unfinished),
            EndedBy::Client if self.exchange.outstanding().is_waiting() => Some(ReplyFault::FellSilent),
            _ => None,
        }
    }
}

impl Direction for Down<'_> {
    const IS_DOWN: bool = true;

    fn inspect(&mut self, bytes: &[u8]) -> usize {
        let fed = self.replies.feed(bytes, &mut self.exchange.outstanding());
        match fed {
            Ok(seen) => {
                self.events = seen.events;
                self.refused |= seen.login_refused;
                if seen.answered && !seen.login_refused && !self.served {
                    self.served = true;
                    self.shared.served();
                }
                self.exchange.answered.notify_one();
                bytes.len()
            }
            Err(broken) => {
                self.events = 0;
                self.fault = Some(broken.fault);
                broken.whole
            }
        }
    }

    fn is_over(&self) -> bool {
        self.fault.is_some()
    }

    fn passed(&mut self, bytes: usize) {
        self.shared.meter.count_down(bytes, self.events);
    }

    async fn ready(&self) {}
}
