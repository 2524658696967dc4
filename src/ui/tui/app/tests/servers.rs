//! The queries to the servers, and the findings, sessions and waits that follow from their answers.

use super::{SIZE, later, lock_paths, lost, number, selected_contender};
use crate::tui::app::{App, Effect, Event, Key, Rows, Screen, TimelineEntry, WaitKind};
use crate::tui::testing::servers::{Clients, clients, motley, surveyed, trouble};
use crate::tui::testing::{NOW, ago, at, curator, live, press, seen, session};
use lockscope_base::znode::Timestamp;
use lockscope_live::zk::survey::WatchersWanted;
use lockscope_model::diagnose::{Code, WaitStyle};
use lockscope_model::queue::Change;
use lockscope_model::server_view::{Difference, MemberComparison};

fn selected_session(app: &App) -> i64 {
    let session = app.cursors.sessions.selected(app.world().sessions()).expect("a session is selected");
    session.0 - crate::tui::testing::session(0).0
}

fn asks(update: &crate::tui::app::Update) -> Option<WatchersWanted> {
    update.effects.iter().find_map(|effect| match effect {
        Effect::LookAtWatchers(wanted) => Some(*wanted),
        _ => None,
    })
}

#[test]
fn watches_are_asked_for_on_every_live_screen_and_at_once_where_they_show() {
    let mut app = live(SIZE);
    let paced = Some(WatchersWanted::AtPace);
    for screen in ["\n", "3", "4"] {
        assert_eq!(asks(&press(&mut app, screen)), Some(WatchersWanted::Now), "{screen:?}");
        assert_eq!(asks(&app.update(Event::Tick, later(2))), None, "once");
        assert_eq!(asks(&press(&mut app, "p")), Some(WatchersWanted::Never), "a paused screen needs nothing new");
        press(&mut app, "p");
        assert_eq!(asks(&press(&mut app, "1")), paced, "a head that waits itself shows in Locks too");
    }
}

#[test]
fn watches_are_asked_for_at_once_where_a_queue_stands_beside_locks() {
    let mut app = live((120, 40));
    assert_eq!(asks(&press(&mut app, "7")), Some(WatchersWanted::AtPace));
    assert_eq!(asks(&press(&mut app, "1")), Some(WatchersWanted::Now));
    assert_eq!(asks(&app.update(Event::Resize(100, 40), later(2))), Some(WatchersWanted::AtPace), "no queue");
}

/// Returns what the members showed, with one difference or none.
fn compared(at: Timestamp, differs: bool) -> Change {
    let path = crate::tui::testing::path("/locks/billing");
    let difference = Difference { path, member: "zk3:2181".to_owned(), has: false, czxid: None };
    let differences = differs.then_some(difference).into_iter().collect();
    let comparison = MemberComparison { at, members: Vec::new(), differences, parents: 1, left_out: 0 };
    Change::Compared { comparison: comparison.into() }
}

#[test]
fn the_members_are_compared_while_servers_is_open_and_for_as_long_as_they_differ() {
    let compares = |update: &crate::tui::app::Update| {
        update.effects.iter().any(|effect| matches!(effect, Effect::CompareMembers(_)))
    };
    let mut app = live(SIZE);
    assert!(!compares(&press(&mut app, "v")), "there is one server");
    press(&mut app, "1");
    assert!(!compares(&app.update(at(later(1), vec![motley(later(1), &clients())]), later(1))));
    let update = press(&mut app, "v");
    let nodes = update.effects.iter().find_map(|effect| match effect {
        Effect::CompareMembers(nodes) => Some(nodes),
        _ => None,
    });
    let nodes = nodes.expect("it is opened");
    assert!(nodes.parents.contains(&crate::tui::testing::path("/locks/billing")), "{nodes:?}");
    assert_eq!(nodes.leader.as_deref(), Some("zk1:2181"));
    assert!(!compares(&app.update(Event::Tick, later(20))), "each comparison costs the members");
    assert!(compares(&app.update(Event::Tick, later(31))));
    press(&mut app, "1");
    assert!(!compares(&app.update(Event::Tick, later(65))), "nobody looks");
    app.update(at(later(66), vec![compared(later(66), true)]), later(66));
    assert!(compares(&app.update(Event::Tick, later(97))), "the finding must not outlive its cause");
    app.update(at(later(98), vec![compared(later(98), false)]), later(98));
    assert!(!compares(&app.update(Event::Tick, later(130))));
}

#[test]
fn the_lock_with_the_worst_finding_comes_first() {
    let app = trouble(SIZE);
    assert_eq!(lock_paths(&app)[..2], ["/locks/billing", "/locks/orders"]);
    let world = app.world();
    let worst = |path: &str| {
        let id = world.table().find(&crate::tui::testing::path(path), None).unwrap();
        world.diagnosis().worst(id).map(|finding| finding.code)
    };
    assert_eq!(worst("/locks/billing"), Some(Code::Deadlock));
    assert_eq!(worst("/apps/catalogue/index-rebuild"), Some(Code::ExpiringHolder));
    assert_eq!(worst("/controller"), None);
}

#[test]
fn findings_that_need_only_nodes_appear_as_soon_as_the_nodes_are_read() {
    let mut app = crate::tui::testing::app(SIZE);
    let mut changes = crate::tui::testing::ensemble();
    changes.insert(changes.len() - 1, curator("/locks/billing", 4900, 7, 30));
    let knot = format!("/locks/orders/{:032x}__lock__0000000031", 0x1b);
    changes.insert(changes.len() - 1, seen(&knot, 0x1b, ago(20), b"worker-27"));
    for change in &mut changes {
        if let Change::Listed { path, stat } = change
            && path.as_str() != "/locks/empty"
        {
            // No child was deleted after the first contender came.
            stat.pzxid = lockscope_base::znode::Zxid(0);
        }
    }
    app.update(at(NOW, changes), NOW);
    let id = app.world().table().find(&crate::tui::testing::path("/locks/orders"), None).unwrap();
    assert_eq!(app.world().diagnosis().worst(id).map(|finding| finding.code), Some(Code::Deadlock));
    press(&mut app, "4");
    assert!(matches!(app.world().waits().row(0).unwrap().kind, WaitKind::Cycle(2)), "as Waits says");
}

#[test]
fn the_timeline_lists_raised_and_cleared_findings() {
    let mut app = trouble(SIZE);
    let told_of = |app: &App, code, wanted| {
        let told = app.world().timeline().iter();
        told.filter(|moment| {
            matches!(moment, TimelineEntry::Finding { finding, raised, .. } if finding.code == code && *raised == wanted)
        })
        .count()
    };
    assert_eq!((told_of(&app, Code::ExpiringHolder, true), told_of(&app, Code::ExpiringHolder, false)), (1, 0));
    let mut back = clients();
    back.expiring.clear();
    back.connected.push(50);
    app.update(at(later(6), vec![surveyed(later(6), &back)]), later(6));
    assert_eq!((told_of(&app, Code::ExpiringHolder, true), told_of(&app, Code::ExpiringHolder, false)), (1, 1));
    press(&mut app, "6/finding-cleared expiring\n");
    assert_eq!(app.world().timeline_rows().len(), 1);
}

#[test]
fn a_finding_about_a_holder_is_cleared_soon_after_the_holder_left() {
    let mut app = trouble(SIZE);
    let lock = crate::tui::testing::path("/apps/catalogue/index-rebuild");
    let found = |app: &App| {
        let world = app.world();
        let id = world.table().find(&lock, None).unwrap();
        world.diagnosis().of(id).any(|finding| finding.code == Code::ExpiringHolder)
    };
    assert!(found(&app));
    let node = lock.child(&format!("_c_{:08x}-5c1d-4f7e-9a3b-0d2c4e6f8a1b-__READ__{:010}", 50, 3));
    let soon = later(11).plus(std::time::Duration::from_millis(100));
    app.update(at(soon, vec![Change::Deleted { path: node, zxid: None }]), soon);
    assert!(!found(&app), "neither a second nor an answer of the servers is waited for");
}

#[test]
fn findings_are_in_order_of_time_even_if_a_survey_is_older_than_the_last_check() {
    let mut app = trouble(SIZE);
    let mut back = clients();
    app.update(at(later(15), vec![surveyed(later(15), &back)]), later(15));
    back.expiring.clear();
    app.update(at(later(12), vec![surveyed(later(12), &back)]), later(15));
    let times = app.world().timeline().iter().filter_map(|entry| match entry {
        TimelineEntry::Finding { at, raised: false, finding } if finding.code == Code::ExpiringHolder => Some(*at),
        _ => None,
    });
    let cleared: Vec<_> = times.collect();
    assert!(!cleared.is_empty() && cleared.iter().all(|at| *at == later(15)), "{cleared:?}");
}

#[test]
fn a_lost_connection_clears_no_finding() {
    let mut app = trouble(SIZE);
    let before = app.world().timeline().len();
    let found = app.world().diagnosis().findings().len();
    assert!(found > 0);
    app.update(at(later(6), vec![lost()]), later(6));
    app.update(Event::Tick, later(60));
    let true_at = app.last_true().expect("the data was current once");
    let told: Vec<_> = app.world().timeline().iter().skip(before).map(TimelineEntry::event).collect();
    assert_eq!(told, ["disconnected"]);
    assert_eq!(app.world().diagnosis().findings().len(), found, "what was known stays as it was");
    assert_eq!(app.now(), true_at, "as of then");
}

#[test]
fn a_paused_screen_keeps_its_findings() {
    let mut app = trouble(SIZE);
    press(&mut app, "p");
    let mut back = clients();
    back.expiring.clear();
    back.connected.push(50);
    app.update(at(later(6), vec![surveyed(later(6), &back)]), later(6));
    assert!(app.world().diagnosis().findings().any(|finding| finding.code == Code::ExpiringHolder));
    assert_eq!(app.paused().unwrap().missed, 0, "what the servers tell is no change of theirs");
    press(&mut app, "p");
    assert!(!app.world().diagnosis().findings().any(|finding| finding.code == Code::ExpiringHolder));
}

#[test]
fn tab_goes_from_the_queue_to_the_details_to_the_diagnosis_and_back() {
    let mut app = trouble(SIZE);
    press(&mut app, "\n");
    assert_eq!(titles(&app), ["Diagnosis"], "what is wrong comes first where there is room for one");
    press(&mut app, "\t");
    assert_ne!(titles(&app), ["Diagnosis"]);
    press(&mut app, "\t");
    assert_eq!(titles(&app), ["Diagnosis"]);
    press(&mut app, "\t");
    assert_eq!(app.pane(), crate::tui::app::Pane::List);
    app.update(Event::Resize(160, 45), app.clock());
    assert_eq!(titles(&app).len(), 2, "both stand side by side where there is room");
}

fn titles(app: &App) -> Vec<String> {
    app.pages().into_iter().map(|shown| shown.page.title[0].0.clone()).collect()
}

#[test]
fn sessions_list_endangered_sessions_first_and_open_the_locks_they_wait_for() {
    let mut app = trouble(SIZE);
    press(&mut app, "3");
    assert_eq!(selected_session(&app), 50);
    press(&mut app, ":sort waits\n");
    let sessions = app.world().sessions();
    assert!(sessions.row(0).unwrap().awaits.len() >= sessions.row(1).unwrap().awaits.len());
    press(&mut app, ":filter orders\n");
    assert!(app.world().sessions().len() < app.world().sessions().all());
    press(&mut app, ":sort session\n");
    assert_eq!(selected_session(&app), 7);
    press(&mut app, "\n");
    assert_eq!(app.screen(), Screen::Session);
    assert_eq!(app.world().session_detail().session, Some(session(7)));
    press(&mut app, "j\n");
    assert_eq!(app.opened().unwrap().path.as_str(), "/locks/billing", "it holds orders, and waits for this");
    assert_eq!(number(selected_contender(&app)), 4900, "on its own node");
}

#[test]
fn the_style_of_a_session_follows_from_its_watches() {
    let mut app = trouble(SIZE);
    press(&mut app, "3");
    let style = |owner: i64| {
        let world = app.world();
        let rank = world.sessions().rank(&session(owner)).expect("a listed session");
        world.sessions().row(rank).unwrap().style(world.table_at(app.now()))
    };
    assert_eq!(style(9), Some(WaitStyle::Chain));
    assert_eq!(style(12), Some(WaitStyle::Nothing));
    assert_eq!(style(0x1b + 100), Some(WaitStyle::Chain));
}

#[test]
fn the_selected_session_stays_selected_while_others_come() {
    let mut app = trouble(SIZE);
    press(&mut app, "3:sort session\n");
    app.update(Event::Key(Key::Down), app.clock());
    let before = selected_session(&app);
    let more = crate::tui::testing::curator("/locks/billing", 5000, 1, 0);
    app.update(at(later(6), vec![more]), later(6));
    app.update(Event::Tick, later(6));
    assert_eq!(selected_session(&app), before);
    assert_eq!(app.cursors.sessions.rank(), 2, "one more stands before it");
}

#[test]
fn waits_list_cycles_first_and_then_the_sessions_that_block_most() {
    let mut app = trouble(SIZE);
    press(&mut app, "4");
    let waits = app.world().waits();
    let kinds: Vec<_> = (0..waits.len()).filter_map(|rank| waits.row(rank)).map(|row| row.kind).collect();
    assert_eq!(kinds[0], WaitKind::Cycle(2));
    assert!(matches!(
        kinds[1..3],
        [WaitKind::InCircle { is_first: true, .. }, WaitKind::InCircle { is_first: false, .. }]
    ));
    let counts: Vec<_> = kinds
        .iter()
        .filter_map(|kind| match kind {
            WaitKind::Blocker(count, _) => Some(*count),
            _ => None,
        })
        .collect();
    assert!(counts.len() >= 2 && counts.is_sorted_by(|one, next| one >= next), "{counts:?}");
    press(&mut app, "j\n");
    assert_eq!(app.screen(), Screen::Session, "a row about a session opens its page");
    press(&mut app, "\u{1b}");
    assert_eq!(app.screen(), Screen::Waits);
    while !matches!(app.world().waits().row(app.cursors.waits.rank()).unwrap().kind, WaitKind::Lock(_)) {
        press(&mut app, "j");
    }
    press(&mut app, "\n");
    assert_eq!(app.screen(), Screen::Queue, "a row about a lock opens that");
    assert!(["/locks/billing", "/locks/orders"].contains(&app.opened().unwrap().path.as_str()));
}

#[test]
fn sessions_and_waits_can_be_exported_and_copied() {
    for screen in ["3", "4"] {
        let mut app = trouble(SIZE);
        press(&mut app, screen);
        let update = press(&mut app, "e");
        let [Effect::Export { name, text }] = update.effects.as_slice() else { panic!("{update:?}") };
        assert!(name.starts_with("lockscope-sessions-") || name.starts_with("lockscope-waits-"), "{name}");
        let json: serde_json::Value = serde_json::from_str(text).expect("JSON");
        match screen {
            "3" => assert_eq!(json["sessions"][0]["liveness"], "expiring"),
            _ => assert_eq!(json["cycles"][0].as_array().unwrap().len(), 2),
        }
        assert!(matches!(press(&mut app, "y").effects[..], [Effect::Copy(_)]));
    }
}

#[test]
fn without_server_answers_liveness_style_and_rates_are_unknown() {
    let mut app = live(SIZE);
    press(&mut app, "3");
    let (world, now) = (app.world(), app.now());
    for row in world.sessions().rows() {
        assert_eq!(
            world.table_at(now).owner_state(row.session, row.since).0,
            lockscope_model::diagnose::OwnerState::Unknown
        );
        assert!(matches!(row.style(world.table_at(now)), None | Some(WaitStyle::Unknown)));
    }
    assert_eq!(world.watch_event_rates().seconds(), None);
}

#[test]
fn every_list_finds_a_client_by_its_address_as_soon_as_a_server_lists_it() {
    let mut app = live(SIZE);
    let found = |app: &App| app.screen().list().expect("a list").len(app);
    let listed = |seconds: i64, owners: &[i64]| {
        let clients = Clients { connected: owners.to_vec(), ..Clients::default() };
        let time = later(seconds.cast_unsigned());
        (time, at(time, vec![surveyed(time, &clients)]))
    };
    press(&mut app, "/:50007\n");
    assert_eq!(found(&app), 0, "no server listed it yet");
    let (time, answer) = listed(1, &[7, 9]);
    app.update(answer, time);
    assert_eq!(lock_paths(&app), ["/locks/orders"]);

    press(&mut app, ":lock /locks/orders\n/:50009\n");
    assert_eq!(found(&app), 1, "a waiter of the queue");
    let (time, answer) = listed(2, &[7]);
    app.update(answer, time);
    assert_eq!(found(&app), 1, "by its last address");

    app.update(at(later(3), vec![gone_node("/locks/orders", 7)]), later(3));
    press(&mut app, "6/:50007\n");
    assert!(found(&app) >= 1, "its release");
}

/// Returns the deletion of the node that a client of the test ensemble has in a kazoo lock.
fn gone_node(parent: &str, owner: i32) -> Change {
    let node = format!("{parent}/{owner:032x}__lock__{owner:010}");
    Change::Deleted { path: crate::tui::testing::path(&node), zxid: None }
}
