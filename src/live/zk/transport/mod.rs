//! The transport between the client library and the servers. All sessions of this program go
//! through one.
//!
//! A [`Transport`] is a loopback port that serves one client of this process, one connection at a
//! time. The library connects to it in plain text, and shows a secret that only this process knows.
//! The transport connects to a member of the ensemble, over TLS where wanted, and so knows the
//! cause of every failure ([`TransportReport`], `handshake`).
//!
//! It checks the bytes of the servers before the library sees them (`replies`), drops events of nodes
//! that the library does not watch (`watched`), takes no more events than can be handled (`limits`),
//! counts the traffic, and can delay, pause, drop and cut it (`flow`, `relay`).
//!
//! Architecture invariant: nothing that a server or a stranger sends is kept beyond a stated bound,
//! and nothing reaches a server before the client has shown the secret.

mod body;
mod flow;
mod handshake;
mod limits;
mod relay;
mod replies;
mod watched;

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::AbortOnDropHandle;
use zookeeper_client::{SessionInfo, SessionState, StateWatcher};

use self::flow::{FlowMeter, Gate};
use super::dial::Dialer;
use super::fault::{ServerFault, Unreachable};
use flow::LastHeard;
use handshake::{Proven, Round, Secret, read_asked};
use limits::EventRoom;
use lockscope_base::wire::ConnectResponse;

pub use self::flow::{Flow, Passed};
pub use self::limits::EventConsumer;

#[cfg(test)]
mod tests;

/// The connection of one client to the servers. Dropping it cuts the connections. The port stays
/// taken until the client's session is over, so that no other process can take the port and receive
/// the secret from the library.
#[derive(Debug)]
pub struct Transport {
    address: SocketAddr,
    secret: &'static Secret,
    shared: Arc<TransportShared>,
    flow: watch::Sender<Flow>,
    _end: DropGuard,
}

/// The state shared by the tasks of a transport.
#[derive(Debug)]
struct TransportShared {
    dialer: Arc<Dialer>,
    secret: &'static Secret,
    gate: Gate,
    meter: FlowMeter,
    room: Arc<EventRoom>,
    state: Mutex<TransportState>,
    report: watch::Sender<TransportReport>,
    /// Signals that another member is wanted ([`TransportStatus::want_another_member`]).
    leave: Arc<Notify>,
}

/// State kept across connections.
#[derive(Debug)]
struct TransportState {
    round: Round,
    /// The index of the last serving member in the connect string.
    serving: Option<usize>,
    /// The indexes of all members that have served.
    served: BTreeSet<usize>,
    /// The session at the servers and its password, which the library does not know.
    session: Option<(i64, Vec<u8>)>,
    /// The clients that have had a session here.
    clients: Vec<StateWatcher>,
}

impl Transport {
    /// Starts a transport to the servers of `dialer`. Fails when there are no sockets left.
    pub async fn start(dialer: Arc<Dialer>, flow: Flow) -> io::Result<Self> {
        let secret = Secret::of_this_process().await?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let round = Round::new(dialer.members().len());
        let state =
            TransportState { round, serving: None, served: BTreeSet::new(), session: None, clients: Vec::new() };
        let shared = Arc::new(TransportShared {
            dialer,
            secret,
            gate: Gate::default(),
            meter: FlowMeter::default(),
            room: Arc::default(),
            state: Mutex::new(state),
            report: watch::Sender::new(TransportReport::default()),
            leave: Arc::default(),
        });
        let (flow, seen) = watch::channel(flow);
        let end = CancellationToken::new();
        tokio::spawn(serve_port(listener, Arc::clone(&shared), seen, end.clone()));
        Ok(Self { address, secret, shared, flow, _end: end.drop_guard() })
    }

    /// Returns the address for the client to connect to.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the session with which the client must begin: it carries the secret.
    pub(super) fn session(&self) -> SessionInfo {
        self.secret.session()
    }

    /// Returns the chroot of the connect string; empty when there is none.
    pub(super) fn chroot(&self) -> String {
        self.shared.dialer.chroot().map(ToString::to_string).unwrap_or_default()
    }

    /// Keeps the port until this client's session is over, even when the transport is dropped.
    pub(super) fn serves(&self, states: StateWatcher) {
        let mut state = self.shared.state();
        state.clients.retain(|client| !client.peek_state().is_terminated());
        state.clients.push(states);
    }

    /// Returns how the transport treats the traffic.
    pub fn flow(&self) -> Flow {
        *self.flow.borrow()
    }

    /// Changes how the transport treats the traffic from now on, including bytes under way. After a
    /// cut not one more byte passes on the old connection, in either direction.
    pub fn change(&self, change: impl FnOnce(&mut Flow)) {
        self.flow.send_modify(|flow| {
            change(flow);
            self.shared.gate.set(flow.cut);
        });
    }

    /// Returns the traffic so far.
    pub fn passed(&self) -> Passed {
        self.shared.meter.passed()
    }

    /// Returns what the transport knows about the servers.
    pub fn status(&self) -> TransportStatus {
        let has_others = self.shared.dialer.members().len() > 1;
        let leave = Arc::clone(&self.shared.leave);
        let room = Arc::clone(&self.shared.room);
        TransportStatus::new(self.shared.report.subscribe(), self.shared.meter.heard(), room, leave, has_others)
    }

    /// Cuts the connection each time another member is wanted. The client's next connection tries
    /// all other members before this one.
    pub(super) async fn leave_members(&self) {
        loop {
            self.shared.leave.notified().await;
            let mut state = self.shared.state();
            let serving = state.serving;
            state.round.begin(serving);
            drop(state);
            self.change(|flow| flow.cut = true);
            self.change(|flow| flow.cut = false);
        }
    }
}

impl TransportState {
    /// Records the fault of a member. One that has served is a ZooKeeper server, so its silence says
    /// something else than that of a stranger.
    fn fail(&mut self, index: usize, fault: ServerFault) {
        let hangs = fault == ServerFault::Silent && self.served.contains(&index);
        self.round.fail(index, if hangs { ServerFault::Hangs } else { fault });
    }

    /// Returns whether the last client reports that it is connected.
    fn client_believes_connected(&self) -> bool {
        self.clients.last().is_some_and(|client| client.peek_state() == SessionState::SyncConnected)
    }
}

impl TransportShared {
    fn state(&self) -> MutexGuard<'_, TransportState> {
        // No code panics halfway under the lock, so a poisoned state is still consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a server's answer for the library, with the secret in place of the server's
    /// password.
    fn answer(&self, mut answer: ConnectResponse) -> Vec<u8> {
        answer.password = self.secret.bytes().to_vec();
        answer.to_frame()
    }

    /// Returns the faults of the members tried so far.
    fn unreachable(&self, state: &TransportState) -> Unreachable {
        let members = self.dialer.members();
        let named = |(member, fault): (usize, &ServerFault)| (members[member].address(), fault.clone());
        Unreachable { servers: state.round.faults().map(named).collect() }
    }
}

/// The state published by a transport.
#[derive(Clone, Debug, Default)]
pub struct TransportReport {
    /// How many rounds, in which each member was tried once, ended without a lasting session.
    rounds: u64,
    /// The faults of the members tried since the last connection.
    servers: Option<Unreachable>,
    /// A sentence that says why the previous connection ended, when a server broke the protocol or
    /// the library failed.
    broken: Option<String>,
    /// Whether the library's own task has ended unexpectedly.
    library_ended: bool,
    /// The member that gave the last connection, as the connect string names it.
    member: Option<String>,
}

/// A view of a transport's report.
#[derive(Clone, Debug)]
pub struct TransportStatus {
    report: watch::Receiver<TransportReport>,
    heard: Arc<LastHeard>,
    room: Arc<EventRoom>,
    leave: Arc<Notify>,
    has_others: bool,
}

impl TransportStatus {
    fn new(
        report: watch::Receiver<TransportReport>,
        heard: Arc<LastHeard>,
        room: Arc<EventRoom>,
        leave: Arc<Notify>,
        has_others: bool,
    ) -> Self {
        Self { report, heard, room, leave, has_others }
    }

    /// Returns the status of a session without a transport. It never reports anything.
    pub(crate) fn of_no_transport() -> Self {
        let (_, report) = watch::channel(TransportReport::default());
        Self::new(report, Arc::default(), Arc::default(), Arc::default(), false)
    }

    /// Returns the member that gave the last connection, as the connect string names it.
    pub fn member(&self) -> Option<String> {
        self.report.borrow().member.clone()
    }

    /// Announces a consumer of the session's events, for which only a bounded number of them waits.
    pub fn consume_events(&self) -> EventConsumer {
        EventConsumer::new(Arc::clone(&self.room))
    }

    /// Returns whether the connect string names more than one member.
    pub fn has_other_members(&self) -> bool {
        self.has_others
    }

    /// Ends the connection soon, so that the client makes a new one: to any other member, if one
    /// accepts it.
    pub fn want_another_member(&self) {
        self.leave.notify_one();
    }

    /// Returns how long ago a byte from a server last passed, including answers to heartbeats;
    /// `None` when none has.
    pub fn last_heard(&self) -> Option<Duration> {
        self.heard.ago()
    }

    /// Returns how many rounds of trying all members have failed.
    pub fn rounds(&self) -> u64 {
        self.report.borrow().rounds
    }

    /// Waits until more than `rounds` rounds have failed, and returns the fault of each member.
    /// Waits forever once the transport has ended. Cancel safe.
    pub async fn exhausted(&mut self, rounds: u64) -> Unreachable {
        if self.report.wait_for(|report| report.rounds > rounds).await.is_err() {
            std::future::pending::<()>().await;
        }
        self.report.borrow().servers.clone().unwrap_or_default()
    }

    /// Returns the faults of the members tried since the last connection; `None` when none has been
    /// tried.
    pub fn servers(&self) -> Option<Unreachable> {
        self.report.borrow().servers.clone().filter(|found| !found.servers.is_empty())
    }

    /// Returns the faults like [`servers`](Self::servers). When no server has failed, the one that gave
    /// the last connection did not answer on it.
    pub(super) fn faults_so_far(&self) -> Unreachable {
        let unanswering = || self.member().map(|member| (member, ServerFault::Unanswering)).into_iter().collect();
        self.servers().unwrap_or_else(|| Unreachable { servers: unanswering() })
    }

    /// Returns a sentence that says how the server or the client library broke the last ended
    /// connection; `None` when it was closed or cut in the ordinary way.
    pub fn broken(&self) -> Option<String> {
        self.report.borrow().broken.clone()
    }

    /// Returns whether the library's own task has ended unexpectedly. Its client never learns of
    /// anything any more.
    pub fn library_ended(&self) -> bool {
        self.report.borrow().library_ended
    }

    /// Waits until the library's task has ended; forever once the transport has ended. Cancel safe.
    pub(super) async fn until_library_ended(&mut self) {
        if self.report.wait_for(|report| report.library_ended).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// The time limit for a connection to show the secret. The library shows it at once.
const PROOF_TIMEOUT: Duration = Duration::from_secs(5);

/// The most connections that have not shown the secret yet. One more closes the oldest.
const MAX_UNPROVEN: usize = 16;

/// The pause after a connection could not be accepted, for example for lack of a socket.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// How long the previous connection may take to notice its end and report the reason, once the
/// library has made a new one.
const PREVIOUS_RELAY_GRACE: Duration = Duration::from_millis(50);

/// How often to check whether the sessions of the clients are over.
const SESSION_END_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Serves until `end` is cancelled, and then keeps the port until no client can come back to it.
async fn serve_port(
    listener: TcpListener,
    shared: Arc<TransportShared>,
    flow: watch::Receiver<Flow>,
    end: CancellationToken,
) {
    end.run_until_cancelled(relay_each(&listener, &shared, &flow)).await;
    let over = async {
        while shared.state().clients.iter().any(|client| !client.peek_state().is_terminated()) {
            sleep(SESSION_END_CHECK_INTERVAL).await;
        }
    };
    tokio::select! {
        () = over => {}
        () = refuse_each(&listener) => {}
    }
}

async fn relay_each(listener: &TcpListener, shared: &Arc<TransportShared>, flow: &watch::Receiver<Flow>) {
    let mut unproven = Unproven::default();
    // Dropping the handle ends the connection.
    let mut current: Option<AbortOnDropHandle<()>> = None;
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => unproven.add(stream, Arc::clone(shared)),
                Err(_) => sleep(ACCEPT_RETRY_DELAY).await,
            },
            proven = unproven.proven() => {
                // The library makes a new connection after it has given up the previous one.
                if let Some(before) = current.take() {
                    let _ = timeout(PREVIOUS_RELAY_GRACE, before).await;
                }
                let task = tokio::spawn(relay::relay(proven, Arc::clone(shared), flow.clone()));
                current = Some(AbortOnDropHandle::new(task));
            }
        }
    }
}

async fn refuse_each(listener: &TcpListener) {
    loop {
        if listener.accept().await.is_err() {
            sleep(ACCEPT_RETRY_DELAY).await;
        }
    }
}

/// Connections that have not shown the secret.
#[derive(Default)]
struct Unproven {
    tasks: JoinSet<Option<Proven>>,
    /// The handles of the connections, oldest first.
    handles: VecDeque<AbortHandle>,
}

impl Unproven {
    fn add(&mut self, stream: TcpStream, shared: Arc<TransportShared>) {
        self.handles.retain(|task| !task.is_finished());
        if self.handles.len() >= MAX_UNPROVEN
            && let Some(oldest) = self.handles.pop_front()
        {
            oldest.abort();
        }
        self.handles.push_back(self.tasks.spawn(prove(stream, shared)));
    }

    /// Waits for the next connection that has shown the secret. Cancel safe.
    async fn proven(&mut self) -> Proven {
        loop {
            match self.tasks.join_next().await {
                Some(Ok(Some(proven))) => return proven,
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }
}

async fn prove(mut stream: TcpStream, shared: Arc<TransportShared>) -> Option<Proven> {
    let asked = timeout(PROOF_TIMEOUT, read_asked(&mut stream)).await.ok()?.ok()??;
    shared.secret.was_shown(&asked).then_some(Proven { stream, request: asked })
}
