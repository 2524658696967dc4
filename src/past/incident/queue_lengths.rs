//! The queue length of a lock over time, in as many steps as a picture can show.

use super::waits::certain_wait;
use crate::record::history::PastContender;
use lockscope_base::znode::TimeRange;

/// Returns the longest queue within each of `parts` equal parts of the window.
pub(super) fn queue_lengths(contenders: &[PastContender], of: &[usize], window: TimeRange, parts: usize) -> Vec<usize> {
    let waits = of.iter().filter_map(|at| certain_wait(contenders.get(*at)?, window));
    let mut changes: Vec<(i64, bool)> = waits.flat_map(|wait| [(wait.from.0, true), (wait.to.0, false)]).collect();
    // At equal times, departures are counted before arrivals.
    changes.sort_unstable();
    let (first, length) = (window.from.0, (window.to.0 - window.from.0).max(1));
    let mut most = vec![0; parts];
    let (mut waiting, mut part) = (0_usize, 0_usize);
    for (at, comes) in changes {
        let reached = i128::from(at - first) * i128::try_from(parts).unwrap_or(1) / i128::from(length);
        let reached = usize::try_from(reached).unwrap_or(0).min(parts.saturating_sub(1));
        while part < reached {
            part += 1;
            most[part] = waiting;
        }
        waiting = if comes { waiting + 1 } else { waiting.saturating_sub(1) };
        if let Some(most) = most.get_mut(part) {
            *most = waiting.max(*most);
        }
    }
    for most in most.iter_mut().skip(part + 1) {
        *most = waiting;
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incident::testing::waiter;
    use lockscope_base::znode::Timestamp;

    #[test]
    fn each_part_has_its_longest_queue() {
        let contenders = [waiter("a", 0, 30), waiter("b", 10, 12), waiter("c", 11, 60)];
        let until = |to| TimeRange { from: Timestamp(0), to: Timestamp(to) };
        let lengths = queue_lengths(&contenders, &[0, 1, 2], until(100), 10);
        assert_eq!(lengths, [1, 3, 2, 2, 1, 1, 1, 0, 0, 0]);
        assert_eq!(queue_lengths(&contenders, &[], until(0), 3), [0, 0, 0]);
    }
}
