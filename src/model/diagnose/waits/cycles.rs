//! Finds cycles in the graph of waits.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::graph::{Claim, Graph};
use super::{Cycle, Wait};

/// Maximum number of reported cycles: the first in the order of their locks' paths.
const MOST_CYCLES: usize = 100;

/// Maximum number of steps from lock to lock that are visited. In a table with more, sessions take
/// part in thousands of locks at once, and further cycles are not searched.
const MOST_STEPS: u32 = 1_000_000;

/// A step in the graph: a session that holds one lock waits for another.
#[derive(Clone, Copy, Debug)]
struct Step {
    held: Claim,
    awaited: Claim,
}

/// A holder that also waits. The type is small, since most contenders may be like this.
#[derive(Clone, Copy, Debug)]
struct WaitingHolder {
    /// The index of its claim among the holders.
    held: u32,
    /// The range of its claims among the waiters by session, as far as they are visited: the first
    /// index, and the one behind the last.
    awaits: (u32, u32),
}

/// All steps from lock to lock. They are produced on demand: there may be many times more than
/// contenders.
#[derive(Debug)]
struct Steps<'g, 'a> {
    graph: &'g Graph<'a>,
    /// Ordered by lock, then by position in the queue.
    holders: Vec<WaitingHolder>,
}

/// Returns one cycle for each group of locks whose holders wait for each other, and the sessions
/// that wait for themselves.
pub(super) fn find(graph: &Graph<'_>) -> (Vec<Cycle>, Vec<Wait>) {
    let steps = Steps::of(graph);
    let own = steps.locks().filter_map(|lock| steps.to_itself(lock)).map(|step| wait(graph, step, step.held)).collect();
    let groups = groups(&steps);
    let cycles = groups.iter().take(MOST_CYCLES).filter_map(|group| shortest(&steps, group)).collect();
    (cycles, own)
}

impl<'g, 'a> Steps<'g, 'a> {
    fn of(graph: &'g Graph<'a>) -> Self {
        let mut holders = Vec::new();
        for held in graph.holders() {
            let awaits = graph.places_awaited_by(graph.held_at(held.start).session);
            if !awaits.is_empty() {
                let binding = held.filter(|place| graph.binds(graph.held_at(*place).lock));
                holders.extend(binding.map(|held| WaitingHolder { held, awaits: (awaits.start, awaits.end) }));
            }
        }
        // The list grew by doubling, and stays in memory during the search for groups.
        holders.shrink_to_fit();
        holders.sort_unstable_by_key(|holder| {
            let held = graph.held_at(holder.held);
            (held.lock, held.position)
        });
        let mut left = MOST_STEPS;
        for WaitingHolder { awaits: (first, end), .. } in &mut holders {
            *end = (*first).saturating_add(left).min(*end);
            left -= *end - *first;
        }
        Self { graph, holders }
    }

    /// Returns the claim of the hold, and the claims of the waits.
    fn claims(&self, holder: WaitingHolder) -> (Claim, &'g [Claim]) {
        let (first, end) = holder.awaits;
        (self.graph.held_at(holder.held), self.graph.awaited_at(first..end))
    }

    /// Returns the index of the held lock.
    fn lock_of(&self, holder: WaitingHolder) -> u32 {
        self.graph.held_at(holder.held).lock
    }

    /// Returns the locks with holders that wait.
    fn locks(&self) -> impl Iterator<Item = u32> {
        let of_one_lock = self.holders.chunk_by(|a, b| self.lock_of(*a) == self.lock_of(*b));
        of_one_lock.map(|holders| self.lock_of(holders[0]))
    }

    /// Returns the waiting holders of a lock.
    fn holders_of(&self, lock: u32) -> &[WaitingHolder] {
        let from = &self.holders[self.holders.partition_point(|holder| self.lock_of(*holder) < lock)..];
        &from[..from.partition_point(|holder| self.lock_of(*holder) == lock)]
    }

    /// Returns the steps from a lock. Not all of them [count](Self::counts).
    fn from(&self, lock: u32) -> impl Iterator<Item = Step> {
        self.holders_of(lock).iter().flat_map(|holder| {
            let (held, awaits) = self.claims(*holder);
            awaits.iter().map(move |awaited| Step { held, awaited: *awaited })
        })
    }

    /// Returns whether the waiter cannot proceed without the awaited lock.
    fn counts(&self, step: Step) -> bool {
        self.graph.binds(step.awaited.lock) && self.graph.held_before(step.held, step.awaited)
    }

    /// Returns the first step from a lock to itself.
    fn to_itself(&self, lock: u32) -> Option<Step> {
        let mut own = self.holders_of(lock).iter().flat_map(|holder| {
            let (held, awaits) = self.claims(*holder);
            let first = awaits.partition_point(|awaited| awaited.lock < lock);
            let own = awaits[first..].iter().take_while(move |awaited| awaited.lock == lock);
            own.map(move |awaited| Step { held, awaited: *awaited })
        });
        own.find(|step| self.counts(*step))
    }
}

/// Returns the wait of a step whose awaited lock is held by the claim `held`.
fn wait(graph: &Graph<'_>, step: Step, held: Claim) -> Wait {
    Wait {
        waiter: step.awaited.session,
        node: graph.node(step.awaited),
        lock: graph.id(step.awaited.lock),
        blocker: held.session,
        held: graph.node(held),
    }
}

/// Returns the strongly connected groups of more than one lock, by Tarjan's algorithm without
/// recursion.
fn groups(steps: &Steps<'_, '_>) -> Vec<Vec<u32>> {
    const NEW: u32 = u32::MAX;
    let count = steps.graph.len();
    let (mut number, mut low, mut on_stack) = (vec![NEW; count], vec![0; count], vec![false; count]);
    let (mut next, mut stack, mut groups) = (0, Vec::new(), Vec::new());
    for root in steps.locks() {
        if number[root as usize] != NEW {
            continue;
        }
        let mut path = Vec::new();
        let mut entered = Some(root);
        while entered.is_some() || !path.is_empty() {
            if let Some(lock) = entered.take() {
                let at = lock as usize;
                (number[at], low[at]) = (next, next);
                next += 1;
                stack.push(lock);
                on_stack[at] = true;
                path.push((lock, steps.from(lock)));
            }
            let Some((lock, ways)) = path.last_mut() else { break };
            let at = *lock as usize;
            if let Some(step) = ways.next() {
                let to = step.awaited.lock as usize;
                let is_open = number[to] == NEW || on_stack[to] && number[to] < low[at];
                if !is_open || !steps.counts(step) {
                    continue;
                }
                if number[to] == NEW {
                    entered = Some(step.awaited.lock);
                } else {
                    low[at] = number[to];
                }
                continue;
            }
            path.pop();
            if low[at] == number[at] {
                let from = stack.iter().rposition(|other| *other as usize == at).unwrap_or_default();
                let mut group = stack.split_off(from);
                for member in &group {
                    on_stack[*member as usize] = false;
                }
                if group.len() > 1 {
                    group.sort_unstable();
                    groups.push(group);
                }
            }
            if let Some((above, _)) = path.last() {
                low[*above as usize] = low[*above as usize].min(low[at]);
            }
        }
    }
    groups.sort_unstable();
    groups
}

/// Returns the shortest cycle through the first lock of a group.
fn shortest(steps: &Steps<'_, '_>, group: &[u32]) -> Option<Cycle> {
    let first = *group.first()?;
    let mut came: FxHashMap<u32, Step> = FxHashMap::default();
    let mut open = VecDeque::from([first]);
    'search: while let Some(at) = open.pop_front() {
        for step in steps.from(at).filter(|step| step.awaited.lock != at) {
            let to = step.awaited.lock;
            if group.binary_search(&to).is_err() {
                continue;
            }
            if let Entry::Vacant(place) = came.entry(to)
                && steps.counts(step)
            {
                place.insert(step);
                if to == first {
                    break 'search;
                }
                open.push_back(to);
            }
        }
    }
    let mut around = Vec::new();
    let mut at = first;
    loop {
        let step = *came.get(&at)?;
        around.push(step);
        at = step.held.lock;
        if at == first {
            break;
        }
    }
    around.reverse();
    // The lock at the end of each step is held by the session of the next step.
    let holders = around.iter().cycle().skip(1).map(|next| next.held);
    Some(around.iter().zip(holders).map(|(step, held)| wait(steps.graph, *step, held)).collect())
}
