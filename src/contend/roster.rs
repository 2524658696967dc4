//! The clients of a fleet: who is there, and what is done to them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::client::{Client, ClientHandle, FleetShared};
use super::link::{Link, Passed, state_of};
use super::{ClientId, ClientStatus, Doing, MOST_CLIENTS, Order};
use crate::lock::{Cost, Probe};
use crate::zk::{Dialer, Flow};
use crate::znode::{SessionId, ZnodePath};

/// All clients.
#[derive(Debug)]
pub(super) struct Roster {
    fleet: Arc<FleetShared>,
    dialer: Arc<Dialer>,
    seats: BTreeMap<ClientId, Arc<ClientHandle>>,
    tasks: JoinSet<ClientId>,
    last: u32,
    /// What those who have left cost.
    gone: (Cost, Passed),
    sessions: HashSet<SessionId>,
}

impl Roster {
    pub(super) fn new(fleet: Arc<FleetShared>, dialer: Arc<Dialer>) -> Self {
        Self {
            fleet,
            dialer,
            seats: BTreeMap::new(),
            tasks: JoinSet::new(),
            last: 0,
            gone: (Cost::default(), Passed::default()),
            sessions: HashSet::new(),
        }
    }

    /// Lets so many clients more join, as many as there may be. It fails when there are no sockets left.
    pub(super) async fn join(&mut self, clients: u32) -> std::io::Result<()> {
        let present = u32::try_from(self.seats.len()).unwrap_or(MOST_CLIENTS);
        for _ in 0..clients.min(MOST_CLIENTS.saturating_sub(present)) {
            let flow = Flow { delay: self.fleet.scenario.link_delay, ..Flow::default() };
            let link = Link::start(Arc::clone(&self.dialer), flow).await?;
            self.last += 1;
            let id = ClientId(self.last);
            let seat = Arc::new(ClientHandle {
                id,
                link,
                probe: Probe::default(),
                overhead: 0.into(),
                frozen: watch::Sender::new(false),
                killed: CancellationToken::new(),
                leaves: CancellationToken::new(),
            });
            self.fleet.tally().joins(id, self.fleet.now());
            let client = Client::new(Arc::clone(&self.fleet), Arc::clone(&seat));
            self.seats.insert(id, seat);
            self.tasks.spawn(async move {
                client.run().await;
                id
            });
        }
        Ok(())
    }

    /// Does something to a client; to one that is not there, nothing. Joining is [`join`](Self::join)'s.
    pub(super) fn order(&mut self, order: Order) {
        let (Order::Leave(id)
        | Order::Crash(id)
        | Order::Freeze(id)
        | Order::Thaw(id)
        | Order::Cut(id)
        | Order::Heal(id)
        | Order::Delay(id, _)) = order
        else {
            return;
        };
        let Some(seat) = self.seats.get(&id) else { return };
        let is_dead = seat.killed.is_cancelled();
        match order {
            Order::Leave(_) if self.tasks.is_empty() || self.is_over(id) => self.forget(id),
            Order::Leave(_) => see_off(seat),
            _ if is_dead => {}
            Order::Crash(_) => {
                // Before its death makes it give up what it held, which the servers must not hear.
                seat.link.change(|flow| flow.cut = true);
                seat.killed.cancel();
            }
            Order::Freeze(_) => {
                self.fleet.tally().frozen(id);
                seat.frozen.send_replace(true);
                seat.link.change(|flow| flow.paused = true);
            }
            Order::Thaw(_) => {
                seat.link.change(|flow| flow.paused = false);
                seat.frozen.send_replace(false);
            }
            Order::Cut(_) => seat.link.change(|flow| flow.cut = true),
            Order::Heal(_) => seat.link.change(|flow| flow.cut = false),
            Order::Delay(_, delay) => seat.link.change(|flow| flow.delay = delay),
            Order::Join(_) => {}
        }
    }

    /// Whether this client's task has ended by itself.
    fn is_over(&self, id: ClientId) -> bool {
        self.fleet.tally().cards().any(|(card, figures)| card == id && figures.doing.is_over())
    }

    /// Waits until a client has ended; never, when none is left. Cancel safe.
    pub(super) async fn ended(&mut self) {
        let Some(ended) = self.tasks.join_next().await else { return std::future::pending().await };
        // One that panicked stays on the list with what it did last.
        let Ok(id) = ended else { return };
        if self.seats.get(&id).is_some_and(|seat| seat.leaves.is_cancelled()) {
            self.forget(id);
        }
    }

    /// Lets all leave, and waits until they have, or the time is over.
    pub(super) async fn disband(&mut self, within: Duration) {
        self.statuses();
        self.seats.values().for_each(|seat| see_off(seat));
        let all = async { while self.tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(within, all).await;
        self.tasks.abort_all();
    }

    /// Takes a client off the list.
    fn forget(&mut self, id: ClientId) {
        self.statuses();
        if let Some(seat) = self.seats.remove(&id) {
            let (cost, passed) = figures(&seat);
            add(&mut self.gone, cost, passed);
        }
        self.fleet.tally().leaves(id);
    }

    /// The sessions that the clients have had.
    pub(super) fn sessions(&self) -> &HashSet<SessionId> {
        &self.sessions
    }

    /// The clients' nodes that are not known to be gone, in order.
    pub(super) fn nodes(&self) -> Vec<ZnodePath> {
        let nodes: BTreeSet<ZnodePath> = self.seats.values().flat_map(|seat| seat.probe.nodes()).collect();
        nodes.into_iter().collect()
    }

    /// What all cost, those who have left included.
    pub(super) fn cost(&self) -> (Cost, Passed) {
        let mut sum = self.gone;
        for (cost, passed) in self.seats.values().map(|seat| figures(seat)) {
            add(&mut sum, cost, passed);
        }
        sum
    }

    /// All clients, by number.
    pub(super) fn statuses(&mut self) -> Vec<ClientStatus> {
        let mut tally = self.fleet.tally();
        let mut statuses = Vec::with_capacity(self.seats.len());
        for (id, card) in tally.cards() {
            let Some(seat) = self.seats.get(&id) else { continue };
            self.sessions.extend(card.session);
            let (cost, flow, (waits, holds)) = (seat.probe.cost(), seat.link.flow(), card.times());
            statuses.push(ClientStatus {
                id,
                doing: card.doing,
                frozen: *seat.frozen.borrow(),
                since: card.since,
                session: card.session,
                expired: card.expired,
                link: state_of(flow),
                delay: flow.delay,
                token: card.token,
                events: cost.events,
                requests: cost.requests,
                acquisitions: card.acquisitions,
                held: card.held,
                longest_wait: waits.max,
                waits,
                holds,
                trouble: card.trouble.clone(),
            });
        }
        statuses
    }
}

impl Doing {
    /// Whether it will do nothing more.
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }
}

/// Lets a client go; whatever was done to it, its session can be closed.
fn see_off(seat: &ClientHandle) {
    seat.link.change(|flow| (flow.cut, flow.paused) = (false, false));
    seat.leaves.cancel();
    seat.frozen.send_replace(false);
}

fn figures(seat: &ClientHandle) -> (Cost, Passed) {
    let mut passed = seat.link.passed();
    passed.requests = passed.requests.saturating_sub(seat.overhead.load(Ordering::Relaxed));
    (seat.probe.cost(), passed)
}

fn add(sum: &mut (Cost, Passed), cost: Cost, passed: Passed) {
    sum.0.requests += cost.requests;
    sum.0.events += cost.events;
    sum.1 += passed;
}
