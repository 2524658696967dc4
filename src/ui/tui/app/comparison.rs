//! Fleets of growing size that run one after the other, and their results. Pure.

use super::event::Effect;
use lockscope_lab::contend::{ComparedFleets, Comparison, FleetOutcome, Scenario};
use lockscope_lock::Algorithm;

/// A comparison of fleets, with the results so far.
#[derive(Debug, Default)]
pub struct FleetComparison {
    planned: Vec<Scenario>,
    done: Vec<FleetOutcome>,
    /// Why the comparison ended early, as a sentence without a full stop.
    failed: Option<String>,
}

/// One fleet of the comparison.
#[derive(Clone, Copy, Debug)]
pub struct ComparedFleet<'a> {
    /// The scenario of the fleet.
    pub scenario: &'a Scenario,
    /// The result of the fleet; `None` until the fleet has ended.
    pub outcome: Option<&'a FleetOutcome>,
}

impl FleetComparison {
    /// All fleets in the order in which they run, including those that have not run yet.
    pub fn fleets(&self) -> impl ExactSizeIterator<Item = ComparedFleet<'_>> {
        let outcome = |at: usize| self.done.get(at);
        self.planned.iter().enumerate().map(move |(at, scenario)| ComparedFleet { scenario, outcome: outcome(at) })
    }

    /// The number of the running fleet, counted from 1, and the number of all fleets. `None` when
    /// no fleet runs.
    pub fn running(&self) -> Option<(usize, usize)> {
        let all = self.planned.len();
        (self.failed.is_none() && self.done.len() < all).then(|| (self.done.len() + 1, all))
    }

    /// The conclusion as a sentence; `None` until all fleets have ended.
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

    /// Why the comparison ended early, as a sentence without a full stop.
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Starts a comparison and discards the results of an earlier one. Returns the effect that runs
    /// the fleets one after the other; `None` when there are none.
    pub(super) fn begin(&mut self, scenarios: Vec<Scenario>) -> Option<Effect> {
        let effect = (!scenarios.is_empty()).then(|| Effect::CompareFleets(scenarios.clone()));
        *self = Self { planned: scenarios, ..Self::default() };
        effect
    }

    /// Stores the result of the fleet that has ended, or why the comparison ended early.
    pub(super) fn store(&mut self, outcome: Result<Box<FleetOutcome>, String>) {
        match outcome {
            Ok(outcome) => self.done.push(*outcome),
            Err(why) => self.failed = Some(why),
        }
    }
}
