//! Slow motion: the commands of the keys, when steps are played, and when frames are drawn.

use std::sync::Arc;
use std::time::Duration;

use crate::tui::app::tests::SIZE;
use crate::tui::app::{App, Effect, Event, FleetSide, Key, Screen, Update};
use crate::tui::testing::fleets::{running, status};
use crate::tui::testing::press;
use crate::tui::testing::stepped::SteppedFleet;
use lockscope_base::znode::Timestamp;
use lockscope_lab::contend::{FleetCommand, Scenario, Speed};

fn orders(update: &Update) -> Vec<(FleetSide, FleetCommand)> {
    let order = |effect: &Effect| match effect {
        Effect::Order { side, order } => Some((*side, *order)),
        _ => None,
    };
    update.effects.iter().filter_map(order).collect()
}

fn both(order: FleetCommand) -> Vec<(FleetSide, FleetCommand)> {
    FleetSide::BOTH.into_iter().map(|side| (side, order)).collect()
}

/// Returns both fleets, which the test steps through.
fn fleets(app: &App) -> [SteppedFleet; 2] {
    FleetSide::BOTH.map(|side| SteppedFleet::new(Scenario::clone(&app.fleets().fleet(side).unwrap().scenario), 6))
}

fn tell(app: &mut App, fleets: &mut [SteppedFleet; 2]) -> Vec<(FleetSide, FleetCommand)> {
    let mut all = Vec::new();
    for (side, fleet) in FleetSide::BOTH.into_iter().zip(fleets) {
        let now = app.clock();
        all.extend(orders(&app.update(Event::Fleet { side, status: Arc::new(fleet.status()) }, now)));
    }
    all
}

/// Lets time pass. Returns the commands to the fleets, each with its time since the start.
fn pass(app: &mut App, millis: u64) -> Vec<(Duration, FleetSide, FleetCommand)> {
    let start = app.clock();
    let end = start.plus(Duration::from_millis(millis));
    let mut all = Vec::new();
    let mut take = |app: &mut App, now: Timestamp| {
        let update = app.update(Event::Due, now);
        all.extend(orders(&update).into_iter().map(|(side, order)| (now.since(start), side, order)));
    };
    while let Some(due) = app.next_due().filter(|due| *due < end) {
        take(app, due);
    }
    take(app, end);
    all
}

#[test]
fn slow_motion_holds_both_sides_and_full_speed_releases_them() {
    let mut app = running(SIZE, 6);
    assert!(!app.shows_picture(), "the list comes first");
    assert_eq!(orders(&press(&mut app, ",")), both(FleetCommand::Hold(true)));
    assert!(app.shows_picture(), "slow motion is there to be seen");
    assert_eq!(app.slow_motion().speed, Speed::TenPerSecond);
    assert_eq!(orders(&press(&mut app, ".")), both(FleetCommand::Hold(false)));
    assert_eq!(app.slow_motion().speed, Speed::Full);
    press(&mut app, "w");
    assert!(!app.shows_picture());
}

#[test]
fn both_sides_step_at_the_same_time_at_the_chosen_speed() {
    let mut app = running(SIZE, 6);
    let mut fleets = fleets(&app);
    press(&mut app, ",,,,");
    assert_eq!(app.slow_motion().speed, Speed::OnePerSecond);
    assert_eq!(tell(&mut app, &mut fleets), []);
    for _ in 0..5 {
        let played = pass(&mut app, 1_000);
        let second = Duration::from_secs(1);
        let expected: Vec<_> = FleetSide::BOTH.into_iter().map(|side| (second, side, FleetCommand::Step)).collect();
        assert_eq!(played, expected);
        fleets.iter_mut().for_each(SteppedFleet::step);
        tell(&mut app, &mut fleets);
    }
}

#[test]
fn a_side_that_is_not_ready_delays_the_other_by_a_second_at_most() {
    let mut app = running(SIZE, 6);
    let mut fleets = fleets(&app);
    press(&mut app, ",,,,");
    tell(&mut app, &mut fleets);
    let mut stuck = fleets[0].status();
    stuck.next_step = None;
    let now = app.clock();
    app.update(Event::Fleet { side: FleetSide::Left, status: Arc::new(stuck) }, now);
    let played = pass(&mut app, 2_500);
    let times: Vec<_> = played.iter().map(|(after, ..)| after.as_millis()).collect();
    assert_eq!(times, [2_000, 2_000], "{played:?}");
}

#[test]
fn space_stops_and_resumes_and_the_right_arrow_plays_one_step() {
    let mut app = running(SIZE, 6);
    let mut fleets = fleets(&app);
    assert_eq!(orders(&press(&mut app, " ")), both(FleetCommand::Hold(true)));
    assert!(app.slow_motion().is_stopped);
    tell(&mut app, &mut fleets);
    assert_eq!(pass(&mut app, 10_000), [], "nobody steps by itself");
    let now = app.clock();
    assert_eq!(orders(&app.update(Event::Key(Key::Right), now)), both(FleetCommand::Step));
    assert_eq!(orders(&press(&mut app, " ")), both(FleetCommand::Hold(false)));
    let now = app.clock();
    let from_full_speed = orders(&app.update(Event::Key(Key::Right), now));
    assert_eq!(from_full_speed, [both(FleetCommand::Hold(true)), both(FleetCommand::Step)].concat());
}

#[test]
fn a_fleet_that_ignores_a_command_gets_it_again() {
    let mut app = running(SIZE, 6);
    press(&mut app, ",");
    let scenario: Scenario = Scenario::clone(&app.fleets().fleet(FleetSide::Left).unwrap().scenario);
    let free = || Arc::new(status(&scenario, 14_000, Vec::new(), lockscope_lab::contend::FleetTotals::default()));
    let now = app.clock();
    let told = orders(&app.update(Event::Fleet { side: FleetSide::Left, status: free() }, now));
    assert_eq!(told, [], "it was told just now");
    let later = now.plus(Duration::from_secs(2));
    let told = orders(&app.update(Event::Fleet { side: FleetSide::Left, status: free() }, later));
    assert!(told.contains(&(FleetSide::Left, FleetCommand::Hold(true))), "{told:?}");
}

#[test]
fn frames_are_due_only_while_the_visible_picture_moves() {
    let mut app = running(SIZE, 6);
    assert_eq!(app.next_due(), None);
    let mut fleets = fleets(&app);
    press(&mut app, " ");
    tell(&mut app, &mut fleets);
    assert_eq!(app.next_due(), None, "stopped, and nothing travels");
    fleets.iter_mut().for_each(SteppedFleet::step);
    tell(&mut app, &mut fleets);
    let (start, mut frames) = (app.clock(), 0);
    while let Some(due) = app.next_due() {
        assert!(due > app.clock());
        frames += u32::from(app.update(Event::Due, due).redraw);
    }
    let took = app.clock().since(start);
    assert!(took >= Duration::from_millis(400) && took < Duration::from_secs(3), "{took:?}");
    assert!((10..=180).contains(&frames), "{frames}");
    fleets.iter_mut().for_each(SteppedFleet::step);
    press(&mut app, "1");
    tell(&mut app, &mut fleets);
    assert_eq!((app.screen(), app.next_due()), (Screen::Locks, None), "nobody looks");
}
