//! One lock's history: who held it and who waited, how that ended, and what was wrong.

use std::time::Duration;

use super::{SIZE, later, lost};
use crate::queue::Change;
use crate::tui::app::{App, Effect, Event, Screen};
use crate::tui::testing::{at, connected, curator, gone, listed, live, press};

/// What History lists, as its export names it.
fn exported(app: &mut App) -> serde_json::Value {
    let update = press(app, "e");
    let [Effect::Export { name, text }] = update.effects.as_slice() else { panic!("{update:?}") };
    assert!(name.starts_with("lockscope-history-"), "{name}");
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_holder_that_was_there_at_the_start_is_in_the_history_with_bounds() {
    let mut app = live(SIZE);
    let now = app.clock();
    app.update(at(later(1), vec![gone("/locks/billing", 4711, 0x1b)]), later(1));
    app.update(at(later(3), vec![gone("/locks/billing", 4712, 0x1c)]), later(3));
    press(&mut app, "\ni");
    assert_eq!(app.screen(), Screen::History);
    let json = exported(&mut app);
    let holds = json["holds"].as_array().unwrap();
    let ends: Vec<_> = holds.iter().map(|hold| hold["end"].as_str().unwrap()).collect();
    assert_eq!(ends, ["released", "released", "open"]);
    let (found, second) = (&holds[0], &holds[1]);
    assert!(found["node"].as_str().unwrap().ends_with("4711") && found["acquired_at"].is_null(), "{found}");
    let bounds = (found["held_at_least_ms"].as_u64().unwrap(), found["held_at_most_ms"].as_u64().unwrap());
    assert!((1_000..842_000).contains(&bounds.0) && (842_000..844_000).contains(&bounds.1), "{found}");
    assert_eq!((&second["held_at_least_ms"], &second["held_at_most_ms"]), (&2_000.into(), &2_000.into()));
    assert!(second["waited_ms"].as_u64() > Some(800_000), "{second}");
    assert_eq!(second["data"], "10.0.4.28");
    assert!(holds[2]["released_at"].is_null());
    assert!(app.clock().since(now) >= Duration::from_secs(3));
}

#[test]
fn who_left_and_what_was_lost_in_a_cut_are_told_apart() {
    let mut app = live(SIZE);
    app.update(at(later(1), vec![gone("/locks/billing", 4713, 0x1d)]), later(1));
    app.update(at(later(2), vec![lost()]), later(2));
    let mut again = vec![connected(), Change::Syncing, listed("/locks/billing", 4840)];
    again.extend((4..=128).map(|at| curator("/locks/billing", 4711 + at, 0x1b + i64::from(at), 838 - i64::from(at))));
    again.push(Change::Synced);
    app.update(at(later(30), again), later(30));
    press(&mut app, "\ni");
    let json = exported(&mut app);
    let waits: Vec<_> = json["waits"].as_array().unwrap().iter().map(|wait| &wait["end_unseen"]).collect();
    assert_eq!(waits, [&serde_json::json!(false), &serde_json::json!(true), &serde_json::json!(true)]);
    let hold = &json["holds"][0];
    assert_eq!((&hold["end"], &hold["end_unseen"]), (&"released".into(), &true.into()), "{hold}");
    let bounds = (hold["held_at_least_ms"].as_u64().unwrap(), hold["held_at_most_ms"].as_u64().unwrap());
    assert!(bounds.0 < 30_000 && bounds.1 > 850_000, "it is only known that it held until the cut: {hold}");
}

#[test]
fn from_locks_and_back_and_what_is_wrong_stands_there_in_full() {
    let mut app = live(SIZE);
    press(&mut app, "i");
    assert_eq!(app.screen(), Screen::History, "of the lock that is selected");
    press(&mut app, "\u{1b}");
    assert_eq!(app.screen(), Screen::Queue);
    for second in 1..=70 {
        app.update(Event::Tick, later(second));
    }
    press(&mut app, "i");
    let json = exported(&mut app);
    let found = &json["findings"][0];
    assert_eq!((&found["code"], &found["lock"]), (&"stuck".into(), &"/locks/billing".into()), "{json}");
    assert!(found["cleared_at"].is_null() && found["remedy"].as_str().is_some_and(|remedy| remedy.len() > 10));
    press(&mut app, "/stuck\n");
    assert_eq!(exported(&mut app)["holds"], serde_json::json!([]), "only what passes the filter");
}
