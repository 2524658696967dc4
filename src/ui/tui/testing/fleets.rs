//! Fleets of test clients as reported by their statuses; no client runs.

use std::sync::Arc;
use std::time::Duration;

use super::{NOW, at, ensemble, press, session, settings};
use crate::tui::app::{App, Effect, Event, FleetSide, Settings, Tour, Update};
use lockscope_base::znode::Zxid;
use lockscope_lab::contend::{
    ClientId, ClientState, ClientStatus, FleetOutcome, FleetStatus, FleetTotals, LinkState, Overlap, Quantiles,
    Scenario, ServerEvents,
};
use lockscope_lock::Access;

/// Returns a console that may write, in step with the small ensemble.
pub fn writing(size: (u16, u16)) -> App {
    with(Settings { write: true, ..settings() }, size)
}

/// Returns a console with these settings, in step with the small ensemble.
pub fn with(settings: Settings, size: (u16, u16)) -> App {
    let mut app = App::new(settings, size, NOW);
    app.update(at(NOW, ensemble()), NOW);
    app
}

/// Returns the started scenarios, from left to right.
pub fn started(update: &Update) -> Vec<Scenario> {
    let scenario = |effect: &Effect| match effect {
        Effect::StartFleet { scenario, .. } => Some((**scenario).clone()),
        _ => None,
    };
    update.effects.iter().filter_map(scenario).collect()
}

/// Returns a client that has done some work.
pub fn client(id: u32, doing: ClientState) -> ClientStatus {
    let work = u64::from(id);
    ClientStatus {
        id: ClientId(id),
        state: doing,
        frozen: false,
        since: Duration::from_secs(9),
        session: Some(session(0x100 + i64::from(id))),
        expired: 0,
        link: LinkState::Whole,
        delay: Duration::ZERO,
        token: (doing == ClientState::Holding).then_some(Zxid(8_589_934_000 + i64::from(id))),
        events: 120 * work,
        requests: 140 * work,
        acquisitions: 3 * work,
        held: Duration::from_millis(61 * work),
        longest_wait: Duration::from_millis(900 + work),
        waits: Quantiles::default(),
        holds: Quantiles::default(),
        trouble: None,
        access: Access::Write,
        node: matches!(doing, ClientState::Holding | ClientState::Waiting)
            .then(|| super::path(&format!("/lockscope/lock/lock-{id:010}"))),
        watches: Vec::new(),
        woken_in_vain: 0,
    }
}

/// Returns the clients of a fleet: the first holds and the others wait.
pub fn clients(many: u32) -> Vec<ClientStatus> {
    (1..=many).map(|id| client(id, if id == 1 { ClientState::Holding } else { ClientState::Waiting })).collect()
}

/// Returns the figures after some acquisitions, each of which cost `events_each` watch events.
pub fn totals(acquisitions: u64, events_each: u64) -> FleetTotals {
    let millis = |millis| Duration::from_millis(millis);
    let waits =
        Quantiles { count: acquisitions, p50: millis(105), p90: millis(240), p99: millis(390), max: millis(4_400) };
    let holds = Quantiles {
        count: acquisitions,
        p50: Duration::from_micros(420),
        p90: millis(1),
        p99: millis(2),
        max: millis(12),
    };
    FleetTotals {
        acquisitions,
        requests: acquisitions * (events_each + 3),
        events: acquisitions * events_each,
        wire_requests: acquisitions * (events_each + 3),
        wire_events: acquisitions * events_each,
        bytes_up: acquisitions * 700,
        bytes_down: acquisitions * 31_000,
        modelled_herd: acquisitions * 60,
        modelled_chain: acquisitions,
        waits,
        holds,
        ..FleetTotals::default()
    }
}

/// Returns a fleet that has contended for one second less than its age.
pub fn status(scenario: &Scenario, age_ms: u64, clients: Vec<ClientStatus>, totals: FleetTotals) -> FleetStatus {
    let server = ServerEvents { children: totals.events, deleted: totals.events };
    FleetStatus {
        elapsed: Duration::from_millis(age_ms.saturating_sub(1_000)),
        age: Duration::from_millis(age_ms),
        connected: u32::try_from(clients.len()).expect("few"),
        clients,
        totals,
        server: Some(server),
        ..FleetStatus::new(&Arc::new(scenario.clone()))
    }
}

/// Delivers a fleet's status.
pub fn deliver(app: &mut App, side: FleetSide, status: FleetStatus) -> Update {
    let now = app.clock();
    app.update(Event::Fleet { side, status: Arc::new(status) }, now)
}

/// Returns a herd and a chain that have run for twelve seconds.
pub fn running(size: (u16, u16), many: u32) -> App {
    run(writing(size), many)
}

/// Runs the same fleets on a given console.
pub fn run(mut app: App, many: u32) -> App {
    let update = press(&mut app, &format!("5c{many} 20ms\n"));
    let scenarios = started(&update);
    contend(app, &scenarios, many)
}

/// Runs the first step of a tour, and returns the console twelve seconds after its start.
pub fn run_tour(mut app: App, tour: Tour) -> App {
    let update = app.update(Event::TourBegins(Box::new(tour)), NOW);
    contend(app, &started(&update), 8)
}

fn contend(mut app: App, scenarios: &[Scenario], many: u32) -> App {
    for tenth in 0..=120_u64 {
        for (side, scenario, pace, each) in
            [(FleetSide::Left, &scenarios[0], 3, 50), (FleetSide::Right, &scenarios[1], 13, 1)]
        {
            let acquisitions = tenth.saturating_sub(10) * pace;
            deliver(&mut app, side, status(scenario, tenth * 100, clients(many), totals(acquisitions, each)));
        }
    }
    app
}

/// Returns a fleet whose client 1 froze while it held, and whose client 2 has acquired the lock.
pub fn outlived(scenario: &Scenario) -> FleetStatus {
    let mut all = clients(10);
    let first = Zxid(8_589_934_001);
    (all[0].frozen, all[0].link) = (true, LinkState::Paused);
    (all[1].state, all[1].token) = (ClientState::Holding, Some(Zxid(8_589_934_777)));
    let mut status = status(scenario, 12_500, all, FleetTotals { outlived: 1, ..totals(400, 1) });
    status.overlaps = vec![Overlap {
        after: Duration::from_secs(12),
        first: ClientId(1),
        first_token: first,
        second: ClientId(2),
        second_token: Zxid(8_589_934_777),
        outlived: true,
    }];
    status
}

/// Returns the outcome of a fleet.
pub fn outcome(scenario: &Scenario, left_behind: Option<u64>) -> FleetOutcome {
    let status = status(scenario, 16_000, Vec::new(), totals(412, 50));
    FleetOutcome {
        rounds: None,
        acquisitions_per_second: 27.5,
        server: None,
        server_silence: Some("zk1:2181 does not answer mntr".to_owned()),
        left_behind,
        accepted_writes: 2 * status.totals.acquisitions,
        ..status.so_far()
    }
}
