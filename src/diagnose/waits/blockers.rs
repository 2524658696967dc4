use std::cmp::Reverse;

use rustc_hash::FxHashSet;

use super::graph::Graph;
use super::{Blocker, Cycle, Wait};
use crate::znode::SessionId;

/// Claims looked at most for all counts together.
const MOST_LOOKED_AT: usize = 2_000_000;

/// Everybody who holds others up, and is held up by nobody, or in a cycle.
pub(super) fn count(graph: &Graph, cycles: &[Cycle], own: &[Wait]) -> Vec<Blocker> {
    let mut circling: FxHashSet<SessionId> = cycles.iter().flatten().map(|wait| wait.waiter).collect();
    circling.extend(own.iter().map(|wait| wait.waiter));
    let mut left = MOST_LOOKED_AT;
    let roots = graph.holds.keys().filter(|session| circling.contains(session) || !graph.awaits.contains_key(session));
    let mut roots: Vec<SessionId> = roots.copied().collect();
    // So that the same table gives the same counts where they end early.
    roots.sort_unstable();
    let mut blockers: Vec<Blocker> = roots.into_iter().map(|session| blocker(graph, session, &mut left)).collect();
    blockers.sort_by_key(|blocker| (Reverse(blocker.holds_up), blocker.session));
    blockers
}

fn blocker(graph: &Graph, session: SessionId, left: &mut usize) -> Blocker {
    let held = |session| graph.holds.get(&session).into_iter().flatten().map(|(lock, _)| *lock);
    let mut open: Vec<usize> = held(session).collect();
    let mut locks: Vec<_> = open.clone();
    locks.dedup();
    let mut seen: FxHashSet<usize> = open.iter().copied().collect();
    let mut held_up = FxHashSet::default();
    let mut at_least = false;
    while let Some(at) = open.pop() {
        for waiter in &graph.locks[at].waiters {
            if *left == 0 {
                at_least = true;
                break;
            }
            *left -= 1;
            if waiter.session != session && held_up.insert(waiter.session) {
                open.extend(held(waiter.session).filter(|lock| seen.insert(*lock)));
            }
        }
    }
    let locks = locks.into_iter().map(|lock| graph.locks[lock].id).collect();
    Blocker { session, holds_up: held_up.len(), at_least, locks }
}
