//! Snapshots of the pictures of who wakes whom.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::{SIZES, after, drawn, picture, show, show_once};
use crate::tui::app::{App, Event, FleetSide, Settings};
use crate::tui::testing::fleets::{client, clients, deliver, status, totals, with, writing};
use crate::tui::testing::servers::trouble;
use crate::tui::testing::stepped::SteppedFleet;
use crate::tui::testing::{live, path, press, settings};
use crate::tui::theme::{Theme, ThemeName};
use lockscope_base::znode::Zxid;
use lockscope_lab::contend::{
    ClientId, ClientState, ClientStatus, FleetStatus, LinkState, NextStep, RequestKind, Scenario, TraceEntry,
    TraceStep, WatchPlace, WokenTurn,
};
use lockscope_lock::{Access, Algorithm};

/// Two fleets in slow motion, with one step every two seconds.
struct Pair {
    app: App,
    fleets: [SteppedFleet; 2],
}

impl Pair {
    fn of(mut app: App, many: u32, algorithms: [Algorithm; 2]) -> Self {
        press(&mut app, &format!("5c{many} 20ms\n"));
        let scenario = |algorithm: Algorithm| {
            let path = path("/lockscope").child(algorithm.name());
            Scenario { session_timeout: Duration::from_secs(6), ..Scenario::new(algorithm, path, many) }
        };
        let fleets = algorithms.map(|algorithm| SteppedFleet::new(scenario(algorithm), many));
        press(&mut app, "w,,,,,");
        let mut pair = Self { app, fleets };
        pair.tell();
        pair
    }

    fn new(size: (u16, u16), many: u32) -> Self {
        Self::of(writing(size), many, [Algorithm::Herd, Algorithm::Chain])
    }

    fn tell(&mut self) {
        for (side, fleet) in FleetSide::BOTH.into_iter().zip(&mut self.fleets) {
            let status = fleet.status();
            let now = self.app.clock();
            self.app.update(Event::Fleet { side, status: Arc::new(status) }, now);
        }
    }

    fn step(&mut self) {
        self.fleets.iter_mut().for_each(SteppedFleet::step);
        self.tell();
    }

    fn pass(&mut self, millis: u64) {
        let end = self.app.clock().plus(Duration::from_millis(millis));
        while let Some(due) = self.app.next_due().filter(|due| *due < end) {
            self.app.update(Event::Due, due);
        }
        self.app.update(Event::Due, end);
    }

    /// Lets `steps` steps pass.
    fn steps(mut self, steps: usize) -> Self {
        for _ in 0..steps {
            self.step();
            self.pass(2_000);
        }
        self
    }
}

fn in_flight(size: (u16, u16)) -> App {
    let mut pair = Pair::new(size, 8).steps(4);
    pair.step();
    pair.pass(600);
    pair.app
}

fn settled(size: (u16, u16)) -> App {
    let mut pair = Pair::new(size, 8).steps(2);
    pair.step();
    pair.pass(1_900);
    pair.app
}

fn faults(size: (u16, u16)) -> App {
    let mut pair = Pair::new(size, 8).steps(2);
    for fleet in &mut pair.fleets {
        let holder = fleet.holders()[0];
        let frozen = fleet.clients.get_mut(&holder).unwrap();
        (frozen.frozen, frozen.node, frozen.watches) = (true, None, Vec::new());
        let crashed = fleet.clients.get_mut(&4).unwrap();
        (crashed.state, crashed.since) = (ClientState::Crashed, Duration::from_secs(3));
        fleet.clients.get_mut(&5).unwrap().link = LinkState::Cut;
        let next = fleet.clients.get_mut(&(holder + 1)).unwrap();
        (next.state, next.token, next.watches) = (ClientState::Holding, Some(Zxid(44)), Vec::new());
        fleet.write(holder + 1, Zxid(44));
        fleet.write(holder, Zxid(41));
    }
    pair.tell();
    pair.pass(100);
    pair.app
}

#[test]
fn the_picture_matches_its_snapshots() {
    show("picture-in-flight", in_flight);
    show_once("picture-settled", settled);
    show_once("picture-listings", |size| {
        let mut pair = Pair::new(size, 8).steps(4);
        pair.step();
        pair.pass(1_250);
        pair.app
    });
    show_once("picture-new-request", |size| {
        let mut pair = Pair::new(size, 8).steps(3);
        pair.step();
        pair.pass(500);
        pair.app
    });
    show("picture-faults", faults);
    show("picture-large", |size| after(in_flight(size), "L"));
    show_once("picture-stopped", |size| after(settled(size), " "));
}

#[test]
fn the_picture_of_a_long_queue_matches_its_snapshots() {
    show_once("picture-long", |size| {
        let mut pair = Pair::new(size, 100).steps(2);
        pair.step();
        pair.pass(500);
        pair.app
    });
}

#[test]
fn the_pictures_of_other_recipes_match_their_snapshots() {
    let app = |size, algorithms| {
        let mut pair = Pair::of(writing(size), 8, algorithms).steps(2);
        pair.step();
        pair.pass(600);
        pair.app
    };
    show_once("picture-shared", |size| {
        app(size, [Algorithm::SharedHerd(Access::Write), Algorithm::SharedChain(Access::Write)])
    });
    show_once("picture-ahead", |size| app(size, [Algorithm::Chain, Algorithm::ChainAhead]));
    show_once("picture-single-node", |size| app(size, [Algorithm::Mutex, Algorithm::Chain]));
}

/// Shows a semaphore with three leases. One lease was just returned: the next client lists the
/// leases, and the one behind it sleeps on.
fn semaphore(size: (u16, u16)) -> App {
    let mut app = Pair::of(writing(size), 7, [Algorithm::Herd, Algorithm::Chain]).app;
    let (lease, place) = (|number: u32| path(&format!("/s/leases/lease-{number:010}")), path("/s/leases"));
    let queued = |number: u32| path(&format!("/s/locks/lock-{number:010}"));
    let stands = |id, state, node, watches: Option<WatchPlace>| ClientStatus {
        node: Some(node),
        watches: watches.into_iter().collect(),
        ..client(id, state)
    };
    let waits = ClientState::Waiting;
    let mut clients = vec![
        stands(1, ClientState::Holding, lease(11), None),
        stands(2, ClientState::Holding, lease(12), None),
        stands(3, ClientState::Holding, lease(13), None),
        stands(4, waits, lease(14), Some(WatchPlace::Children(place.clone()))),
        stands(5, waits, queued(25), Some(WatchPlace::Node(queued(24)))),
        stands(6, waits, queued(26), Some(WatchPlace::Node(queued(25)))),
        client(7, ClientState::Ready),
    ];
    let scenario = Scenario::new(Algorithm::Semaphore(NonZeroU32::new(3).unwrap()), path("/s"), 7);
    let told = |app: &mut App, clients: &[ClientStatus], steps: Vec<(u32, TraceStep)>| {
        let entry = |(id, step)| TraceEntry { at: Duration::from_secs(5), client: ClientId(id), step };
        let made = status(&scenario, 5_000, clients.to_vec(), totals(9, 1));
        let trace = steps.into_iter().map(entry).collect();
        let status = FleetStatus { stepped: true, trace, next_step: Some((ClientId(2), NextStep::Release)), ..made };
        for side in FleetSide::BOTH {
            deliver(app, side, status.clone());
        }
    };
    told(&mut app, &clients, Vec::new());
    let steps = vec![
        (1, TraceStep::Releases),
        (1, TraceStep::Sent(RequestKind::Delete)),
        (1, TraceStep::Deleted(lease(11))),
        (4, TraceStep::Woken(WatchPlace::Children(place))),
        (4, TraceStep::Sent(RequestKind::List)),
    ];
    (clients[0].state, clients[0].node) = (ClientState::Ready, None);
    clients[3].watches.clear();
    told(&mut app, &clients, steps);
    let end = app.clock().plus(Duration::from_millis(1_200));
    while let Some(due) = app.next_due().filter(|due| *due < end) {
        app.update(Event::Due, due);
    }
    app.update(Event::Due, end);
    app
}

#[test]
fn the_picture_of_a_semaphore_matches_its_snapshots() {
    show_once("picture-semaphore", semaphore);
}

#[test]
fn the_picture_of_a_foreign_queue_matches_its_snapshots() {
    show("queue-picture", |size| after(trouble(size), ":lock /locks/billing\nw"));
    show_once("queue-picture-unknown", |size| after(live(size), ":lock /locks/orders\nw"));
    show_once("queue-picture-read-write", |size| after(trouble(size), ":lock /apps/catalogue/index-rebuild\nwj"));
    show_once("queue-picture-single-node", |size| after(trouble(size), ":lock /controller\nw"));
}

/// A herd and a chain at full speed, `millis` after a turn that woke everybody in the herd.
fn cells(mut app: App, many: u32, millis: u64) -> App {
    press(&mut app, &format!("5c{many} 0ms\nw"));
    for tenth in 10..=61_u64 {
        for (side, algorithm, pace, each) in
            [(FleetSide::Left, Algorithm::Herd, 4, u64::from(many) + 3), (FleetSide::Right, Algorithm::Chain, 70, 1)]
        {
            let scenario = Scenario::new(algorithm, path("/lockscope").child(algorithm.name()), many);
            let number = (tenth - 10) * pace;
            let holder = ClientId(u32::try_from(number).unwrap() % many + 1);
            let all = (1..=many).map(ClientId).filter(|client| *client == holder || algorithm == Algorithm::Herd);
            let turn = WokenTurn { number, holder, woken: all.collect(), events: each };
            let made = status(&scenario, tenth * 100, clients(many), totals(number, each));
            deliver(&mut app, side, FleetStatus { turn: (number > 0).then(|| Arc::new(turn)), ..made });
        }
        app.update(Event::Due, app.clock().plus(Duration::from_millis(if tenth < 61 { 100 } else { millis })));
    }
    app
}

#[test]
fn the_cells_of_fast_clients_match_their_snapshots() {
    show("cells", |size| cells(writing(size), 100, 120));
    show_once("cells-few", |size| cells(writing(size), 10, 0));
    show_once("cells-many", |size| cells(writing(size), 1_000, 0));
    let ascii = |size| with(Settings { write: true, ascii: true, ..settings() }, size);
    show_once("cells-ascii", |size| cells(ascii(size), 100, 120));
    for size in SIZES {
        assert!(picture(&cells(ascii(size), 100, 120), size).is_ascii());
    }
}

#[test]
fn a_herd_flashes_as_a_whole_and_a_chain_in_one_cell_and_then_nothing_is_drawn() {
    for many in [2, 10, 100] {
        let mut app = cells(writing((160, 45)), many, 0);
        let lit = |app: &App, symbol: &str| {
            let buffer = drawn(app, (160, 45), &Theme::new(ThemeName::Terminal, false));
            let count = |columns: std::ops::Range<u16>| {
                columns.flat_map(|x| (5..36).map(move |y| (x, y))).filter(|at| buffer[*at].symbol() == symbol).count()
            };
            [count(0..80), count(80..160)]
        };
        let mut seen = Vec::new();
        for symbol in ["█", "▓", "▒", "░"] {
            let [herd, chain] = lit(&app, symbol);
            assert!(chain > 0 && herd >= chain * many as usize, "{many} clients, {symbol}: {herd} and {chain}");
            seen.extend(app.next_due());
            app.next_due().map(|due| app.update(Event::Due, due));
        }
        seen.dedup();
        assert_eq!((seen.len(), app.next_due()), (3, None), "a frame for each level, and none after the last");
    }
}

#[test]
fn the_ascii_picture_contains_only_ascii() {
    let ascii = |size| with(Settings { write: true, ascii: true, ..settings() }, size);
    let app = |size| {
        let mut pair = Pair::of(ascii(size), 8, [Algorithm::Herd, Algorithm::Chain]).steps(2);
        pair.step();
        pair.pass(400);
        pair.app
    };
    show_once("picture-ascii", app);
    for size in SIZES {
        assert!(picture(&app(size), size).is_ascii());
        assert!(picture(&after(app(size), "L"), size).is_ascii());
    }
}

#[test]
fn arrows_show_the_events_in_flight_and_nothing_else() {
    for size in SIZES {
        let mut seen = (0, 0);
        let mut pair = Pair::new(size, 20);
        for _ in 0..6 {
            pair.step();
            for _ in 0..40 {
                pair.pass(50);
                let replays = || pair.app.fleets().each().map(|(_, fleet)| &fleet.replay);
                let events = replays().map(|replay| replay.flying().len()).sum::<usize>();
                let requests = replays().map(|replay| replay.requests().len()).sum::<usize>();
                let shown = picture(&pair.app, size);
                // The last border holds the legend.
                let letters = shown.lines().take(usize::from(size.1) - 2).flat_map(str::chars);
                let letters: Vec<char> = letters.collect();
                let count = |arrows: &str| letters.iter().filter(|letter| arrows.contains(**letter)).count();
                // Several arrows may share a cell on their common path, and events cover requests.
                let (arrows, asks) = (count("▲▶▼◀"), count("△▷▽◁"));
                assert!(arrows <= events && (arrows > 0) == (events > 0), "{arrows} of {events}: {shown}");
                assert!(asks <= requests && (requests == 0 || events > 0 || asks > 0), "{asks} of {requests}: {shown}");
                seen.0 += arrows;
                seen.1 += asks;
            }
        }
        assert!(seen.0 > 0 && seen.1 > 0, "{seen:?}");
    }
}
