//! Random schedules with a seed, weighted towards rare orders.
//!
//! Each run gives every client a random weight, and changes the weights at random steps, as
//! probabilistic concurrency testing does: so one client runs far ahead of another more often than
//! even choices would let it. Faults come at random steps that are chosen before.

use std::collections::BTreeSet;

use super::{Failure, LimitsMet, MAX_STEPS};
use crate::process::Behaviours;
use crate::rules::{Limit, Violation};
use crate::world::{Explored, Step, World};

/// The number of known behaviours of all processes after which they are forgotten.
const MAX_BEHAVIOURS: usize = 200_000;

/// The number of steps within which the faults of a run come.
const FAULTS_WITHIN: usize = 60;

/// What random runs have met.
#[derive(Debug, Default)]
pub struct RandomRuns {
    /// The number of runs.
    pub runs: u64,
    /// The number of their steps.
    pub steps: u64,
    /// The first run that fails, with its seed.
    pub failure: Option<(u64, Failure)>,
    /// The documented limits that were met.
    pub limits: LimitsMet,
}

/// Takes one run for each seed, up to the first that fails.
pub fn run_random(explored: &mut Explored, seeds: impl Iterator<Item = u64>) -> RandomRuns {
    let mut outcome = RandomRuns::default();
    for seed in seeds {
        let known: usize = explored.behaviours.iter().map(Behaviours::count).sum();
        if known > MAX_BEHAVIOURS {
            explored.behaviours.iter_mut().for_each(Behaviours::forget);
        }
        let RandomRun { steps, violation, limits } = random_run(explored, seed);
        outcome.runs += 1;
        outcome.steps += steps.len() as u64;
        for limit in limits {
            outcome.limits.add(limit, || steps.clone());
        }
        match violation {
            Some(Violation { limit: Some(limit), .. }) => outcome.limits.add(limit, || steps),
            Some(violation) => {
                outcome.failure = Some((seed, Failure { steps, violation }));
                break;
            }
            None => {}
        }
    }
    outcome
}

/// What one run came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomRun {
    /// The steps.
    pub steps: Vec<Step>,
    /// What does not hold at its end.
    pub violation: Option<Violation>,
    /// The documented limits that it met on the way.
    pub limits: BTreeSet<Limit>,
}

/// Takes one run. The same seed gives the same steps.
pub fn random_run(explored: &mut Explored, seed: u64) -> RandomRun {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut world = World::new(explored);
    let clients = explored.behaviours.len();
    let mut weights: Vec<u32> = (0..clients).map(|_| weight(&mut random)).collect();
    let faults: Vec<usize> = (0..explored.scenario.faults).map(|_| random.usize(..FAULTS_WITHIN)).collect();
    let (mut taken, mut met) = (Vec::new(), BTreeSet::new());
    while taken.len() < MAX_STEPS {
        if random.u32(..16) == 0 {
            weights[random.usize(..clients)] = weight(&mut random);
        }
        let steps = world.steps(explored, false);
        let fault_is_due = faults.iter().filter(|at| **at <= taken.len()).count() > world.faults_taken(explored);
        let (due, plain): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(|step| step.is_fault());
        let steps = if fault_is_due && !due.is_empty() { due } else { plain };
        if steps.is_empty() {
            return RandomRun { steps: taken, violation: world.end(explored), limits: met };
        }
        let step = choose(&mut random, &steps, &weights);
        taken.push(step);
        let violation = world.take(explored, step);
        met.extend(world.judge.met);
        if violation.is_some() {
            return RandomRun { steps: taken, violation, limits: met };
        }
    }
    let what = format!("the run has not ended after {MAX_STEPS} steps");
    RandomRun { steps: taken, violation: Some(Violation { what, limit: None }), limits: met }
}

fn weight(random: &mut fastrand::Rng) -> u32 {
    1 << random.u32(..7)
}

fn choose(random: &mut fastrand::Rng, steps: &[Step], weights: &[u32]) -> Step {
    let weight = |step: &Step| step.client().and_then(|client| weights.get(client)).copied().unwrap_or(4);
    let total: u32 = steps.iter().map(weight).sum();
    let mut at = random.u32(..total);
    for step in steps {
        match at.checked_sub(weight(step)) {
            Some(rest) => at = rest,
            None => return *step,
        }
    }
    steps[0]
}
