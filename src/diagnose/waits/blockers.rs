//! Who holds up the most.

use std::cmp::Reverse;

use rustc_hash::FxHashSet;

use super::graph::Graph;
use super::{Blocker, Cycle, Wait};
use crate::znode::SessionId;

/// Claims looked at most for all counts together.
const MOST_LOOKED_AT: usize = 2_000_000;

/// Everybody who holds others up, and is held up by nobody, or in a cycle. Where some hold each other up without a proven
/// cycle, the first of them by session stands for them, so that nobody who waits is left out.
pub(super) fn count(graph: &Graph, cycles: &[Cycle], own: &[Wait]) -> Vec<Blocker> {
    let mut circling: FxHashSet<SessionId> = cycles.iter().flatten().map(|wait| wait.waiter).collect();
    circling.extend(own.iter().map(|wait| wait.waiter));
    let mut left = MOST_LOOKED_AT;
    let roots = graph.holds.keys().filter(|session| circling.contains(session) || !graph.awaits.contains_key(session));
    let mut roots: Vec<SessionId> = roots.copied().collect();
    // So that the same table gives the same counts where they end early.
    roots.sort_unstable();
    let mut reached: FxHashSet<SessionId> = roots.iter().copied().collect();
    let mut blockers: Vec<Blocker> =
        roots.into_iter().map(|session| blocker(graph, session, &mut reached, &mut left)).collect();
    let mut others: Vec<SessionId> = graph.holds.keys().filter(|session| !reached.contains(session)).copied().collect();
    others.sort_unstable();
    for session in others {
        if left > 0 && !reached.contains(&session) {
            let blocker = blocker(graph, session, &mut reached, &mut left);
            blockers.extend((blocker.holds_up > 0).then_some(blocker));
        }
    }
    blockers.sort_by_key(|blocker| (Reverse(blocker.holds_up), blocker.session));
    blockers
}

/// Adds those whom it holds up to the reached.
fn blocker(graph: &Graph, session: SessionId, reached: &mut FxHashSet<SessionId>, left: &mut usize) -> Blocker {
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
    reached.extend(held_up.iter().copied());
    let locks = locks.into_iter().map(|lock| graph.locks[lock].id).collect();
    Blocker { session, holds_up: held_up.len(), at_least, locks }
}
