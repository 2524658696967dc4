//! Cycles in the graph of waits.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::graph::{Claim, Graph};
use super::{Cycle, Wait};

/// Circles told at most: the first in the order of their locks' paths.
const MOST_CYCLES: usize = 100;

/// Ways from lock to lock looked at most. A table with more has sessions that take part in thousands of locks at once; cycles
/// beyond are not looked for.
const MOST_STEPS: u32 = 1_000_000;

/// Who holds one lock waits for another.
#[derive(Clone, Copy, Debug)]
struct Step {
    held: Claim,
    awaited: Claim,
}

/// A holder of a lock that waits, too. Small, since most contenders of many may be that.
#[derive(Clone, Copy, Debug)]
struct WaitingHolder {
    /// The place of its claim among those who hold.
    held: u32,
    /// Where it waits, as far as that is looked at: the first place among those who wait, by session, and the one behind the last.
    awaits: (u32, u32),
}

/// All ways from lock to lock. They are made when they are needed: there may be many times as many as contenders.
#[derive(Debug)]
struct Steps<'g, 'a> {
    graph: &'g Graph<'a>,
    /// In the order of the locks, then of their queues.
    holders: Vec<WaitingHolder>,
}

/// One cycle for each group of locks whose holders wait for each other, and the sessions that wait for themselves.
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
        // It has grown by doubling, and stays while groups are looked for.
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

    /// The claim by which it holds, and those by which it waits.
    fn claims(&self, holder: WaitingHolder) -> (Claim, &'g [Claim]) {
        let (first, end) = holder.awaits;
        (self.graph.held_at(holder.held), self.graph.awaited_at(first..end))
    }

    /// The lock that it holds.
    fn lock_of(&self, holder: WaitingHolder) -> u32 {
        self.graph.held_at(holder.held).lock
    }

    /// The locks of which a holder waits.
    fn locks(&self) -> impl Iterator<Item = u32> {
        let of_one_lock = self.holders.chunk_by(|a, b| self.lock_of(*a) == self.lock_of(*b));
        of_one_lock.map(|holders| self.lock_of(holders[0]))
    }

    /// The holders of a lock that wait.
    fn holders_of(&self, lock: u32) -> &[WaitingHolder] {
        let from = &self.holders[self.holders.partition_point(|holder| self.lock_of(*holder) < lock)..];
        &from[..from.partition_point(|holder| self.lock_of(*holder) == lock)]
    }

    /// Ways that lead on from a lock, of which each [counts](Self::counts) or does not.
    fn from(&self, lock: u32) -> impl Iterator<Item = Step> {
        self.holders_of(lock).iter().flat_map(|holder| {
            let (held, awaits) = self.claims(*holder);
            awaits.iter().map(move |awaited| Step { held, awaited: *awaited })
        })
    }

    /// Whether who is waited for there cannot go on without it.
    fn counts(&self, step: Step) -> bool {
        self.graph.binds(step.awaited.lock) && self.graph.held_before(step.held, step.awaited)
    }

    /// The first way from a lock to itself.
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

/// What a step tells, when the lock to which it leads is held by this claim.
fn wait(graph: &Graph<'_>, step: Step, held: Claim) -> Wait {
    Wait {
        waiter: step.awaited.session,
        node: graph.node(step.awaited),
        lock: graph.id(step.awaited.lock),
        blocker: held.session,
        held: graph.node(held),
    }
}

/// The strongly connected groups of more than one lock, by Tarjan's algorithm without recursion.
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

/// The shortest cycle through the first lock of a group.
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
    // Each step's end is held by who makes the next step.
    let holders = around.iter().cycle().skip(1).map(|next| next.held);
    Some(around.iter().zip(holders).map(|(step, held)| wait(steps.graph, *step, held)).collect())
}
