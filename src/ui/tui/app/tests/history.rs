//! The history of one lock: its holders and waiters, how their stays ended, and its findings.

use std::time::Duration;

use super::{SIZE, later, lost};
use crate::tui::app::{App, Effect, Event, Screen};
use crate::tui::testing::{at, connected, curator, gone, listed, live, path, press, seen};
use lockscope_model::queue::Change;

/// Exports what History lists.
fn exported(app: &mut App) -> serde_json::Value {
    let update = press(app, "e");
    let [Effect::Export { name, text }] = update.effects.as_slice() else { panic!("{update:?}") };
    assert!(name.starts_with("lockscope-history-"), "{name}");
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_holder_found_at_the_start_is_listed_with_bounds_of_its_hold() {
    let mut app = live(SIZE);
    let now = app.clock();
    app.update(at(later(1), vec![gone("/locks/billing", 4711, 0x1b)]), later(1));
    app.update(at(later(3), vec![gone("/locks/billing", 4712, 0x1c)]), later(3));
    press(&mut app, "\ni");
    assert_eq!(app.screen(), Screen::History);
    let json = exported(&mut app);
    let holds = json["holds"].as_array().unwrap();
    let ends: Vec<_> = holds.iter().map(|hold| hold["end"].as_str().unwrap()).collect();
    assert_eq!(ends, ["unknown", "unknown", "open"], "no server said whether their sessions lived");
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
fn ends_that_were_seen_and_ends_during_a_lost_connection_differ() {
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
    assert_eq!((&hold["end"], &hold["end_unseen"]), (&"unknown".into(), &true.into()), "{hold}");
    let bounds = (hold["held_at_least_ms"].as_u64().unwrap(), hold["held_at_most_ms"].as_u64().unwrap());
    assert!(bounds.0 < 30_000 && bounds.1 > 850_000, "it is only known that it held until the cut: {hold}");
}

#[test]
fn history_opens_from_locks_and_lists_findings_in_full() {
    let mut app = live(SIZE);
    press(&mut app, "i");
    assert_eq!(app.screen(), Screen::History, "of the lock that is selected");
    press(&mut app, "\u{1b}");
    assert_eq!(app.screen(), Screen::Locks, "where one came from");
    for second in 1..=70 {
        app.update(Event::Tick, later(second));
    }
    press(&mut app, "i");
    let json = exported(&mut app);
    let mut findings = json["findings"].as_array().expect("a list").iter();
    let found = findings.find(|found| found["code"] == "stuck").expect("it is stuck");
    assert_eq!(found["lock"], "/locks/billing", "{json}");
    assert!(found["cleared_at"].is_null() && found["remedy"].as_str().is_some_and(|remedy| remedy.len() > 10));
    press(&mut app, "/stuck\n");
    assert_eq!(exported(&mut app)["holds"], serde_json::json!([]), "only what passes the filter");
}

/// Returns the path of a lease of Curator's semaphore, or of a request for one (`lock`).
fn semaphore_node(kind: &str, owner: i64) -> String {
    let (parent, number) = if kind == "lock" { ("locks", owner) } else { ("leases", owner + 100) };
    format!("/sem/{parent}/_c_{number:08x}-5c1d-4f7e-9a3b-0d2c4e6f8a1b-{kind}-{owner:010}")
}

#[test]
fn a_stay_at_a_semaphore_lasts_from_the_queue_to_the_end_of_the_lease() {
    let mut app = live(SIZE);
    let node = |kind: &str, owner: i64, second| {
        seen(&semaphore_node(kind, owner), owner, later(second), format!("worker-{owner}").as_bytes())
    };
    let gone = |kind: &str, owner: i64| Change::Deleted { path: path(&semaphore_node(kind, owner)), zxid: None };
    let mut happens = |second: u64, changes: Vec<Change>| {
        app.update(at(later(second), changes), later(second));
    };
    happens(1, vec![Change::Appeared { path: path("/sem/leases") }, node("lock", 1, 1)]);
    happens(2, vec![node("lease", 1, 2), gone("lock", 1), node("lock", 2, 2), node("lock", 3, 2)]);
    happens(4, vec![node("lease", 2, 4), gone("lock", 2)]);
    happens(9, vec![gone("lease", 1)]);
    // Worker 3 gives up, and then the session of worker 2 ends.
    happens(12, vec![gone("lock", 3)]);
    happens(13, vec![gone("lease", 2)]);
    happens(15, vec![node("lock", 4, 14), node("lease", 4, 15), gone("lock", 4)]);
    press(&mut app, ":lock /sem\ni");
    let json = exported(&mut app);
    let facts = |entry: &serde_json::Value| {
        let millis = |name: &str| entry[name].as_u64();
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        (text("data"), millis("waited_ms"), millis("held_at_least_ms"), millis("held_at_most_ms"), text("end"))
    };
    let stays = |list: &str| json[list].as_array().unwrap().iter().map(facts).collect::<Vec<_>>();
    let stay =
        |name: &str, waited, held: Option<u64>, end: &str| (name.to_owned(), Some(waited), held, held, end.to_owned());
    assert_eq!(
        stays("holds"),
        [
            stay("worker-1", 1_000, Some(7_000), "unknown"),
            stay("worker-2", 2_000, Some(9_000), "unknown"),
            stay("worker-4", 0, Some(0), "open")
        ]
    );
    assert_eq!(stays("waits"), [stay("worker-3", 10_000, None, "unknown")]);
}

#[test]
fn the_session_and_the_node_of_an_entry_can_be_opened() {
    let mut app = live(SIZE);
    app.update(at(later(1), vec![gone("/locks/billing", 4711, 0x1b)]), later(1));
    press(&mut app, "ig");
    for (key, screen) in [("o", Screen::Session), ("d", Screen::Node)] {
        press(&mut app, key);
        assert_eq!(app.screen(), screen, "{:?}", app.notice());
        press(&mut app, "\u{1b}");
        assert_eq!(app.screen(), Screen::History);
    }
}
