//! Replays the trace of a fleet step by step, at a pace that the eye can follow, and computes rates
//! of watch events, wake-ups in vain and requests from growing totals.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::schedule::{Flight, Item, RequestFlight, Schedule, begins_step};
use super::{FleetFacts, NodeEnd, QueuePicture, ShownClient, ShownFleet, WakeEffect};
use lockscope_base::znode::Timestamp;
use lockscope_lab::contend::{ClientId, ClientState, FleetStatus, LinkState, TraceEntry, TraceStep, WatchPlace};

/// The delay behind the fleet above which events travel faster.
const MAX_DELAY: Duration = Duration::from_millis(2_500);

/// The delay behind the fleet above which events are left out; the picture says so.
const MAX_BACKLOG: Duration = Duration::from_secs(10);

/// The shortest flight of a faster event: longer than the time between two frames, so that each
/// event is in at least one frame.
const MIN_FLIGHT: Duration = Duration::from_millis(50);

/// Counts of watch events, of wake-ups in vain and of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeCounts {
    /// The watch events that were delivered.
    pub woken: u64,
    /// The watch events after which the client did not get the lock.
    pub in_vain: u64,
    pub requests: u64,
}

impl WakeCounts {
    fn of(status: &FleetStatus) -> Self {
        let totals = &status.totals;
        Self { woken: totals.events, in_vain: totals.woken_in_vain, requests: totals.requests }
    }
}

/// Why the picture lacks events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayGap {
    /// The fleet did not record this many entries.
    NotRecorded(u64),
    /// This many watch events came too fast to be drawn at all, or to be drawn until they arrive.
    TooFast(u64),
}

/// The shown part of a fleet's trace, and the part still to be shown.
#[derive(Clone, Debug)]
pub struct TraceReplay {
    latest: Option<Arc<FleetStatus>>,
    clients: BTreeMap<ClientId, ShownClient>,
    gone: Vec<(ShownClient, NodeEnd)>,
    schedule: Schedule,
    flying: Vec<Flight>,
    requests: Vec<RequestFlight>,
    flight: Duration,
    step: WakeCounts,
    total: WakeCounts,
    somebody_woke: bool,
    gap: Option<ReplayGap>,
    /// Made when somebody looks: at full speed the cells are shown, and nobody does.
    picture: OnceLock<QueuePicture>,
}

impl Default for TraceReplay {
    fn default() -> Self {
        Self {
            latest: None,
            clients: BTreeMap::new(),
            gone: Vec::new(),
            schedule: Schedule::default(),
            flying: Vec::new(),
            requests: Vec::new(),
            flight: Duration::from_millis(500),
            step: WakeCounts::default(),
            total: WakeCounts::default(),
            somebody_woke: false,
            gap: None,
            picture: OnceLock::new(),
        }
    }
}

impl TraceReplay {
    /// Sets how long watch events travel from now on.
    pub fn set_flight(&mut self, flight: Duration) {
        self.flight = flight;
    }

    /// Takes in a status and the entries before it. The cost depends on the number of entries, and
    /// on the number of clients unless the fleet runs at full speed.
    pub fn add_status(&mut self, status: &Arc<FleetStatus>, now: Timestamp) {
        if !status.stepped {
            self.empty(status);
            return;
        }
        if let Some(before) = self.latest.take_if(|latest| !latest.stepped) {
            self.adopt_clients(&before);
            self.latest = Some(before);
        }
        if self.latest.is_none() || status.trace_missed > 0 {
            self.start_anew(status);
            self.gap = (status.trace_missed > 0).then_some(ReplayGap::NotRecorded(status.trace_missed));
            return;
        }
        let behind = self.schedule.remaining(now);
        let flight = if behind > MAX_DELAY { (self.flight / 8).max(MIN_FLIGHT.min(self.flight)) } else { self.flight };
        self.schedule.add(&status.trace, now, flight);
        self.latest = Some(Arc::clone(status));
        if self.schedule.remaining(now) > MAX_BACKLOG {
            let missing = self.schedule.waiting_wakes() + self.flying.len() as u64;
            self.start_anew(status);
            self.gap = Some(ReplayGap::TooFast(missing));
            return;
        }
        self.advance(now);
    }

    /// Shows everything that is due. Returns whether anything changed.
    pub fn advance(&mut self, now: Timestamp) -> bool {
        let mut changed = false;
        while let Some(item) = self.schedule.pop(now) {
            changed = true;
            self.show(item);
        }
        if self.schedule.is_empty()
            && let Some(status) = self.latest.clone().filter(|status| status.stepped)
        {
            changed |= self.adopt_clients(&status);
        }
        if changed {
            self.picture.take();
        }
        changed
    }

    /// Returns the queue as it is shown now.
    pub fn picture(&self) -> &QueuePicture {
        self.picture.get_or_init(|| {
            let facts = self.latest.as_deref().map(FleetFacts::of).unwrap_or_default();
            let at_full_speed = self.latest.as_deref().filter(|status| !status.stepped);
            let unread: Vec<_> = at_full_speed.iter().flat_map(|status| &status.clients).map(ShownClient::of).collect();
            let clients = self.clients.values().chain(&unread).collect();
            ShownFleet { clients, gone: &self.gone, somebody_woke: self.somebody_woke, facts }.picture()
        })
    }

    /// Returns the watch events in flight, in the order of the trace.
    pub fn flying(&self) -> &[Flight] {
        &self.flying
    }

    /// Returns the requests of woken clients in flight, in the order of the trace.
    pub fn requests(&self) -> &[RequestFlight] {
        &self.requests
    }

    /// Returns whether anything moves.
    pub fn moves(&self) -> bool {
        !self.flying.is_empty() || !self.requests.is_empty()
    }

    /// Returns when the next change is to be shown; `None` when everything is shown.
    pub fn next(&self) -> Option<Timestamp> {
        self.schedule.next()
    }

    /// Returns the counts since the last step began, as far as shown.
    pub fn step_counts(&self) -> WakeCounts {
        self.step
    }

    /// Returns the counts since the start, as far as shown.
    pub fn total_counts(&self) -> WakeCounts {
        self.total
    }

    /// Returns why events are missing in the picture since the last step began.
    pub fn gap(&self) -> Option<ReplayGap> {
        self.gap
    }

    fn start_anew(&mut self, status: &Arc<FleetStatus>) {
        self.empty(status);
        self.adopt_clients(status);
    }

    /// Forgets what is shown. The clients of `status` are not adopted yet.
    fn empty(&mut self, status: &Arc<FleetStatus>) {
        self.schedule.clear();
        self.flying.clear();
        self.requests.clear();
        self.begin_step();
        self.latest = Some(Arc::clone(status));
        self.clients.clear();
        self.picture.take();
        self.total = WakeCounts::of(status);
    }

    /// Adopts the clients of `status` once the whole trace is shown. Returns whether anything
    /// changed.
    fn adopt_clients(&mut self, status: &FleetStatus) -> bool {
        let before = (self.total, self.gone.len());
        self.total = WakeCounts::of(status);
        let mut changed = self.clients.len() != status.clients.len();
        let mut clients = std::mem::take(&mut self.clients);
        for client in &status.clients {
            let mut shown = clients.remove(&client.id).unwrap_or_else(|| ShownClient::of(client));
            let was = shown.clone();
            shown.follow(client);
            if was.node.is_some() && was.node != shown.node {
                self.leave(&was, NodeEnd::SessionEnded);
            }
            changed |= was != shown || shown.state == ClientState::Crashed;
            self.clients.insert(client.id, shown);
        }
        self.schedule.know(status.clients.iter().filter_map(|client| Some((client.id, client.node.as_ref()?))));
        changed || before != (self.total, self.gone.len())
    }

    fn show(&mut self, item: Item) {
        match item {
            Item::Start(flight) => {
                self.somebody_woke = true;
                self.change(flight.to, |client| client.effect = Some(WakeEffect::IsWoken));
                self.flying.push(flight);
            }
            Item::Land(flight) => {
                self.flying.retain(|other| other.number != flight.number);
                self.step.woken += 1;
                self.total.woken += 1;
                self.change(flight.to, |client| {
                    client.effect = Some(WakeEffect::Woken);
                    client.watches.retain(|place| *place != flight.place);
                    if !client.used.contains(&flight.place) {
                        client.used.push(flight.place.clone());
                    }
                });
                if let WatchPlace::Node(path) = &flight.place {
                    self.lose_nodes(|client| client.node.as_ref() == Some(path));
                }
            }
            Item::Send(request) => {
                self.step.requests += 1;
                self.total.requests += 1;
                let is_woken = self
                    .clients
                    .get(&request.client)
                    .is_some_and(|client| matches!(client.effect, Some(WakeEffect::Woken | WakeEffect::Asks(_))));
                if is_woken {
                    self.change(request.client, |client| client.effect = Some(WakeEffect::Asks(request.kind)));
                    self.requests.push(request);
                }
            }
            Item::Arrive(request) => self.requests.retain(|other| other.number != request.number),
            Item::Entry(entry) => self.show_entry(entry),
        }
    }

    fn show_entry(&mut self, TraceEntry { client: id, step, .. }: TraceEntry) {
        if begins_step(&step) {
            self.begin_step();
        }
        match step {
            TraceStep::Watches(place) => {
                let mut in_vain = false;
                self.change(id, |client| {
                    if matches!(client.effect, Some(WakeEffect::Woken | WakeEffect::Asks(_))) {
                        in_vain = true;
                        client.effect = Some(WakeEffect::InVain);
                    }
                    client.used.retain(|used| *used != place);
                    if !client.watches.contains(&place) {
                        client.watches.push(place);
                    }
                });
                self.step.in_vain += u64::from(in_vain);
                self.total.in_vain += u64::from(in_vain);
            }
            TraceStep::Deleted(path) => {
                let owner = self.clients.values().find(|client| client.node.as_ref() == Some(&path)).cloned();
                if let Some(owner) = owner {
                    let released = !matches!(owner.state, ClientState::Crashed) && !owner.frozen;
                    self.leave(&owner, if released { NodeEnd::Released } else { NodeEnd::SessionEnded });
                    self.change(owner.id, |client| {
                        client.node = None;
                        if released && client.state == ClientState::Holding {
                            (client.state, client.token) = (ClientState::Ready, None);
                        }
                    });
                }
            }
            step => {
                // A client whose listing set a watch and also showed that it holds was not woken in
                // vain.
                let takes_back = matches!(step, TraceStep::Acquires(_))
                    && self.clients.get(&id).is_some_and(|client| client.effect == Some(WakeEffect::InVain));
                self.step.in_vain -= u64::from(takes_back).min(self.step.in_vain);
                self.total.in_vain -= u64::from(takes_back).min(self.total.in_vain);
                let acquires = matches!(step, TraceStep::Acquires(_));
                self.change(id, |client| change_state(client, step));
                if let Some(holder) = self.clients.get(&id).filter(|_| acquires).cloned() {
                    let facts = self.latest.as_deref().map(FleetFacts::of).unwrap_or_default();
                    self.lose_nodes(|client| client.must_be_gone_before(&holder, &facts));
                }
            }
        }
    }

    /// Removes the nodes of clients that cannot report the end of their sessions themselves.
    fn lose_nodes(&mut self, is_gone: impl Fn(&ShownClient) -> bool) {
        let gone: Vec<ShownClient> =
            self.clients.values().filter(|client| client.is_silent() && is_gone(client)).cloned().collect();
        for client in gone {
            self.leave(&client, NodeEnd::SessionEnded);
            self.change(client.id, ShownClient::lose_node);
        }
    }

    fn change(&mut self, id: ClientId, with: impl FnOnce(&mut ShownClient)) {
        if let Some(client) = self.clients.get_mut(&id) {
            with(client);
        }
    }

    /// Shows a client's node as gone until the next step begins.
    fn leave(&mut self, client: &ShownClient, departure: NodeEnd) {
        if !self.gone.iter().any(|(gone, _)| gone.id == client.id) {
            self.gone.push((client.clone(), departure));
        }
    }

    fn begin_step(&mut self) {
        self.gap = None;
        self.gone.clear();
        self.step = WakeCounts::default();
        self.somebody_woke = false;
        for client in self.clients.values_mut() {
            client.used.clear();
            client.effect = None;
            client.refused = false;
        }
    }
}

/// Applies an entry to its client, except for the client's watches.
fn change_state(client: &mut ShownClient, step: TraceStep) {
    match step {
        TraceStep::Asks(access) => (client.state, client.access) = (ClientState::Waiting, access),
        TraceStep::Created(path) => (client.node, client.lost_node) = (Some(path), None),
        TraceStep::Unwatches(place) => client.watches.retain(|watched| *watched != place),
        TraceStep::Acquires(token) => {
            (client.state, client.token) = (ClientState::Holding, Some(token));
            if client.effect.is_some() {
                client.effect = Some(WakeEffect::GetsIt);
            }
        }
        TraceStep::Writes(write) => client.refused = !write.accepted,
        TraceStep::Freezes => client.frozen = true,
        TraceStep::Thaws => client.frozen = false,
        TraceStep::Crashes => {
            (client.state, client.token, client.link) = (ClientState::Crashed, None, LinkState::Cut);
        }
        // After the end of its session a client has neither node nor watches, and no longer holds.
        TraceStep::Expires => {
            client.watches.clear();
            (client.token, client.node, client.lost_node) = (None, None, None);
            if client.state == ClientState::Holding {
                client.state = ClientState::Ready;
            }
        }
        // The client holds until its node is deleted.
        TraceStep::Releases
        | TraceStep::Sent(_)
        | TraceStep::Watches(_)
        | TraceStep::Woken(_)
        | TraceStep::Deleted(_) => {}
    }
}

/// The time over which rates are averaged.
const WINDOW: Duration = Duration::from_secs(3);

/// The shortest time over which a rate is meaningful.
const MIN_WINDOW: Duration = Duration::from_millis(500);

/// The totals of the last seconds, by the fleet's age.
#[derive(Clone, Debug, Default)]
pub struct WakeRates {
    recent: VecDeque<(Duration, WakeCounts)>,
}

impl WakeRates {
    /// Takes in the totals at an age. Totals of an age already known are ignored.
    pub fn add(&mut self, age: Duration, counts: WakeCounts) {
        if self.recent.back().is_some_and(|(last, _)| *last >= age) {
            return;
        }
        self.recent.push_back((age, counts));
        while self.recent.get(1).is_some_and(|(second, _)| age.saturating_sub(*second) >= WINDOW) {
            self.recent.pop_front();
        }
    }

    /// Returns watch events, wake-ups in vain and requests a second; `None` until enough time has
    /// passed.
    pub fn per_second(&self) -> Option<[f64; 3]> {
        let ((first, then), (last, now)) = (self.recent.front()?, self.recent.back()?);
        let passed = last.saturating_sub(*first);
        if passed < MIN_WINDOW {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "a rate is rounded anyway")]
        let rate = |before: u64, after: u64| after.saturating_sub(before) as f64 / passed.as_secs_f64();
        Some([rate(then.woken, now.woken), rate(then.in_vain, now.in_vain), rate(then.requests, now.requests)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_cover_the_last_seconds() {
        let mut rates = WakeRates::default();
        assert_eq!(rates.per_second(), None);
        for second in 0..10_u64 {
            let counts = WakeCounts { woken: second * 20, in_vain: second * 10, requests: second * 30 };
            rates.add(Duration::from_secs(second), counts);
        }
        rates.add(Duration::from_secs(9), WakeCounts::default());
        assert_eq!(rates.per_second(), Some([20.0, 10.0, 30.0]));
    }
}
