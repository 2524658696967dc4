//! All schedules up to the bounds of a scenario, depth first.
//!
//! Two reductions keep them finite in practice. A state that was met before is not entered again:
//! what follows depends on the state alone. And while a client has a message to receive, only the
//! steps of that client are taken: all other steps commute with them.

use rustc_hash::FxHashSet;

use super::{Failure, LimitsMet, MAX_STEPS};
use crate::process::Behaviours;
use crate::rules::Violation;
use crate::scenario::Scenario;
use crate::world::{Explored, Step, World};

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
    pub failure: Option<Failure>,
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
    world: World,
    left: Vec<Step>,
    step: Option<Step>,
}

impl Walk {
    /// Creates the walk of a scenario, with all reductions.
    pub fn new(scenario: Scenario) -> Self {
        Self { explored: Explored::new(scenario), reduced: true, prunes: true, max_states: 50_000_000 }
    }

    /// Takes all schedules, or those up to the first failure.
    pub fn run(&mut self) -> WalkOutcome {
        let mut outcome = WalkOutcome::default();
        let mut met = FxHashSet::default();
        let mut ends = FxHashSet::default();
        let first = World::new(&self.explored);
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
                outcome.failure = Some(Failure { steps: steps(&way), violation });
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
                        outcome.failure = Some(Failure { steps: steps(&way), violation });
                        break;
                    }
                }
                continue;
            }
            if way.len() >= MAX_STEPS {
                let what = format!("a run has not ended after {MAX_STEPS} steps");
                outcome.failure = Some(Failure { steps: steps(&way), violation: Violation { what, limit: None } });
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
