//! A lock parent without contenders.

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext};
use crate::diagnose::round_memory::RoundMemory;
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::{Code, Severity};
use crate::queue::LockId;
use crate::text::human;
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::Timestamp;

const REMEDY: &str = "delete the empty parent, not recursively; create lock parents as container nodes, which servers remove when they are empty";

/// Only parents that had contenders are reported. A parent that was empty from the start may be no
/// lock's. In an election, nobody leads: the parent is not to be deleted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct EmptyParent {
    /// When each lock parent was first seen empty.
    empty_since: RoundMemory<LockId, Timestamp>,
}

impl Check for EmptyParent {
    fn begin(&mut self) {
        self.empty_since.begin();
    }

    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        if !lock.is_empty()
            || lock.kind() == LockKind::SingleNode
            || lock.name().is_some()
            || context.election.is_some()
        {
            return;
        }
        let empty = context.now().since(*self.empty_since.see(lock.id(), || context.now()));
        if empty < context.thresholds.empty_after {
            return;
        }
        let summary = format!(
            "it has been empty for {}: nobody contends here, and servers would have removed a container node by now",
            human::duration(empty)
        );
        let finding = finding(Code::EmptyParent, Severity::Info, lock, None).because(summary, REMEDY);
        found.push(Suspicion::proved(finding, context.now()));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, path};

    pub fn examples() -> Vec<Example> {
        vec![(Code::EmptyParent, empty())]
    }

    fn empty() -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let node = world.create(&curator("/l", 1), 1);
        world.delete(&node);
        world.pass(603);
        world
    }

    #[test]
    fn a_parent_that_stays_empty_is_reported_until_it_is_used_or_deleted() {
        let mut world = DiagnosisFixture::new();
        let node = world.create(&curator("/l", 1), 1);
        world.delete(&node);
        world.pass(600);
        assert_eq!(world.codes(Severity::Info), []);
        assert_eq!(world.pass(3).0, [Code::EmptyParent]);
        let node = world.create(&curator("/l", 2), 1);
        assert_eq!(world.pass(1).1, [Code::EmptyParent]);
        world.delete(&node);
        world.pass(603);
        world.delete(&path("/l"));
        assert_eq!(world.pass(1).1, [Code::EmptyParent]);
    }
}
