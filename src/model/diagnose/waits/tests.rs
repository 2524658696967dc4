//! Tests of the graph of waits across locks.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Cycle, Waits};
use crate::diagnose::testing::{DiagnosisFixture, curator, path};
use lockscope_base::znode::SessionId;

fn sessions(ids: &[i64]) -> Vec<SessionId> {
    ids.iter().map(|id| SessionId(*id)).collect()
}

#[test]
fn a_blocker_counts_direct_and_indirect_waiters() {
    let mut world = DiagnosisFixture::new();
    for (lock, session) in [("/a", 1), ("/a", 2), ("/a", 3), ("/b", 2), ("/b", 4), ("/c", 9), ("/c", 8)] {
        world.create(&curator(lock, 1), session);
    }
    let waits = Waits::of(&world.table);
    let told: Vec<_> = waits.blockers().iter().map(|blocker| (blocker.session.0, blocker.holds_up)).collect();
    assert_eq!(told, [(1, 3), (9, 1)]);
    assert_eq!(waits.blockers()[0].locks, [world.id("/a")]);
    assert!(waits.cycles().is_empty() && waits.self_blocked().is_empty());
}

#[test]
fn a_cycle_of_many_sessions_is_returned_in_order() {
    let mut world = DiagnosisFixture::new();
    for session in 0..50 {
        world.create(&curator(&format!("/l{session:02}"), 1), session + 1);
    }
    for session in 0..50 {
        world.create(&curator(&format!("/l{:02}", (session + 1) % 50), 2), session + 1);
    }
    let waits = Waits::of(&world.table);
    assert_eq!(waits.cycles().len(), 1);
    let cycle = &waits.cycles()[0];
    assert_eq!(cycle.len(), 50);
    for (wait, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
        assert_eq!(wait.blocker, next.waiter);
    }
    assert_eq!(waits.blockers().len(), 50, "all of them hold each other up");
}

#[test]
fn a_wait_that_began_before_the_hold_belongs_to_another_thread() {
    let mut world = DiagnosisFixture::new();
    world.create(&curator("/a", 1), 1);
    world.create(&curator("/b", 1), 1);
    world.create(&curator("/b", 2), 2);
    let before = world.create(&curator("/c", 1), 3);
    // Session 2 waits for /b, then acquires /c, for which session 1 waits.
    world.create(&curator("/c", 2), 2);
    world.create(&curator("/c", 3), 1);
    world.delete(&before);
    let waits = Waits::of(&world.table);
    assert!(waits.cycles().is_empty());
    let blockers: Vec<_> = waits.blockers().iter().map(|blocker| (blocker.session.0, blocker.holds_up)).collect();
    assert_eq!(blockers, [(1, 1)], "somebody waits, whoever is to blame");
}

#[test]
fn candidates_and_waiters_for_one_of_several_leases_form_no_cycle() {
    let mut world = DiagnosisFixture::new();
    for (lock, session) in [("/a", 1), ("/b", 2), ("/b", 1), ("/a", 2)] {
        world.create(&format!("{lock}/_c_00000000-0000-4000-8000-00000000000{session}-latch-"), session);
    }
    let waits = Waits::of(&world.table);
    assert!(waits.cycles().is_empty() && waits.blockers().is_empty());
}

#[test]
fn the_waiters_of_a_single_node_are_its_watchers() {
    let mut world = DiagnosisFixture::new();
    for session in [1, 2, 3] {
        world.client(session).watches = vec![path("/x/lock")];
    }
    world.create_at("/x/lock", 1);
    world.create(&curator("/a", 1), 2);
    world.create(&curator("/a", 2), 4);
    world.survey();
    let waits = Waits::of(&world.table);
    let told: Vec<_> = waits.blockers().iter().map(|blocker| (blocker.session, blocker.holds_up)).collect();
    assert_eq!(told, [(SessionId(1), 3)]);
    assert_eq!(sessions(&[1]), [told[0].0]);
}

#[test]
fn several_readers_block_a_writer_together() {
    let mut world = DiagnosisFixture::new();
    let name = |kind| format!("/rw/_c_00000000-0000-4000-8000-000000000001-{kind}");
    world.create(&name("__READ__"), 1);
    world.create(&name("__READ__"), 2);
    world.create(&name("__WRIT__"), 3);
    world.create(&curator("/b", 1), 3);
    world.create(&curator("/b", 2), 2);
    let waits = Waits::of(&world.table);
    assert!(waits.cycles().is_empty(), "3 took /b after it came to wait for /rw");
    let blockers: Vec<_> = waits.blockers().iter().map(|blocker| (blocker.session.0, blocker.holds_up)).collect();
    assert_eq!(blockers, [(1, 2)]);
}

/// Locks that some sessions queue for, in the order of the pairs: the first of a lock holds it, the
/// others wait.
struct Plain {
    /// For each lock, its sessions with the indexes of their pairs.
    queues: Vec<Vec<(i64, usize)>>,
}

impl Plain {
    fn new(pairs: &[(usize, i64)], locks: usize) -> Self {
        let mut queues = vec![Vec::new(); locks];
        for (came, (lock, session)) in pairs.iter().enumerate() {
            queues[*lock].push((*session, came));
        }
        Self { queues }
    }

    /// Returns whether a holder of one lock waits for another that it requested later.
    fn leads(&self, from: usize, to: usize) -> bool {
        let Some((holder, held)) = self.queues[from].first() else { return false };
        self.queues[to].iter().skip(1).any(|(session, came)| session == holder && came > held)
    }

    /// Returns the locks that can be reached from one by at least one step.
    fn reached(&self, from: usize) -> BTreeSet<usize> {
        let all = 0..self.queues.len();
        let mut reached: BTreeSet<usize> = all.clone().filter(|to| self.leads(from, *to)).collect();
        loop {
            let next: BTreeSet<usize> =
                all.clone().filter(|to| reached.iter().any(|at| self.leads(*at, *to))).collect();
            if next.is_subset(&reached) {
                return reached;
            }
            reached.extend(next);
        }
    }

    /// Returns the groups of more than one lock whose holders wait for each other.
    fn groups(&self) -> BTreeSet<BTreeSet<usize>> {
        let of = |lock: usize| -> BTreeSet<usize> {
            let reached = self.reached(lock);
            reached.into_iter().filter(|other| self.reached(*other).contains(&lock)).collect()
        };
        (0..self.queues.len()).map(of).filter(|group| group.len() > 1).collect()
    }

    /// Returns the sessions that a session blocks.
    fn held_up_by(&self, session: i64) -> BTreeSet<i64> {
        let (mut held_up, mut open) = (BTreeSet::new(), vec![session]);
        while let Some(holder) = open.pop() {
            for queue in self.queues.iter().filter(|queue| queue.first().is_some_and(|(first, _)| *first == holder)) {
                for (waiter, _) in queue.iter().skip(1).filter(|(waiter, _)| *waiter != session) {
                    if held_up.insert(*waiter) {
                        open.push(*waiter);
                    }
                }
            }
        }
        held_up
    }
}

fn lock_path(lock: usize) -> String {
    format!("/l{lock}")
}

proptest! {
    #[test]
    fn cycles_and_blockers_are_those_of_a_plain_search(
        pairs in prop::collection::vec((0..6_usize, 1..6_i64), 1..24),
    ) {
        let mut fixture = DiagnosisFixture::new();
        for (attempt, (lock, session)) in (0..).zip(&pairs) {
            fixture.create(&curator(&lock_path(*lock), attempt), *session);
        }
        let plain = Plain::new(&pairs, 6);
        let number = |id| {
            let lock = fixture.table.lock(id).expect("a lock");
            (0..6).find(|number| lock_path(*number) == lock.path().as_str()).expect("its number")
        };
        let waits = Waits::of(&fixture.table);
        let own: Vec<usize> = waits.self_blocked().iter().map(|wait| number(wait.lock)).collect();
        prop_assert_eq!(own, (0..6).filter(|lock| plain.leads(*lock, *lock)).collect::<Vec<_>>());

        let locks = |cycle: &Cycle| cycle.iter().map(|wait| number(wait.lock)).collect::<Vec<usize>>();
        let groups = plain.groups();
        prop_assert_eq!(waits.cycles().len(), groups.len());
        for (cycle, group) in waits.cycles().iter().zip(&groups) {
            let locks = locks(cycle);
            prop_assert!(locks.iter().all(|lock| group.contains(lock)));
            for (at, wait) in cycle.iter().enumerate() {
                let (before, next) = (locks[(at + locks.len() - 1) % locks.len()], &cycle[(at + 1) % cycle.len()]);
                prop_assert!(plain.leads(before, locks[at]));
                prop_assert_eq!(wait.blocker, next.waiter);
                prop_assert_eq!(plain.queues[locks[at]].first().map(|(holder, _)| *holder), Some(wait.blocker.0));
            }
        }

        let mut covered = BTreeSet::new();
        for blocker in waits.blockers() {
            let held_up = plain.held_up_by(blocker.session.0);
            prop_assert_eq!(blocker.holds_up, held_up.len());
            covered.insert(blocker.session.0);
            covered.extend(held_up);
        }
        let waiting = plain.queues.iter().flat_map(|queue| queue.iter().skip(1).map(|(session, _)| *session));
        prop_assert!(waiting.into_iter().all(|session| covered.contains(&session)));
    }
}
