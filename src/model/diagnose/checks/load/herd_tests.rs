//! Tests of `herd`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator, path};

pub fn examples() -> Vec<Example> {
    let mut parent = clients_of_parent(150);
    hand_on(&mut parent, 10);
    vec![(Code::HerdStorm, of_one_node(300)), (Code::HerdStorm, parent)]
}

/// Clients watch one node, which one of them makes and deletes in turn.
fn of_one_node(clients: i64) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    for client in 1..=clients {
        world.client(client).watches = vec![path("/app/lock")];
    }
    for turn in 1..12 {
        let node = world.create_at("/app/lock", turn);
        world.pass(1);
        world.delete(&node);
    }
    world
}

/// Clients queue and watch the children of the parent.
fn clients_of_parent(clients: u32) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    for client in 1..=clients {
        world.client(client.into()).sound = false;
        world.create(&curator("/l", client), client.into());
    }
    world.child_watches = clients.into();
    world.pass(3);
    world
}

fn hand_on(world: &mut DiagnosisFixture, times: u32) {
    for turn in 0..times {
        let head = world.lock("/l").first_holder().expect("a holder").clone();
        let node = world.lock("/l").path_of(&head);
        world.delete(&node);
        world.create(&curator("/l", 1_000 + turn), head.session().expect("a session").0);
        world.pass(1);
    }
}

#[test]
fn hand_overs_that_wake_hundreds_are_reported_until_they_end() {
    let mut world = of_one_node(300);
    let found = world.found(Code::HerdStorm).expect("the finding stands");
    assert_eq!(found.severity, Severity::Warning);
    assert!(found.summary.starts_with("each hand-over wakes 299 clients"), "{}", found.summary);
    assert!(world.pass(30).1.contains(&Code::HerdStorm), "nobody takes the lock any more");
}

#[test]
fn small_herds_and_long_chains_are_no_storm() {
    assert_eq!(of_one_node(5).found(Code::HerdStorm), None);
    let mut small = clients_of_parent(30);
    hand_on(&mut small, 10);
    assert_eq!(small.found(Code::HerdStorm), None);
    let mut chain = crate::diagnose::testing::queue(&(1..=150).collect::<Vec<_>>());
    chain.pass(3);
    hand_on(&mut chain, 10);
    assert_eq!(chain.codes(Severity::Info), []);
}

#[test]
fn a_herd_without_hand_overs_is_no_storm() {
    let mut world = clients_of_parent(150);
    world.pass(30);
    assert_eq!(world.found(Code::HerdStorm), None);
}
