//! The ways to choose the steps of a run: given ones again, all of them, or random ones; and the
//! way to shorten a schedule that fails.
//!
//! # All schedules
//!
//! A walk takes all schedules up to the bounds of a scenario, depth first. Two reductions keep them
//! finite in practice. A state that was met before is not entered again: what follows depends on
//! the state alone. And while a client has a message to receive, only the steps of that client are
//! taken: all other steps commute with them.
//!
//! # Random schedules
//!
//! They have a seed, and are weighted towards rare orders. Each run gives every client and every
//! member a random weight, and changes the weights at random steps, as probabilistic concurrency
//! testing does: so one client runs far ahead of another, and one member lags far behind, more
//! often than even choices would let them. Faults come at random steps that are chosen before,
//! often two close to each other, and each kind of fault is as likely as any other. Many faults of
//! a lock need two that meet: a client is stopped whose member lags.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;

use rustc_hash::FxHashSet;

use crate::process::Behaviours;
use crate::rules::{Limit, Violation};
use crate::scenario::SimulatedScenario;
use crate::world::{Explored, SimulatedRun, Step};

/// The maximum number of steps of a run. More is a run that does not end.
pub const MAX_STEPS: usize = 3_000;

/// A schedule that ends with something that must not be.
#[derive(Clone, Debug)]
pub struct FailedSchedule {
    /// The steps.
    pub steps: Vec<Step>,
    /// What does not hold after the last one.
    pub violation: Violation,
}

/// The schedules that meet a documented limit: how often, and the first of each.
#[derive(Clone, Debug, Default)]
pub struct LimitsMet(pub BTreeMap<Limit, (u64, Vec<Step>)>);

impl LimitsMet {
    fn add(&mut self, limit: Limit, steps: impl FnOnce() -> Vec<Step>) {
        self.0.entry(limit).and_modify(|(count, _)| *count += 1).or_insert_with(|| (1, steps()));
    }
}

/// What a replay came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The steps that were taken: those that were given, and those that must follow.
    pub steps: Vec<Step>,
    /// What does not hold at its end.
    pub violation: Option<Violation>,
}

/// Takes these steps, without those that are not possible, and then the first possible step that is
/// no fault until the run ends.
pub fn replay(explored: &mut Explored, steps: &[Step]) -> Replayed {
    replay_with(explored, steps, |_, _, _, _| {})
}

/// As [`replay`], and calls `tell` around each step with the states before and after it.
pub fn replay_with(
    explored: &mut Explored,
    steps: &[Step],
    mut tell: impl FnMut(&Explored, Step, &SimulatedRun, &SimulatedRun),
) -> Replayed {
    let mut world = SimulatedRun::new(explored);
    let mut taken = Vec::new();
    let mut given = steps.iter().copied();
    while taken.len() < MAX_STEPS {
        let possible = world.steps(explored, false);
        let next = given.by_ref().find(|step| possible.contains(step));
        let Some(step) = next.or_else(|| possible.iter().copied().find(|step| !step.is_fault())) else {
            let violation = world.end(explored);
            return Replayed { steps: taken, violation };
        };
        let before = world.clone();
        let violation = world.take(explored, step);
        taken.push(step);
        tell(explored, step, &before, &world);
        if violation.is_some() {
            return Replayed { steps: taken, violation };
        }
    }
    let what = format!("the run has not ended after {MAX_STEPS} steps");
    Replayed { steps: taken, violation: Some(Violation { what, limit: None }) }
}

/// Leaves out steps as long as the schedule still fails: halves first, then ever smaller parts. The
/// steps that must happen in any case are filled in by the replay.
pub fn shorten(explored: &mut Explored, failure: FailedSchedule) -> FailedSchedule {
    let mut best = failure;
    let mut size = best.steps.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        let mut shorter = false;
        while at < best.steps.len() {
            let end = (at + size).min(best.steps.len());
            let without: Vec<Step> = [&best.steps[..at], &best.steps[end..]].concat();
            match fails(explored, &without) {
                Some(found) if weight(&found.steps) < weight(&best.steps) => {
                    best = found;
                    shorter = true;
                }
                _ => at += size,
            }
        }
        size = if shorter { size.min(best.steps.len()) } else { size / 2 };
    }
    best
}

/// Fewer faults are simpler, then fewer steps.
fn weight(steps: &[Step]) -> (usize, usize) {
    (steps.iter().filter(|step| step.is_fault()).count(), steps.len())
}

fn fails(explored: &mut Explored, steps: &[Step]) -> Option<FailedSchedule> {
    let replayed = replay(explored, steps);
    let violation = replayed.violation.filter(|violation| violation.limit.is_none())?;
    Some(FailedSchedule { steps: replayed.steps, violation })
}

/// The number of known behaviours of a process after which they are forgotten.
const MAX_BEHAVIOURS: usize = 20_000_000;

/// A walk through all schedules of a scenario.
#[derive(Debug)]
pub struct Walk {
    /// The scenario and its processes.
    pub explored: Explored,
    /// Whether the reduced steps are taken.
    pub reduced: bool,
    /// Whether states that were met are not entered again.
    pub prunes: bool,
    /// The maximum number of states.
    pub max_states: usize,
}

/// What a walk has met.
#[derive(Debug, Default)]
pub struct WalkOutcome {
    /// The number of different states.
    pub states: usize,
    /// The number of steps that were taken.
    pub steps: u64,
    /// The number of schedules that came to their end.
    pub ends: u64,
    /// The number of different states in which schedules end.
    pub end_states: usize,
    /// The first schedule that fails.
    pub failure: Option<FailedSchedule>,
    /// The documented limits that were met.
    pub limits: LimitsMet,
    /// Whether all schedules were taken.
    pub complete: bool,
    /// The number of behaviours of all processes, and how often a process was started for them.
    pub behaviours: usize,
    /// The number of processes that were started.
    pub started: u64,
}

/// A state on the way, and the steps from it that are left.
struct Open {
    world: SimulatedRun,
    left: Vec<Step>,
    step: Option<Step>,
}

impl Walk {
    /// Creates the walk of a scenario, with all reductions.
    pub fn new(scenario: SimulatedScenario) -> Self {
        Self { explored: Explored::new(scenario), reduced: true, prunes: true, max_states: 50_000_000 }
    }

    /// Takes all schedules, or those up to the first failure.
    pub fn run(&mut self) -> WalkOutcome {
        let mut outcome = WalkOutcome::default();
        let mut met = FxHashSet::default();
        let mut ends = FxHashSet::default();
        let first = SimulatedRun::new(&self.explored);
        met.insert(first.fingerprint());
        let left = first.steps(&self.explored, self.reduced);
        let mut way = vec![Open { world: first, left, step: None }];
        while let Some(open) = way.last_mut() {
            let Some(step) = open.left.pop() else {
                way.pop();
                continue;
            };
            let mut world = open.world.clone();
            let violation = world.take(&mut self.explored, step);
            outcome.steps += 1;
            let steps = |way: &[Open]| way.iter().filter_map(|open| open.step).chain([step]).collect::<Vec<_>>();
            if let Some(limit) = world.judge.met {
                outcome.limits.add(limit, || steps(&way));
            }
            if let Some(violation) = violation {
                if let Some(limit) = violation.limit {
                    outcome.limits.add(limit, || steps(&way));
                    continue;
                }
                outcome.failure = Some(FailedSchedule { steps: steps(&way), violation });
                break;
            }
            let fingerprint = world.fingerprint();
            if !met.insert(fingerprint) && self.prunes {
                continue;
            }
            let left = world.steps(&self.explored, self.reduced);
            if left.is_empty() {
                outcome.ends += 1;
                ends.insert(world.final_state(&self.explored));
                match world.end(&self.explored) {
                    None => {}
                    Some(Violation { limit: Some(limit), .. }) => outcome.limits.add(limit, || steps(&way)),
                    Some(violation) => {
                        outcome.failure = Some(FailedSchedule { steps: steps(&way), violation });
                        break;
                    }
                }
                continue;
            }
            if way.len() >= MAX_STEPS {
                let what = format!("a run has not ended after {MAX_STEPS} steps");
                outcome.failure =
                    Some(FailedSchedule { steps: steps(&way), violation: Violation { what, limit: None } });
                break;
            }
            if met.len() >= self.max_states {
                break;
            }
            assert!(self.explored.behaviours.iter().all(|known| known.count() < MAX_BEHAVIOURS), "out of memory");
            way.push(Open { world, left, step: Some(step) });
        }
        outcome.complete = way.is_empty();
        outcome.states = met.len();
        outcome.end_states = ends.len();
        outcome.behaviours = self.explored.behaviours.iter().map(Behaviours::count).sum();
        outcome.started = self.explored.behaviours.iter().map(|known| known.started).sum();
        outcome
    }
}

/// The number of known behaviours of all processes after which they are forgotten.
const MAX_BEHAVIOURS_OF_ALL: usize = 200_000;

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
    pub failure: Option<(u64, FailedSchedule)>,
    /// The documented limits that were met.
    pub limits: LimitsMet,
}

/// Takes one run for each seed, up to the first that fails.
pub fn run_random(explored: &mut Explored, seeds: impl Iterator<Item = u64>) -> RandomRuns {
    let mut outcome = RandomRuns::default();
    for seed in seeds {
        let known: usize = explored.behaviours.iter().map(Behaviours::count).sum();
        if known > MAX_BEHAVIOURS_OF_ALL {
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
                outcome.failure = Some((seed, FailedSchedule { steps, violation }));
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
    let mut world = SimulatedRun::new(explored);
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
fn fault(random: &mut fastrand::Rng, world: &SimulatedRun, due: Vec<Step>, lags: Option<usize>) -> Vec<Step> {
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
