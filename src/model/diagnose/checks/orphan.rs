//! Two nodes of one attempt: the reply to the first create was lost, and its client waits behind
//! its own node.

use std::time::Duration;

use rustc_hash::FxHashMap;

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, MAX_SUSPICIONS, of_contender};
use crate::diagnose::facts::attempt;
use crate::diagnose::facts::short_node;
use crate::diagnose::suspicion::Suspicion;
use crate::diagnose::{Code, Severity};
use crate::queue::{ContenderRow, LockQueue};

const REMEDY: &str =
    "ask the owner to restart that client, or delete the earlier node: that client does not know of it";

/// Names contain an id that is unique to one attempt, and an attempt needs only one node.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Orphan;

impl Check for Orphan {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        let mut left = MAX_SUSPICIONS;
        for positions in context.repeated.values() {
            let rows: Vec<_> = positions.iter().filter_map(|position| lock.row(*position)).collect();
            for (earlier, later) in of_one_attempt(lock, &rows) {
                if left == 0 {
                    return;
                }
                left -= 1;
                let severity = if context.blocks_for_good(earlier) { Severity::Critical } else { Severity::Warning };
                let [first, second] = [&earlier.contender.node, &later.contender.node].map(|node| short_node(node));
                let summary = format!(
                    "{first} and {second} come from one attempt of {}: the reply to the first create was lost",
                    context.table_at.who(earlier.contender)
                );
                let finding = of_contender(Code::Orphan, severity, context, earlier.contender).because(summary, REMEDY);
                found.push(Suspicion::new(finding, context.now(), Duration::ZERO).of_state(earlier.contender.czxid.0));
            }
        }
    }
}

/// Returns each row with the next one of the same attempt, in the order of the first rows.
///
/// Linear apart from sorting the result: one session may have tens of thousands of nodes in a
/// queue.
fn of_one_attempt<'a, 'r>(
    lock: &LockQueue,
    rows: &'r [ContenderRow<'a>],
) -> Vec<(&'r ContenderRow<'a>, &'r ContenderRow<'a>)> {
    let mut last: FxHashMap<&str, usize> = FxHashMap::default();
    let mut pairs = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let Some(id) = attempt(lock, &row.contender.node) else { continue };
        pairs.extend(last.insert(id, at).map(|before| (before, at)));
    }
    pairs.sort_unstable();
    pairs.into_iter().map(|(before, at)| (&rows[before], &rows[at])).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, one_session_twice};
    use lockscope_base::znode::ZnodePath;

    pub fn examples() -> Vec<Example> {
        vec![(Code::Orphan, one_session_twice(1, 1, 3))]
    }

    #[test]
    fn two_nodes_with_one_id_are_an_orphan_and_its_successor() {
        let mut world = DiagnosisFixture::new();
        let first = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 1), 1);
        assert_eq!(world.pass(2).0, [Code::Orphan]);
        let finding = world.found(Code::Orphan).expect("the finding stands");
        assert_eq!((finding.severity, finding.node.as_deref()), (Severity::Critical, Some(first.name())));
        world.delete(&first);
        assert_eq!(world.pass(1).1, [Code::Orphan]);
    }

    #[test]
    fn all_but_the_last_node_with_one_id_are_orphans() {
        let mut world = DiagnosisFixture::new();
        let nodes = [1, 2, 1, 2, 1].map(|id| world.create(&curator("/l", id), 1));
        world.pass(2);
        let orphans = world.diagnosis.findings().filter(|finding| finding.code == Code::Orphan);
        let found: Vec<_> = orphans.filter_map(|finding| finding.node.clone()).collect();
        let earlier: Vec<_> = nodes[..3].iter().map(ZnodePath::name).collect();
        assert_eq!(found.len(), earlier.len());
        assert!(earlier.iter().all(|node| found.iter().any(|found| **found == **node)), "{found:?}");
    }

    #[test]
    fn an_orphan_is_found_among_twenty_thousand_nodes_of_one_session() {
        let mut world = DiagnosisFixture::new();
        world.answers = false;
        for id in 0..20_000 {
            world.create(&curator("/l", id), 1);
        }
        world.create(&curator("/l", 0), 1);
        // A comparison of all pairs would take minutes.
        world.pass(2);
        assert!(world.found(Code::Orphan).is_some());
    }

    #[test]
    fn threads_of_one_session_and_names_with_a_session_id_prove_no_orphan() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 1);
        world.create("/w/x-72057594037927936-", 1);
        world.create("/w/x-72057594037927936-", 1);
        world.pass(10);
        assert!(world.found(Code::Orphan).is_none());
        assert_eq!(world.codes(Severity::Warning), []);
    }
}
