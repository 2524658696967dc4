//! How a session ended whose node is deleted: it released, it expired, or nobody can tell.

use std::sync::Arc;
use std::time::Duration;

use super::TableFixture;
use crate::queue::{Change, LockEvent};
use crate::server_view::{Connection, Expiry, ListedSession, Listing, MemberView, Provenance, ServerMode, ServerView};
use crate::testing::fixture::{events, session_runs_out, surveyed, timing};
use lockscope_base::znode::{SessionId, Timestamp};

fn listed(session: i64, expires_at: Timestamp) -> ListedSession {
    let expiry = Expiry::Monotonic { millis: expires_at.0 };
    ListedSession { id: SessionId(session), expiry, expires_at: Some(expires_at) }
}

fn connection(session: i64, timeout_ms: u64) -> Connection {
    let line = format!(" /10.0.0.1:7[1](queued=0,recved=1,sent=1,sid={session:#x},to={timeout_ms},lresp=9)\n\n");
    crate::server_view::four_letter::cons(&line).with_session.remove(0)
}

/// Returns the same answers with a difference.
fn but(change: &Change, differs: impl FnOnce(&mut ServerView)) -> Change {
    let Change::Surveyed { view } = change else { panic!("it is a view") };
    let mut view = ServerView::clone(view);
    differs(&mut view);
    Change::Surveyed { view: Arc::new(view) }
}

/// Deletes the node of session 1 after it held for `stood_ms`. Returns the reported event, and
/// whether the session may have expired.
fn end_of(stood_ms: i64, answers: impl FnOnce(Timestamp) -> Option<Change>) -> (LockEvent, bool) {
    let mut fixture = TableFixture::new();
    let holder = fixture.create("/a/lock-", 1);
    let made_at = Timestamp(fixture.now.0 - 10);
    if let Some(change) = answers(made_at) {
        fixture.apply(change);
    }
    fixture.now = Timestamp(made_at.0 + stood_ms - 10);
    let gone = fixture.delete(&holder).remove(0);
    (gone.event, gone.may_have_expired)
}

const RELEASED: (LockEvent, bool) = (LockEvent::Released, false);
const UNKNOWN: (LockEvent, bool) = (LockEvent::Released, true);
const EXPIRED: (LockEvent, bool) = (LockEvent::Expired, false);

#[test]
fn without_the_servers_settings_no_end_is_claimed() {
    assert_eq!(end_of(100, |_| None), UNKNOWN);
    let silent = |made_at| but(&surveyed(Vec::new(), made_at), |view| view.members[0].timing.settings = None);
    assert_eq!(end_of(100, |made_at| Some(silent(made_at))), UNKNOWN);
    let one_of_two = |made_at| {
        but(&surveyed(Vec::new(), made_at), |view| view.members.push(MemberView::unasked("zk2:2181".to_owned())))
    };
    assert_eq!(end_of(100, |made_at| Some(one_of_two(made_at))), UNKNOWN);
}

#[test]
fn an_unknown_timeout_is_the_shortest_that_the_server_grants() {
    let granting = |min_ms| {
        move |made_at| Some(but(&surveyed(Vec::new(), made_at), |view| view.members[0].timing = timing(min_ms)))
    };
    for (min_ms, stood_ms, end) in [(4_000, 3_400, RELEASED), (4_000, 4_100, UNKNOWN), (1_500, 1_700, UNKNOWN)] {
        assert_eq!(end_of(stood_ms, granting(min_ms)), end, "{min_ms} {stood_ms}");
    }
}

#[test]
fn a_session_lives_as_long_as_the_server_said_since_it_was_heard() {
    let expires = |left_ms, as_of: i64| {
        move |made_at: Timestamp| {
            let at = Timestamp(made_at.0 + as_of);
            Some(surveyed(vec![listed(1, Timestamp(at.0 + left_ms))], at))
        }
    };
    assert_eq!(end_of(60_000, expires(6_000, 56_000)), RELEASED);
    assert_eq!(end_of(60_000, expires(6_000, 49_000)), UNKNOWN);
    let other = |made_at: Timestamp| Some(surveyed(vec![listed(7, Timestamp(made_at.0 + 99_000))], made_at));
    assert_eq!(end_of(60_000, other), UNKNOWN);
    let untranslated = |made_at| {
        expires(6_000, 56_000)(made_at).map(|change| {
            but(&change, |view| {
                view.members[0].timing.clock = None;
            })
        })
    };
    assert_eq!(end_of(60_000, untranslated), UNKNOWN);
}

#[test]
fn a_session_expires_at_its_time_and_neither_before_nor_long_after() {
    for (after_ms, end) in [(-1, RELEASED), (0, EXPIRED), (400, EXPIRED), (600, UNKNOWN)] {
        let answers = |made_at: Timestamp| Some(session_runs_out(1, Timestamp(made_at.0 + 60_000)));
        assert_eq!(end_of(60_000 + after_ms, answers), end, "{after_ms}");
    }
    let old = |made_at: Timestamp| {
        Some(surveyed(vec![listed(1, Timestamp(made_at.0 + 60_000))], Timestamp(made_at.0 + 49_000)))
    };
    assert_eq!(end_of(60_000, old), UNKNOWN, "the client may have come back since");
}

#[test]
fn a_node_that_its_client_deletes_right_after_its_creation_is_released() {
    // The session is listed without its connection, which was made between the two answers.
    let answers = |made_at: Timestamp| {
        let at = Timestamp(made_at.0 - 20);
        let change = surveyed(vec![listed(1, Timestamp(made_at.0 + 1_500))], at);
        Some(but(&change, |view| view.members[0].timing = timing(1_500)))
    };
    assert_eq!(end_of(44, answers), RELEASED);
}

#[test]
fn a_connected_session_expires_only_when_it_missed_its_heartbeats() {
    for (left_ms, end) in [(1_900, EXPIRED), (2_100, UNKNOWN)] {
        let answers = |made_at: Timestamp| {
            let at = Timestamp(made_at.0 + 60_000 - left_ms);
            let change = surveyed(vec![listed(1, Timestamp(made_at.0 + 60_000))], at);
            Some(but(&change, |view| {
                view.members[0].connections = Some(Listing::new(vec![connection(1, 6_000)], true, at));
            }))
        };
        assert_eq!(end_of(60_100, answers), end, "{left_ms}");
    }
}

#[test]
fn plain_text_answers_beside_tls_prove_neither_the_end_nor_the_life_of_a_session() {
    let doubtful = |change: Change| but(&change, |view| view.members[0].provenance = Provenance::PlainBesideTls);
    let runs_out = |made_at: Timestamp| Some(doubtful(session_runs_out(1, Timestamp(made_at.0 + 60_000))));
    assert_eq!(end_of(60_000, runs_out), UNKNOWN);
    let lives = |made_at: Timestamp| Some(doubtful(surveyed(vec![listed(1, Timestamp(made_at.0 + 99_000))], made_at)));
    assert_eq!(end_of(60_000, lives), UNKNOWN);
}

#[test]
fn a_node_without_a_session_is_released_whenever_it_goes() {
    let mut fixture = TableFixture::new();
    let holder = fixture.create_plain("/a/lock-0000000000", None);
    fixture.now = Timestamp(fixture.now.0 + 600_000);
    let gone = fixture.delete(&holder).remove(0);
    assert_eq!((gone.event, gone.may_have_expired), RELEASED);
}

/// Returns a leader that lists the sessions and a follower, each with the time at which it was
/// asked.
fn ensemble(sessions: Vec<ListedSession>, (leader_at, follower_at, at): (i64, i64, i64)) -> Change {
    but(&surveyed(sessions, Timestamp(leader_at)), |view| {
        view.at = Timestamp(at);
        view.members[0].mode = Some(ServerMode::Leader);
        view.members.push(MemberView {
            address: "zk2:2181".to_owned(),
            mode: Some(ServerMode::Follower),
            sessions: None,
            connections: Some(Listing::new(Vec::new(), true, Timestamp(follower_at))),
            ..view.members[0].clone()
        });
    })
}

#[test]
fn a_client_that_moves_between_members_is_gone_only_when_each_was_asked_again() {
    for (asked_again, end) in [(false, UNKNOWN), (true, EXPIRED)] {
        let mut fixture = TableFixture::new();
        let holder = fixture.create("/a/lock-", 1);
        let end_at = fixture.now.0 + 60_000;
        let at = |before: i64| end_at - before;
        let session = || vec![listed(1, Timestamp(end_at))];
        fixture.apply(ensemble(session(), (at(3_000), at(3_500), at(2_900))));
        if asked_again {
            fixture.apply(ensemble(session(), (at(2_000), at(2_500), at(1_900))));
        } else {
            fixture.apply(ensemble(session(), (at(2_000), at(3_500), at(1_900))));
        }
        fixture.now = Timestamp(end_at);
        let gone = fixture.delete(&holder);
        assert_eq!(events(&gone)[0], end.0, "asked again: {asked_again}");
        assert_eq!(gone[0].may_have_expired, end.1, "asked again: {asked_again}");
    }
}

#[test]
fn in_an_ensemble_a_node_only_proves_that_a_session_the_leader_did_not_list_is_new() {
    // The time at which the leader was asked, and whether it listed the session.
    for (asked_ms, is_listed, end) in [(-500, false, RELEASED), (-500, true, UNKNOWN), (500, false, UNKNOWN)] {
        let answers = |made_at: Timestamp| {
            let at = made_at.0 + asked_ms;
            let sessions = if is_listed { vec![listed(1, Timestamp(at + 1_000))] } else { Vec::new() };
            Some(ensemble(sessions, (at, at, at)))
        };
        assert_eq!(end_of(2_000, answers), end, "{asked_ms} {is_listed}");
    }
}

#[test]
fn a_node_that_was_never_read_counts_as_made_before_it_was_seen() {
    for (stood_ms, asked_ms, end) in [(2_000, 0, RELEASED), (2_600, 0, UNKNOWN), (2_000, -2_000, UNKNOWN)] {
        let mut fixture = TableFixture::new();
        let first = fixture.create("/a/lock-", 7);
        let at = fixture.now.0;
        fixture.apply(surveyed(Vec::new(), Timestamp(at + asked_ms)));
        let unread = fixture.put_numbered("/a/lock-", 1);
        fixture.now = Timestamp(at - 10);
        fixture.apply(Change::Appeared { path: unread.clone() });
        fixture.now = Timestamp(at + stood_ms - 10);
        let gone = fixture.delete(&unread);
        assert_eq!(events(&gone), [LockEvent::Left], "{stood_ms} {asked_ms} {first}");
        assert_eq!(gone[0].may_have_expired, end.1, "{stood_ms} {asked_ms}");
    }
}

#[test]
fn the_shortest_timeout_is_that_of_all_members() {
    let Change::Surveyed { view } = ensemble(Vec::new(), (0, 0, 0)) else { panic!("it is a view") };
    let mut view = ServerView::clone(&view);
    view.members[1].timing = timing(1_500);
    assert_eq!(view.min_session_timeout(), Some(Duration::from_millis(1_500)));
    view.members[0].timing.settings = None;
    assert_eq!(view.min_session_timeout(), None);
}
