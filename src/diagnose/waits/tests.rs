//! Who waits for whom, across locks.

use super::Waits;
use crate::diagnose::testing::{DiagnosisFixture, curator, path};
use crate::znode::SessionId;

fn sessions(ids: &[i64]) -> Vec<SessionId> {
    ids.iter().map(|id| SessionId(*id)).collect()
}

#[test]
fn a_blocker_is_counted_with_all_who_wait_behind_those_it_holds_up() {
    let mut world = DiagnosisFixture::new();
    for (lock, session) in [("/a", 1), ("/a", 2), ("/a", 3), ("/b", 2), ("/b", 4), ("/c", 9), ("/c", 8)] {
        world.create(&curator(lock, 1), session);
    }
    let waits = Waits::of(&world.table);
    let told: Vec<_> = waits.blockers().iter().map(|blocker| (blocker.session.0, blocker.holds_up)).collect();
    assert_eq!(told, [(1, 3), (9, 1)]);
    assert_eq!(waits.blockers()[0].locks, [world.id("/a")]);
    assert!(waits.cycles().is_empty() && waits.self_blocked().is_empty());
}

#[test]
fn a_circle_of_many_sessions_is_told_in_its_order() {
    let mut world = DiagnosisFixture::new();
    for session in 0..50 {
        world.create(&curator(&format!("/l{session:02}"), 1), session + 1);
    }
    for session in 0..50 {
        world.create(&curator(&format!("/l{:02}", (session + 1) % 50), 2), session + 1);
    }
    let waits = Waits::of(&world.table);
    assert_eq!(waits.cycles().len(), 1);
    let cycle = &waits.cycles()[0];
    assert_eq!(cycle.len(), 50);
    for (wait, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
        assert_eq!(wait.blocker, next.waiter);
    }
    assert_eq!(waits.blockers().len(), 50, "all of them hold each other up");
}

#[test]
fn who_queued_before_it_held_the_other_has_two_threads() {
    let mut world = DiagnosisFixture::new();
    world.create(&curator("/a", 1), 1);
    world.create(&curator("/b", 1), 1);
    world.create(&curator("/b", 2), 2);
    let before = world.create(&curator("/c", 1), 3);
    // 2 waits for /b, then comes to hold /c, for which 1 waits.
    world.create(&curator("/c", 2), 2);
    world.create(&curator("/c", 3), 1);
    world.delete(&before);
    let waits = Waits::of(&world.table);
    assert!(waits.cycles().is_empty());
    let blockers: Vec<_> = waits.blockers().iter().map(|blocker| (blocker.session.0, blocker.holds_up)).collect();
    assert_eq!(blockers, [(1, 1)], "somebody waits, whoever is to blame");
}

#[test]
fn those_who_stand_by_in_elections_and_for_one_of_several_leases_make_no_circle() {
    let mut world = DiagnosisFixture::new();
    for (lock, session) in [("/a", 1), ("/b", 2), ("/b", 1), ("/a", 2)] {
        world.create(&format!("{lock}/_c_00000000-0000-4000-8000-00000000000{session}-latch-"), session);
    }
    let waits = Waits::of(&world.table);
    assert!(waits.cycles().is_empty() && waits.blockers().is_empty());
}

#[test]
fn a_single_nodes_waiters_are_those_who_watch_it() {
    let mut world = DiagnosisFixture::new();
    for session in [1, 2, 3] {
        world.client(session).watches = vec![path("/x/lock")];
    }
    world.create_at("/x/lock", 1);
    world.create(&curator("/a", 1), 2);
    world.create(&curator("/a", 2), 4);
    world.survey();
    let waits = Waits::of(&world.table);
    let told: Vec<_> = waits.blockers().iter().map(|blocker| (blocker.session, blocker.holds_up)).collect();
    assert_eq!(told, [(SessionId(1), 3)]);
    assert_eq!(sessions(&[1]), [told[0].0]);
}

#[test]
fn readers_hold_a_writer_up_together() {
    let mut world = DiagnosisFixture::new();
    let name = |kind| format!("/rw/_c_00000000-0000-4000-8000-000000000001-{kind}");
    world.create(&name("__READ__"), 1);
    world.create(&name("__READ__"), 2);
    world.create(&name("__WRIT__"), 3);
    world.create(&curator("/b", 1), 3);
    world.create(&curator("/b", 2), 2);
    let waits = Waits::of(&world.table);
    assert!(waits.cycles().is_empty(), "3 took /b after it came to wait for /rw");
    let blockers: Vec<_> = waits.blockers().iter().map(|blocker| (blocker.session.0, blocker.holds_up)).collect();
    assert_eq!(blockers, [(1, 2)]);
}
