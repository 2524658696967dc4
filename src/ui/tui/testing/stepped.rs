//! Fleets that are stepped through, as reported by their statuses and traces; no client runs.

use std::collections::BTreeMap;
use std::time::Duration;

use super::fleets::{client, status, totals};
use lockscope_base::znode::{ZnodePath, Zxid};
use lockscope_lab::contend::{
    ClientId, ClientState, ClientStatus, FleetStatus, FleetTotals, NextStep, RequestKind, ResourceStatus,
    ResourceWrite, Scenario, TraceEntry, TraceStep, WatchPlace,
};
use lockscope_lock::{Access, Algorithm};

/// A fleet whose clients go on only by the steps that a test plays.
#[derive(Clone, Debug)]
pub struct SteppedFleet {
    pub scenario: Scenario,
    pub clients: BTreeMap<u32, ClientStatus>,
    pub totals: FleetTotals,
    pub resource: ResourceStatus,
    /// The entries since the last status.
    pub trace: Vec<TraceEntry>,
    /// The clients in the queue, in order.
    queue: Vec<u32>,
    /// The clients that wait to ask again, the longest-waiting first.
    idle: Vec<u32>,
    sequence: u32,
    age_ms: u64,
}

impl SteppedFleet {
    /// Creates a fleet in which all clients are in the queue and the first holds.
    pub fn new(scenario: Scenario, many: u32) -> Self {
        let mut fleet = Self {
            scenario,
            clients: BTreeMap::new(),
            totals: totals(0, 0),
            resource: ResourceStatus::default(),
            trace: Vec::new(),
            queue: Vec::new(),
            idle: Vec::new(),
            sequence: 0,
            age_ms: 5_000,
        };
        for id in 1..=many {
            let mut made = client(id, ClientState::Ready);
            (made.events, made.requests) = (0, 0);
            fleet.clients.insert(id, made);
            fleet.ask(id);
        }
        fleet.trace.clear();
        fleet.totals = totals(0, 0);
        fleet
    }

    /// Returns the next status, with the entries since the last one.
    pub fn status(&mut self) -> FleetStatus {
        self.age_ms += 100;
        let clients = self.clients.values().cloned().collect();
        let made = status(&self.scenario, self.age_ms, clients, self.totals.clone());
        let next = self.idle.first().map(|id| (ClientId(*id), NextStep::Ask));
        let release = self.holders().first().map(|id| (ClientId(*id), NextStep::Release));
        FleetStatus {
            stepped: true,
            next_step: next.or(release),
            trace: std::mem::take(&mut self.trace).into(),
            resource: self.resource,
            ..made
        }
    }

    /// Lets one client go on: a client that waits to ask asks, else a holder releases.
    pub fn step(&mut self) {
        match (self.idle.first().copied(), self.holders().first().copied()) {
            (Some(id), _) => self.ask(id),
            (None, Some(id)) => self.release(id),
            (None, None) => {}
        }
    }

    pub fn holders(&self) -> Vec<u32> {
        let holds = |id: &&u32| self.clients[id].state == ClientState::Holding;
        self.queue.iter().filter(holds).copied().collect()
    }

    pub fn record(&mut self, id: u32, step: TraceStep) {
        if matches!(step, TraceStep::Sent(_)) {
            self.totals.requests += 1;
        }
        self.trace.push(TraceEntry { at: Duration::from_millis(self.age_ms), client: ClientId(id), step });
    }

    fn access(&self, id: u32) -> Access {
        let shared = matches!(self.scenario.algorithm, Algorithm::SharedHerd(_) | Algorithm::SharedChain(_));
        if shared && !id.is_multiple_of(3) { Access::Read } else { Access::Write }
    }

    pub fn ask(&mut self, id: u32) {
        self.idle.retain(|other| *other != id);
        let access = self.access(id);
        self.record(id, TraceStep::Asks(access));
        self.record(id, TraceStep::Sent(RequestKind::Create));
        let asking = self.clients.get_mut(&id).expect("a client");
        (asking.access, asking.state) = (access, ClientState::Waiting);
        if self.scenario.algorithm == Algorithm::Mutex {
            self.queue.push(id);
            self.try_to_create(id);
            return;
        }
        self.record(id, TraceStep::Sent(RequestKind::List));
        self.sequence += 1;
        let node = self.scenario.path.child(&format!("lock-{:010}", self.sequence));
        self.wake(&WatchPlace::Children(self.scenario.path.clone()), Some((id, node.clone())));
        self.clients.get_mut(&id).expect("a client").node = Some(node.clone());
        self.queue.push(id);
        self.hold_or_watch(id);
    }

    pub fn release(&mut self, id: u32) {
        self.record(id, TraceStep::Releases);
        self.record(id, TraceStep::Sent(RequestKind::Delete));
        let leaving = self.clients.get_mut(&id).expect("a client");
        let node = leaving.node.take().expect("a holder has a node");
        (leaving.state, leaving.token) = (ClientState::Ready, None);
        self.queue.retain(|other| *other != id);
        self.idle.push(id);
        let before = self.trace.len();
        self.wake(&WatchPlace::Node(node.clone()), None);
        self.wake(&WatchPlace::Children(self.scenario.path.clone()), None);
        // The reply comes after the first events.
        let at = before + (self.trace.len() - before).min(3);
        let deleted =
            TraceEntry { at: Duration::from_millis(self.age_ms), client: ClientId(id), step: TraceStep::Deleted(node) };
        self.trace.insert(at, deleted);
    }

    /// Ends the session of a crashed client.
    pub fn expire(&mut self, id: u32) {
        let gone = self.clients.get_mut(&id).expect("a client");
        (gone.watches, gone.token) = (Vec::new(), None);
        let node = gone.node.take();
        self.queue.retain(|other| *other != id);
        if let Some(node) = node {
            self.wake(&WatchPlace::Node(node), None);
        }
        self.wake(&WatchPlace::Children(self.scenario.path.clone()), None);
    }

    pub fn write(&mut self, id: u32, token: Zxid) {
        let accepted = self.resource.highest.is_none_or(|highest| highest <= token);
        self.record(id, TraceStep::Writes(ResourceWrite { token, accepted }));
        if accepted {
            (self.resource.highest, self.resource.writer) = (Some(token), Some(ClientId(id)));
            self.resource.accepted += 1;
        } else {
            self.resource.rejected += 1;
            self.resource.last_rejected = Some((ClientId(id), token, Duration::from_millis(self.age_ms)));
        }
    }

    /// Delivers an event to all clients that watch `place`, which then go on.
    fn wake(&mut self, place: &WatchPlace, created: Option<(u32, ZnodePath)>) {
        let woken: Vec<u32> = self
            .clients
            .iter_mut()
            .filter_map(|(id, client)| {
                let before = client.watches.len();
                client.watches.retain(|watched| watched != place);
                (client.watches.len() < before).then_some(*id)
            })
            .collect();
        for id in &woken {
            self.totals.events += 1;
            self.record(*id, TraceStep::Woken(place.clone()));
        }
        if let Some((id, node)) = created {
            self.record(id, TraceStep::Created(node));
        }
        for id in woken {
            if self.scenario.algorithm == Algorithm::Mutex {
                self.record(id, TraceStep::Sent(RequestKind::Create));
                self.try_to_create(id);
            } else if self.queue.contains(&id) {
                self.record(id, TraceStep::Sent(RequestKind::List));
                self.hold_or_watch(id);
            }
            self.totals.woken_in_vain += u64::from(self.clients[&id].state == ClientState::Waiting);
        }
    }

    fn try_to_create(&mut self, id: u32) {
        let path = self.scenario.path.clone();
        let is_free = self.clients.values().all(|client| client.node.as_ref() != Some(&path));
        if is_free {
            self.record(id, TraceStep::Created(path.clone()));
            self.clients.get_mut(&id).expect("a client").node = Some(path);
            self.acquire(id);
        } else {
            self.watch(id, WatchPlace::Node(path));
        }
    }

    /// Makes the client hold, or watch its blocker.
    fn hold_or_watch(&mut self, id: u32) {
        let at = self.queue.iter().position(|other| *other == id).expect("a client in the queue");
        let writes = |other: &&u32| self.access(**other) == Access::Write;
        let blocker = match (self.scenario.algorithm, self.access(id)) {
            (Algorithm::SharedHerd(_) | Algorithm::SharedChain(_), Access::Read) => {
                self.queue[..at].iter().rfind(writes).copied()
            }
            _ => at.checked_sub(1).map(|before| self.queue[before]),
        };
        match (blocker, self.scenario.algorithm) {
            (None, _) => self.acquire(id),
            (Some(_), Algorithm::Herd | Algorithm::SharedHerd(_)) => {
                self.watch(id, WatchPlace::Children(self.scenario.path.clone()));
            }
            (Some(blocker), algorithm) => {
                let nodes: Vec<ZnodePath> = if algorithm == Algorithm::ChainAhead && at > 1 {
                    [blocker, self.queue[at - 2]].iter().filter_map(|id| self.clients[id].node.clone()).collect()
                } else {
                    self.clients[&blocker].node.clone().into_iter().collect()
                };
                for node in nodes {
                    self.watch(id, WatchPlace::Node(node));
                }
            }
        }
    }

    fn watch(&mut self, id: u32, place: WatchPlace) {
        let client = self.clients.get_mut(&id).expect("a client");
        if !client.watches.contains(&place) {
            client.watches.push(place.clone());
            self.record(id, TraceStep::Watches(place));
        }
    }

    fn acquire(&mut self, id: u32) {
        self.totals.acquisitions += 1;
        let token = Zxid(40 + i64::try_from(self.totals.acquisitions).expect("few"));
        let client = self.clients.get_mut(&id).expect("a client");
        (client.state, client.token) = (ClientState::Holding, Some(token));
        client.watches.clear();
        self.record(id, TraceStep::Acquires(token));
    }
}
