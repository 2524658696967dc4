//! Fleets of growing size that ran one after the other, and what each came to. Pure.

use super::event::Effect;
use lockscope_lab::contend::{ComparedFleets, Comparison, FleetOutcome, Scenario};
use lockscope_lock::Algorithm;

/// What of a comparison is known so far.
#[derive(Debug, Default)]
pub struct FleetComparison {
    planned: Vec<Scenario>,
    done: Vec<FleetOutcome>,
    /// Why it ended early, as a sentence without a full stop.
    failed: Option<String>,
}

/// One fleet's line of the comparison.
#[derive(Clone, Copy, Debug)]
pub struct ComparedFleet<'a> {
    /// What it does or did.
    pub scenario: &'a Scenario,
    /// What it came to; `None` when it has not run yet.
    pub outcome: Option<&'a FleetOutcome>,
}

impl FleetComparison {
    /// The fleets in the order in which they run, whether they have run or not.
    pub fn fleets(&self) -> impl ExactSizeIterator<Item = ComparedFleet<'_>> {
        let outcome = |at: usize| self.done.get(at);
        self.planned.iter().enumerate().map(move |(at, scenario)| ComparedFleet { scenario, outcome: outcome(at) })
    }

    /// The number of the fleet that runs, from 1, and of all; `None` when none runs.
    pub fn running(&self) -> Option<(usize, usize)> {
        let all = self.planned.len();
        (self.failed.is_none() && self.done.len() < all).then(|| (self.done.len() + 1, all))
    }

    /// What it comes to, in a sentence; `None` before all have run.
    pub fn conclusion(&self) -> Option<String> {
        let is_done = !self.planned.is_empty() && self.running().is_none() && self.failed.is_none();
        let sizes = self.done.chunk_by(|one, next| one.clients == next.clients).filter(|_| is_done);
        let of = |size: &[FleetOutcome], algorithm: Algorithm| {
            size.iter().find(|outcome| outcome.recipe == algorithm.name()).cloned()
        };
        let run = |size: &[FleetOutcome]| {
            let (herd, chain) = (of(size, Algorithm::Herd)?, of(size, Algorithm::Chain)?);
            Some(ComparedFleets::of(herd.clients, herd, chain, None))
        };
        let runs: Vec<ComparedFleets> = sizes.filter_map(run).collect();
        (!runs.is_empty()).then(|| Comparison::of(runs).conclusion())
    }

    /// Why it ended early, as a sentence without a full stop.
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Lets these fleets run, one after the other; those of an earlier comparison are gone.
    pub(super) fn begin(&mut self, scenarios: Vec<Scenario>) -> Option<Effect> {
        let effect = (!scenarios.is_empty()).then(|| Effect::CompareFleets(scenarios.clone()));
        *self = Self { planned: scenarios, ..Self::default() };
        effect
    }

    /// The fleet that ran has ended; else why no other one runs.
    pub(super) fn take(&mut self, outcome: Result<Box<FleetOutcome>, String>) {
        match outcome {
            Ok(outcome) => self.done.push(*outcome),
            Err(why) => self.failed = Some(why),
        }
    }
}
