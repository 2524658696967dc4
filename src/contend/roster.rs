//! The clients of a fleet, and the commands that change them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::client::{Client, ClientHandle, FleetShared};
use super::link::{Link, Passed, state_of};
use super::{ClientId, ClientState, ClientStatus, FleetCommand, MAX_CLIENTS};
use crate::lock::{Cost, CostCounter};
use crate::zk::{Dialer, Flow};
use crate::znode::{SessionId, ZnodePath};

/// The clients of a fleet, those that have left excepted.
#[derive(Debug)]
pub(super) struct Roster {
    fleet: Arc<FleetShared>,
    dialer: Arc<Dialer>,
    handles: BTreeMap<ClientId, Arc<ClientHandle>>,
    tasks: JoinSet<ClientId>,
    last_id: u32,
    /// The cost of clients that have left.
    cost_of_left: (Cost, Passed),
    sessions: HashSet<SessionId>,
}

impl Roster {
    pub(super) fn new(fleet: Arc<FleetShared>, dialer: Arc<Dialer>) -> Self {
        Self {
            fleet,
            dialer,
            handles: BTreeMap::new(),
            tasks: JoinSet::new(),
            last_id: 0,
            cost_of_left: (Cost::default(), Passed::default()),
            sessions: HashSet::new(),
        }
    }

    /// Adds clients, up to [`MAX_CLIENTS`]. Fails when there are no sockets left.
    pub(super) async fn join(&mut self, clients: u32) -> std::io::Result<()> {
        let present = u32::try_from(self.handles.len()).unwrap_or(MAX_CLIENTS);
        for _ in 0..clients.min(MAX_CLIENTS.saturating_sub(present)) {
            let flow = Flow { delay: self.fleet.scenario.link_delay, ..Flow::default() };
            let link = Link::start(Arc::clone(&self.dialer), flow).await?;
            self.last_id += 1;
            let id = ClientId(self.last_id);
            let handle = Arc::new(ClientHandle {
                id,
                link,
                probe: CostCounter::default(),
                connect_requests: 0.into(),
                frozen: watch::Sender::new(false),
                killed: CancellationToken::new(),
                leaves: CancellationToken::new(),
            });
            self.fleet.tally().joins(id, self.fleet.now());
            let client = Client::new(Arc::clone(&self.fleet), Arc::clone(&handle));
            self.handles.insert(id, handle);
            self.tasks.spawn(async move {
                client.run().await;
                id
            });
        }
        Ok(())
    }

    /// Carries out a command for a client; nothing when it is not there. To add clients is for [`join`](Self::join).
    pub(super) fn command(&mut self, command: FleetCommand) {
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
            FleetCommand::Leave(_) => let_leave(handle),
            _ if is_dead => {}
            FleetCommand::Crash(_) => {
                // Cut first: its release must not reach the servers.
                handle.link.change(|flow| flow.cut = true);
                handle.killed.cancel();
            }
            FleetCommand::Freeze(_) => {
                self.fleet.tally().frozen(id);
                handle.frozen.send_replace(true);
                handle.link.change(|flow| flow.paused = true);
            }
            FleetCommand::Thaw(_) => {
                handle.link.change(|flow| flow.paused = false);
                handle.frozen.send_replace(false);
            }
            FleetCommand::Cut(_) => handle.link.change(|flow| flow.cut = true),
            FleetCommand::Heal(_) => handle.link.change(|flow| flow.cut = false),
            FleetCommand::Delay(_, delay) => handle.link.change(|flow| flow.delay = delay),
            FleetCommand::Join(_) | FleetCommand::Hold(_) | FleetCommand::Step => {}
        }
    }

    /// Whether this client's task has ended on its own.
    fn is_over(&self, id: ClientId) -> bool {
        self.fleet.tally().clients_mut().any(|(client, figures)| client == id && figures.state.is_over())
    }

    /// Waits until a client has ended; forever when none is left. Cancel safe.
    pub(super) async fn ended(&mut self) {
        let Some(ended) = self.tasks.join_next().await else { return std::future::pending().await };
        // One that panicked stays on the list with what it did last.
        let Ok(id) = ended else { return };
        if self.handles.get(&id).is_some_and(|handle| handle.leaves.is_cancelled()) {
            self.forget(id);
        }
    }

    /// Makes all clients leave, and waits for them, but no longer than `within`.
    pub(super) async fn leave_all(&mut self, within: Duration) {
        self.statuses();
        self.handles.values().for_each(|handle| let_leave(handle));
        let all = async { while self.tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(within, all).await;
        self.tasks.abort_all();
    }

    /// Takes a client off the list.
    fn forget(&mut self, id: ClientId) {
        self.statuses();
        if let Some(handle) = self.handles.remove(&id) {
            let (cost, passed) = figures(&handle);
            add(&mut self.cost_of_left, cost, passed);
        }
        self.fleet.tally().leaves(id);
    }

    /// The sessions that the clients have had.
    pub(super) fn sessions(&self) -> &HashSet<SessionId> {
        &self.sessions
    }

    /// The clients' nodes that are not known to be gone, in order.
    pub(super) fn nodes(&self) -> Vec<ZnodePath> {
        let nodes: BTreeSet<ZnodePath> = self.handles.values().flat_map(|handle| handle.probe.nodes()).collect();
        nodes.into_iter().collect()
    }

    /// The cost of all clients, those that have left included.
    pub(super) fn cost(&self) -> (Cost, Passed) {
        let mut sum = self.cost_of_left;
        for (cost, passed) in self.handles.values().map(|handle| figures(handle)) {
            add(&mut sum, cost, passed);
        }
        sum
    }

    /// All clients, by number.
    pub(super) fn statuses(&mut self) -> Vec<ClientStatus> {
        let mut tally = self.fleet.tally();
        let mut statuses = Vec::with_capacity(self.handles.len());
        for (id, stats) in tally.clients_mut() {
            let Some(handle) = self.handles.get(&id) else { continue };
            self.sessions.extend(stats.session);
            let (cost, flow, (waits, holds)) = (handle.probe.cost(), handle.link.flow(), stats.times());
            statuses.push(ClientStatus {
                id,
                state: stats.state,
                frozen: *handle.frozen.borrow(),
                since: stats.since,
                session: stats.session,
                expired: stats.expired,
                link: state_of(flow),
                delay: flow.delay,
                token: stats.token,
                events: cost.events,
                requests: cost.requests,
                acquisitions: stats.acquisitions,
                held: stats.held,
                longest_wait: waits.max,
                waits,
                holds,
                trouble: stats.trouble.clone(),
                access: crate::lock::Access::Write,
                node: None,
                watches: Vec::new(),
                woken_in_vain: 0,
            });
        }
        statuses
    }
}

impl ClientState {
    /// Whether it will do nothing more.
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}

/// Makes a client leave, with a link that works, so that it can close its session.
fn let_leave(handle: &ClientHandle) {
    handle.link.change(|flow| (flow.cut, flow.paused) = (false, false));
    handle.leaves.cancel();
    handle.frozen.send_replace(false);
}

fn figures(handle: &ClientHandle) -> (Cost, Passed) {
    let mut passed = handle.link.passed();
    passed.requests = passed.requests.saturating_sub(handle.connect_requests.load(Ordering::Relaxed));
    (handle.probe.cost(), passed)
}

fn add(sum: &mut (Cost, Passed), cost: Cost, passed: Passed) {
    sum.0.requests += cost.requests;
    sum.0.events += cost.events;
    sum.1 += passed;
}
