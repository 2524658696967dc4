//! Tests of `stale owner`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, latch};

pub fn examples() -> Vec<Example> {
    let mut cut_off = DiagnosisFixture::new();
    cut_off.create(&latch("/e", 1), 1);
    goes_on(&mut cut_off);
    [behind_itself("10.0.0.1:5000", "worker-1"), cut_off].map(|world| (Code::StaleOwner, world)).into()
}

/// Plays that session 7 queues behind session 1, from `address` and by that name.
fn behind_itself(address: &str, name: &str) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    world.create_named(&latch("/e", 1), 1, "worker-1");
    world.client(7).address = address.to_owned();
    world.create_named(&latch("/e", 2), 7, name);
    world.pass(13);
    world
}

/// Plays that session 1 loses its connection, and its host goes on with session 7.
fn goes_on(world: &mut DiagnosisFixture) {
    world.pass(2);
    world.client(1).connected = false;
    let made = world.now.plus(std::time::Duration::from_millis(500));
    let newer = world.client(7);
    (newer.address, newer.established) = ("10.0.0.1:5000".to_owned(), made);
    world.pass(14);
}

#[test]
fn a_client_that_waits_behind_its_own_node_is_reported() {
    let world = behind_itself("10.0.0.1:5000", "worker-1");
    assert_eq!(world.severity(Code::StaleOwner), Some(Severity::Warning));
    for (address, name) in [("10.0.0.1:5000", "worker-2"), ("10.0.0.9:5000", "worker-1")] {
        assert_eq!(behind_itself(address, name).found(Code::StaleOwner), None, "{address} {name}");
    }
}

#[test]
fn a_restarted_leader_that_waits_for_its_old_session_to_expire_is_not_reported() {
    let mut world = DiagnosisFixture::new();
    let old = world.create_named(&latch("/e", 1), 1, "worker-1");
    world.pass(2);
    world.client(1).connected = false;
    world.client(7).address = "10.0.0.1:5000".to_owned();
    world.create_named(&latch("/e", 2), 7, "worker-1");
    world.pass(8);
    world.delete(&old);
    world.pass(20);
    assert_eq!(world.found(Code::StaleOwner), None);
}
