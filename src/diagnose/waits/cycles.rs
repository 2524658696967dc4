//! Cycles in the graph of waits.

use std::collections::VecDeque;

use super::graph::Graph;
use super::{Cycle, Wait};

/// Circles told at most: the first in the order of their locks' paths.
const MOST_CYCLES: usize = 100;

/// Ways from lock to lock looked at most. A table with more has sessions that take part in thousands of locks at once; cycles
/// beyond are not looked for.
const MOST_STEPS: usize = 1_000_000;

/// Who holds one lock waits for another.
#[derive(Clone, Copy, Debug)]
struct Step {
    to: usize,
    /// The holder's place in the lock that it holds.
    holder: usize,
    /// Its place among the waiters of the other.
    waiter: usize,
}

/// One cycle for each group of locks whose holders wait for each other, and the sessions that wait for themselves.
pub(super) fn find(graph: &Graph) -> (Vec<Cycle>, Vec<Wait>) {
    let steps = steps(graph);
    let mut own = Vec::new();
    for (at, ways) in steps.iter().enumerate() {
        own.extend(ways.iter().find(|step| step.to == at).map(|step| wait(graph, *step, at, step.holder)));
    }
    let mut cycles = Vec::new();
    for group in groups(&steps).into_iter().filter(|group| group.len() > 1).take(MOST_CYCLES) {
        cycles.extend(shortest(graph, &steps, &group));
    }
    (cycles, own)
}

fn steps(graph: &Graph) -> Vec<Vec<Step>> {
    let mut left = MOST_STEPS;
    let mut steps = vec![Vec::new(); graph.locks.len()];
    for (at, lock) in graph.locks.iter().enumerate().filter(|(_, lock)| lock.binds) {
        for (holder, held) in lock.holders.iter().enumerate() {
            for (to, waiter) in graph.awaits.get(&held.session).into_iter().flatten().copied() {
                if left == 0 {
                    return steps;
                }
                left -= 1;
                if graph.locks[to].binds && held.held_before(&graph.locks[to].waiters[waiter]) {
                    steps[at].push(Step { to, holder, waiter });
                }
            }
        }
    }
    steps
}

/// What a step tells, when the lock to which it leads is held by that holder of it.
fn wait(graph: &Graph, step: Step, to: usize, holder: usize) -> Wait {
    let (waiter, held) = (&graph.locks[to].waiters[step.waiter], &graph.locks[to].holders[holder]);
    Wait {
        waiter: waiter.session,
        node: waiter.node.clone(),
        lock: graph.locks[to].id,
        blocker: held.session,
        held: held.node.clone(),
    }
}

/// The strongly connected groups of locks, by Tarjan's algorithm without recursion.
fn groups(steps: &[Vec<Step>]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let (mut number, mut low, mut on_stack) = (vec![NEW; steps.len()], vec![0; steps.len()], vec![false; steps.len()]);
    let (mut next, mut stack, mut groups) = (0, Vec::new(), Vec::new());
    for root in 0..steps.len() {
        if number[root] != NEW {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((at, way)) = path.pop() {
            if way == 0 {
                (number[at], low[at]) = (next, next);
                next += 1;
                stack.push(at);
                on_stack[at] = true;
            }
            if let Some(step) = steps[at].get(way) {
                path.push((at, way + 1));
                if number[step.to] == NEW {
                    path.push((step.to, 0));
                } else if on_stack[step.to] {
                    low[at] = low[at].min(number[step.to]);
                }
                continue;
            }
            if low[at] == number[at] {
                let from = stack.iter().rposition(|other| *other == at).unwrap_or_default();
                let mut group = stack.split_off(from);
                for member in &group {
                    on_stack[*member] = false;
                }
                group.sort_unstable();
                groups.push(group);
            }
            if let Some((above, _)) = path.last() {
                low[*above] = low[*above].min(low[at]);
            }
        }
    }
    groups.sort_unstable();
    groups
}

/// The shortest cycle through the first lock of a group.
fn shortest(graph: &Graph, steps: &[Vec<Step>], group: &[usize]) -> Option<Cycle> {
    let first = *group.first()?;
    let mut came: rustc_hash::FxHashMap<usize, (usize, Step)> = rustc_hash::FxHashMap::default();
    let mut open = VecDeque::from([first]);
    'search: while let Some(at) = open.pop_front() {
        for step in steps[at].iter().filter(|step| step.to != at && group.binary_search(&step.to).is_ok()) {
            if let std::collections::hash_map::Entry::Vacant(place) = came.entry(step.to) {
                place.insert((at, *step));
                if step.to == first {
                    break 'search;
                }
                open.push_back(step.to);
            }
        }
    }
    let mut around = Vec::new();
    let mut at = first;
    loop {
        let (from, step) = *came.get(&at)?;
        around.push(step);
        at = from;
        if at == first {
            break;
        }
    }
    around.reverse();
    // Each step's end is held by who makes the next step.
    let holders = around.iter().cycle().skip(1).map(|next| next.holder);
    Some(around.iter().zip(holders).map(|(step, holder)| wait(graph, *step, step.to, holder)).collect())
}
