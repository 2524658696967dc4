//! One connection of the client: finds a member for its session, then relays both directions.
//!
//! A direction checks and counts the bytes that pass; the pump moves them from one side to the
//! other.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::flow::{Admission, Gate};
use super::handshake::{Proven, find_member, is_new};
use super::limits::{EventBudget, ReplyPace};
use super::replies::{FedReplies, OpenRequests, Outstanding, Replies};
use super::{Flow, TransportShared};
use crate::deadline::until;
use crate::zk::fault::{ReplyFault, ServerFault};
use lockscope_base::wire::{ConnectRequest, ConnectResponse, LENGTH_BYTES};

/// The message shown when the library's task is gone.
const LIBRARY_ENDED: &str = "the ZooKeeper client library ended unexpectedly, which is a defect of this program and not of \
     the servers: please report it";

/// Serves one connection until either side ends it, or there is a cut.
pub async fn relay(proven: Proven, shared: Arc<TransportShared>, flow: watch::Receiver<Flow>) {
    let Some(admission) = shared.gate.admit() else {
        shared.report.send_modify(|report| report.rounds += 1);
        return;
    };
    let mut cut = flow.clone();
    tokio::select! {
        () = converse(proven, &shared, flow, admission) => {}
        // Dropping the transport ends its connections too.
        cut = cut.wait_for(|_| !shared.gate.admits(admission)) => if cut.is_ok() {
            // A cut: no server broke this connection, even if one broke the previous.
            shared.report.send_modify(|report| report.broken = None);
        },
    }
}

async fn converse(proven: Proven, shared: &TransportShared, mut flow: watch::Receiver<Flow>, admission: Admission) {
    if flow.wait_for(|flow| !flow.paused).await.is_err() {
        return;
    }
    let Proven { stream: mut client, request: asked } = proven;
    if !is_new(asked.session) && !shared.knows(asked.session) {
        // A session whose server password is unknown cannot continue.
        let _ = client.write_all(&shared.answer(ConnectResponse::expired())).await;
        return;
    }
    let Some(member) = find_member(&asked, shared).await else { return };
    shared.serves(member.index);
    // Sends small frames without delay.
    let _ = client.set_nodelay(true);
    let (mut from_client, to_client) = client.into_split();
    let (mut from_server, to_server) = tokio::io::split(member.stream);
    let mut to_client = Gated { to: to_client, gate: &shared.gate, admission };
    let mut to_server = Gated { to: to_server, gate: &shared.gate, admission };
    let answer = shared.answer(member.answer);
    if to_client.write(&answer).await.is_err() {
        return;
    }
    shared.meter.count_up(LENGTH_BYTES + ConnectRequest::BYTES, 0);
    shared.meter.count_down(answer.len(), 0, 0);
    let exchange = Exchange::default();
    let mut up = ClientToServer::new(shared, &exchange);
    let mut down = ServerToClient::new(shared, &exchange);
    let treated = flow.clone();
    let end = tokio::select! {
        ended = pump(&mut from_client, &mut to_server, flow.clone(), &mut up) => match ended {
            Ok(RelayEnd::Closed) | Err(_) => EndedBy::Client,
            Ok(RelayEnd::Unwritable) => EndedBy::Server(Ok(())),
            Ok(RelayEnd::Stopped) => EndedBy::Transport,
        },
        ended = pump(&mut from_server, &mut to_client, flow, &mut down) => match ended {
            Ok(RelayEnd::Closed) => EndedBy::Server(Ok(())),
            Err(error) => EndedBy::Server(Err(error)),
            Ok(RelayEnd::Unwritable) => EndedBy::Client,
            Ok(RelayEnd::Stopped) => EndedBy::Transport,
        },
    };
    // Delays and losses on this side are no fault of the server.
    let treated = *treated.borrow();
    let is_plain = treated == Flow { gather: treated.gather, ..Flow::default() };
    if down.fault.is_none() && is_plain {
        down.fault = match end {
            EndedBy::Client => down.left_open(true),
            EndedBy::Server(_) => down.left_open(false),
            EndedBy::Transport => None,
        };
    }
    // Both sides are still open here, so that the reason is stored before either learns of the end.
    shared.ended(member.index, &down, &end);
}

/// The side that ended a connection.
#[derive(Debug)]
enum EndedBy {
    Client,
    Server(io::Result<()>),
    Transport,
}

impl TransportShared {
    /// Records the end of a connection.
    fn ended(&self, index: usize, down: &ServerToClient<'_>, end: &EndedBy) {
        let mut state = self.state();
        let fault = down.fault.map(ServerFault::Broken);
        let broken = fault.as_ref().map(|fault| format!("{} {fault}", self.dialer.members()[index].address()));
        let mut over = false;
        if down.served {
            // A member that stopped answering is tried last.
            state.round.begin(Some(index));
        } else {
            let other = || match end {
                EndedBy::Server(Err(error)) => self.dialer.fault_of(error),
                EndedBy::Server(Ok(())) => ServerFault::NoSession,
                EndedBy::Client | EndedBy::Transport => ServerFault::Silent,
            };
            let fault = if down.refused { ServerFault::LoginRefused } else { fault.unwrap_or_else(other) };
            state.fail(index, fault);
            over = state.round.is_over();
        }
        let servers = self.unreachable(&state);
        // The library publishes its state before it closes a connection.
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

    /// Records the serving member of a connection.
    fn serves(&self, index: usize) {
        let mut state = self.state();
        state.serving = Some(index);
        state.served.insert(index);
        drop(state);
        let member = self.dialer.members()[index].address();
        self.report.send_modify(|report| report.member = Some(member));
    }

    /// Records that a request was answered: the connection works.
    fn served(&self) {
        self.report.send_modify(|report| report.servers = None);
    }

    /// Returns whether the session can continue here.
    fn knows(&self, session: i64) -> bool {
        self.state().session.as_ref().is_some_and(|(known, _)| *known == session)
    }
}

/// The state shared by both directions of a connection.
#[derive(Debug, Default)]
struct Exchange {
    outstanding: Mutex<Outstanding>,
    asked: Notify,
    answered: Notify,
}

impl Exchange {
    fn outstanding(&self) -> MutexGuard<'_, Outstanding> {
        self.outstanding.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The direction from the client to the server.
struct ClientToServer<'a> {
    shared: &'a TransportShared,
    exchange: &'a Exchange,
    requests: OpenRequests,
    /// Requests in the bytes that are about to pass.
    found: u64,
}

impl<'a> ClientToServer<'a> {
    fn new(shared: &'a TransportShared, exchange: &'a Exchange) -> Self {
        Self { shared, exchange, requests: OpenRequests::default(), found: 0 }
    }
}

impl Direction for ClientToServer<'_> {
    const IS_DOWN: bool = false;

    fn inspect<'b>(&'b mut self, bytes: &'b [u8]) -> &'b [u8] {
        self.found = self.requests.feed(bytes, &mut self.exchange.outstanding());
        self.exchange.asked.notify_one();
        bytes
    }

    fn is_over(&self) -> bool {
        false
    }

    fn passed(&mut self, bytes: usize) {
        self.shared.meter.count_up(bytes, self.found);
    }

    async fn awaited(&self) {}

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

/// The direction from the server to the client.
struct ServerToClient<'a> {
    shared: &'a TransportShared,
    exchange: &'a Exchange,
    replies: Replies,
    /// The bytes that are about to pass.
    passing: Vec<u8>,
    /// What these bytes are.
    seen: FedReplies,
    budget: EventBudget,
    pace: ReplyPace,
    /// Whether the server has answered a request.
    served: bool,
    /// How the server broke the protocol.
    fault: Option<ReplyFault>,
    /// Whether the server refused a login.
    refused: bool,
}

impl<'a> ServerToClient<'a> {
    fn new(shared: &'a TransportShared, exchange: &'a Exchange) -> Self {
        let now = Instant::now();
        Self {
            shared,
            exchange,
            replies: Replies::default(),
            passing: Vec::new(),
            seen: FedReplies::default(),
            budget: EventBudget::new(now),
            pace: ReplyPace::new(now),
            served: false,
            fault: None,
            refused: false,
        }
    }

    /// Checks the bytes, and puts those that pass into `passing`.
    fn check(&mut self, bytes: &[u8]) -> Result<(), ReplyFault> {
        self.passing.clear();
        self.seen = FedReplies::default();
        let seen = self.replies.feed(bytes, &mut self.exchange.outstanding(), &mut self.passing)?;
        self.seen = seen;
        self.refused |= seen.login_refused;
        if seen.answered && !seen.login_refused && !self.served {
            self.served = true;
            self.shared.served();
        }
        self.exchange.answered.notify_one();
        let now = Instant::now();
        self.budget.spend(seen.cost, now);
        self.budget.drop_unwatched(seen.unwatched, now)?;
        self.pace.came(bytes.len(), seen.frames > 0, self.replies.is_within(), now)
    }
}

impl ServerToClient<'_> {
    /// Returns what the server left unfinished when the connection ended. `by_client` tells whether
    /// the client ended it.
    fn left_open(&self, by_client: bool) -> Option<ReplyFault> {
        if self.replies.is_within() {
            Some(ReplyFault::Unfinished)
        } else if by_client && self.exchange.outstanding().is_waiting() {
            Some(ReplyFault::FellSilent)
        } else {
            None
        }
    }
}

impl Direction for ServerToClient<'_> {
    const IS_DOWN: bool = true;

    fn inspect<'b>(&'b mut self, bytes: &'b [u8]) -> &'b [u8] {
        if let Err(fault) = self.check(bytes) {
            self.fault = Some(fault);
        }
        &self.passing
    }

    fn is_over(&self) -> bool {
        self.fault.is_some()
    }

    fn passed(&mut self, bytes: usize) {
        self.shared.meter.count_down(bytes, self.seen.events, self.seen.unwatched);
        self.shared.room.passed(self.seen.event_bytes);
    }

    async fn awaited(&self) {
        loop {
            let asked = self.exchange.asked.notified();
            if self.exchange.outstanding().is_waiting() {
                return;
            }
            asked.await;
        }
    }

    async fn ready(&self) {
        self.budget.ready().await;
        self.shared.room.ready().await;
    }
}

/// The first and the largest read buffer, in bytes: it grows with the traffic.
const READ_BUFFER_SIZES: (usize, usize) = (4 << 10, 64 << 10);

/// The most bytes held for a delay; reading pauses above it.
const MAX_DELAYED_BYTES: usize = 1 << 20;

/// How long the connection lives after the first dropped byte: time for the client's requests to
/// take effect.
const CUT_AFTER_LOSS_DELAY: Duration = Duration::from_millis(300);

/// How a direction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RelayEnd {
    /// The reading side closed.
    Closed,
    /// The writing side accepts no more bytes.
    Unwritable,
    /// The transport stopped it: a cut, a loss, or a fault in the bytes.
    Stopped,
}

/// One direction of a connection.
trait Direction {
    /// Checks bytes that have come. Returns those that pass.
    fn inspect<'b>(&'b mut self, bytes: &'b [u8]) -> &'b [u8];
    /// Returns whether the rest is held back for good.
    fn is_over(&self) -> bool;
    /// Records that `bytes` have passed.
    fn passed(&mut self, bytes: usize);
    /// Waits until more may be read. Cancel safe.
    fn ready(&self) -> impl Future<Output = ()> + Send;
    /// Resolves when the next bytes are awaited and must not be gathered. Cancel safe.
    fn awaited(&self) -> impl Future<Output = ()> + Send;
    /// Whether this is the direction from the server.
    const IS_DOWN: bool;
}

/// A writer to one side that works only while there is no cut.
struct Gated<'a, W> {
    to: W,
    gate: &'a Gate,
    admission: Admission,
}

impl<W: AsyncWrite + Unpin> Gated<'_, W> {
    /// Writes all bytes and passes them to the system.
    async fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let cut = || io::Error::from(io::ErrorKind::ConnectionAborted);
        while !bytes.is_empty() {
            let written = poll_fn(|context| {
                let polled = self.gate.while_open(self.admission, || Pin::new(&mut self.to).poll_write(context, bytes));
                polled.unwrap_or_else(|| Err(cut()).into())
            });
            match written.await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => bytes = &bytes[written..],
            }
        }
        let flushed = poll_fn(|context| {
            let polled = self.gate.while_open(self.admission, || Pin::new(&mut self.to).poll_flush(context));
            polled.unwrap_or_else(|| Err(cut()).into())
        });
        flushed.await
    }
}

/// Copies from one side to the other until one of them ends, there is a cut, or the direction is
/// over. The error is one of the reading side.
async fn pump<R: AsyncRead + Unpin, W: AsyncWrite + Unpin, D: Direction>(
    from: &mut R,
    to: &mut Gated<'_, W>,
    mut flow: watch::Receiver<Flow>,
    direction: &mut D,
) -> io::Result<RelayEnd> {
    let mut piece = vec![0; READ_BUFFER_SIZES.0];
    let mut kept: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut size = 0;
    let mut gathers_until = None;
    loop {
        let Flow { delay, gather, paused, cut, .. } = *flow.borrow_and_update();
        if cut {
            return Ok(RelayEnd::Stopped);
        }
        let due = kept.front().map(|(due, _)| *due);
        tokio::select! {
            biased;
            changed = flow.changed() => {
                if changed.is_err() {
                    return Ok(RelayEnd::Stopped);
                }
            }
            () = until(due), if !paused => {
                let Some((_, bytes)) = kept.pop_front() else { continue };
                size -= bytes.len();
                if let Some(ended) = pass(to, &bytes, direction).await {
                    return Ok(ended);
                }
            }
            read = read(from, &mut piece, direction, gathers_until), if !paused && size < MAX_DELAYED_BYTES => {
                let length = read?;
                if length == 0 {
                    return Ok(RelayEnd::Closed);
                }
                if D::IS_DOWN && flow.borrow().loses_replies {
                    // Reading continues, so that dropped bytes do not block the server.
                    let rest = async { while matches!(from.read(&mut piece).await, Ok(1..)) {} };
                    let _ = timeout(CUT_AFTER_LOSS_DELAY, rest).await;
                    return Ok(RelayEnd::Stopped);
                }
                if delay.is_zero() && kept.is_empty() {
                    if let Some(ended) = pass(to, &piece[..length], direction).await {
                        return Ok(ended);
                    }
                } else {
                    size += length;
                    kept.push_back((Instant::now() + delay, piece[..length].to_vec()));
                }
                let is_full = length == piece.len();
                if is_full && length < READ_BUFFER_SIZES.1 {
                    piece.resize(length * 2, 0);
                }
                // A full buffer means that more is waiting: gathering would gain nothing.
                gathers_until = (D::IS_DOWN && !is_full && !gather.is_zero()).then(|| Instant::now() + gather);
            }
        }
    }
}

/// Reads the available bytes, but not before `from_then_on` unless they are awaited.
async fn read<R: AsyncRead + Unpin, D: Direction>(
    from: &mut R,
    piece: &mut [u8],
    direction: &D,
    from_then_on: Option<Instant>,
) -> io::Result<usize> {
    if let Some(time) = from_then_on {
        tokio::select! {
            () = sleep_until(time) => {}
            () = direction.awaited() => {}
        }
    }
    direction.ready().await;
    from.read(piece).await
}

/// Passes the bytes on. Returns `None` to continue.
async fn pass<W: AsyncWrite + Unpin, D: Direction>(
    to: &mut Gated<'_, W>,
    bytes: &[u8],
    direction: &mut D,
) -> Option<RelayEnd> {
    let passing = direction.inspect(bytes);
    let length = passing.len();
    if to.write(passing).await.is_err() {
        return Some(RelayEnd::Unwritable);
    }
    direction.passed(length);
    direction.is_over().then_some(RelayEnd::Stopped)
}
