//! The guided tour, step by step, without the sessions and fleets that play it.

use super::{SIZE, later};
use crate::tui::app::{App, Effect, Event, FleetSide, Screen, Settings, Tour, Update};
use crate::tui::testing::deletions::find_out;
use crate::tui::testing::fleets::{clients, started, status, totals, with, writing};
use crate::tui::testing::{NOW, at, curator, listed, path, press, settings};
use lockscope_lab::contend::{ClientId, ClientState, FleetCommand};
use lockscope_lab::demo::{SceneAction, SceneCommand, Script};

/// Returns a console at the first step of the tour, and the update that led there.
fn touring(plays: bool) -> (App, Update) {
    let mut app = with(Settings { write: true, audit_log: Some("/audit".into()), ..settings() }, SIZE);
    let tour = Tour::new(Script::built_in(), path("/demo"), true, plays);
    let update = app.update(Event::TourBegins(Box::new(tour)), NOW);
    (app, update)
}

/// Starts the tour and steps on until the scene with that title begins.
fn at_scene(title: &str) -> (App, Update) {
    let (mut app, mut update) = touring(false);
    while app.tour().expect("a tour").scene().title != title {
        update = press(&mut app, "n");
    }
    (app, update)
}

/// Returns the numbers of the scene and the step, from 1.
fn where_at(app: &App) -> (usize, usize) {
    let tour = app.tour().expect("a tour");
    (tour.scene_number().0, tour.step_number().0)
}

fn stage(update: &Update) -> Vec<&SceneCommand> {
    let mut directions = Vec::new();
    for effect in &update.effects {
        if let Effect::DirectScene(direction) = effect {
            directions.push(direction);
        }
    }
    directions
}

fn orders(update: &Update) -> Vec<FleetCommand> {
    let order = |effect: &Effect| match effect {
        Effect::Order { order, .. } => Some(*order),
        _ => None,
    };
    update.effects.iter().filter_map(order).collect()
}

#[test]
fn the_tour_begins_with_a_herd_beside_a_chain() {
    let (app, update) = touring(false);
    let paths: Vec<String> = started(&update).iter().map(|scenario| scenario.path.to_string()).collect();
    assert_eq!(paths, ["/demo/herd", "/demo/chain"]);
    assert_eq!((app.screen(), where_at(&app)), (Screen::Contend, (1, 1)));
}

#[test]
fn each_scene_ends_the_one_before_and_the_last_step_stays() {
    let (mut app, _) = touring(false);
    let mut scenes = 1;
    for _ in 0..100 {
        let before = where_at(&app);
        let update = press(&mut app, "n");
        if where_at(&app) == before {
            break;
        }
        let is_new = where_at(&app).1 == 1;
        scenes += usize::from(is_new);
        assert_eq!(update.effects.first() == Some(&Effect::DismissFleets), is_new, "{:?}", where_at(&app));
    }
    assert_eq!(scenes, Script::built_in().scenes.len());
    assert!(app.notice().is_some_and(|notice| notice.text.contains("last step")));
}

#[test]
fn space_steps_on_where_it_has_no_other_use() {
    let (mut app, _) = touring(false);
    press(&mut app, " ");
    assert_eq!(where_at(&app), (1, 2));
}

#[test]
fn going_back_over_an_action_starts_the_scene_again() {
    let (mut app, _) = at_scene("A holder crashes");
    let scene = where_at(&app).0;
    press(&mut app, "b");
    assert_eq!(where_at(&app), (scene - 1, 1), "from the beginning of a scene to the one before");
    press(&mut app, "N");
    assert_eq!(where_at(&app), (scene, 1));
    press(&mut app, "n");
    assert!(app.tour().expect("a tour").step().action.is_some());
    let update = press(&mut app, "b");
    assert_eq!(where_at(&app), (scene, 1));
    let again = started(&update);
    assert_eq!(again[0].path.to_string(), "/demo/orders-3", "another lock each time: the old clients are just leaving");
}

#[test]
fn going_back_over_a_step_without_an_action_keeps_the_scene() {
    let (mut app, _) = touring(false);
    press(&mut app, "n");
    let update = press(&mut app, "b");
    assert_eq!((where_at(&app), update.effects.len()), ((1, 1), 0));
}

#[test]
fn the_queue_of_a_step_opens_as_soon_as_it_exists() {
    let (mut app, _) = at_scene("A holder crashes");
    assert_ne!(app.screen(), Screen::Queue);
    app.update(at(NOW, vec![listed("/demo/orders", 1), curator("/demo/orders", 0, 7, 1)]), NOW);
    assert_eq!(app.screen(), Screen::Queue);
    assert_eq!(app.opened().map(|name| name.path.to_string()).as_deref(), Some("/demo/orders"));
}

#[test]
fn the_tour_does_not_move_a_user_who_went_elsewhere() {
    let (mut app, _) = at_scene("A holder crashes");
    press(&mut app, "6");
    app.update(at(NOW, vec![listed("/demo/orders", 1), curator("/demo/orders", 0, 7, 1)]), NOW);
    assert_eq!(app.screen(), Screen::Timeline);
}

#[test]
fn a_holder_that_is_about_to_release_is_not_crashed() {
    let (mut app, update) = at_scene("A holder crashes");
    let scenario = started(&update)[0].clone();
    press(&mut app, "n");
    let mut held_for = |since_ms: u64| {
        let mut all = clients(3);
        all[0].since = std::time::Duration::from_millis(20_000 - since_ms);
        let status = std::sync::Arc::new(status(&scenario, 20_000, all, totals(3, 1)));
        app.update(Event::Fleet { side: FleetSide::Left, status }, NOW)
    };
    assert_eq!(orders(&held_for(3_900)), [], "it is about to release");
    assert_eq!(orders(&held_for(100)), [FleetCommand::Crash(ClientId(1))]);
    assert_eq!(orders(&held_for(200)), [], "once is enough");
}

#[test]
fn a_frozen_client_thaws_in_the_next_step() {
    let (mut app, update) = at_scene("A frozen holder");
    let scenario = started(&update)[0].clone();
    press(&mut app, "nn");
    let mut all = clients(3);
    (all[1].frozen, all[1].state) = (true, ClientState::Holding);
    let status = std::sync::Arc::new(status(&scenario, 20_000, all, totals(3, 1)));
    let update = app.update(Event::Fleet { side: FleetSide::Left, status }, NOW);
    assert_eq!(orders(&update), [FleetCommand::Thaw(ClientId(2))]);
}

#[test]
fn what_test_clients_cannot_do_is_played_by_scene_commands() {
    let (mut app, update) = at_scene("A forgotten node");
    assert!(matches!(stage(&update)[..], [SceneCommand::Start { .. }]), "{update:?}");
    assert!(!app.has_fleets());
    assert_eq!(stage(&press(&mut app, "n")), [&SceneCommand::Act(SceneAction::LoseReply)]);
    let (_, update) = at_scene("Readers and writers");
    assert_eq!(stage(&update), [&SceneCommand::End]);
}

#[test]
fn a_tour_that_plays_goes_on_by_itself_to_the_end() {
    let (mut app, _) = touring(false);
    app.update(Event::Tick, later(1_000));
    assert_eq!(where_at(&app), (1, 1), "not before");
    press(&mut app, "P");
    let lasts = app.tour().expect("a tour").step().lasts.as_secs();
    assert!(app.ticks());
    app.update(Event::Tick, later(1_000 + lasts - 1));
    assert_eq!(where_at(&app), (1, 1));
    for second in 0..400 {
        app.update(Event::Tick, later(1_000 + lasts + second));
    }
    let last = Script::built_in().scenes.len();
    assert_eq!(where_at(&app).0, last);
    assert!(!app.tour().expect("a tour").is_playing(), "it stands at its end");
}

#[test]
fn a_scene_that_cannot_be_played_says_why_until_the_next_one() {
    let (mut app, _) = at_scene("A forgotten node");
    app.update(Event::SceneFailed("no session".to_owned()), NOW);
    assert_eq!(app.tour().and_then(Tour::trouble), Some("no session"));
    press(&mut app, "N");
    assert_eq!(app.tour().and_then(Tour::trouble), None);
}

#[test]
fn without_a_tour_its_keys_and_commands_say_what_to_do_instead() {
    let mut app = writing(SIZE);
    for (key, said) in
        [("n", "There is no search yet"), ("b", "Ctrl-B"), ("P", "P does nothing here"), ("B", "B does nothing here")]
    {
        press(&mut app, key);
        assert!(app.notice().is_some_and(|notice| notice.text.contains(said)), "{key}: {:?}", app.notice());
    }
    press(&mut app, ":play\n");
    assert!(app.notice().is_some_and(|notice| notice.text.contains("lockscope demo")));
}

#[test]
fn the_next_step_ends_a_pause() {
    let (mut app, _) = touring(false);
    press(&mut app, "pn");
    assert!(app.paused().is_none());
    assert_eq!(where_at(&app), (1, 2));
}

/// Plays the scene of the forgotten node until `seconds` after its third step began, in a queue
/// with two nodes of one client. Presses the keys `meanwhile` when that step begins. Returns the
/// effects of the ticks.
fn plays_deletion(seconds: u64, meanwhile: &str) -> (App, Vec<Effect>) {
    let (mut app, _) = at_scene("A forgotten node");
    let queue =
        vec![listed("/demo/invoices", 2), curator("/demo/invoices", 7, 1, 9), curator("/demo/invoices", 8, 1, 8)];
    app.update(at(NOW, queue), NOW);
    press(&mut app, "nnP");
    press(&mut app, meanwhile);
    let mut ticks = Vec::new();
    for second in 0..=seconds {
        let mut update = app.update(Event::Tick, later(second));
        find_out(&mut app, &mut update);
        ticks.extend(update.effects);
    }
    (app, ticks)
}

#[test]
fn a_tour_that_plays_presses_the_keys_of_its_presenter() {
    let (app, _) = plays_deletion(7, "");
    assert!(app.deletion().is_some(), "x was pressed: {:?} {:?}", app.notice(), app.screen());
    let (app, effects) = plays_deletion(13, "");
    assert!(app.deletion().is_none());
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Delete(_))), "{effects:?}");
}

#[test]
fn a_tour_that_plays_presses_no_keys_on_a_screen_that_the_user_opened() {
    let (app, effects) = plays_deletion(13, "1");
    assert_eq!((app.screen(), app.deletion().is_some()), (Screen::Locks, false));
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Delete(_))), "{effects:?}");
}

#[test]
fn scenes_open_forwards_backwards_and_by_number() {
    let (mut app, _) = touring(false);
    press(&mut app, "N");
    assert_eq!(where_at(&app), (2, 1));
    press(&mut app, "NnB");
    assert_eq!(where_at(&app), (2, 1));
    let last = Script::built_in().scenes.len();
    let update = press(&mut app, &format!(":scene {last}\n"));
    assert_eq!((where_at(&app), update.effects.first()), ((last, 1), Some(&Effect::DismissFleets)));
    press(&mut app, "N");
    assert_eq!(where_at(&app), (last, 1), "there is no scene behind the last");
    assert!(app.notice().is_some_and(|notice| notice.text.contains("This is the last")));
    for wrong in [":scene\n", ":scene 0\n", ":scene x\n", ":scene 99\n"] {
        press(&mut app, wrong);
        assert!(app.notice().is_some_and(|notice| notice.text.contains("scenes 1 to")), "{wrong}");
        assert_eq!(where_at(&app), (last, 1), "{wrong}");
    }
}
