//! The clients of a fleet, and the commands to them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::client::{ClientHandle, ClientRecorder, FleetShared, TestClient};
use super::client_stats::{ClientProcess, ClientStats};
use super::status::{Link, Passed, state_of};
use super::{
    ClientId, ClientState, ClientStatus, FleetCommand, FleetTotals, MAX_CLIENTS, NextStep, Overlap, ResourceStatus,
    TraceEntry, WokenTurn,
};
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_live::zk::{Dialer, Flow};
use lockscope_lock::CostCounter;

/// The clients of a fleet, except those that have left.
#[derive(Debug)]
pub struct Roster {
    fleet: Arc<FleetShared>,
    dialer: Arc<Dialer>,
    handles: BTreeMap<ClientId, Arc<ClientHandle>>,
    tasks: JoinSet<ClientId>,
    last_id: u32,
    /// The traffic of clients that have left.
    passed_by_left: Passed,
    sessions: HashSet<SessionId>,
}

/// The clients' part of a status, all of one time.
#[derive(Debug, Default)]
pub struct RosterStatus {
    pub(super) clients: Vec<ClientStatus>,
    pub(super) totals: FleetTotals,
    pub(super) overlaps: Vec<Overlap>,
    pub(super) stepped: bool,
    pub(super) next_step: Option<(ClientId, NextStep)>,
    pub(super) trace: Arc<[TraceEntry]>,
    pub(super) trace_missed: u64,
    pub(super) turn: Option<Arc<WokenTurn>>,
    pub(super) resource: ResourceStatus,
}

impl Roster {
    pub fn new(fleet: Arc<FleetShared>, dialer: Arc<Dialer>) -> Self {
        Self {
            fleet,
            dialer,
            handles: BTreeMap::new(),
            tasks: JoinSet::new(),
            last_id: 0,
            passed_by_left: Passed::default(),
            sessions: HashSet::new(),
        }
    }

    /// Adds clients, up to [`MAX_CLIENTS`]. Fails if no sockets are left.
    pub async fn join(&mut self, clients: u32) -> std::io::Result<()> {
        let present = u32::try_from(self.handles.len()).unwrap_or(MAX_CLIENTS);
        for _ in 0..clients.min(MAX_CLIENTS.saturating_sub(present)) {
            let flow = Flow { delay: self.fleet.scenario.link_delay, ..Flow::default() };
            let link = Link::start(Arc::clone(&self.dialer), flow).await?;
            self.last_id += 1;
            let id = ClientId(self.last_id);
            let handle = Arc::new(ClientHandle {
                id,
                link,
                probe: CostCounter::recorded_by(Arc::new(ClientRecorder {
                    fleet: Arc::clone(&self.fleet),
                    client: id,
                })),
                connect_requests: 0.into(),
                frozen: watch::Sender::new(false),
                killed: CancellationToken::new(),
                leaves: CancellationToken::new(),
            });
            self.fleet.tally().joins(id, self.fleet.now());
            let client = TestClient::new(Arc::clone(&self.fleet), Arc::clone(&handle));
            self.handles.insert(id, handle);
            self.tasks.spawn(async move {
                client.run().await;
                id
            });
        }
        Ok(())
    }

    /// Runs a command for a client; does nothing if the client does not exist. [`join`](Self::join)
    /// adds clients.
    pub fn command(&mut self, command: FleetCommand) {
        match command {
            FleetCommand::Hold(held) => return self.hold(held),
            FleetCommand::Step => return self.fleet.tally().step(),
            _ => {}
        }
        let (FleetCommand::Leave(id)
        | FleetCommand::Crash(id)
        | FleetCommand::Freeze(id)
        | FleetCommand::Thaw(id)
        | FleetCommand::Cut(id)
        | FleetCommand::Heal(id)
        | FleetCommand::Delay(id, _)) = command
        else {
            return;
        };
        let Some(handle) = self.handles.get(&id) else { return };
        let is_dead = handle.killed.is_cancelled();
        match command {
            FleetCommand::Leave(_) if self.tasks.is_empty() || self.is_over(id) => self.forget(id),
            FleetCommand::Leave(_) => self.let_leave(handle),
            _ if is_dead => {}
            FleetCommand::Crash(_) => {
                // The link is cut first: the client's release must not reach the servers.
                handle.link.change(|flow| flow.cut = true);
                handle.killed.cancel();
                self.fleet.tally().crashes(id, self.fleet.now());
            }
            FleetCommand::Freeze(_) => {
                self.fleet.tally().freezes(id, self.fleet.now());
                handle.frozen.send_replace(true);
                handle.link.change(|flow| flow.paused = true);
            }
            FleetCommand::Thaw(_) => {
                self.fleet.tally().thaws(id, self.fleet.now());
                handle.link.change(|flow| flow.paused = false);
                handle.frozen.send_replace(false);
            }
            FleetCommand::Cut(_) => handle.link.change(|flow| flow.cut = true),
            FleetCommand::Heal(_) => handle.link.change(|flow| flow.cut = false),
            FleetCommand::Delay(_, delay) => handle.link.change(|flow| flow.delay = delay),
            FleetCommand::Join(_) | FleetCommand::Hold(_) | FleetCommand::Step => {}
        }
    }

    /// Makes all clients wait for steps, or lets all go on.
    fn hold(&self, held: bool) {
        let mut tally = self.fleet.tally();
        tally.steps.hold(held);
        tally.trace.keep(held);
        self.fleet.stepped.send_replace(held);
    }

    /// Makes a client leave, over a working link, so that it can close its session.
    fn let_leave(&self, handle: &ClientHandle) {
        {
            let mut tally = self.fleet.tally();
            tally.steps.forget(handle.id);
            tally.thaws(handle.id, self.fleet.now());
        }
        handle.link.change(|flow| (flow.cut, flow.paused) = (false, false));
        handle.leaves.cancel();
        handle.frozen.send_replace(false);
    }

    /// Returns whether this client's task has ended on its own.
    fn is_over(&self, id: ClientId) -> bool {
        self.fleet.tally().clients_mut().any(|(client, figures)| client == id && figures.state.is_over())
    }

    /// Waits until a client has ended; for ever if none is left. Cancel safe.
    pub async fn ended(&mut self) {
        let Some(ended) = self.tasks.join_next().await else { return std::future::pending().await };
        // A client that panicked stays on the list with its last state.
        let Ok(id) = ended else { return };
        if self.handles.get(&id).is_some_and(|handle| handle.leaves.is_cancelled()) {
            self.forget(id);
        }
    }

    /// Makes all clients leave, and waits for them for at most `within`.
    pub async fn leave_all(&mut self, within: Duration) {
        self.note_sessions();
        self.handles.values().for_each(|handle| self.let_leave(handle));
        let all = async { while self.tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(within, all).await;
        self.tasks.abort_all();
    }

    /// Removes a client from the list.
    fn forget(&mut self, id: ClientId) {
        self.note_sessions();
        if let Some(handle) = self.handles.remove(&id) {
            self.passed_by_left += passed(&handle);
        }
        self.fleet.tally().leaves(id);
    }

    /// Returns the sessions that the clients have had.
    pub fn sessions(&self) -> &HashSet<SessionId> {
        &self.sessions
    }

    /// Returns the clients' nodes that are not known to be gone, in order.
    pub fn nodes(&self) -> Vec<ZnodePath> {
        let nodes: BTreeSet<ZnodePath> = self.handles.values().flat_map(|handle| handle.probe.nodes()).collect();
        nodes.into_iter().collect()
    }

    /// Returns the traffic of all clients, including those that have left.
    fn passed(&self) -> Passed {
        let mut sum = self.passed_by_left;
        self.handles.values().for_each(|handle| sum += passed(handle));
        sum
    }

    /// Returns the figures of all clients, including those that have left.
    pub fn totals(&self) -> FleetTotals {
        let passed = self.passed();
        self.fleet.tally().totals(passed)
    }

    fn note_sessions(&mut self) {
        self.sessions.extend(self.fleet.tally().clients_mut().filter_map(|(_, stats)| stats.session));
    }

    /// Returns the status of all clients, and the trace since the last call.
    pub fn status(&mut self) -> RosterStatus {
        let passed = self.passed();
        let mut tally = self.fleet.tally();
        let mut clients = Vec::with_capacity(self.handles.len());
        for (id, stats) in tally.clients_mut() {
            let Some(handle) = self.handles.get(&id) else { continue };
            self.sessions.extend(stats.session);
            clients.push(client_status(handle, stats));
        }
        let (trace, trace_missed) = tally.trace.take();
        RosterStatus {
            clients,
            totals: tally.totals(passed),
            overlaps: tally.overlaps(),
            stepped: tally.steps.is_held(),
            next_step: tally.next_step(),
            trace,
            trace_missed,
            turn: tally.turns.last(),
            resource: tally.resource(),
        }
    }
}

fn client_status(handle: &ClientHandle, stats: &mut ClientStats) -> ClientStatus {
    let (flow, wire, (waits, holds)) = (handle.link.flow(), stats.wire.counts(), stats.times());
    ClientStatus {
        id: handle.id,
        state: stats.state,
        frozen: stats.process == ClientProcess::Frozen,
        since: stats.since,
        session: stats.session,
        expired: stats.expired,
        link: state_of(flow),
        delay: flow.delay,
        token: stats.token,
        events: wire.events,
        requests: wire.requests,
        acquisitions: stats.acquisitions,
        held: stats.held,
        longest_wait: waits.max,
        waits,
        holds,
        trouble: stats.trouble.clone(),
        access: stats.access,
        node: stats.wire.node().cloned(),
        watches: stats.wire.watches().to_vec(),
        woken_in_vain: wire.in_vain,
    }
}

impl ClientState {
    /// Returns whether the client's task has ended.
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}

/// Returns the traffic of a client's link, without the requests that opened its sessions.
fn passed(handle: &ClientHandle) -> Passed {
    let mut passed = handle.link.passed();
    passed.requests = passed.requests.saturating_sub(handle.connect_requests.load(Ordering::Relaxed));
    passed
}
