//! The ways to choose the steps of a run.

mod random;
mod replay;
mod shrink;
mod walk;

use std::collections::BTreeMap;

use crate::rules::Limit;

pub use random::{RandomRun, RandomRuns, random_run, run_random};
pub use replay::{Replayed, replay, replay_with};
pub use shrink::shorten;
pub use walk::{Walk, WalkOutcome};

use crate::rules::Violation;
use crate::world::Step;

/// The maximum number of steps of a run. More is a run that does not end.
pub const MAX_STEPS: usize = 3_000;

/// A schedule that ends with something that must not be.
#[derive(Clone, Debug)]
pub struct Failure {
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
