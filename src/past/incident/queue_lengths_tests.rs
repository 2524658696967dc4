//! Tests of `queue lengths`.

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
