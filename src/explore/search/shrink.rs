//! Makes a failing schedule as short as possible.

use super::{Failure, replay};
use crate::world::{Explored, Step};

/// Leaves out steps as long as the schedule still fails: halves first, then ever smaller parts. The
/// steps that must happen in any case are filled in by the replay.
pub fn shorten(explored: &mut Explored, failure: Failure) -> Failure {
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

fn fails(explored: &mut Explored, steps: &[Step]) -> Option<Failure> {
    let replayed = replay(explored, steps);
    let violation = replayed.violation.filter(|violation| violation.limit.is_none())?;
    Some(Failure { steps: replayed.steps, violation })
}
