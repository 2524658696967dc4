//! A cycle of clients over two ensembles, and how sure it is that they are the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diagnose::testing::{DiagnosisFixture, Example};
use crate::diagnose::{Code, EnsembleClaims, Severity, TableAt, cross_waits};
use crate::queue::{Change, CrossWaits, NamedAddress, SameClient};
use lockscope_base::znode::ZnodePath;

pub fn examples() -> Vec<Example> {
    let [mut one, mut other] = crossed(["worker-1", "worker-2"]);
    one.pass(11);
    other.now = one.now;
    tell([&mut one, &mut other]);
    one.pass(1);
    vec![(Code::CrossDeadlock, one)]
}

/// Returns the prefix of a node name of kazoo's lock, whose data tell who contends.
fn kazoo(parent: &str, number: u32) -> String {
    format!("{parent}/{number:032x}__lock__")
}

/// Creates two ensembles. The first client holds `/a` in the first and waits for `/b` in the second,
/// where the other client holds, and that waits for `/a`.
fn crossed(names: [&str; 2]) -> [DiagnosisFixture; 2] {
    let of = |held: &str, first: usize| {
        let mut world = DiagnosisFixture::new();
        for (number, name) in (1..).zip([names[first], names[1 - first]]) {
            // Sessions and nodes of two ensembles have nothing in common.
            let node = number + if first == 0 { 0 } else { 100 };
            world.create_named(&kazoo(held, node), number.into(), name);
        }
        world
    };
    let mut all = [of("/a", 0), of("/b", 1)];
    // The fixtures' hosts follow from the sessions: the first session of one is the second client of
    // the other, so that names alone would join them.
    for (world, hosts) in all.iter_mut().zip([["10.0.0.1:7", "10.0.0.2:7"], ["10.0.0.2:8", "10.0.0.1:8"]]) {
        for (session, host) in (1..).zip(hosts) {
            world.client(session).address = host.to_owned();
        }
        world.pass(3);
    }
    all
}

/// Compares the ensembles, and tells each what follows for it.
fn tell(all: [&mut DiagnosisFixture; 2]) -> BTreeMap<Arc<str>, CrossWaits> {
    let [one, other] = all;
    let names: [Arc<str>; 2] = ["eu", "us"].map(Arc::from);
    let claims = [&*one, &*other].map(|world| EnsembleClaims::of(TableAt::new(&world.table, world.now)));
    let found = cross_waits(names.iter().zip(&claims), one.now);
    for (name, world) in names.iter().zip([one, other]) {
        if let Some(waits) = found.get(name) {
            world.apply(Change::Crossed { waits: Arc::new(waits.clone()) });
        }
    }
    found
}

#[test]
fn a_deadlock_over_two_ensembles_is_reported_in_both_until_one_client_gives_up() {
    let [mut one, mut other] = crossed(["worker-1", "worker-2"]);
    tell([&mut one, &mut other]);
    for world in [&mut one, &mut other] {
        assert_eq!(world.pass(1).0, [Code::CrossDeadlock]);
        assert_eq!(world.severity(Code::CrossDeadlock), Some(Severity::Info), "it may be a chance");
        world.pass(10);
    }
    tell([&mut one, &mut other]);
    for (world, lock) in [(&mut one, "/a"), (&mut other, "/b")] {
        world.pass(1);
        let finding = world.diagnosis.worst(world.id(lock)).expect("the finding stands");
        assert_eq!((finding.code, finding.severity), (Code::CrossDeadlock, Severity::Critical));
        assert!(finding.summary.contains("holds /a in eu, waits for /b in us"), "{}", finding.summary);
        let waiter = world.lock(lock).row(1).map(|row| world.lock(lock).path_of(row.contender)).expect("a waiter");
        world.delete(&waiter);
        assert_eq!(world.pass(1).1, [Code::CrossDeadlock]);
    }
}

#[test]
fn two_contexts_of_one_ensemble_are_no_two_ensembles() {
    let [mut one, other] = crossed(["worker-1", "worker-2"]);
    let mut again = one.clone();
    assert_eq!(tell([&mut one, &mut again]), BTreeMap::new());
    let names: [Arc<str>; 3] = ["eu", "eu-again", "us"].map(Arc::from);
    let claims = [&one, &again, &other].map(|world| EnsembleClaims::of(TableAt::new(&world.table, world.now)));
    let found = cross_waits(names.iter().zip(&claims), one.now);
    assert_eq!(found.keys().map(|name| &**name).collect::<Vec<_>>(), ["eu", "us"]);
}

#[test]
fn what_joins_the_clients_says_how_sure_it_is() {
    let found = |names, spoil: fn(&mut DiagnosisFixture)| {
        let [mut one, mut other] = crossed(names);
        spoil(&mut other);
        let found = tell([&mut one, &mut other]);
        found.get("eu").map(|waits| waits.cycles.iter().map(|cycle| cycle.same).collect::<Vec<_>>())
    };
    assert_eq!(found(["worker-1", "worker-2"], |_| {}), Some(vec![SameClient::NameAndHost]));
    assert_eq!(found(["42", "43"], |_| {}), Some(vec![SameClient::Host]), "numbers name nobody");
    let by_settings = |world: &mut DiagnosisFixture| {
        // Its clients connect from elsewhere, and their nodes name nobody.
        for (session, host) in [(1, "192.168.0.2:8"), (2, "192.168.0.1:8")] {
            world.client(session).address = host.to_owned();
        }
        world.pass(1);
    };
    assert_eq!(found(["42", "43"], by_settings), None, "nothing joins them");
    let named = [("*.0.1", "first"), ("*.0.2", "second")];
    let named = named.map(|(host, name)| NamedAddress::new(host, name).expect("a name"));
    let [mut one, mut other] = crossed(["42", "43"]);
    by_settings(&mut other);
    for world in [&mut one, &mut other] {
        world.table = world.table.clone().with_named_clients(&named);
    }
    let cycles = tell([&mut one, &mut other]).remove("eu").map(|waits| waits.cycles);
    let cycle = &cycles.expect("a cycle")[0];
    assert_eq!(cycle.same, SameClient::NameAndHost);
    let hidden = |world: &mut DiagnosisFixture| {
        for session in [1, 2] {
            world.client(session).connected = false;
        }
        world.begin_anew();
        world.pass(1);
    };
    assert_eq!(found(["worker-1", "worker-2"], hidden), Some(vec![SameClient::Name]));
    let moved = |world: &mut DiagnosisFixture| {
        world.client(1).address = "10.0.0.9:1".to_owned();
        world.pass(1);
    };
    assert_eq!(found(["worker-1", "worker-2"], moved), None, "a name of two hosts is two clients");
}

#[test]
fn a_wait_that_began_before_the_hold_is_no_step() {
    let [mut one, mut other] = crossed(["worker-1", "worker-2"]);
    // The first client takes the lock of the first ensemble anew, long after it queued in the second.
    let (first, path) = (one.lock("/a").row(0).expect("a holder").contender.node.clone(), ZnodePath::new("/a"));
    let path = path.expect("a path").child(&first);
    one.pass(60);
    one.delete(&path);
    one.create_named(&kazoo("/a", 3), 1, "worker-1");
    one.pass(3);
    other.pass(63);
    assert_eq!(tell([&mut one, &mut other]), BTreeMap::new());
}
