//! Counts how many sessions each session blocks.

use std::cmp::Reverse;

use rustc_hash::FxHashSet;

use super::graph::Graph;
use super::{Blocker, Cycle, Wait};
use lockscope_base::znode::SessionId;

/// Maximum number of claims that all counts together visit.
const MOST_LOOKED_AT: usize = 2_000_000;

/// Returns the sessions that block others and are themselves blocked by nobody, or only in a cycle.
///
/// Where sessions block each other without a proven cycle, the first by session id stands for them,
/// so that no waiter is left out.
pub(super) fn count(graph: &Graph<'_>, cycles: &[Cycle], own: &[Wait]) -> Vec<Blocker> {
    let mut circling: FxHashSet<SessionId> = cycles.iter().flatten().map(|wait| wait.waiter).collect();
    circling.extend(own.iter().map(|wait| wait.waiter));
    let mut left = MOST_LOOKED_AT;
    // Sorted by session, so that the same table has the same counts where they end early.
    let holders: Vec<SessionId> = graph.holders().map(|held| graph.held_at(held.start).session).collect();
    let is_root = |session: &SessionId| circling.contains(session) || graph.awaited_by(*session).is_empty();
    let roots: Vec<SessionId> = holders.iter().copied().filter(is_root).collect();
    let mut reached: FxHashSet<SessionId> = roots.iter().copied().collect();
    let mut blockers: Vec<Blocker> =
        roots.into_iter().map(|session| blocker(graph, session, &mut reached, &mut left)).collect();
    let others: Vec<SessionId> = holders.into_iter().filter(|session| !reached.contains(session)).collect();
    for session in others {
        if left > 0 && !reached.contains(&session) {
            let blocker = blocker(graph, session, &mut reached, &mut left);
            blockers.extend((blocker.holds_up > 0).then_some(blocker));
        }
    }
    blockers.sort_by_key(|blocker| (Reverse(blocker.holds_up), blocker.session));
    blockers
}

/// Counts the sessions that `session` blocks, and adds them to `reached`.
fn blocker(graph: &Graph<'_>, session: SessionId, reached: &mut FxHashSet<SessionId>, left: &mut usize) -> Blocker {
    let held = |session| graph.held_by(session).iter().map(|claim| claim.lock);
    let mut open: Vec<u32> = held(session).collect();
    let mut locks: Vec<u32> = open.clone();
    locks.dedup();
    let mut seen: FxHashSet<u32> = open.iter().copied().collect();
    let mut held_up = FxHashSet::default();
    let mut at_least = false;
    while let Some(at) = open.pop() {
        for waiter in graph.waiters_of(at) {
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
    let locks = locks.into_iter().map(|lock| graph.id(lock)).collect();
    Blocker { session, holds_up: held_up.len(), at_least, locks }
}
