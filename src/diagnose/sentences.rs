//! Every sentence that a finding may say, so that none changes unseen: a scene for each code and each way to say it.

use std::time::Duration;

use super::testing::{World, curator, path, uuid};
use super::{Code, TableAt, Thresholds};
use crate::znode::Timestamp;

/// The scenes that raise a code. The match is exhaustive: a new finding does not compile without its sentences.
fn scenes(code: Code) -> Vec<World> {
    match code {
        Code::Deadlock => vec![crossed(2), crossed(7)],
        Code::Ghost => vec![ghost()],
        Code::MemberDisagrees => vec![member_disagrees(0, true), member_disagrees(1, true), member_disagrees(0, false)],
        Code::Orphan => vec![one_session_twice(1, 1, 3)],
        Code::OrphanSuspected => vec![orphan_suspected()],
        Code::SelfBlocked => vec![one_session_twice(1, 2, 5), one_session_twice(1, 2, 70)],
        Code::LostWakeUp => vec![lost_wake_up(false), lost_wake_up(true)],
        Code::ExpiringHolder => vec![expiring(None), expiring(Some(20_000))],
        Code::IdleHolder => vec![hung()],
        Code::Stuck => vec![stuck(1), stuck(2)],
        Code::StuckLease => vec![stuck_lease()],
        Code::SequenceOverflow => {
            ["2147480000", "2147483645", "2147483646", "2147483647", "-2147483648"].map(overflow).into()
        }
        Code::PersistentContender => vec![persistent(&[0, 2]), persistent(&[2, 0, 0]), persistent(&[0, 0, 0, 2])],
        Code::ForeignChild => vec![foreign()],
        Code::AdoptedNode => vec![adopted()],
        Code::HeadChangedByExpiry => vec![head_expired()],
        Code::LeakedWatch => vec![leaked(1), leaked(2)],
        Code::EmptyParent => vec![empty()],
    }
}

#[test]
fn every_sentence_of_every_finding_is_as_it_was_reviewed() {
    let mut all = Vec::new();
    for code in Code::ALL {
        for world in scenes(code) {
            let found = world.found(code).unwrap_or_else(|| panic!("the scene of {code} does not raise it"));
            let (severity, node) = (found.severity, found.node.as_deref().unwrap_or("-"));
            let (lock, summary, remedy) = (&found.lock.path, &found.summary, &found.remedy);
            all.push(format!("{code} ({severity}) {lock} {node}\n  {summary}\n  {remedy}"));
        }
    }
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn every_sentence_of_the_evidence_against_a_node_is_as_it_was_reviewed() {
    let mut all = Vec::new();
    for world in [one_session_twice(1, 1, 1), one_session_twice(1, 2, 1), lost_wake_up(false)] {
        let table_at = TableAt::new(&world.table, world.now);
        let lock = world.lock("/l");
        for row in lock.rows(0..lock.len()) {
            all.push(row.contender.node.to_string());
            all.extend(table_at.suspicions(lock, &row).into_iter().map(|sentence| format!("  {sentence}")));
        }
    }
    insta::assert_snapshot!(all.join("\n"));
}

/// Clients that work: they ask something each second.
fn work(world: &mut World, seconds: u32) {
    for _ in 0..seconds {
        world.clients.iter_mut().for_each(|client| client.cxid += 1);
        world.pass(1);
    }
}

fn queue(sessions: &[i64]) -> World {
    let mut world = World::new();
    for (number, session) in (1..).zip(sessions) {
        world.create(&curator("/l", number), *session);
    }
    world
}

/// Each of so many sessions holds a lock and waits for that of the next.
fn crossed(sessions: u32) -> World {
    let mut world = World::new();
    let lock = |number: u32| format!("/l{}", number % sessions);
    for number in 0..sessions {
        world.create(&curator(&lock(number), number), i64::from(number) + 1);
    }
    for number in 0..sessions {
        world.create(&curator(&lock(number + 1), number + 100), i64::from(number) + 1);
    }
    world.pass(5);
    world
}

fn ghost() -> World {
    let mut world = queue(&[1, 2]);
    world.pass(2);
    let client = world.client(1);
    (client.connected, client.listed) = (false, false);
    world.pass(15);
    world
}

/// The node at this place in the queue was deleted, and is there again.
fn member_disagrees(position: usize, answers: bool) -> World {
    let mut world = World::new();
    let nodes = [1, 2].map(|session| world.create(&curator("/l", session), i64::from(session)));
    world.answers = answers;
    world.return_deleted(&nodes[position]);
    world.pass(12);
    world
}

/// One session queues twice, by nodes with these ids.
fn one_session_twice(first: u32, second: u32, seconds: u32) -> World {
    let mut world = World::new();
    world.create(&curator("/l", first), 1);
    world.create(&curator("/l", second), 1);
    world.pass(seconds);
    world
}

fn orphan_suspected() -> World {
    let mut world = queue(&[1]);
    let orphan = world.create(&curator("/l", 2), 2);
    world.create(&curator("/l", 3), 2);
    let client = world.client(2);
    (client.sound, client.watches) = (false, vec![orphan]);
    world.pass(7);
    world
}

fn lost_wake_up(at_its_turn: bool) -> World {
    let mut world = World::new();
    let head = world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 2);
    world.client(2).sound = false;
    world.pass(10);
    if at_its_turn {
        world.delete(&head);
        world.pass(3);
    }
    world
}

fn expiring(millis: Option<i64>) -> World {
    let mut world = queue(&[1, 2]);
    world.pass(2);
    let expires = millis.map(|millis| Timestamp(world.now.0 + millis));
    let client = world.client(1);
    (client.connected, client.expires_at) = (false, expires);
    world.pass(2);
    world
}

fn hung() -> World {
    let mut world = queue(&[1, 2]);
    world.pass(65);
    world
}

fn stuck(waiters: i64) -> World {
    let mut world = queue(&(1..=waiters + 1).collect::<Vec<_>>());
    work(&mut world, 65);
    world
}

fn stuck_lease() -> World {
    let mut world = World::new();
    world.create_at("/s/leases", 0);
    world.create(&format!("/s/leases/_c_{}-lease-", uuid(1)), 1);
    world.create(&format!("/s/locks/_c_{}-lock-", uuid(2)), 2);
    work(&mut world, 70);
    world
}

fn overflow(number: &str) -> World {
    let mut world = World::new();
    world.create_at(&format!("{}{number}", curator("/l", 1)), 1);
    world.pass(2);
    world
}

fn persistent(sessions: &[i64]) -> World {
    let mut world = queue(sessions);
    world.pass(2);
    world
}

fn foreign() -> World {
    let mut world = queue(&[1, 2]);
    world.create("/l/member-", 3);
    world.pass(3);
    world
}

fn adopted() -> World {
    let mut world = queue(&[1, 2]);
    world.pass(3);
    world.client(1).connected = false;
    let made = world.now.plus(Duration::from_millis(500));
    let newer = world.client(7);
    (newer.address, newer.established) = ("10.0.0.1:5555".to_owned(), made);
    world.pass(3);
    world
}

fn head_expired() -> World {
    let mut world = World::new();
    let head = world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 2);
    let expires = world.now.plus(Duration::from_secs(5));
    let client = world.client(1);
    (client.connected, client.expires_at) = (false, Some(expires));
    world.pass(5);
    world.delete(&head);
    world.pass(2);
    world
}

fn leaked(watches: usize) -> World {
    let mut world = World::with(Thresholds { leaked_watches: 2, ..Thresholds::default() });
    world.create_at("/l/x-17-0000000010", 1);
    world.client(2).watches = (0..watches).map(|number| path(&format!("/l/x-16-000000000{number}"))).collect();
    world.pass(8);
    world
}

fn empty() -> World {
    let mut world = World::new();
    let node = world.create(&curator("/l", 1), 1);
    world.delete(&node);
    world.pass(603);
    world
}
