//! The timeline, the command line, going back, copying and exporting.

use super::{SIZE, later, lock_paths, number, selected_contender};
use crate::tui::app::{App, Effect, Event, Key, Rows, SCREENS, Screen};
use crate::tui::testing::{NOW, app, at, connected, gone, live, path, press, seen};
use lockscope_model::queue::{Change, LockEvent as Kind};

#[test]
fn the_timeline_follows_the_newest_entry_until_the_selection_moves() {
    let mut app = live(SIZE);
    press(&mut app, "6");
    app.update(at(later(1), vec![gone("/locks/billing", 4711, 0x1b)]), later(1));
    let newest = |app: &App| app.cursors.timeline.rank() + 1 == app.world().timeline_rows().len();
    assert!(newest(&app));
    press(&mut app, "k");
    let looked_at = app.cursors.timeline.selected(&app.world().timeline_rows());
    app.update(at(later(2), vec![gone("/locks/billing", 4712, 0x1c)]), later(2));
    assert!(!newest(&app));
    assert_eq!(app.cursors.timeline.selected(&app.world().timeline_rows()), looked_at);
    press(&mut app, "G");
    app.update(at(later(3), vec![gone("/locks/billing", 4713, 0x1d)]), later(3));
    assert!(newest(&app));
}

#[test]
fn a_filtered_timeline_adds_new_entries_that_match() {
    let mut app = live(SIZE);
    press(&mut app, "6/acquired\n");
    assert_eq!(app.world().timeline_rows().len(), 0);
    app.update(at(later(1), vec![gone("/locks/billing", 4711, 0x1b)]), later(1));
    let rows = app.world().timeline_rows();
    assert_eq!(rows.len(), 1);
    let happening = rows.id(0).and_then(|number| app.world().timeline().get(number)).unwrap();
    assert_eq!(happening.event(), Kind::Acquired.id());
    press(&mut app, "\n");
    assert_eq!(app.screen(), Screen::Queue);
    assert_eq!(number(selected_contender(&app)), 4712, "opened on the contender that it was about");
}

#[test]
fn an_event_opens_its_node_even_if_a_filter_hides_it() {
    let mut app = live(SIZE);
    app.update(at(later(1), vec![gone("/locks/billing", 4711, 0x1b)]), later(1));
    press(&mut app, ":lock /locks/billing\n/0000004800\n");
    assert_eq!(app.world().queue_rows().len(), 1);
    press(&mut app, "6/acquired\n\n");
    assert_eq!(number(selected_contender(&app)), 4712);
}

#[test]
fn an_event_whose_node_is_gone_opens_its_lock_and_says_so() {
    let mut app = live(SIZE);
    app.update(at(later(1), vec![gone("/locks/billing", 4712, 0x1c)]), later(1));
    press(&mut app, "6/gone\n\n");
    assert_eq!(app.screen(), Screen::Queue);
    let notice = app.notice().unwrap();
    assert!(
        notice.sign != crate::tui::page::Sign::Done && notice.text.ends_with("4712 is not in the queue any more."),
        "{}",
        notice.text
    );
}

#[test]
fn an_event_of_a_semaphore_opens_the_lease_that_its_contender_holds_now() {
    let mut app = live(SIZE);
    let node = |parent: &str, owner: i64, number: i64| {
        let kind = if parent == "locks" { "lock" } else { "lease" };
        let id = if parent == "locks" { owner } else { owner + 1000 };
        format!("/s/{parent}/_c_{id:08x}-5c1d-4f7e-9a3b-0d2c4e6f8a1b-{kind}-{number:010}")
    };
    app.update(at(NOW, vec![Change::Appeared { path: path("/s/leases") }]), NOW);
    for owner in [80, 81] {
        let came = seen(&node("locks", owner, owner), owner, NOW, b"");
        let lease = seen(&node("leases", owner, owner), owner, later(1), b"");
        let left = Change::Deleted { path: path(&node("locks", owner, owner)), zxid: None };
        app.update(at(later(1), vec![came]), later(1));
        app.update(at(later(2), vec![lease, left]), later(2));
    }
    press(&mut app, "6/00000051-5c1d\ng\n");
    let entry = app.world().timeline().get(app.cursors.timeline.selected(&app.world().timeline_rows()).unwrap());
    assert_eq!(entry.map(crate::tui::app::TimelineEntry::event), Some("enqueued"));
    assert_eq!(
        selected_contender(&app).map(|path| path.to_string()),
        Some(node("leases", 81, 81)),
        "{:?}",
        app.notice()
    );
}

#[test]
fn an_event_of_a_recreated_lock_opens_the_new_lock() {
    let mut app = live(SIZE);
    let orders = |number: i32, owner: i64| format!("/locks/new/{owner:032x}__lock__{number:010}");
    app.update(at(later(1), vec![seen(&orders(1, 90), 90, later(1), b"")]), later(1));
    let deleted = |node: &str| Change::Deleted { path: path(node), zxid: None };
    app.update(at(later(2), vec![deleted(&orders(1, 90)), deleted("/locks/new")]), later(2));
    app.update(at(later(3), vec![seen(&orders(1, 91), 91, later(3), b"")]), later(3));
    press(&mut app, "6/gone !lock-gone\n\n");
    assert_eq!((app.screen(), app.opened().unwrap().path.as_str()), (Screen::Queue, "/locks/new"));
    assert!(app.world().open_lock().is_some());
}

#[test]
fn copying_takes_the_path_and_in_the_details_the_session() {
    let mut app = live(SIZE);
    assert_eq!(press(&mut app, "y").effects, [Effect::Copy("/locks/billing".to_owned())]);
    let update = press(&mut app, "\ny");
    let [Effect::Copy(copied)] = update.effects.as_slice() else { panic!("{update:?}") };
    assert!(copied.starts_with("/locks/billing/_c_0000001b") && copied.ends_with("0000004711"), "{copied}");
    assert_eq!(press(&mut app, "\ty").effects, [Effect::Copy("0x1000a2b3c40001b".to_owned())]);
    let mut nothing = app_without_locks();
    assert!(press(&mut nothing, "y").effects.is_empty());
    assert!(nothing.notice().unwrap().sign != crate::tui::page::Sign::Done);
}

fn app_without_locks() -> App {
    let mut app = app(SIZE);
    app.update(at(NOW, vec![connected(), Change::Syncing, Change::Synced]), NOW);
    app
}

#[test]
fn exporting_writes_the_listed_rows_under_the_names_of_the_headless_commands() {
    let mut app = live(SIZE);
    press(&mut app, "/locks\n");
    let update = press(&mut app, "e");
    let [Effect::Export { name, text }] = update.effects.as_slice() else { panic!("{update:?}") };
    assert_eq!(name, "lockscope-locks-20240501T144107250Z.json");
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["locks"].as_array().unwrap().len(), 2);
    assert_eq!(json["locks"][0]["contenders"].as_array().unwrap().len(), 129);
    press(&mut app, "6");
    let update = press(&mut app, "e");
    let [Effect::Export { name, text }] = update.effects.as_slice() else { panic!("{update:?}") };
    assert!(name.starts_with("lockscope-timeline-"));
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    assert!(json["happenings"].is_array());
}

#[test]
fn figures_of_test_clients_are_exported_as_contend_prints_them() {
    let mut app = crate::tui::testing::fleets::running(SIZE, 5);
    let update = press(&mut app, "e");
    let [Effect::Export { name, text }] = update.effects.as_slice() else { panic!("{update:?}") };
    assert!(name.starts_with("lockscope-contend-"), "{name}");
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(json["fleets"][0]["recipe"], "herd");
    assert_eq!(json["fleets"][1]["acquisitions"], 1430);
    assert_eq!(json["fleets"][1]["watch_events"]["per_acquisition"], 1.0);
    assert_eq!(press(&mut live(SIZE), "5e").effects, [], "there is nothing yet");
}

#[test]
fn the_command_line_takes_the_same_commands_as_the_keys() {
    let mut app = live(SIZE);
    assert_eq!(press(&mut app, ":q\n").effects, [Effect::Quit]);
    press(&mut app, ":filter orders\n");
    assert_eq!(lock_paths(&app), ["/locks/orders"]);
    press(&mut app, ":lock /nowhere\n");
    assert!(app.notice().unwrap().text.contains("/nowhere"));
    press(&mut app, ":lock locks\n");
    assert!(app.notice().unwrap().sign != crate::tui::page::Sign::Done);
    press(&mut app, ":frobnicate\n");
    assert!(app.notice().unwrap().text.contains("frobnicate"));
    press(&mut app, ":help me\n");
    assert!(app.notice().unwrap().sign != crate::tui::page::Sign::Done);
    press(&mut app, ":help\n");
    assert_eq!(app.screen(), Screen::Help);
    press(&mut app, ":sort lock\n");
    assert!(app.notice().unwrap().sign != crate::tui::page::Sign::Done, "there is nothing to sort in Help");
}

#[test]
fn visiting_screens_in_cycles_does_not_lengthen_the_way_back() {
    let mut app = live(SIZE);
    for _ in 0..50 {
        press(&mut app, "126?");
    }
    for _ in 0..SCREENS.len() {
        press(&mut app, "\u{1b}");
    }
    assert_eq!(app.screen(), Screen::Locks);
}

#[test]
fn back_returns_to_the_screen_from_which_a_lock_was_opened() {
    for (key, screen) in [("3", Screen::Sessions), ("4", Screen::Waits), ("6", Screen::Timeline)] {
        let mut app = live(SIZE);
        // Queue is already on the way back, from an earlier visit.
        press(&mut app, "\n");
        app.update(at(later(1), vec![gone("/locks/billing", 4711, 0x1b)]), later(1));
        press(&mut app, key);
        press(&mut app, "\n");
        if screen != Screen::Timeline {
            assert_eq!(app.screen(), Screen::Session, "{screen:?}");
            press(&mut app, "\n");
        }
        assert_eq!(app.screen(), Screen::Queue, "{screen:?}");
        press(&mut app, "\u{1b}");
        if screen != Screen::Timeline {
            assert_eq!(app.screen(), Screen::Session, "{screen:?}");
            press(&mut app, "\u{1b}");
        }
        assert_eq!(app.screen(), screen);
        press(&mut app, "\u{1b}");
        assert_eq!(app.screen(), Screen::Locks, "{screen:?}");
    }
}

#[test]
fn back_returns_to_each_lock_on_the_way_as_it_was_left() {
    let mut app = live(SIZE);
    press(&mut app, ":lock /locks/orders\njj");
    let selected = selected_contender(&app);
    press(&mut app, "o");
    assert_eq!(app.screen(), Screen::Session);
    press(&mut app, ":lock /locks/billing\njjji");
    assert_eq!(app.screen(), Screen::History);
    press(&mut app, "\u{1b}");
    assert_eq!((app.screen(), app.opened().unwrap().path.as_str()), (Screen::Queue, "/locks/billing"));
    press(&mut app, "\u{1b}\u{1b}");
    assert_eq!((app.screen(), app.opened().unwrap().path.as_str()), (Screen::Queue, "/locks/orders"));
    assert_eq!(selected_contender(&app), selected);
    assert_eq!(app.world().open_lock().unwrap().path().as_str(), "/locks/orders");
    press(&mut app, "\u{1b}");
    assert_eq!(app.screen(), Screen::Locks);
}

#[test]
fn the_way_back_keeps_a_bounded_number_of_places() {
    let mut app = live(SIZE);
    for number in 1..=50 {
        press(&mut app, &format!(":session {number:#x}\n"));
    }
    let mut steps = 0;
    while app.screen() != Screen::Locks {
        press(&mut app, "\u{1b}");
        steps += 1;
    }
    assert_eq!(steps, 33, "32 places, and then Locks");
}

#[test]
fn quitting_works_in_a_terminal_that_is_too_small() {
    let mut app = live((20, 5));
    press(&mut app, "jkG/x");
    assert_eq!(app.update(Event::Key(Key::Ctrl('c')), NOW).effects, [Effect::Quit]);
    assert_eq!(press(&mut live((1, 1)), "q").effects, [Effect::Quit]);
}
