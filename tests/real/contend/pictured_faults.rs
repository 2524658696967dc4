//! The picture of clients that are killed, stopped or cut off: each delivered event, and its cause.

use std::time::Duration;

use lockscope_lab::contend::{
    ClientId, ClientState, ClientStatus, FleetCommand, FleetStatus, LinkState, Scenario, TraceStep,
};
use lockscope_lock::Algorithm;

use super::fixture::{all_algorithms, client, scenario};
use super::picture_fixture::ShownFleet;
use super::step_fixture::{SteppedFleet, holds};
use crate::harness::server::Server;

const CLIENTS: u32 = 6;
/// A short session timeout, since the test waits for it.
const SESSION: Duration = Duration::from_secs(3);
/// By then, the session of a silent client has ended.
const SILENCE: Duration = Duration::from_secs(9);

/// A command for a client.
type Command = fn(ClientId) -> FleetCommand;

/// A fleet and its picture.
struct PicturedFleet {
    fleet: SteppedFleet,
    shown: ShownFleet,
    algorithm: Algorithm,
    /// Whether the picture has time to show everything before the next event.
    is_slow: bool,
}

impl PicturedFleet {
    async fn start(server: &Server, algorithm: Algorithm, speed: &str, is_slow: bool) -> Self {
        let path = format!("/pictured-faults/{}-{}", algorithm.name(), speed.len());
        let hold = Duration::from_secs(3600);
        let reads = if algorithm.access().is_some() { 50 } else { 0 };
        let scenario =
            Scenario { rounds: None, hold, reads, session_timeout: SESSION, ..scenario(algorithm, &path, CLIENTS, 1) };
        let mut fleet = SteppedFleet::start(&server.connect_string(), scenario);
        fleet
            .until("all in the queue", |status| {
                let queues = |client: &&ClientStatus| client.node.is_some() || !client.watches.is_empty();
                status.clients.iter().filter(queues).count() == CLIENTS as usize && status.next_step.is_some()
            })
            .await;
        fleet.settled().await;
        let mut shown = ShownFleet::new(speed, (80, 24));
        shown.open(std::mem::take(&mut fleet.statuses));
        Self { fleet, shown, algorithm, is_slow }
    }

    /// Waits, and shows the events meanwhile.
    async fn until(&mut self, what: &str, is_so: impl FnMut(&FleetStatus) -> bool) {
        let status = self.fleet.until(what, is_so).await;
        self.shown.take(self.fleet.statuses.drain(..));
        if self.is_slow {
            self.shown.catch_up();
            self.shown.check_events();
            if self.shown.fleet().status() == Some(&*status) {
                self.shown.check_rows();
            }
        }
    }

    /// Waits for the next report and shows it. Nothing is checked: a client may be between two
    /// states.
    async fn show_next(&mut self) {
        let shown = self.status().age;
        self.fleet.until("the next report", |status| status.age > shown).await;
        self.shown.take(self.fleet.statuses.drain(..));
        if self.is_slow {
            self.shown.catch_up();
        }
    }

    fn status(&self) -> FleetStatus {
        self.shown.fleet().status().expect("a status").clone()
    }

    /// Waits for a client in this state that has a node, and returns the first one.
    async fn first(&mut self, state: ClientState) -> ClientId {
        let is_it = |client: &&ClientStatus| client.state == state && !client.frozen && client.node.is_some();
        for _ in 0..4 * CLIENTS {
            if let Some(client) = self.status().clients.iter().find(is_it) {
                return client.id;
            }
            self.step().await;
        }
        panic!("nobody is {state:?}: {:#?}", self.status())
    }

    /// Applies a command to the first client in this state that has a node, and returns the client.
    /// On a busy machine its session may have ended just before: the command is then undone and
    /// applied to another client.
    async fn strike(
        &mut self,
        state: ClientState,
        (fault, undo): (Command, Command),
        is_struck: fn(&ClientStatus) -> bool,
    ) -> ClientId {
        for _ in 0..CLIENTS {
            let id = self.first(state).await;
            self.fleet.fixture.order(fault(id));
            self.until("struck", |status| is_struck(client(status, id))).await;
            let status = self.status();
            if client(&status, id).state == state && client(&status, id).node.is_some() {
                return id;
            }
            self.fleet.fixture.order(undo(id));
            self.until("as before", |status| !is_struck(client(status, id))).await;
        }
        panic!("nobody stays {state:?}: {:#?}", self.status())
    }

    fn is_exclusive(&self) -> bool {
        self.algorithm.access().is_none() && !matches!(self.algorithm, Algorithm::Semaphore(_))
    }

    /// Returns whether the requests of woken clients wake nobody.
    fn algorithm_wakes_once(&self) -> bool {
        self.is_exclusive() && self.algorithm != Algorithm::MutexParent
    }

    async fn crash(&mut self) {
        let holder = self.first(ClientState::Holding).await;
        let before = self.shown.events_so_far();
        self.fleet.fixture.order(FleetCommand::Crash(holder));
        self.until("killed", |status| client(status, holder).state == ClientState::Crashed).await;
        if self.is_slow {
            assert!(self.shown.row(holder).contains("crashed"), "{}", self.shown.frame());
        }
        self.until("gone", |status| client(status, holder).node.is_none()).await;
        self.until("handed over", |status| status.next_step.is_some()).await;
        // On a busy machine, more than one session may have ended.
        let others_ended = self.fleet.trace.iter().any(|entry| entry.step == TraceStep::Expires);
        if self.algorithm_wakes_once() && self.is_slow && !others_ended {
            for event in self.shown.events_since(before) {
                assert_eq!(event.from, Some(holder), "only its node went: {event:?}");
            }
        }
    }

    async fn freeze_and_thaw(&mut self) {
        let freeze: (Command, Command) = (FleetCommand::Freeze, FleetCommand::Thaw);
        let holder = self.strike(ClientState::Holding, freeze, |client| client.frozen).await;
        let expired = client(&self.status(), holder).expired;
        let until = self.status().age + SILENCE;
        // The end of its session shows until the next step. On a busy machine another session may
        // end soon after, which is that step.
        let mut shows_end = false;
        while self.status().age <= until {
            self.show_next().await;
            let frame = self.shown.frame();
            shows_end |= frame.contains("session ended") && frame.contains("● ");
        }
        if self.is_slow && self.is_exclusive() {
            assert!(self.shown.row(holder).contains("thinks it holds"), "{}", self.shown.frame());
            assert!(shows_end, "{}", self.shown.frame());
        }
        self.fleet.fixture.order(FleetCommand::Thaw(holder));
        self.until("back", |status| client(status, holder).expired > expired && !holds(status, holder)).await;
    }

    async fn cut_and_heal(&mut self) {
        let cut: (Command, Command) = (FleetCommand::Cut, FleetCommand::Heal);
        let waiter = self.strike(ClientState::Waiting, cut, |client| client.link == LinkState::Cut).await;
        let expired = client(&self.status(), waiter).expired;
        if self.is_slow {
            assert!(self.shown.row(waiter).contains("link cut"), "{}", self.shown.frame());
        }
        let until = self.status().age + SILENCE;
        self.until("long after its session", |status| status.age > until).await;
        self.fleet.fixture.order(FleetCommand::Heal(waiter));
        self.until("back", |status| {
            let client = client(status, waiter);
            client.expired > expired && client.state != ClientState::Connecting
        })
        .await;
    }

    async fn go_through_faults(mut self) {
        self.crash().await;
        self.step_on().await;
        // Only waiters with a node are cut; with a single node, no waiter has one.
        if !matches!(self.algorithm, Algorithm::Mutex | Algorithm::MutexParent) {
            self.cut_and_heal().await;
        }
        self.step_on().await;
        self.freeze_and_thaw().await;
        self.step_on().await;
        self.shown.catch_up();
        self.shown.check_causes();
        self.shown.check_requests(false);
        let (seen, delivered) = (self.shown.seen(), self.shown.delivered());
        assert_eq!(seen.len() as u64 + self.shown.too_fast, delivered.len() as u64, "{}", self.shown.frame());
        let mut rest = delivered.iter();
        assert!(seen.iter().all(|event| rest.any(|other| other == event)), "{seen:#?} of {delivered:#?}");
        self.fleet.fixture.fleet.stop().await;
    }

    /// Plays some steps, and waits for each to finish.
    async fn step_on(&mut self) {
        for _ in 0..3 {
            self.step().await;
        }
    }

    async fn step(&mut self) {
        let sent = self.fleet.fixture.fleet.status().totals.requests;
        self.fleet.fixture.order(FleetCommand::Step);
        let goes_on = |status: &FleetStatus| status.next_step.is_some() && status.totals.requests > sent;
        self.until("the next step", goes_on).await;
    }
}

async fn all_go_through_faults(speed: &str, is_slow: bool) {
    let server = Server::start();
    let fleets = all_algorithms().into_iter().map(async |algorithm| {
        let fleet = PicturedFleet::start(&server, algorithm, speed, is_slow).await;
        Box::pin(fleet.go_through_faults()).await;
    });
    futures::future::join_all(fleets).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_crashed_cut_and_stopped_clients_exactly_the_delivered_events_are_drawn() {
    all_go_through_faults(",,,", true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_too_fast_for_the_picture_are_drawn_in_order_or_counted_as_left_out() {
    all_go_through_faults(",", false).await;
}
