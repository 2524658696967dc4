//! Takes given steps again.

use crate::rules::Violation;
use crate::world::{Explored, Step, World};

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
    mut tell: impl FnMut(&Explored, Step, &World, &World),
) -> Replayed {
    let mut world = World::new(explored);
    let mut taken = Vec::new();
    let mut given = steps.iter().copied();
    while taken.len() < super::MAX_STEPS {
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
    let what = format!("the run has not ended after {} steps", super::MAX_STEPS);
    Replayed { steps: taken, violation: Some(Violation { what, limit: None }) }
}
