//! The sequence numbers of a queue are about to overflow, or have overflowed.

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext};
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::{Code, Severity};
use crate::queue::LockQueue;
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::Sequence;

/// The number of sequence numbers of one parent.
const NUMBERS: i64 = 1 << 31;

const REMEDY: &str = "stop the clients of this queue, delete the lock parent, make it again with the same data and ACL, and start them: its numbers start at 0; clients that run meanwhile may fail, and those of Mesos abort";

/// After the last number, servers up to 3.5 go on with negative ones, so the newest node becomes
/// the head. From 3.6 on, creates fail.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct SequenceOverflow;

impl Check for SequenceOverflow {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        if lock.kind() == LockKind::SingleNode {
            return;
        }
        let lowest = lock.rows(0..1).find_map(|row| row.contender.sequence);
        let (severity, summary) = if let Some(Sequence(number)) = lowest.filter(|Sequence(number)| *number < 0) {
            let summary =
                format!("the sequence numbers overflowed to {number}: the newest nodes stand before the oldest");
            (Severity::Critical, summary)
        } else {
            let left = numbers_left(lock);
            if left > context.thresholds.numbers_left {
                return;
            }
            let left_over = match left {
                0 => format!("none of {NUMBERS} sequence numbers is"),
                1 => format!("only 1 of {NUMBERS} sequence numbers is"),
                _ => format!("only {left} of {NUMBERS} sequence numbers are"),
            };
            let severity = if left == 0 { Severity::Critical } else { Severity::Warning };
            (severity, format!("{left_over} left for nodes of this queue"))
        };
        let finding = finding(Code::SequenceOverflow, severity, lock, None).because(summary, REMEDY);
        found.push(Suspicion::proved(finding, context.now()));
    }
}

/// Returns how many sequence numbers are left.
///
/// A listing contains the sum of the created and deleted children in 32 bits. Half of that sum
/// lacks the highest bit.
fn numbers_left(lock: &LockQueue) -> i64 {
    let next = lock.next_sequence().unwrap_or_default();
    let next = if next < 0 { next + NUMBERS } else { next };
    (NUMBERS - 1 - next).max(0)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator};

    pub fn examples() -> Vec<Example> {
        ["2147480000", "2147483645", "2147483646", "2147483647", "-2147483648"]
            .map(|number| (Code::SequenceOverflow, overflow(number)))
            .into()
    }

    fn overflow(number: &str) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        world.create_at(&format!("{}{number}", curator("/l", 1)), 1);
        world.pass(2);
        world
    }

    fn with_number(number: &str) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        world.create_at(&format!("{}{number}", curator("/l", 1)), 1);
        world.pass(2);
        world
    }

    #[test]
    fn a_queue_near_its_last_number_is_reported() {
        assert_eq!(with_number("2147480000").severity(Code::SequenceOverflow), Some(Severity::Warning));
        assert_eq!(with_number("2147483647").severity(Code::SequenceOverflow), Some(Severity::Critical));
        assert_eq!(with_number("1732180000").severity(Code::SequenceOverflow), None);
    }

    #[test]
    fn overflowed_numbers_are_critical() {
        assert_eq!(with_number("-2147483648").severity(Code::SequenceOverflow), Some(Severity::Critical));
    }

    #[test]
    fn a_recreated_parent_clears_the_finding() {
        let mut world = with_number("2147480000");
        world.delete(&crate::diagnose::testing::path("/l"));
        assert_eq!(world.pass(1).1, [Code::SequenceOverflow]);
        world.create(&curator("/l", 1), 1);
        assert_eq!(world.pass(3).0, []);
    }
}
