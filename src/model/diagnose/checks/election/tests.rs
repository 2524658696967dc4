//! Tests of `election`.

use super::*;
use crate::diagnose::Thresholds;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator, latch, path};
use crate::queue::{Expectation, LedBefore};
use lockscope_base::recipe::PathPattern;

pub fn examples() -> Vec<Example> {
    let mut found_empty = left_empty();
    found_empty.begin_anew();
    found_empty.pass(61);
    let mut controller = free("/controller");
    controller.client(7).watches = vec![path("/controller")];
    controller.pass(63);
    [left_empty(), found_empty, controller, solr(), recorded(true, false), recorded(false, true)]
        .map(|world| (Code::NobodyLeads, world))
        .into()
}

/// Plays that the only candidate's session expires.
fn left_empty() -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    let leader = world.create_named(&latch("/app/leader", 1), 1, "worker-1");
    world.pass(30);
    world.let_expire(1, &[&leader]);
    world.pass(61);
    world
}

/// Plays that a recording has the leader from before the start.
fn recorded(is_end_seen: bool, has_gap: bool) -> DiagnosisFixture {
    let mut world = left_empty();
    let election = path("/app/leader");
    let seen = world.table.elections().record(world.lock("/app/leader")).and_then(ElectionRecord::last_tenure);
    let tenure = seen.expect("it led").clone();
    world.begin_anew();
    world.table.learn_leaders(vec![LedBefore { election, tenure, is_end_seen, has_gap }]);
    world.pass(61);
    world
}

fn free(at: &str) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    world.client(1);
    let node = world.create_at(at, 1);
    world.pass(90);
    world.delete(&node);
    world
}

/// Two candidates queue, and the first one never becomes the leader.
fn solr() -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    let old = world.create_at("/c/leaders/s1/leader", 3);
    for session in 1..=2 {
        world.create(&format!("/c/leader_elect/s1/election/{session}-core_node{session}-n_"), session);
    }
    world.delete(&old);
    world.begin_anew();
    world.pass(61);
    world
}

#[test]
fn an_election_without_candidates_says_who_led_last_and_how_that_ended() {
    let mut world = left_empty();
    let found = world.found(Code::NobodyLeads).expect("the finding stands");
    assert_eq!(found.severity, Severity::Critical);
    assert!(found.summary.contains("worker-1"), "{}", found.summary);
    assert!(found.summary.contains("then its session expired; no candidate is left"), "{}", found.summary);
    assert_eq!(world.found(Code::EmptyParent), None);
    world.create_named(&latch("/app/leader", 2), 2, "worker-2");
    assert_eq!(world.pass(1).1, [Code::NobodyLeads]);
}

#[test]
fn a_recording_tells_who_led_before_the_start() {
    let found = |world: DiagnosisFixture| world.found(Code::NobodyLeads).expect("it stands").summary.clone();
    let known = found(recorded(true, false));
    assert!(known.contains("as recorded, worker-1 (was 10.0.0.1:4000"), "{known}");
    assert!(known.contains("ago, then its session expired; no candidate is left"), "{known}");
    let in_part = found(recorded(false, true));
    assert!(in_part.contains("its end was not recorded, and another may have led"), "{in_part}");
}

#[test]
fn a_hand_over_and_a_restart_of_the_only_candidate_are_no_absence() {
    let mut world = DiagnosisFixture::new();
    for session in 1..=5 {
        let node = world.create(&latch("/e", 1), session);
        world.pass(10);
        world.delete(&node);
        world.pass(55);
    }
    assert_eq!(world.found(Code::NobodyLeads), None);
}

#[test]
fn an_empty_mutex_and_a_queue_that_was_never_an_election_are_free() {
    let mut world = DiagnosisFixture::new();
    for at in ["/orders/locks", "/app/leader"] {
        let node = world.create(&curator(at, 1), 1);
        world.pass(3);
        world.delete(&node);
    }
    let node = world.create("/workers/w-", 1);
    world.pass(3);
    world.delete(&node);
    world.pass(100);
    assert_eq!(world.found(Code::NobodyLeads), None);
}

#[test]
fn a_lock_that_looks_like_an_election_is_a_warning() {
    let mut world = DiagnosisFixture::new();
    let node = world.create(&curator("/app/leader", 1), 1);
    world.pass(70);
    world.delete(&node);
    world.pass(63);
    assert_eq!(world.severity(Code::NobodyLeads), Some(Severity::Warning));
}

#[test]
fn candidates_that_fail_one_after_another_leave_an_election_behind() {
    let mut world = DiagnosisFixture::new();
    let nodes = [1, 2, 3].map(|number| world.create(&curator("/app/leader", number), i64::from(number)));
    world.pass(70);
    for node in &nodes {
        world.delete(node);
        world.pass(5);
    }
    world.pass(60);
    assert_eq!(world.severity(Code::NobodyLeads), Some(Severity::Warning));
}

#[test]
fn an_election_that_was_empty_before_the_start_is_found_by_its_parent() {
    let mut world = left_empty();
    world.begin_anew();
    assert_eq!(world.pass(59).0, []);
    assert_eq!(world.pass(3).0, [Code::NobodyLeads]);
    assert_eq!(world.severity(Code::NobodyLeads), Some(Severity::Warning), "the path alone tells");
    let node = world.create(&latch("/app/leader", 9), 9);
    assert_eq!(world.pass(1).1, [Code::NobodyLeads]);
    assert_eq!(world.lock("/app/leader").recipe(), Recipe::CuratorLatch);
    assert_eq!(world.table.lock_count(), 1);
    world.delete(&node);
}

#[test]
fn the_next_known_transaction_dates_an_absence_before_the_start() {
    let mut world = left_empty();
    world.create(&curator("/other", 1), 5);
    world.now = world.now.plus(Duration::from_secs(600));
    world.begin_anew();
    assert_eq!(world.pass(1).0, [Code::NobodyLeads]);
    let found = world.found(Code::NobodyLeads).expect("the finding stands");
    assert!(found.summary.starts_with("nobody has led for at least 10m0"), "{}", found.summary);
}

#[test]
fn the_users_expectation_makes_any_path_an_election_and_sets_its_time() {
    let mut world = DiagnosisFixture::with(Thresholds::default());
    let expected = Expectation {
        path: PathPattern::new("/jobs/*").expect("a pattern"),
        candidates: None,
        leader_within: Some(Duration::from_secs(5)),
        held_at_most: None,
    };
    world.table = world.table.clone().with_expectations(&[expected]);
    let node = world.create(&curator("/jobs/nightly", 1), 1);
    world.pass(2);
    world.delete(&node);
    assert_eq!(world.pass(4).0, []);
    world.pass(3);
    assert_eq!(world.severity(Code::NobodyLeads), Some(Severity::Critical));
}

#[test]
fn candidates_that_register_no_leader_are_reported_until_one_does() {
    let mut world = solr();
    assert_eq!(world.severity(Code::NobodyLeads), Some(Severity::Critical));
    world.create_at("/c/leaders/s1/leader", 1);
    assert_eq!(world.pass(1).1, [Code::NobodyLeads]);
}

#[test]
fn an_election_whose_empty_container_the_servers_deleted_is_still_without_a_leader() {
    let mut world = left_empty();
    world.delete(&path("/app/leader"));
    assert_eq!(world.pass(1).1, []);
    let found = world.found(Code::NobodyLeads).expect("the finding stands");
    assert!(found.summary.ends_with("and the servers deleted the empty parent"), "{}", found.summary);
    world.create_named(&latch("/app/leader", 2), 2, "worker-2");
    assert_eq!(world.pass(1).1, [Code::NobodyLeads]);
    assert_eq!(world.table.lock_count(), 1);
}

#[test]
fn an_election_without_a_parent_is_forgotten_after_a_day() {
    let mut world = left_empty();
    world.delete(&path("/app/leader"));
    world.now = world.now.plus(Duration::from_secs(25 * 3_600));
    assert_eq!(world.pass(1).1, [Code::NobodyLeads]);
    assert_eq!(world.table.lock_count(), 0);
}

#[test]
fn an_election_whose_leader_left_goes_with_its_parent() {
    let mut world = DiagnosisFixture::new();
    let leader = world.create_named(&latch("/app/leader", 1), 1, "worker-1");
    world.client(1).expires_at = Some(world.now.plus(Duration::from_secs(90)));
    world.pass(70);
    world.delete(&leader);
    world.delete(&path("/app/leader"));
    world.pass(70);
    assert_eq!(world.table.lock_count(), 0);
    assert_eq!(world.found(Code::NobodyLeads), None);
}

#[test]
fn the_latch_of_an_elastic_job_is_empty_while_the_job_has_a_leader() {
    let mut world = DiagnosisFixture::new();
    let candidate = world.create(&latch("/jobs/report/leader/election/latch", 1), 1);
    let leader = world.create_at("/jobs/report/leader/election/instance", 1);
    world.delete(&candidate);
    world.pass(100);
    assert_eq!(world.found(Code::NobodyLeads), None);
    world.delete(&leader);
    assert_eq!(world.pass(62).0, [Code::NobodyLeads]);
    let found = world.found(Code::NobodyLeads).expect("the finding stands");
    assert!(found.lock.path.as_str().ends_with("/instance"), "{}", found.lock.path);
}

#[test]
fn candidates_of_another_recipe_at_the_same_path_lead() {
    let mut world = DiagnosisFixture::new();
    let before = world.create_named(&curator("/app/leader", 1), 1, "worker-1");
    world.pass(70);
    world.create_named(&latch("/app/leader", 2), 2, "worker-2");
    world.delete(&before);
    world.pass(100);
    assert_eq!(world.found(Code::NobodyLeads), None);
}
