//! A tour without a key for a minute goes slowly until a key is pressed.

use super::{SIZE, later};
use crate::tui::app::{App, Effect, Event, FleetSide, Key, Screen, Settings, Tour, Update};
use crate::tui::testing::fleets::{clients, started, status, totals, with};
use crate::tui::testing::{NOW, path, settings};
use lockscope_lab::contend::{FleetCommand, Speed};
use lockscope_lab::demo::Script;

/// Returns a console at the first step of the tour, which begins in slow motion, with both fleets
/// running.
fn touring(plays: bool) -> App {
    let mut app = with(Settings { write: true, audit_log: Some("/audit".into()), ..settings() }, SIZE);
    let tour = Tour::new(Script::built_in(), path("/demo"), true, plays);
    let update = app.update(Event::TourBegins(Box::new(tour)), NOW);
    for (side, scenario) in FleetSide::BOTH.into_iter().zip(started(&update)) {
        let status = status(&scenario, 1_000, clients(3), totals(3, 1)).into();
        app.update(Event::Fleet { side, status }, NOW);
    }
    app
}

/// Lets these seconds pass. Returns the commands to both fleets.
fn wait(app: &mut App, seconds: std::ops::RangeInclusive<u64>) -> Vec<FleetCommand> {
    seconds.flat_map(|second| orders(&app.update(Event::Tick, later(second)))).collect()
}

fn orders(update: &Update) -> Vec<FleetCommand> {
    let order = |effect: &Effect| match effect {
        Effect::Order { order, .. } => Some(*order),
        _ => None,
    };
    update.effects.iter().filter_map(order).collect()
}

fn says_so(app: &App) -> bool {
    app.caption_lines().iter().any(|line| line.text.contains("No key for a minute: the clients run slowly."))
}

/// Sets full speed from the start.
fn at_full_speed(mut app: App) -> App {
    app.test_clients.set_speed(Speed::Full, app.wall);
    app
}

#[test]
fn after_a_minute_without_a_key_the_clients_go_slowly_and_the_caption_says_so() {
    let mut app = at_full_speed(touring(false));
    assert_eq!(wait(&mut app, 1..=59), []);
    assert!(!says_so(&app));
    assert_eq!(wait(&mut app, 60..=60), [FleetCommand::Hold(true); 2]);
    assert!(says_so(&app));
    assert_eq!(wait(&mut app, 61..=64), [], "nothing more is said to them");
    let due = app.next_due().expect("a step every five seconds");
    assert!(due >= later(65), "{due:?}");
}

#[test]
fn any_key_restores_the_speed_and_keeps_its_meaning() {
    let mut app = at_full_speed(touring(false));
    wait(&mut app, 1..=60);
    let update = app.update(Event::Key(Key::Char('1')), later(90));
    assert_eq!(orders(&update), [FleetCommand::Hold(false); 2]);
    assert!(update.redraw && !says_so(&app));
    assert_eq!((app.screen(), app.slow_motion().speed), (Screen::Locks, Speed::Full));
    assert_eq!(wait(&mut app, 91..=149), []);
    assert_eq!(wait(&mut app, 150..=150), [FleetCommand::Hold(true); 2], "a minute after the last key");
}

#[test]
fn an_unbound_key_restores_the_speed_too() {
    let mut app = at_full_speed(touring(false));
    wait(&mut app, 1..=60);
    assert_eq!(orders(&app.update(Event::Key(Key::Ctrl('g')), later(61))), [FleetCommand::Hold(false); 2]);
}

#[test]
fn a_key_restores_the_slow_motion_of_before() {
    let mut app = touring(false);
    assert_eq!(app.slow_motion().speed, Speed::EveryTwoSeconds, "so the first step begins");
    wait(&mut app, 1..=60);
    assert!(says_so(&app));
    let update = app.update(Event::Key(Key::Char('1')), later(61));
    assert_eq!(orders(&update), [FleetCommand::Hold(true); 2]);
    assert_eq!(app.slow_motion().speed, Speed::EveryTwoSeconds);
}

#[test]
fn stopped_clients_stay_stopped() {
    let mut app = touring(false);
    app.test_clients.stop_or_go_on(app.wall);
    assert_eq!(wait(&mut app, 1..=90), []);
    assert!(!says_so(&app));
}

#[test]
fn a_tour_that_plays_does_not_slow_down_before_its_end() {
    let mut app = touring(true);
    let steps = Script::built_in().scenes;
    let length: u64 = steps.iter().flat_map(|scene| &scene.steps).map(|step| step.lasts.as_secs() + 1).sum();
    for second in 1..=length {
        app.update(Event::Tick, later(second));
        assert!(!says_so(&app), "after {second} s");
    }
    assert!(!app.tour().expect("a tour").is_playing(), "it came to its end");
}

#[test]
fn a_console_without_a_tour_never_goes_slowly() {
    let mut app = with(Settings { write: true, ..settings() }, SIZE);
    wait(&mut app, 1..=200);
    assert!(!app.tour_is_left_alone());
}
