//! A stepped fleet, with its whole trace.

use std::collections::BTreeSet;
use std::sync::Arc;

use lockscope_base::znode::ZnodePath;
use lockscope_lab::contend::{
    ClientId, ClientState, FleetCommand, FleetOutcome, FleetStatus, NextStep, Scenario, TraceEntry, TraceStep,
    WatchPlace,
};

use super::fixture::{FleetFixture, client};

/// A fleet that was stepped from its start.
pub struct SteppedFleet {
    pub fixture: FleetFixture,
    /// The trace so far.
    pub trace: Vec<TraceEntry>,
    /// The statuses that were not taken yet.
    pub statuses: Vec<Arc<FleetStatus>>,
    /// The position in the trace at which the last step began.
    last_step: usize,
}

/// The trace from one step to the next.
#[derive(Debug)]
pub struct Segment {
    /// The status before the step.
    pub before: Arc<FleetStatus>,
    pub trace: Vec<TraceEntry>,
    /// The places whose watches may fire. An event of a watch that was set during the previous step
    /// may arrive only now.
    causes: BTreeSet<WatchPlace>,
}

impl SteppedFleet {
    pub fn start(connect: &str, scenario: Scenario) -> Self {
        let fixture = FleetFixture::start(connect, scenario);
        // Takes effect before the clients start.
        fixture.order(FleetCommand::Hold(true));
        Self { fixture, trace: Vec::new(), statuses: Vec::new(), last_step: 0 }
    }

    /// Waits until the fleet satisfies a condition.
    pub async fn until(&mut self, what: &str, mut is_so: impl FnMut(&FleetStatus) -> bool) -> Arc<FleetStatus> {
        let (trace, statuses) = (&mut self.trace, &mut self.statuses);
        self.fixture
            .until(what, |status| {
                assert_eq!(status.trace_missed, 0);
                trace.extend(status.trace.iter().cloned());
                statuses.push(Arc::new(status.clone()));
                is_so(status)
            })
            .await
    }

    /// Waits until nothing more will happen without a step.
    pub async fn settled(&mut self) -> Arc<FleetStatus> {
        let (trace, statuses) = (&mut self.trace, &mut self.statuses);
        self.fixture
            .until("at rest", |status| {
                trace.extend(status.trace.iter().cloned());
                statuses.push(Arc::new(status.clone()));
                is_at_rest(status, trace)
            })
            .await
    }

    /// Lets the next client go on, and waits for all consequences.
    pub async fn step(&mut self) -> Segment {
        let before = self.settled().await;
        let (from, already) = (self.trace.len(), watches(&self.trace));
        self.fixture.order(FleetCommand::Step);
        let fixture = &mut self.fixture;
        let (trace, statuses) = (&mut self.trace, &mut self.statuses);
        fixture
            .until("all that follows from a step", |status| {
                trace.extend(status.trace.iter().cloned());
                statuses.push(Arc::new(status.clone()));
                let done = trace.len() > from && is_at_rest(status, trace);
                done && unfired(&already, &trace[from..]).is_empty()
            })
            .await;
        let causes = places_fired(&self.trace[std::mem::replace(&mut self.last_step, from)..]);
        Segment { before, trace: self.trace[from..].to_vec(), causes }
    }

    /// Steps until this client would take this step.
    pub async fn step_until(&mut self, next: (ClientId, NextStep)) {
        while self.settled().await.next_step != Some(next) {
            self.step().await;
        }
    }

    /// Ends the fleet in the middle of its work.
    pub async fn stop(self) -> FleetOutcome {
        let outcome = self.fixture.fleet.stop().await;
        assert_eq!(outcome.left_behind, Some(0), "{outcome:#?}");
        outcome
    }
}

/// Returns whether the fleet is at rest: waiters have their watches and have handled their events,
/// clients that released have no node, and all requests have arrived.
fn is_at_rest(status: &FleetStatus, trace: &[TraceEntry]) -> bool {
    let totals = &status.totals;
    let waits = |state| state == ClientState::Waiting;
    let begun = |state| !matches!(state, ClientState::Connecting);
    status.next_step.is_some()
        && (totals.requests, totals.events) == (totals.wire_requests, totals.wire_events)
        && status.clients.iter().all(|client| begun(client.state))
        && status.clients.iter().all(|client| client.state != ClientState::Ready || client.node.is_none())
        && add_up(status, trace)
        && status.clients.iter().all(|client| !waits(client.state) || !client.watches.is_empty())
}

/// Returns the watches that are set after this trace.
fn watches(trace: &[TraceEntry]) -> Vec<(ClientId, WatchPlace)> {
    let mut set = Vec::new();
    for TraceEntry { client, step, .. } in trace {
        match step {
            TraceStep::Watches(place) => set.push((*client, place.clone())),
            TraceStep::Unwatches(place) | TraceStep::Woken(place) => {
                let at = set.iter().position(|watch| *watch == (*client, place.clone()));
                set.remove(at.unwrap_or_else(|| panic!("{client} has no watch on {place:?}: {trace:#?}")));
            }
            TraceStep::Expires | TraceStep::Crashes => set.retain(|watch| watch.0 != *client),
            _ => {}
        }
    }
    set
}

/// Returns the watches that must fire by this trace and have not.
fn unfired(set: &[(ClientId, WatchPlace)], trace: &[TraceEntry]) -> Vec<(ClientId, WatchPlace)> {
    let fired = places_fired(trace);
    let is_over = |watch: &&(ClientId, WatchPlace)| {
        trace.iter().any(|entry| match &entry.step {
            TraceStep::Woken(place) | TraceStep::Unwatches(place) => (entry.client, place) == (watch.0, &watch.1),
            _ => false,
        })
    };
    set.iter().filter(|watch| fired.contains(&watch.1)).filter(|watch| !is_over(watch)).cloned().collect()
}

/// Returns the places whose watches fire by created and deleted nodes.
fn places_fired(trace: &[TraceEntry]) -> BTreeSet<WatchPlace> {
    let parent = |node: &ZnodePath| WatchPlace::Children(node.parent().expect("no lock is the root"));
    let fired = trace.iter().flat_map(|entry| match &entry.step {
        TraceStep::Created(node) => vec![parent(node)],
        TraceStep::Deleted(node) => vec![parent(node), WatchPlace::Node(node.clone())],
        _ => Vec::new(),
    });
    fired.collect()
}

impl Segment {
    /// Returns the woken clients, in order.
    pub fn woken(&self) -> Vec<ClientId> {
        let woken = self.trace.iter().filter(|entry| matches!(entry.step, TraceStep::Woken(_)));
        woken.map(|entry| entry.client).collect()
    }

    /// Returns the clients that acquired the lock.
    pub fn acquired(&self) -> Vec<ClientId> {
        let acquired = self.trace.iter().filter(|entry| matches!(entry.step, TraceStep::Acquires(_)));
        acquired.map(|entry| entry.client).collect()
    }

    /// Returns the waiters before the step, in the order of the queue.
    pub fn waited(&self) -> Vec<ClientId> {
        let mut waited: Vec<(String, ClientId)> = Vec::new();
        for client in self.before.clients.iter().filter(|client| client.state == ClientState::Waiting) {
            let number = client.node.as_ref().map_or("", |node| &node.name()[node.name().len() - 10..]);
            waited.push((number.to_owned(), client.id));
        }
        waited.sort();
        waited.into_iter().map(|(_, id)| id).collect()
    }

    /// Checks that every woken client was woken by a created or deleted node.
    pub fn check(&self) {
        for entry in &self.trace {
            if let TraceStep::Woken(place) = &entry.step {
                assert!(self.causes.contains(place), "what woke {}? {:#?}", entry.client, self.trace);
            }
        }
    }
}

/// Returns a client's figures in a trace: requests, events, and events in vain.
pub fn figures(trace: &[TraceEntry], id: ClientId) -> (u64, u64, u64) {
    let (mut requests, mut events, mut useful, mut woken_since_asked) = (0, 0, 0, None);
    for entry in trace.iter().filter(|entry| entry.client == id) {
        match entry.step {
            TraceStep::Sent(_) => requests += 1,
            TraceStep::Woken(_) => {
                events += 1;
                woken_since_asked = woken_since_asked.map(|_| true);
            }
            TraceStep::Asks(_) => woken_since_asked = Some(false),
            TraceStep::Acquires(_) => useful += u64::from(woken_since_asked.take() == Some(true)),
            _ => {}
        }
    }
    (requests, events, events - useful)
}

/// Returns whether each client's figures match the trace, and their sums the fleet's figures.
pub fn add_up(status: &FleetStatus, trace: &[TraceEntry]) -> bool {
    let of_trace: Vec<_> = status.clients.iter().map(|client| figures(trace, client.id)).collect();
    let of_clients: Vec<_> =
        status.clients.iter().map(|client| (client.requests, client.events, client.woken_in_vain)).collect();
    let sum = of_trace.iter().fold((0, 0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1, sum.2 + more.2));
    let totals = &status.totals;
    of_trace == of_clients && sum == (totals.requests, totals.events, totals.woken_in_vain)
}

/// Returns whether a client holds.
pub fn holds(status: &FleetStatus, id: ClientId) -> bool {
    client(status, id).state == ClientState::Holding
}
