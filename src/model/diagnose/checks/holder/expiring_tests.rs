//! Tests of `expiring`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator, queue};
use lockscope_base::znode::Timestamp;

pub fn examples() -> Vec<Example> {
    [None, Some(20_000)].map(|millis| (Code::ExpiringHolder, expiring(millis))).into()
}

fn expiring(millis: Option<i64>) -> DiagnosisFixture {
    let mut world = queue(&[1, 2]);
    world.pass(2);
    let expires = millis.map(|millis| Timestamp(world.now.0 + millis));
    let client = world.client(1);
    (client.connected, client.expires_at) = (false, expires);
    world.pass(2);
    world
}

#[test]
fn a_holder_without_a_connection_is_reported_with_a_countdown_until_it_comes_back() {
    let mut world = DiagnosisFixture::new();
    world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 2);
    world.pass(5);
    let expires = Timestamp(world.now.0 + 20_000);
    let client = world.client(1);
    (client.connected, client.expires_at) = (false, Some(expires));
    assert_eq!(world.pass(2).0, [Code::ExpiringHolder]);
    let finding = world.found(Code::ExpiringHolder).expect("the finding stands");
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.summary.ends_with("expires in 18s"), "{}", finding.summary);
    world.client(1).connected = true;
    assert_eq!(world.pass(1).1, [Code::ExpiringHolder]);
}

#[test]
fn a_client_that_is_on_no_server_for_one_round_is_not_reported() {
    let mut world = DiagnosisFixture::new();
    world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 2);
    for _ in 0..5 {
        world.client(1).connected = false;
        assert_eq!(world.pass(1).0, []);
        world.client(1).connected = true;
        assert_eq!(world.pass(1).0, []);
    }
}

#[test]
fn without_waiters_the_finding_is_only_information() {
    let mut world = DiagnosisFixture::new();
    world.create(&curator("/l", 1), 1);
    world.client(1).connected = false;
    world.pass(3);
    assert_eq!(world.severity(Code::ExpiringHolder), Some(Severity::Info));
}
