//! Assigns lanes to bars, so that overlapping bars are drawn below each other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lockscope_base::znode::{TimeRange, Timestamp};

/// Assigns each time span the first free lane, in order of the beginnings. Returns the lanes in the
/// order of `times`, and the number of lanes.
pub(super) fn lanes(times: &[TimeRange]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|at| times[*at]);
    let mut lanes = vec![0; times.len()];
    let mut busy: BinaryHeap<Reverse<(Timestamp, usize)>> = BinaryHeap::new();
    let mut free: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
    let mut count = 0;
    for at in order {
        let TimeRange { from, to } = times[at];
        while let Some(Reverse((_, lane))) = busy.peek().copied().filter(|Reverse((end, _))| *end <= from) {
            busy.pop();
            free.push(Reverse(lane));
        }
        let lane = free.pop().map_or_else(
            || {
                count += 1;
                count - 1
            },
            |Reverse(lane)| lane,
        );
        lanes[at] = lane;
        busy.push(Reverse((to, lane)));
    }
    (lanes, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_spans_get_separate_lanes_and_lanes_are_reused() {
        let range = |(from, to)| TimeRange { from: Timestamp(from), to: Timestamp(to) };
        assert_eq!(lanes(&[(0, 10), (5, 8), (8, 9), (10, 12)].map(range)), (vec![0, 1, 1, 0], 2));
        assert_eq!(lanes(&[(5, 6), (0, 9)].map(range)), (vec![1, 0], 2));
        assert_eq!(lanes(&[]), (vec![], 0));
    }
}
