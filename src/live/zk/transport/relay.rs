//! One connection of the client: finds a member for its session, then relays both directions.

use std::io;
use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

use super::directions::{ClientToServer, Exchange, ServerToClient};
use super::find_member::find_member;
use super::flow::Admission;
use super::pump::{Ended, Gated, pump};
use super::secret::{Proven, is_new};
use super::{Flow, TransportShared};
use crate::zk::fault::ServerFault;
use lockscope_base::wire::{ConnectRequest, ConnectResponse, LENGTH_BYTES};

/// The message shown when the library's task is gone.
const LIBRARY_ENDED: &str = "the ZooKeeper client library ended unexpectedly, which is a defect of this program and not of \
     the servers: please report it";

/// Serves one connection until either side ends it, or there is a cut.
pub(super) async fn relay(proven: Proven, shared: Arc<TransportShared>, flow: watch::Receiver<Flow>) {
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
    shared.meter.count_down(answer.len(), 0);
    let exchange = Exchange::default();
    let mut up = ClientToServer::new(shared, &exchange);
    let mut down = ServerToClient::new(shared, &exchange);
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
    pub(super) fn served(&self) {
        self.report.send_modify(|report| report.servers = None);
    }

    /// Returns whether the session can continue here.
    fn knows(&self, session: i64) -> bool {
        self.state().session.as_ref().is_some_and(|(known, _)| *known == session)
    }
}
