//! The area below Locks while nothing is wrong, and vanished or free locks.

use super::{after, busy, picture, second, show};
use crate::tui::app::{App, Event};
use crate::tui::testing::{at, curator, deleted, gone, listed, live, path, press, seen};
use lockscope_model::queue::Change;
use lockscope_model::server_view::{MemberView, ServerMode, ServerView};

/// Returns the change by which the server at `address` reports that it leads the ensemble.
fn led_by(address: &str, now: u64) -> Change {
    let member = |name: &str| MemberView {
        mode: Some(if name == address { ServerMode::Leader } else { ServerMode::Follower }),
        ..MemberView::unasked(name.to_owned())
    };
    let members = ["zk1:2181", "zk2:2181", "zk3:2181"].map(member).to_vec();
    Change::Surveyed { view: ServerView { at: second(now), members, ..ServerView::default() }.into() }
}

/// Shows a quiet night: hand-overs, another leader, a free lock and a vanished one. Nobody has
/// pressed a key for minutes.
fn quiet(size: (u16, u16)) -> App {
    let mut app = live(size);
    press(&mut app, ":sort lock\n");
    let mut happens = |now: u64, changes: Vec<Change>| {
        app.update(at(second(now), changes), second(now));
        app.update(Event::Tick, second(now));
    };
    happens(1, vec![led_by("zk1:2181", 1)]);
    happens(2, vec![gone("/locks/billing", 4711, 0x1b)]);
    happens(9, vec![gone("/locks/billing", 4712, 0x1c)]);
    happens(20, vec![seen("/jobs/nightly/lock-0000000001", 90, second(20), b"worker-90")]);
    happens(52, vec![deleted(&path("/jobs/nightly/lock-0000000001"))]);
    happens(53, vec![listed("/jobs/hourly", 3), curator("/jobs/hourly", 3, 91, -53)]);
    happens(95, vec![led_by("zk3:2181", 95)]);
    let node = "/jobs/hourly/_c_0000005b-5c1d-4f7e-9a3b-0d2c4e6f8a1b-lock-0000000003";
    happens(110, vec![deleted(&path(node))]);
    happens(111, vec![deleted(&path("/jobs/hourly"))]);
    happens(130, Vec::new());
    app
}

#[test]
fn recent_events_match_their_snapshots() {
    show("lately", |size| after(quiet(size), "G"));
}

#[test]
fn the_graph_of_watch_events_matches_its_snapshots() {
    show("locks-graph", |size| after(busy(size), "w"));
}

#[test]
fn the_key_of_the_graph_shows_it_even_when_something_is_wrong() {
    let mut app = crate::tui::testing::servers::trouble((80, 24));
    assert!(picture(&app, (80, 24)).contains("Diagnosis"));
    press(&mut app, "w");
    let shown = picture(&app, (80, 24));
    assert!(shown.contains("herd-style") && shown.contains("w lately"), "{shown}");
    press(&mut app, "w");
    assert!(picture(&app, (80, 24)).contains("Diagnosis"));
}
