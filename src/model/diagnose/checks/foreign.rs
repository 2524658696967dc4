//! Nodes of another recipe in the lock parent.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, TableContext};
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::{Code, Severity, TableAt};
use crate::queue::LockQueue;
use lockscope_base::recipe::{LockKind, Recipe};
use lockscope_base::znode::escaped;

const REMEDY: &str =
    "move the other nodes to a parent of their own: libraries that count every child take them for contenders";

/// Reports queues of different recipes in one parent. Children that can be no contenders are not
/// read, so they are not found here.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct ForeignChild;

impl Check for ForeignChild {
    fn check_all(&mut self, context: &TableContext<'_>, found: &mut Vec<Suspicion>) {
        let table_at = context.table_at;
        let locks = table_at.table().locks().filter(|lock| lock.kind() != LockKind::SingleNode && !lock.is_empty());
        let mut here: Vec<&LockQueue> = Vec::new();
        // The locks are ordered by path.
        for lock in locks {
            if here.first().is_some_and(|first| first.path() != lock.path()) {
                found.extend(suspicion(table_at, &here));
                here.clear();
            }
            here.push(lock);
        }
        found.extend(suspicion(table_at, &here));
    }
}

/// Returns one finding, about the longest queue.
fn suspicion(table_at: TableAt<'_>, here: &[&LockQueue]) -> Option<Suspicion> {
    if here.len() < 2 {
        return None;
    }
    let main = here.iter().rev().max_by_key(|lock| (is_known(lock), lock.len()))?;
    let other = here.iter().find(|lock| family(lock) != family(main))?;
    let node = &other.row(0)?.contender.node;
    let severity = if counts_every_child(main) { Severity::Warning } else { Severity::Info };
    let summary = format!("other nodes stand among those of a {}, such as {}", main.recipe().title(), escaped(node));
    let finding = finding(Code::ForeignChild, severity, main, Some(node)).because(summary, REMEDY);
    Some(Suspicion::new(finding, table_at.now(), Duration::from_secs(1)))
}

fn is_known(lock: &LockQueue) -> bool {
    !matches!(lock.recipe(), Recipe::UnknownQueue | Recipe::TextbookNamedQueue)
}

fn family(lock: &LockQueue) -> Recipe {
    lock.recipe().family()
}

/// Returns whether the recipe takes every child of the parent for a contender, as Curator's do.
fn counts_every_child(lock: &LockQueue) -> bool {
    matches!(
        lock.recipe(),
        Recipe::CuratorMutex | Recipe::CuratorReadWrite | Recipe::CuratorLatch | Recipe::CuratorSemaphore
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, queue};

    pub fn examples() -> Vec<Example> {
        vec![(Code::ForeignChild, foreign())]
    }

    fn foreign() -> DiagnosisFixture {
        let mut world = queue(&[1, 2]);
        world.create("/l/member-", 3);
        world.pass(3);
        world
    }

    #[test]
    fn another_recipes_node_among_curators_is_reported_until_it_is_moved() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        let other = world.create("/l/member-", 3);
        world.pass(3);
        let finding = world.found(Code::ForeignChild).expect("the finding stands");
        assert_eq!((finding.severity, finding.node.as_deref()), (Severity::Warning, Some(other.name())));
        world.delete(&other);
        assert_eq!(world.pass(1).1, [Code::ForeignChild]);
    }

    #[test]
    fn several_named_queues_and_other_parents_are_not_reported() {
        let mut world = DiagnosisFixture::new();
        world.create("/l/a_lock_", 1);
        world.create("/l/b_lock_", 2);
        world.create(&curator("/l/sub", 1), 1);
        world.pass(5);
        assert_eq!(world.codes(Severity::Info), []);
    }
}
