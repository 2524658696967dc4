//! Keys and commands that act on test clients.

use std::time::Duration;

use crate::tui::app::tests::SIZE;
use crate::tui::app::{App, Effect, Event, FleetSide, Phase, Screen};
use crate::tui::testing::fleets::{client, clients, deliver, outcome, running, status, totals, writing};
use crate::tui::testing::{NOW, press};
use lockscope_lab::contend::{ClientId, ClientState, FleetCommand};

fn ordered(app: &mut App, keys: &str) -> (FleetSide, FleetCommand) {
    let update = press(app, keys);
    let [Effect::Order { side, order }] = update.effects.as_slice() else { panic!("{keys:?}: {update:?}") };
    (*side, *order)
}

/// Reports these clients as the state of the herd.
fn now(app: &mut App, clients: Vec<lockscope_lab::contend::ClientStatus>) {
    let scenario = app.fleets().fleet(FleetSide::Left).unwrap().scenario.clone();
    deliver(app, FleetSide::Left, status(&scenario, 13_000, clients, totals(400, 50)));
}

#[test]
fn each_key_acts_on_the_selected_client() {
    let mut app = running(SIZE, 9);
    press(&mut app, "jj");
    let third = ClientId(3);
    for (key, order) in [
        ("K", FleetCommand::Crash(third)),
        ("z", FleetCommand::Freeze(third)),
        ("-", FleetCommand::Cut(third)),
        ("+", FleetCommand::Heal(third)),
        ("d", FleetCommand::Delay(third, Duration::from_millis(50))),
        ("a", FleetCommand::Join(1)),
        ("r", FleetCommand::Leave(third)),
    ] {
        assert_eq!(ordered(&mut app, key), (FleetSide::Left, order));
    }
    assert_eq!(
        ordered(&mut app, "\tjK"),
        (FleetSide::Right, FleetCommand::Crash(ClientId(2))),
        "the sides have selections of their own"
    );
    assert_eq!(ordered(&mut app, "hK"), (FleetSide::Left, FleetCommand::Crash(third)));
}

#[test]
fn pressing_a_key_again_cycles_the_delay_and_thaws_a_frozen_client() {
    let mut app = running(SIZE, 9);
    let mut all = clients(9);
    all[0].frozen = true;
    for (delay, next) in [(0, 50), (50, 250), (250, 0), (100, 250)] {
        all[0].delay = Duration::from_millis(delay);
        now(&mut app, all.clone());
        assert_eq!(ordered(&mut app, "d").1, FleetCommand::Delay(ClientId(1), Duration::from_millis(next)), "{delay}");
    }
    assert_eq!(ordered(&mut app, "z").1, FleetCommand::Thaw(ClientId(1)));
}

#[test]
fn commands_take_a_client_a_number_or_a_time() {
    let mut app = running(SIZE, 9);
    let mut all = clients(9);
    all[0] = client(1, ClientState::Waiting);
    all[5] = client(6, ClientState::Holding);
    now(&mut app, all);
    for (line, order) in [
        ("join 10", FleetCommand::Join(10)),
        ("crash 4", FleetCommand::Crash(ClientId(4))),
        ("freeze holder", FleetCommand::Freeze(ClientId(6))),
        ("cut holder", FleetCommand::Cut(ClientId(6))),
        ("delay 100ms", FleetCommand::Delay(ClientId(1), Duration::from_millis(100))),
        ("delay holder 1s", FleetCommand::Delay(ClientId(6), Duration::from_secs(1))),
        ("delay 3 0s", FleetCommand::Delay(ClientId(3), Duration::ZERO)),
        ("remove 9", FleetCommand::Leave(ClientId(9))),
    ] {
        assert_eq!(ordered(&mut app, &format!(":{line}\n")).1, order, "{line}");
    }
    assert_eq!(ordered(&mut app, "HK").1, FleetCommand::Crash(ClientId(6)), "H selects the holder");
    for line in ["crash 10", "crash nobody", "crash 1 2", "join none", "join 0", "join 5000", "delay 1s 2s"] {
        assert_eq!(press(&mut app, &format!(":{line}\n")).effects, [], "{line}");
        assert!(app.notice().unwrap().sign != crate::tui::page::Sign::Done, "{line}");
    }
}

#[test]
fn a_crashed_client_can_only_be_removed() {
    let mut app = running(SIZE, 3);
    let mut all = clients(3);
    all[0] = client(1, ClientState::Crashed);
    now(&mut app, all);
    for key in ["K", "z", "-", "+", "d"] {
        assert_eq!(press(&mut app, key).effects, []);
        assert!(app.notice().unwrap().text.contains("crashed"));
    }
    assert_eq!(ordered(&mut app, "r").1, FleetCommand::Leave(ClientId(1)));
    assert_eq!(app.living_clients(), 2 + 3);
}

#[test]
fn keys_without_clients_only_show_a_notice() {
    let mut app = writing(SIZE);
    press(&mut app, "5");
    for key in ["K", "z", "-", "+", "d", "a", "r", "X", "H"] {
        assert_eq!(press(&mut app, key).effects, []);
        assert!(app.notice().unwrap().sign != crate::tui::page::Sign::Done, "{key}");
    }
}

#[test]
fn the_selected_client_is_kept_while_others_come_and_go() {
    let mut app = running(SIZE, 9);
    press(&mut app, "jjjj");
    now(&mut app, clients(9).into_iter().filter(|client| client.id.0 > 3).collect());
    assert_eq!(app.selected_client().unwrap().id, ClientId(5));
    assert_eq!(press(&mut app, "y").effects, [Effect::Copy("0x1000a2b3c400105".to_owned())]);
}

#[test]
fn a_frame_shows_a_window_of_a_thousand_clients() {
    let mut app = running(SIZE, 1000);
    press(&mut app, "G");
    assert_eq!(app.selected_client().unwrap().id, ClientId(1000));
    assert_eq!(app.client_cursor().top() + app.layout().unwrap().rows().1, 1000);
}

#[test]
fn shift_x_stops_both_fleets_and_notices_report_their_ends() {
    let mut app = running(SIZE, 4);
    assert_eq!(press(&mut app, "X").effects, [Effect::StopFleet(FleetSide::Left), Effect::StopFleet(FleetSide::Right)]);
    assert!(app.has_fleets(), "they are still leaving");
    assert_eq!(press(&mut app, "X").effects, [], "once is enough");
    for (side, left) in [(FleetSide::Left, Some(0)), (FleetSide::Right, Some(2))] {
        let scenario = app.fleets().fleet(side).unwrap().scenario.clone();
        app.update(Event::FleetEnded { side, outcome: Box::new(outcome(&scenario, left)) }, NOW);
        assert_eq!(app.notice().unwrap().sign != crate::tui::page::Sign::Done, left != Some(0));
    }
    assert!(!app.has_fleets() && app.living_clients() == 0);
    assert_eq!(press(&mut app, "K").effects, []);
}

#[test]
fn a_failed_fleet_says_why_and_the_other_runs_on() {
    let mut app = running(SIZE, 4);
    let why = "no sockets for so many test clients".to_owned();
    app.update(Event::FleetFailed { side: FleetSide::Left, why: why.clone() }, NOW);
    assert!(app.notice().unwrap().text.contains(&why));
    assert_eq!(app.fleets().fleet(FleetSide::Left).unwrap().phase, Phase::Failed(why));
    assert_eq!(press(&mut app, "X").effects, [Effect::StopFleet(FleetSide::Right)]);
}

#[test]
fn a_paused_screen_keeps_its_clients_and_commands_still_reach_them() {
    let mut app = running(SIZE, 9);
    press(&mut app, "jp");
    let scenario = app.fleets().fleet(FleetSide::Left).unwrap().scenario.clone();
    let later = status(&scenario, 13_000, clients(9), totals(9_999, 1));
    assert!(!deliver(&mut app, FleetSide::Left, later).redraw);
    assert_ne!(app.fleets().fleet(FleetSide::Left).unwrap().status().unwrap().totals.acquisitions, 9_999);
    assert_eq!(ordered(&mut app, "z").1, FleetCommand::Freeze(ClientId(2)));
    press(&mut app, "p");
    assert_eq!(app.fleets().fleet(FleetSide::Left).unwrap().status().unwrap().totals.acquisitions, 9_999);
}

#[test]
fn the_keys_of_clients_work_only_on_contend() {
    let mut app = running(SIZE, 9);
    press(&mut app, "1");
    for key in ["K", "z", "-", "+", "a", "r", "X"] {
        assert_eq!(press(&mut app, key).effects, [], "{key}");
    }
    let node = press(&mut app, "d");
    assert!(matches!(node.effects[..], [Effect::ReadNode(_), ..]), "it shows a node there: {node:?}");
    press(&mut app, "\u{1b}");
    assert_eq!(press(&mut app, ":stop\n").effects, []);
    assert_eq!(app.screen(), Screen::Locks);
}
