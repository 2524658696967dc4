//! The transport between the client library and the servers. All sessions of this program go
//! through one.
//!
//! A [`Transport`] is a loopback port that serves one client of this process ([`secret`]). The
//! library connects to it in plain text. The transport connects to a member of the ensemble, over
//! TLS where wanted, and so knows the cause of every failure ([`round`], [`Report`]).
//!
//! It checks the bytes of the servers before the library sees them ([`replies`]), counts the
//! traffic, and can delay, pause, drop and cut it ([`flow`]).
//!
//! Architecture invariant: nothing that a server or a stranger sends is kept beyond a stated bound,
//! and nothing reaches a server before the client has shown the secret.

mod accept;
mod body;
mod directions;
mod find_member;
mod flow;
mod outstanding;
mod pump;
mod relay;
mod replies;
mod report;
mod requests;
mod round;
mod secret;
mod steps;
mod utf8;

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use zookeeper_client::{SessionInfo, SessionState, StateWatcher};

pub use self::flow::{Flow, Passed};
use self::flow::{FlowMeter, Gate};
pub use self::report::{TransportReport, TransportStatus};
use self::round::Round;
use self::secret::Secret;
use super::dial::Dialer;
use super::fault::{ServerFault, Unreachable};
use lockscope_base::wire::ConnectResponse;

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
            state: Mutex::new(state),
            report: watch::Sender::new(TransportReport::default()),
            leave: Arc::default(),
        });
        let (flow, seen) = watch::channel(flow);
        let end = CancellationToken::new();
        tokio::spawn(accept::serve(listener, Arc::clone(&shared), seen, end.clone()));
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
        TransportStatus::new(self.shared.report.subscribe(), self.shared.meter.heard(), leave, has_others)
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

#[cfg(test)]
mod tests;
