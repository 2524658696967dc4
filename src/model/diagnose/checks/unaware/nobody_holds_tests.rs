//! Tests of `nobody holds`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator, latch, uuid, work};
use crate::diagnose::{HeldBy, TableAt};
use crate::queue::{ContenderState, LockQueue, LockTable};
use lockscope_base::recipe::{Definition, Recipe};
use lockscope_base::znode::ZnodePath;

pub fn examples() -> Vec<Example> {
    let worlds = [reader_and_writer().0, behind_a_gone_node().0, free_semaphore(true), free_semaphore(false)];
    worlds
        .map(|mut world| {
            world.pass(6);
            (Code::NobodyHolds, world)
        })
        .into()
}

/// Lets only the given watches of a client count.
fn watch(world: &mut DiagnosisFixture, session: i64, watched: &[&ZnodePath]) {
    let client = world.client(session);
    (client.sound, client.watches) = (false, watched.iter().map(|path| (*path).clone()).collect());
}

fn reader_and_writer() -> (DiagnosisFixture, ZnodePath, ZnodePath) {
    let mut world = DiagnosisFixture::new();
    let name = |kind: &str, number| format!("/l/{}{kind}", uuid(number).replace('-', ""));
    let reader = world.create(&name("__rlock__", 1), 1);
    let writer = world.create(&name("__lock__", 2), 2);
    watch(&mut world, 1, &[&writer]);
    (world, reader, writer)
}

fn behind_a_gone_node() -> (DiagnosisFixture, [ZnodePath; 3]) {
    let mut world = DiagnosisFixture::new();
    let nodes = [1, 2, 3].map(|session| world.create(&format!("/l/x-{session}-"), session));
    world.delete(&nodes[0]);
    watch(&mut world, 2, &[&nodes[0]]);
    (world, nodes)
}

fn free_semaphore(queues_again: bool) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    world.create_at("/s/leases", 0);
    for (number, session) in [(1, 1), (2, if queues_again { 1 } else { 3 }), (3, 2)] {
        world.create(&curator("/s/locks", number), session);
    }
    world
}

fn states(world: &DiagnosisFixture) -> Vec<ContenderState> {
    let lock = world.lock("/l");
    lock.rows(0..lock.len()).map(|row| row.state).collect()
}

#[test]
fn a_reader_that_waits_for_a_writer_behind_it_does_not_hold_until_that_one_goes() {
    let (mut world, _, writer) = reader_and_writer();
    world.pass(2);
    assert_eq!(states(&world), [ContenderState::Holds, ContenderState::Waits], "one list proves nothing");
    let lock = world.lock("/l");
    let holder = lock.row(0).expect("the reader");
    assert_eq!(TableAt::new(&world.table, world.now).held_by(lock, &holder), Some(HeldBy::Order));
    world.pass(3);
    assert_eq!(states(&world), [ContenderState::Waits; 2]);
    let lock = world.lock("/l");
    assert_eq!((lock.holding(), lock.waits_for(0, 9)), (0, vec![writer.name()]));
    assert_eq!(world.codes(Severity::Warning), [Code::NobodyHolds]);
    let stored = postcard::to_allocvec(&world.table).expect("a table");
    let read: LockTable = postcard::from_bytes(&stored).expect("a table");
    let read = read.with_head_waits(world.table.head_waits());
    assert_eq!(read.locks().map(LockQueue::holding).sum::<usize>(), 0, "a replay begins with the same state");
    world.delete(&writer);
    world.client(1).watches.clear();
    assert_eq!(world.pass(1).1, [Code::NobodyHolds]);
    assert_eq!(states(&world), [ContenderState::Holds]);
}

#[test]
fn a_node_that_is_gone_keeps_a_head_waiting() {
    let (mut world, nodes) = behind_a_gone_node();
    world.pass(6);
    assert_eq!(states(&world), [ContenderState::Waits; 2]);
    assert_eq!(world.codes(Severity::Warning), [Code::NobodyHolds]);
    let finding = world.found(Code::NobodyHolds).expect("it stands");
    assert_eq!((finding.severity, finding.node.as_deref()), (Severity::Critical, Some(nodes[1].name())));
}

#[test]
fn watches_that_only_follow_are_no_waits() {
    // A holder watches the next in line, and the page of another one watches all.
    let mut world = DiagnosisFixture::new();
    let nodes = [1, 2, 3].map(|session| world.create(&curator("/l", session), session.into()));
    watch(&mut world, 1, &[&nodes[1]]);
    world.client(9).watches = nodes.to_vec();
    // A leader watches its follower.
    let leader = world.create(&latch("/e", 4), 4);
    let follower = world.create(&latch("/e", 5), 5);
    watch(&mut world, 4, &[&follower]);
    world.client(5).watches.push(leader);
    // A reader that holds belongs to a process whose other thread waits.
    let name = |kind: &str, number| format!("/rw/{}{kind}", uuid(number).replace('-', ""));
    world.create(&name("__rlock__", 6), 6);
    let writer = world.create(&name("__lock__", 7), 7);
    world.create(&name("__rlock__", 8), 6);
    watch(&mut world, 6, &[&writer]);
    world.pass(10);
    assert_eq!(world.found(Code::NobodyHolds), None);
    assert!(["/l", "/e", "/rw"].iter().all(|lock| world.lock(lock).holding() == 1));
}

#[test]
fn a_head_behind_a_node_of_another_library_waits_for_it() {
    let mut world = DiagnosisFixture::new();
    let other = world.create(&curator("/l", 1), 1);
    world.create(&format!("/l/{}__lock__", uuid(2).replace('-', "")), 2);
    watch(&mut world, 2, &[&other]);
    world.pass(6);
    let holding: Vec<usize> = world.table.locks().map(LockQueue::holding).collect();
    assert_eq!(holding, [1, 0]);
    assert_eq!(world.found(Code::NobodyHolds), None, "the other one holds");
}

#[test]
fn a_free_lease_that_nobody_takes_is_reported_after_a_hand_over_would_have_been_done() {
    let mut world = free_semaphore(true);
    assert_eq!(world.pass(2).0, []);
    world.pass(4);
    let finding = world.found(Code::NobodyHolds).expect("it stands").clone();
    assert_eq!(finding.severity, Severity::Critical, "{}", finding.summary);
    let mut full = free_semaphore(false);
    full.create("/s/leases/_c_00000000-0000-4000-8000-00000000000a-lease-", 8);
    full.pass(10);
    assert_eq!(full.found(Code::NobodyHolds), None, "how many leases there are is not known");
}

#[test]
fn the_first_of_one_queue_take_the_leases_by_their_place() {
    let own = Recipe::define(Definition {
        name: "two-permits".to_owned(),
        pattern: "permit-{sequence}".to_owned(),
        kind: LockKind::Semaphore,
        roles: Vec::new(),
        lock: true,
        persistent: false,
        below: None,
        leases: Some(2),
        name_from: None,
    });
    let mut world = DiagnosisFixture::new();
    world.table = world.table.clone().with_recipes(&[own.expect("a recipe")]);
    let nodes = [1, 2, 3].map(|session| world.create("/p/permit-", session));
    work(&mut world, 70);
    assert_eq!(world.found(Code::NobodyHolds), None);
    let stuck = world.found(Code::StuckLease).expect("it stands");
    assert!(stuck.summary.contains("both leases are held, 1 waits"), "{}", stuck.summary);
    let (table_at, lock) = (TableAt::new(&world.table, world.now), world.lock("/p"));
    let by: Vec<_> = lock.rows(0..3).map(|row| table_at.held_by(lock, &row)).collect();
    assert_eq!(by, [Some(HeldBy::Order), Some(HeldBy::Order), None]);
    world.delete(&nodes[0]);
    world.delete(&nodes[1]);
    work(&mut world, 70);
    assert_eq!((world.found(Code::NobodyHolds), world.found(Code::StuckLease)), (None, None), "a lease is free");
}
