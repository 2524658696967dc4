//! Who wakes whom, as it looks.

use std::sync::Arc;
use std::time::Duration;

use super::{SIZES, after, picture, show};
use crate::contend::{ClientState, FleetStatus, LinkState, Scenario};
use crate::lock::{Access, Algorithm};
use crate::tui::app::{App, Event, FleetSide, Settings};
use crate::tui::testing::fleets::{with, writing};
use crate::tui::testing::servers::trouble;
use crate::tui::testing::stepped::SteppedFleet;
use crate::tui::testing::{live, press, settings};
use crate::znode::{ZnodePath, Zxid};

/// Two fleets in slow motion, with one step each two seconds.
struct Pair {
    app: App,
    fleets: [SteppedFleet; 2],
}

impl Pair {
    fn of(mut app: App, many: u32, algorithms: [Algorithm; 2]) -> Self {
        press(&mut app, &format!("5c{many} 20ms\n"));
        let scenario = |algorithm: Algorithm| {
            let path = ZnodePath::new("/lockscope").unwrap().child(algorithm.name());
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

    /// So many steps are over.
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
fn the_picture_looks() {
    show("picture-in-flight", in_flight);
    show("picture-settled", settled);
    show("picture-new-request", |size| {
        let mut pair = Pair::new(size, 8).steps(3);
        pair.step();
        pair.pass(500);
        pair.app
    });
    show("picture-faults", faults);
    show("picture-large", |size| after(in_flight(size), "L"));
    show("picture-stopped", |size| after(settled(size), " "));
}

#[test]
fn the_picture_of_a_long_queue_looks() {
    show("picture-long", |size| {
        let mut pair = Pair::new(size, 100).steps(2);
        pair.step();
        pair.pass(500);
        pair.app
    });
}

#[test]
fn the_picture_of_other_recipes_looks() {
    let app = |size, algorithms| {
        let mut pair = Pair::of(writing(size), 8, algorithms).steps(2);
        pair.step();
        pair.pass(600);
        pair.app
    };
    show("picture-shared", |size| {
        app(size, [Algorithm::SharedHerd(Access::Write), Algorithm::SharedChain(Access::Write)])
    });
    show("picture-ahead", |size| app(size, [Algorithm::Chain, Algorithm::ChainAhead]));
    show("picture-single-node", |size| app(size, [Algorithm::Mutex, Algorithm::Chain]));
}

#[test]
fn the_picture_of_a_queue_of_others_looks() {
    show("queue-picture", |size| after(trouble(size), ":lock /locks/billing\nw"));
    show("queue-picture-unknown", |size| after(live(size), ":lock /locks/orders\nw"));
    show("queue-picture-read-write", |size| after(trouble(size), ":lock /apps/catalogue/index-rebuild\nwj"));
    show("queue-picture-single-node", |size| after(trouble(size), ":lock /controller\nw"));
}

#[test]
fn the_picture_at_full_speed_looks() {
    show("picture-full-speed", |size| {
        let mut pair = Pair::new(size, 20);
        press(&mut pair.app, ".....");
        for _ in 0..20 {
            for (side, fleet) in FleetSide::BOTH.into_iter().zip(&mut pair.fleets) {
                fleet.step();
                let status = FleetStatus { stepped: false, trace: Arc::default(), next_step: None, ..fleet.status() };
                let now = pair.app.clock();
                pair.app.update(Event::Fleet { side, status: Arc::new(status) }, now);
            }
            pair.pass(100);
        }
        pair.app
    });
}

#[test]
fn the_picture_in_ascii_is_ascii() {
    let ascii = |size| with(Settings { write: true, ascii: true, ..settings() }, size);
    let app = |size| {
        let mut pair = Pair::of(ascii(size), 8, [Algorithm::Herd, Algorithm::Chain]).steps(2);
        pair.step();
        pair.pass(400);
        pair.app
    };
    show("picture-ascii", app);
    for size in SIZES {
        assert!(picture(&app(size), size).is_ascii());
        assert!(picture(&after(app(size), "L"), size).is_ascii());
    }
}

#[test]
fn each_event_that_travels_is_an_arrow_on_the_screen_and_there_is_no_other() {
    for size in SIZES {
        let mut pair = Pair::new(size, 20);
        for _ in 0..6 {
            pair.step();
            for _ in 0..40 {
                pair.pass(50);
                let flying = pair.app.fleets().each().map(|(_, fleet)| fleet.replay().flying().len());
                let travels = flying.sum::<usize>();
                let shown = picture(&pair.app, size);
                let arrows = shown.lines().take(usize::from(size.1) - 1).flat_map(str::chars);
                let arrows = arrows.filter(|letter| "▲▶▼◀".contains(*letter)).count();
                // Several may be in one place, on their common way.
                assert!(arrows <= travels && (arrows > 0) == (travels > 0), "{arrows} of {travels}: {shown}");
            }
        }
    }
}
