//! A lock parent that nobody uses.

use super::checks::{LockContext, RoundMemory};
use super::suspicion::{Suspicion, finding};
use super::{Code, Severity, election};
use crate::queue::LockId;
use crate::recipe::LockKind;
use crate::znode::Timestamp;

const REMEDY: &str =
    "delete the empty parent, never recursively; make lock parents as container nodes, which the servers remove";

/// Since when a lock parent was seen empty.
pub(super) type Memory = RoundMemory<LockId, Timestamp>;

/// Parents that were empty already when they were first seen are not known to be any lock's.
pub(super) fn check(context: &LockContext<'_>, memory: &mut Memory, found: &mut Vec<Suspicion>) {
    let lock = context.lock;
    if !lock.is_empty() || lock.kind() == LockKind::SingleNode || lock.name().is_some() || election::is_registry(lock) {
        return;
    }
    let empty = context.now().since(*memory.see(lock.id(), || context.now()));
    if empty < context.thresholds.empty_after {
        return;
    }
    let summary =
        format!("nobody has contended for {} min, and no container node stays empty for so long", empty.as_secs() / 60);
    let finding = finding(Code::EmptyParent, Severity::Info, lock, None).because(summary, REMEDY);
    found.push(Suspicion::proved(finding, context.now()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::testing::{World, curator, path};

    #[test]
    fn a_parent_that_stays_empty_is_told_until_it_is_used_or_gone() {
        let mut world = World::new();
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
