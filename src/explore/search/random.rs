//! Random schedules with a seed, weighted towards rare orders.
//!
//! Each run gives every client and every member a random weight, and changes the weights at random
//! steps, as probabilistic concurrency testing does: so one client runs far ahead of another, and one
//! member lags far behind, more often than even choices would let them. Faults come at random steps
//! that are chosen before, often two close to each other, and each kind of fault is as likely as any
//! other. Many faults of a lock need two that meet: a client is stopped whose member lags.

use std::collections::BTreeSet;
use std::mem::discriminant;

use super::{Failure, LimitsMet, MAX_STEPS};
use crate::process::Behaviours;
use crate::rules::{Limit, Violation};
use crate::world::{Explored, Step, World};

/// The number of known behaviours of all processes after which they are forgotten.
const MAX_BEHAVIOURS: usize = 200_000;

/// The least number of steps within which the faults of a run come. Some runs have up to eight times
/// as many: what happens long after the first grant needs faults there.
const FAULTS_WITHIN: usize = 40;

/// The weight of a step that belongs to no client, such as the passing of time.
const OTHER_WEIGHT: u32 = 256;

/// The number of steps between two faults that come together.
const FAULTS_TOGETHER: usize = 4;

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
    let mut weights = Weights::new(&mut random, clients, explored.scenario.members as usize);
    let faults = fault_times(&mut random, explored.scenario.faults);
    let mut lags = None;
    let (mut taken, mut met) = (Vec::new(), BTreeSet::new());
    while taken.len() < MAX_STEPS {
        if random.u32(..16) == 0 {
            weights.change(&mut random);
        }
        let mut steps = world.plain_steps(explored);
        if steps.is_empty() {
            return RandomRun { steps: taken, violation: world.end(explored), limits: met };
        }
        if faults.iter().filter(|at| **at <= taken.len()).count() > world.faults_taken(explored) {
            let mut due = Vec::new();
            world.faults(explored, &mut due);
            if !due.is_empty() {
                steps = fault(&mut random, &world, due, lags);
            }
        }
        let step = choose(&mut random, &steps, &weights);
        taken.push(step);
        if let Step::Lag(member) = step {
            lags = Some(member);
        }
        let violation = world.take(explored, step);
        met.extend(world.judge.met);
        if violation.is_some() {
            return RandomRun { steps: taken, violation, limits: met };
        }
    }
    let what = format!("the run has not ended after {MAX_STEPS} steps");
    RandomRun { steps: taken, violation: Some(Violation { what, limit: None }), limits: met }
}

/// Returns the steps at which faults come, half of them soon after another one.
fn fault_times(random: &mut fastrand::Rng, faults: u32) -> Vec<usize> {
    let within = FAULTS_WITHIN << random.u32(..4);
    let mut times: Vec<usize> = Vec::new();
    for _ in 0..faults {
        let together = times.last().copied().filter(|_| random.bool());
        times.push(match together {
            Some(last) => last + random.usize(..FAULTS_TOGETHER),
            None => random.usize(..within),
        });
    }
    times
}

/// Returns the faults of one kind, chosen evenly among those that are possible; half of the time
/// those of the clients of a member that lags, if there are any.
fn fault(random: &mut fastrand::Rng, world: &World, due: Vec<Step>, lags: Option<usize>) -> Vec<Step> {
    let of_lagging = |step: &&Step| lags.is_some() && step.client().and_then(|client| world.member_of(client)) == lags;
    let there: Vec<Step> = due.iter().filter(of_lagging).copied().collect();
    let due = if !there.is_empty() && random.bool() { there } else { due };
    let mut kinds = Vec::new();
    for step in &due {
        if !kinds.contains(&discriminant(step)) {
            kinds.push(discriminant(step));
        }
    }
    let kind = random.choice(kinds);
    due.into_iter().filter(|step| Some(discriminant(step)) == kind).collect()
}

/// How likely the steps of each client and of each member are.
struct Weights {
    clients: Vec<u32>,
    members: Vec<u32>,
}

impl Weights {
    fn new(random: &mut fastrand::Rng, clients: usize, members: usize) -> Self {
        let clients = (0..clients).map(|_| client_weight(random)).collect();
        Self { clients, members: (0..members).map(|_| member_weight(random)).collect() }
    }

    /// Gives one of them another weight.
    fn change(&mut self, random: &mut fastrand::Rng) {
        let index = random.usize(..self.clients.len() + self.members.len());
        match index.checked_sub(self.clients.len()) {
            None => self.clients[index] = client_weight(random),
            Some(member) => self.members[member] = member_weight(random),
        }
    }

    fn of(&self, step: &Step) -> u32 {
        let weight = match step {
            Step::Apply(member) => self.members.get(*member),
            _ => step.client().and_then(|client| self.clients.get(client)),
        };
        weight.copied().unwrap_or(OTHER_WEIGHT)
    }
}

fn client_weight(random: &mut fastrand::Rng) -> u32 {
    64 << random.u32(..7)
}

/// The lowest weights let a member lag for as long as a session takes to end.
fn member_weight(random: &mut fastrand::Rng) -> u32 {
    1 << random.u32(..13)
}

fn choose(random: &mut fastrand::Rng, steps: &[Step], weights: &Weights) -> Step {
    let total: u32 = steps.iter().map(|step| weights.of(step)).sum();
    let mut at = random.u32(..total);
    for step in steps {
        match at.checked_sub(weights.of(step)) {
            Some(rest) => at = rest,
            None => return *step,
        }
    }
    steps[0]
}
