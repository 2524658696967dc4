//! The page of one session.

use super::{SIZE, later, selected_contender};
use crate::tui::app::{App, Effect, Event, Rows, Screen};
use crate::tui::testing::servers::trouble;
use crate::tui::testing::{at, curator, gone, live, press, seen, session};
use lockscope_base::znode::SessionId;

fn shown(app: &App) -> Option<SessionId> {
    app.world().session_detail().session.filter(|_| app.screen() == Screen::Session)
}

fn text_of(app: &App, title: &str) -> String {
    let pages = app.pages();
    let page = pages.into_iter().find(|shown| shown.page.title[0].0 == title).expect("the page is shown");
    let lines = page.page.lines.iter().map(|line| format!("{} {}", line.label.as_deref().unwrap_or(""), line.text));
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns [`trouble`] with two more locks held by session 7, one of them as the second of two
/// readers.
fn with_many(size: (u16, u16)) -> App {
    let mut app = trouble(size);
    let reader = "/apps/catalogue/index-rebuild/_c_00000007-5c1d-4f7e-9a3b-0d2c4e6f8a1b-__READ__0000000002";
    let more = vec![seen("/app/extra/_c_00000007-5c1d-4f7e-9a3b-0d2c4e6f8a1b-lock-0000000001", 7, later(6), b"")];
    app.update(at(later(6), more), later(6));
    app.update(at(later(7), vec![seen(reader, 7, later(7), b"")]), later(7));
    app
}

#[test]
fn opening_a_lock_of_a_session_selects_the_node_of_the_session() {
    let mut app = with_many(SIZE);
    press(&mut app, ":session 0x1000a2b3c400007\n");
    let places = app.world().session_detail().len();
    assert_eq!((places, app.world().session_detail().holds), (4, 3));
    for rank in 0..places {
        let wanted = app.world().session_detail().places[rank].clone();
        press(&mut app, &format!("g{}\n", "j".repeat(rank)));
        assert_eq!(app.screen(), Screen::Queue);
        assert_eq!(app.world().open_lock().map(lockscope_model::queue::LockQueue::id), Some(wanted.lock));
        assert_eq!(selected_contender(&app), wanted.node);
        press(&mut app, "\u{1b}");
        assert_eq!(shown(&app), Some(session(7)), "and back");
    }
}

#[test]
fn the_page_of_a_session_opens_from_each_row_that_has_a_session_and_esc_returns() {
    for (keys, screen, owner) in [
        ("", Screen::Locks, None),
        ("2jj", Screen::Queue, Some(0x1d)),
        ("3", Screen::Sessions, Some(50)),
        ("4j", Screen::Waits, None),
    ] {
        let mut app = trouble(SIZE);
        press(&mut app, keys);
        assert_eq!(app.screen(), screen);
        press(&mut app, "o");
        assert!(shown(&app).is_some(), "{keys:?}");
        assert!(owner.is_none_or(|owner| shown(&app) == Some(session(owner))), "{keys:?}: {:?}", shown(&app));
        press(&mut app, "\u{1b}");
        assert_eq!(app.screen(), screen, "{keys:?}");
    }
    let mut app = live(SIZE);
    app.update(at(later(1), vec![gone("/locks/billing", 4712, 0x1c)]), later(1));
    press(&mut app, "6/gone\no");
    assert_eq!(shown(&app), Some(session(0x1c)), "also of one whose node is gone");
}

#[test]
fn rows_without_a_session_and_invalid_ids_are_refused() {
    let mut app = live(SIZE);
    press(&mut app, "6go");
    assert_eq!(app.screen(), Screen::Timeline);
    assert!(app.notice().unwrap().sign != crate::tui::page::Sign::Done);
    press(&mut app, "1:session worker\n");
    assert!(app.notice().unwrap().text.contains("`worker` is not a session id"));
    assert_eq!(app.screen(), Screen::Locks);
}

#[test]
fn the_facts_of_a_session_are_shown_beside_its_locks() {
    let mut app = trouble((160, 45));
    press(&mut app, ":session 0x1000a2b3c400007\n");
    let facts = text_of(&app, "Session");
    for fact in [
        "0x1000a2b3c400007",
        "live",
        "holds 1, waits for 1",
        "10.0.4.7:50007 on zk1:2181",
        "2.1s ago, last request: getData",
        "30s",
        "unless it is heard",
        "lock-0000004839",
    ] {
        assert!(facts.contains(fact), "{fact}: {facts}");
    }
}

#[test]
fn the_last_200_events_of_a_session_are_listed_newest_first() {
    let mut app = live((160, 45));
    for turn in 0..300_u64 {
        let number = 6000 + i32::try_from(turn).unwrap();
        app.update(at(later(turn), vec![curator("/locks/busy", number, 7, 0)]), later(turn));
        app.update(at(later(turn), vec![gone("/locks/busy", number, 7)]), later(turn));
    }
    press(&mut app, ":session 0x1000a2b3c400007\n");
    let detail = app.world().session_detail();
    assert!(detail.events.len() == 200 && detail.has_older_events);
    assert!(detail.events.is_sorted_by(|newer, older| newer > older));
    let events = text_of(&app, "What happened to it");
    assert!(events.lines().next().unwrap().contains("/locks/busy 6299"), "{events}");
    assert!(events.ends_with("Timeline has older events."));
}

#[test]
fn the_page_is_updated_when_the_session_releases() {
    let mut app = live(SIZE);
    press(&mut app, "2o");
    assert_eq!(shown(&app), Some(session(0x1b)));
    app.update(at(later(1), vec![gone("/locks/billing", 4711, 0x1b)]), later(1));
    app.update(Event::Tick, later(1));
    let detail = app.world().session_detail();
    assert!(detail.is_empty(), "{:?}", detail.places);
    assert_eq!(detail.events.len(), 1);
    press(&mut app, "\n");
    assert!(app.notice().unwrap().sign != crate::tui::page::Sign::Done, "there is nothing to open");
}

#[test]
fn a_session_is_exported_with_its_events() {
    let mut app = with_many(SIZE);
    press(&mut app, ":session 0x1000a2b3c400007\n");
    let update = press(&mut app, "e");
    let [Effect::Export { name, text }] = update.effects.as_slice() else { panic!("{update:?}") };
    assert!(name.starts_with("lockscope-session-"), "{name}");
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(json["sessions"][0]["holds"].as_array().unwrap().len(), 3);
    assert_eq!(json["happenings"][0]["session"], "0x1000a2b3c400007");
    let update = press(&mut app, "y");
    assert!(
        matches!(&update.effects[..], [Effect::Copy(copied)] if copied.starts_with("/app/extra/_c_")),
        "{update:?}"
    );
}
