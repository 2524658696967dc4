//! Tests of `churning`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator};

pub fn examples() -> Vec<Example> {
    let mut world = DiagnosisFixture::new();
    world.client(1);
    take_and_give_up(&mut world, 35, 2, |_| 1);
    vec![(Code::Churning, world)]
}

/// Lets clients take the lock and give it up, several times a second.
fn take_and_give_up(world: &mut DiagnosisFixture, seconds: u32, times: u32, client: impl Fn(u32) -> i64) {
    for turn in 0..seconds * times {
        let node = world.create(&curator("/namespace/0x0_0x4", turn), client(turn));
        world.delete(&node);
        if turn % times == times - 1 {
            world.pass(1);
        }
    }
}

#[test]
fn a_lock_that_one_client_takes_again_and_again_is_reported_until_that_ends() {
    let mut world = DiagnosisFixture::new();
    take_and_give_up(&mut world, 25, 2, |_| 1);
    assert_eq!(world.found(Code::Churning), None);
    take_and_give_up(&mut world, 10, 2, |_| 1);
    let found = world.found(Code::Churning).expect("the finding stands");
    assert_eq!(found.severity, Severity::Info, "a busy client looks the same");
    assert!(found.summary.starts_with("10.0.0.1:4000 has taken and given up"), "{}", found.summary);
    assert!(world.pass(3).1.contains(&Code::Churning));
}

#[test]
fn a_lock_of_several_clients_or_of_one_that_takes_its_time_is_no_churn() {
    let mut shared = DiagnosisFixture::new();
    take_and_give_up(&mut shared, 60, 3, |turn| i64::from(turn % 8) + 1);
    let mut slow = DiagnosisFixture::new();
    for turn in 0..40 {
        let node = slow.create(&curator("/l", turn), 1);
        slow.pass(1);
        slow.delete(&node);
        slow.pass(1);
    }
    let mut chain = crate::diagnose::testing::queue(&(1..=30).collect::<Vec<_>>());
    for turn in 0..90 {
        let head = chain.lock("/l").first_holder().expect("a holder").clone();
        let node = chain.lock("/l").path_of(&head);
        chain.delete(&node);
        chain.create(&curator("/l", 100 + turn), head.session().expect("a session").0);
        if turn % 2 == 1 {
            chain.pass(1);
        }
    }
    for world in [shared, slow, chain] {
        assert_eq!(world.codes(Severity::Info), []);
    }
}

#[test]
fn an_election_that_one_candidate_takes_again_and_again_flaps_and_does_not_churn() {
    let mut world = DiagnosisFixture::new();
    for turn in 0..80 {
        let node = world.create_at("/hadoop-ha/c1/ActiveStandbyElectorLock", 1);
        world.delete(&node);
        if turn % 2 == 1 {
            world.pass(1);
        }
    }
    assert!(world.found(Code::Flapping).is_some() && world.found(Code::Churning).is_none());
}
