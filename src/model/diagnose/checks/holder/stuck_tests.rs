//! Tests of `stuck`.

use super::*;
use crate::diagnose::testing::{DiagnosisFixture, Example, curator, path, queue, uuid, work};
use lockscope_base::znode::ZnodePath;

pub fn examples() -> Vec<Example> {
    let found = |world: DiagnosisFixture| (Code::Stuck, at_the_first_look(world));
    let leases = [(1, None), (2, None), (2, Some("2")), (6, None)];
    let of_leases = leases.map(|(held, maximum)| (Code::StuckLease, stuck_leases(held, maximum)));
    let of_locks = vec![(Code::Stuck, stuck(1)), (Code::Stuck, stuck(2)), found(stuck(2)), (Code::Stuck, readers())];
    let in_doubt = [handed_on_before(1), handed_on_before(2), leases_in_doubt()].map(|world| (Code::MayBeStuck, world));
    of_locks.into_iter().chain(of_leases).chain(in_doubt).collect()
}

/// Starts a console on a queue of `waiters` that was handed on a quarter of an hour after its
/// creation, ten seconds before the start. Nothing shows that time.
fn handed_on_before(waiters: i64) -> DiagnosisFixture {
    let mut world = queue(&(1..=waiters + 2).collect::<Vec<_>>());
    hand_on_before(&mut world);
    work(&mut world, 3);
    world
}

fn hand_on_before(world: &mut DiagnosisFixture) {
    let head = head(world, "/l");
    world.now = world.now.plus(Duration::from_secs(890));
    world.delete(&head);
    world.now = world.now.plus(Duration::from_secs(10));
    world.begin_anew();
}

/// Returns the node of the first holder of a lock.
fn head(world: &DiagnosisFixture, at: &str) -> ZnodePath {
    world.lock(at).path_of(world.lock(at).first_holder().expect("the lock has a holder"))
}

/// Starts a console on a semaphore of one lease. Its queue was left, so that nothing shows when
/// the lease was acquired.
fn leases_in_doubt() -> DiagnosisFixture {
    let mut world = stuck_leases(1, Some("1"));
    leave_the_queue(&mut world);
    world.begin_anew();
    work(&mut world, 3);
    world
}

fn leave_the_queue(world: &mut DiagnosisFixture) {
    let left = world.create(&format!("/s-__lock__/{:032x}__lock__", 8), 8);
    world.delete(&left);
}

/// Returns a queue in which three readers hold, and a writer waits.
fn readers() -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    for session in 1..=3 {
        world.create("/l/read-", session);
    }
    world.create("/l/write-", 4);
    work(&mut world, 65);
    world
}

fn stuck(waiters: i64) -> DiagnosisFixture {
    let mut world = queue(&(1..=waiters + 1).collect::<Vec<_>>());
    work(&mut world, 65);
    world
}

/// Starts another console after a quarter of an hour, which looks once.
fn at_the_first_look(mut world: DiagnosisFixture) -> DiagnosisFixture {
    let last = world.lock("/l").rows(0..9).last().expect("the lock has a waiter").contender;
    let at = world.lock("/l").path_of(last);
    world.delete(&at);
    world.create(&curator("/l", 9), 9);
    world.now = world.now.plus(Duration::from_secs(900));
    world.begin_anew();
    world.diagnosis.examine(&world.table, world.now);
    world
}

/// Creates `held` leases and one waiter. kazoo stores the maximum number of leases. Without a
/// stored maximum, the waiter has already created its own lease, as Curator's clients do.
fn stuck_leases(held: u32, maximum: Option<&str>) -> DiagnosisFixture {
    let mut world = DiagnosisFixture::new();
    let waits = i64::from(held) + 1;
    let node = |kind: &str, number: u32| format!("/s/{kind}s/_c_{}-{kind}-", uuid(number));
    match maximum {
        None => {
            world.create_at("/s/leases", 0);
            for number in 1..=held {
                world.create(&node("lease", number), i64::from(number));
                work(&mut world, 1);
            }
            world.create(&node("lock", held + 1), waits);
            if held > 1 {
                world.create(&node("lease", held + 1), waits);
            }
        }
        Some(maximum) => {
            world.create_at("/s-__lock__", 0);
            world.create_with("/s", 0, maximum.as_bytes());
            for number in 1..=held {
                world.client(number.into());
                world.create_at(&format!("/s/{number:032x}"), number.into());
            }
            world.create(&format!("/s-__lock__/{:032x}__lock__", 9), waits);
        }
    }
    work(&mut world, 70);
    world
}

#[test]
fn a_lock_with_waiters_is_stuck_until_its_next_hand_over() {
    let mut world = DiagnosisFixture::new();
    let head = world.create(&curator("/l", 1), 1);
    world.create(&curator("/l", 2), 2);
    work(&mut world, 60);
    assert_eq!(world.codes(Severity::Info), []);
    work(&mut world, 3);
    assert_eq!(world.severity(Code::Stuck), Some(Severity::Warning));
    world.delete(&head);
    work(&mut world, 1);
    assert_eq!(world.found(Code::Stuck), None);
}

#[test]
fn a_proven_standstill_is_stuck_at_the_first_look() {
    let world = at_the_first_look(stuck(1));
    let finding = world.found(Code::Stuck).expect("the finding stands");
    assert!(finding.summary.starts_with("stuck at least 15m00s, 1 waits: session 0x1 holds"), "{}", finding.summary);
}

#[test]
fn a_lock_with_an_undated_hand_over_is_stuck_only_after_it_was_watched_long_enough() {
    let mut world = queue(&[1, 2, 3]);
    hand_on_before(&mut world);
    work(&mut world, 1);
    assert_eq!(world.codes(Severity::Info), [], "a busy lock is handed on in so short a time");
    work(&mut world, 1);
    assert_eq!(world.codes(Severity::Info), [Code::MayBeStuck]);
    assert_eq!(world.severity(Code::MayBeStuck), Some(Severity::Warning));
    work(&mut world, 57);
    assert_eq!(world.codes(Severity::Info), [Code::MayBeStuck]);
    work(&mut world, 1);
    assert_eq!(world.codes(Severity::Info), [Code::Stuck], "the doubt is gone");
}

#[test]
fn a_lock_is_in_doubt_until_a_hand_over_is_seen() {
    let mut world = handed_on_before(2);
    let found = world.found(Code::MayBeStuck).expect("the finding stands");
    assert!(found.summary.starts_with("may be stuck, 2 wait, the first for 15m"), "{}", found.summary);
    let head = head(&world, "/l");
    world.delete(&head);
    for _ in 0..59 {
        work(&mut world, 1);
        assert_eq!(world.codes(Severity::Info), []);
    }
}

#[test]
fn a_queue_that_moves_is_never_in_doubt() {
    let mut world = queue(&(1..=200).collect::<Vec<_>>());
    hand_on_before(&mut world);
    for _ in 0..100 {
        work(&mut world, 1);
        assert_eq!(world.codes(Severity::Info), []);
        let head = head(&world, "/l");
        world.delete(&head);
    }
}

#[test]
fn a_client_that_tries_for_a_time_is_no_hand_over() {
    let mut world = queue(&[1, 2]);
    world.now = world.now.plus(Duration::from_secs(300));
    let tried = world.create(&curator("/l", 9), 9);
    world.delete(&tried);
    world.begin_anew();
    let mut tried = None;
    for second in 0..60 {
        if second % 2 == 0 {
            let next = world.create(&curator("/l", 9), 9);
            if let Some(before) = tried.replace(next) {
                world.delete(&before);
            }
        }
        work(&mut world, 1);
        assert_eq!(world.severity(Code::MayBeStuck).is_some(), (1..59).contains(&second), "{second}");
    }
    assert_eq!(world.severity(Code::Stuck), Some(Severity::Warning));
}

#[test]
fn a_semaphore_that_hands_on_another_lease_is_not_in_doubt() {
    let mut world = stuck_leases(2, Some("2"));
    let last = world.lock("/s").row(1).expect("two hold").contender;
    let last = world.lock("/s").path_of(last);
    world.delete(&last);
    leave_the_queue(&mut world);
    world.begin_anew();
    let mut doubted = world.clone();
    work(&mut doubted, 10);
    assert_eq!(doubted.codes(Severity::Info), [Code::MayBeStuck]);
    world.client(7);
    world.create_at(&format!("/s/{:032x}", 7), 7);
    work(&mut world, 10);
    assert_eq!(world.codes(Severity::Info), []);
}

#[test]
fn an_election_is_held_for_long_by_design() {
    let mut world = DiagnosisFixture::new();
    for number in 1..=2 {
        world.create(&format!("/e/_c_{}-latch-", uuid(number)), i64::from(number));
    }
    work(&mut world, 100);
    assert_eq!(world.codes(Severity::Info), []);
}

#[test]
fn a_lock_that_looks_like_an_election_is_not_news_at_the_first_look() {
    let mut world = DiagnosisFixture::new();
    for number in 1..=2 {
        world.create(&curator("/e/activejobs", number), i64::from(number));
        world.create(&curator("/e/leader", number), i64::from(number));
    }
    world.now = world.now.plus(Duration::from_secs(900));
    world.begin_anew();
    work(&mut world, 60);
    assert_eq!(world.codes(Severity::Info), []);
    work(&mut world, 3);
    assert_eq!(world.severity(Code::Stuck), Some(Severity::Info));
    assert_eq!(world.diagnosis.of(world.id("/e/leader")).len(), 0, "a leader leads");
}

#[test]
fn an_old_lease_is_reported_once_there_is_a_waiter() {
    let mut world = DiagnosisFixture::new();
    world.create_at("/s/leases", 0);
    for number in 1..=2 {
        world.create(&format!("/s/leases/_c_{}-lease-", uuid(number)), i64::from(number));
    }
    work(&mut world, 100);
    assert_eq!(world.codes(Severity::Info), [], "nobody waits");
    world.create(&format!("/s/locks/_c_{}-lock-", uuid(3)), 3);
    work(&mut world, 70);
    assert_eq!(world.severity(Code::StuckLease), Some(Severity::Warning));
}

#[test]
fn sessions_that_watch_a_single_node_wait_for_it() {
    let mut world = DiagnosisFixture::new();
    world.client(1);
    world.create_at("/app/lock", 1);
    work(&mut world, 70);
    assert_eq!(world.codes(Severity::Info), []);
    world.client(2).watches = vec![path("/app/lock")];
    work(&mut world, 3);
    assert_eq!(world.severity(Code::Stuck), Some(Severity::Warning));
}
