//! Tests of `flapping`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator, latch};
use crate::queue::ElectionKind;

pub fn examples() -> Vec<Example> {
    vec![(Code::Flapping, alternating(8)), (Code::Flapping, alone(8, false)), (Code::Flapping, alone(8, true))]
}

/// The only candidate takes the leadership for a second and gives it up for two, or loses it with
/// its session.
fn alone(tenures: i64, expires: bool) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    for tenure in 0..tenures {
        let session = if expires { tenure + 1 } else { 1 };
        world.client(session).address = format!("10.0.0.1:{}", 4000 + session);
        world.survey();
        let node = world.create_with("/hadoop-ha/c1/ActiveStandbyElectorLock", session, b"nn2");
        // A session certainly lives for its timeout after it made a node.
        world.pass(if expires { 40 } else { 1 });
        if expires {
            world.let_expire(session, &[&node]);
        } else {
            world.delete(&node);
        }
        world.pass(2);
    }
    world
}

#[test]
fn one_candidate_that_gives_up_again_and_again_changes_no_hands() {
    let mut world = alone(7, false);
    world.create_at("/hadoop-ha/c1/ActiveStandbyElectorLock", 1);
    world.pass(1);
    let found = world.found(Code::Flapping).expect("found as soon as it took over six times");
    assert_eq!(found.severity, Severity::Critical, "nobody leads most of the time");
    assert!(found.summary.starts_with("nn2 took the leadership and gave it up "), "{}", found.summary);
    assert!(!found.summary.contains("changed hands") && !found.remedy.contains("timeout"), "{found:?}");
}

#[test]
fn expired_sessions_alone_are_a_reason_to_advise_about_timeouts() {
    for (world, advises) in [(alone(8, true), true), (alone(8, false), false), (alternating(8), false)] {
        let found = world.found(Code::Flapping).expect("the finding stands");
        assert_eq!(found.remedy.contains("timeout"), advises, "{found:?}");
    }
}

#[test]
fn candidates_of_one_name_on_two_hosts_change_hands() {
    let mut world = DiagnosisFixture::new();
    for turn in 0..8 {
        world.client(1 + turn % 2);
        world.survey();
        let node = world.create_with("/hadoop-ha/c1/ActiveStandbyElectorLock", 1 + turn % 2, b"broker");
        world.pass(3);
        world.delete(&node);
        world.pass(1);
    }
    let found = world.found(Code::Flapping).expect("the finding stands");
    assert_eq!(found.severity, Severity::Warning, "somebody leads most of the time");
    assert!(found.summary.contains("changed hands") && found.summary.contains("broker led 8x"), "{found:?}");
}

/// Two candidates lead in turn, for 20 s each.
fn alternating(tenures: i64) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    let mut leader = world.create_named(&latch("/e", 1), 1, "worker-1");
    for tenure in 1..=tenures {
        let next = world.create_named(&latch("/e", 2), tenure + 1, &format!("worker-{}", 1 + tenure % 2));
        world.pass(20);
        world.delete(&leader);
        leader = next;
    }
    world.pass(1);
    world
}

#[test]
fn leadership_that_alternates_is_flapping_until_it_stays() {
    assert_eq!(alternating(5).found(Code::Flapping), None);
    let mut world = alternating(7);
    assert_eq!(world.severity(Code::Flapping), Some(Severity::Warning));
    let found = world.found(Code::Flapping).expect("the finding stands");
    assert!(found.summary.contains("worker-1 led 4x, worker-2 led 3x"), "{}", found.summary);
    assert!(world.pass(600).1.contains(&Code::Flapping));
}

#[test]
fn a_mutex_whose_nodes_bear_names_is_an_election_only_once_somebody_led_for_long() {
    let mut world = DiagnosisFixture::new();
    let mut holder = world.create_named(&curator("/invoices", 1), 1, "worker-1");
    for turn in 2..=20 {
        let next = world.create_named(&curator("/invoices", 1), turn, &format!("worker-{turn}"));
        world.pass(1);
        world.delete(&holder);
        holder = next;
    }
    let kind = |world: &DiagnosisFixture| world.table.election_kind(world.lock("/invoices"), world.now);
    world.pass(290);
    assert_eq!((world.found(Code::Flapping), kind(&world)), (None, None));
    world.pass(10);
    assert_eq!(kind(&world), Some(ElectionKind::Likely));
    world.create_named(&curator("/invoices", 1), 30, "worker-30");
    world.delete(&holder);
    assert_eq!(kind(&world), Some(ElectionKind::Likely), "it is known after that leader, too");
}

#[test]
fn a_named_mutex_of_the_own_library_is_stuck_like_any_other_lock() {
    let mut world = DiagnosisFixture::new();
    let node = |number: u32| format!("/invoices/_c_{number:08x}-0000-8000-8000-000000000000-lock-");
    world.create_named(&node(1), 1, "client-1");
    world.create_named(&node(2), 2, "client-2");
    world.pass(600);
    assert_eq!(world.table.election_kind(world.lock("/invoices"), world.now), None);
    assert_eq!(world.severity(Code::Stuck), Some(Severity::Warning));
}

#[test]
fn sessions_of_one_host_that_are_connected_at_once_are_several_processes() {
    let mut world = DiagnosisFixture::new();
    for session in 1..=3 {
        world.client(session).address = format!("10.0.0.1:{}", 4000 + session);
    }
    for turn in 0..9 {
        world.survey();
        let node = world.create_with("/hadoop-ha/c1/ActiveStandbyElectorLock", 1 + turn % 3, b"");
        world.pass(3);
        world.delete(&node);
        world.pass(1);
    }
    let found = world.found(Code::Flapping).expect("the finding stands");
    assert!(found.summary.contains("changed hands"), "{}", found.summary);
    assert!(!found.summary.contains("nobody else"), "{}", found.summary);
}

#[test]
fn a_rolling_restart_of_many_candidates_does_not_flap() {
    let mut world = DiagnosisFixture::new();
    let nodes: Vec<_> =
        (1..=9).map(|number| world.create_named(&latch("/e", 1), number, &format!("worker-{number}"))).collect();
    for node in &nodes[..8] {
        world.pass(20);
        world.delete(node);
    }
    world.pass(1);
    assert_eq!(world.found(Code::Flapping), None);
}

#[test]
fn the_candidates_of_an_elastic_job_lead_its_latch_in_turn_when_they_start() {
    let mut world = DiagnosisFixture::new();
    for turn in 0..10 {
        let node =
            world.create_named(&latch("/jobs/report/leader/election/latch", 1), turn, &format!("worker-{}", turn % 2));
        world.pass(1);
        world.delete(&node);
    }
    world.pass(1);
    assert_eq!(world.found(Code::Flapping), None);
}
