//! Tests of `head expired`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator, path, uuid};
use crate::queue::Change;
use lockscope_base::znode::ZnodePath;

pub fn examples() -> Vec<Example> {
    let mut free = head_expired();
    let next = free.lock("/l").path_of(free.lock("/l").first_holder().expect("the lock has a holder"));
    free.delete(&next);
    free.pass(1);
    vec![(Code::HeadChangedByExpiry, head_expired()), (Code::HeadChangedByExpiry, free)]
}

/// Disconnects session 1's client, lets its session expire, and deletes its node.
fn let_expire(world: &mut DiagnosisFixture, head: &ZnodePath) {
    let expires = world.now.plus(Duration::from_secs(5));
    let client = world.client(1);
    (client.connected, client.expires_at) = (false, Some(expires));
    world.pass(5);
    world.delete(head);
    world.pass(2);
}

fn head_expired() -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    let head = world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 2);
    let_expire(&mut world, &head);
    world
}

fn stands(world: &DiagnosisFixture) -> bool {
    world.found(Code::HeadChangedByExpiry).is_some()
}

#[test]
fn an_expired_head_is_remembered_after_its_successor_released() {
    let mut world = DiagnosisFixture::new();
    let head = world.create(&curator("/l", 1), 1);
    let next = world.create(&curator("/l", 2), 2);
    let_expire(&mut world, &head);
    assert_eq!(world.codes(Severity::Info), [Code::HeadChangedByExpiry]);
    world.delete(&next);
    assert_eq!(world.pass(3), (vec![], vec![]), "nobody holds");
    for session in 3..6 {
        let next = world.create(&curator("/l", 3), session);
        assert_eq!(world.pass(2), (vec![], vec![]), "it is the same finding, whoever holds");
        world.delete(&next);
    }
    assert!(stands(&world));
}

#[test]
fn after_ten_minutes_the_process_counts_as_gone() {
    let mut world = head_expired();
    world.clients.iter_mut().for_each(|client| client.cxid += 1);
    world.pass(590);
    assert!(stands(&world));
    assert!(world.pass(10).1.contains(&Code::HeadChangedByExpiry));
}

#[test]
fn a_lock_that_stays_free_has_no_two_holders() {
    let mut world = DiagnosisFixture::new();
    let head = world.create(&curator("/l", 1), 1);
    let_expire(&mut world, &head);
    assert!(!stands(&world));
    world.create(&curator("/l", 2), 2);
    world.pass(1);
    assert!(stands(&world), "the next one holds beside it");
}

/// Does the same as [`head_expired`], but the clients write their names into their nodes.
fn named_head_expired(others: &[(i64, &str)]) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    let head = world.create_named(&curator("/l", 1), 1, "worker-1");
    for (session, name) in others {
        world.create_named(&curator("/l", 2), *session, name);
    }
    let_expire(&mut world, &head);
    assert!(stands(&world));
    world
}

#[test]
fn a_client_that_queues_again_under_its_name_knows() {
    let mut world = named_head_expired(&[(2, "worker-2")]);
    world.create_named(&curator("/l", 3), 3, "worker-3");
    world.pass(2);
    assert!(stands(&world), "another one");
    world.create_named(&curator("/l", 4), 4, "worker-1");
    assert_eq!(world.pass(1).1, [Code::HeadChangedByExpiry]);
}

#[test]
fn a_name_that_several_clients_share_proves_nothing() {
    let mut world = named_head_expired(&[(2, "worker-1")]);
    world.create_named(&curator("/l", 3), 3, "worker-1");
    world.pass(2);
    assert!(stands(&world));
}

#[test]
fn an_expired_reader_does_not_conflict_with_later_readers() {
    let mut world = DiagnosisFixture::new();
    let request = |kind: &str, number: u32| format!("/l/_c_{}-{kind}", uuid(number));
    let head = world.create(&request("__READ__", 1), 1);
    let_expire(&mut world, &head);
    let reader = world.create(&request("__READ__", 2), 2);
    world.pass(2);
    assert!(!stands(&world));
    world.create(&request("__WRIT__", 3), 3);
    world.delete(&reader);
    world.pass(2);
    assert!(stands(&world));
}

#[test]
fn nothing_is_reported_until_the_successor_is_read() {
    let mut world = DiagnosisFixture::new();
    let head = world.create(&curator("/l", 1), 1);
    let next = path(&format!("{}0000000009", curator("/l", 2)));
    world.apply(Change::Appeared { path: next });
    let_expire(&mut world, &head);
    assert_eq!(world.codes(Severity::Info), []);
}

#[test]
fn a_release_is_no_expiry() {
    let mut world = DiagnosisFixture::new();
    let head = world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 2);
    world.pass(2);
    world.delete(&head);
    assert_eq!(world.pass(3).0, []);
}
