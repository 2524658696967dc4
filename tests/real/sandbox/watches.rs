//! Watches, their events, and the order of the events.

use super::pair::same;
use super::side::Side;
use crate::harness::raw::{Raw, Request as R, Watches};

/// Changes a small tree so that every kind of watch event is sent.
fn churn(side: &mut Side, session: usize) {
    side.ask_all(
        session,
        &[
            R::create("/w/new", 0),
            R::create("/w/new/below", 0),
            R::set_data("/w/new", Some(b"x"), -1),
            R::set_data("/w", Some(b"x"), -1),
            R::delete("/w/new/below", -1),
            R::delete("/w/new", -1),
            R::create("/w/new", 1),
            R::delete("/w/new", -1),
        ],
    );
}

#[test]
fn one_shot_watches_fire_once_and_before_the_reply() {
    same(2, |side| {
        side.ask_all(
            0,
            &[R::create("/w", 0), R::exists("/w/new", true), R::get_data("/w", true), R::get_children("/w", true)],
        );
        side.ask_all(1, &[R::get_children2("/w", true), R::exists("/w", true), R::get_data("/w/none", true)]);
        for _ in 0..2 {
            churn(side, 0);
            side.events(1);
        }
        side.ask_all(1, &[R::get_data("/w", true), R::get_children("/w", true)]);
        side.ask(0, &R::delete("/w", -1));
        side.events(1);
    });
}

#[test]
fn persistent_and_recursive_watches_fire_repeatedly() {
    for mode in 0..2 {
        same(2, |side| {
            side.ask(0, &R::create("/w", 0));
            side.ask_all(0, &[R::add_watch("/w", mode), R::add_watch("/w/new", mode)]);
            side.ask_all(1, &[R::add_watch("/", mode), R::get_children("/w", true)]);
            churn(side, 0);
            side.events(1);
            churn(side, 1);
            side.events(0);
            side.ask(0, &R::delete("/w", -1));
            side.events(1);
        });
    }
}

#[test]
fn a_one_shot_watch_cancels_a_persistent_one_of_the_same_session() {
    for mode in 0..2 {
        for read in [R::get_data("/w", true), R::exists("/w", true), R::get_children("/w", true)] {
            same(1, |side| {
                side.ask_all(0, &[R::create("/w", 0), R::add_watch("/w", mode), read.clone()]);
                churn(side, 0);
                side.ask_all(0, &[R::add_watch("/w", 1 - mode), R::delete("/w", -1)]);
            });
        }
    }
}

#[test]
fn watches_are_found_and_removed_alike() {
    same(1, |side| {
        side.ask(0, &R::create("/w", 0));
        for kind in [1, 2, 3] {
            side.ask_all(0, &[R::get_data("/w", true), R::get_children("/w", true)]);
            side.ask_all(0, &[1, 2, 3].map(|kind| R::check_watches("/w", kind)));
            side.ask_all(
                0,
                &[R::remove_watches("/w", kind), R::remove_watches("/w", kind), R::remove_watches("/x", kind)],
            );
            side.ask_all(0, &[1, 2, 3].map(|kind| R::check_watches("/w", kind)));
            side.ask_all(0, &[R::set_data("/w", None, -1), R::create("/w/a", 0), R::delete("/w/a", -1)]);
        }
        for mode in 0..2 {
            side.ask_all(0, &[R::add_watch("/w", mode), R::remove_watches("/w", 2)]);
            churn(side, 0);
            side.ask_all(0, &[R::remove_watches("/w", 1), R::remove_watches("/w", 3), R::remove_watches("/w", 3)]);
            churn(side, 0);
        }
        for wrong in
            [R::add_watch("/w", 2), R::add_watch("/w", -1), R::remove_watches("/w", 0), R::check_watches("/w", 4)]
        {
            side.ask(0, &wrong);
        }
        side.ask(0, &R::delete("/w", -1));
    });
}

#[test]
fn watches_set_again_after_a_lost_connection_report_missed_changes() {
    same(2, |side| {
        side.ask_all(0, &[R::create("/w", 0), R::create("/w/a", 0), R::create("/w/b", 0), R::create("/w/c", 0)]);
        let (greeting, zxid) = (side.raw(1).greeting.clone(), side.raw(1).zxid());
        side.ask_all(1, &[R::get_data("/w/a", true), R::get_children("/w", true), R::add_watch("/w", 1)]);
        side.sessions[1] = None;
        side.ask_all(0, &[R::set_data("/w/a", Some(b"x"), -1), R::delete("/w/b", -1), R::create("/w/d", 0)]);
        let again =
            Raw::resume(side.port, 30_000, greeting.session, &greeting.password, zxid).expect("the session goes on");
        side.sessions[1] = Some(again);
        let all: &[&str] = &["/w", "/w/a", "/w/b", "/w/c", "/w/d", "/none"];
        side.ask(1, &R::set_watches(zxid, Watches { data: all, exist: all, child: all, ..Watches::default() }));
        let lists =
            Watches { data: &["/w/c"], exist: &["/w/e"], child: &["/w/c"], persistent: &["/w/c"], recursive: &["/w"] };
        side.ask(1, &R::set_watches(zxid + 100, lists));
        churn(side, 0);
        side.events(1);
        side.ask_all(0, &[R::create("/w/c/x", 0), R::create("/w/e", 0), R::set_data("/w/c", None, -1)]);
        side.events(1);
    });
}

#[test]
fn a_closing_session_sends_events_to_its_nodes_watchers_and_itself() {
    same(3, |side| {
        side.ask_all(
            0,
            &[R::create("/w", 0), R::create("/w/a", 1), R::add_watch("/w", 1), R::get_children("/w", true)],
        );
        side.ask_all(1, &[R::get_data("/w/a", true), R::get_children("/w", true)]);
        side.ask(0, &R::close());
        side.sessions[0] = None;
        side.events(1);
        side.ask_all(2, &[R::get_children2("/w", false), R::delete("/w", -1)]);
        side.events(1);
    });
}
