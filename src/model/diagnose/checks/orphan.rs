//! Two nodes of one attempt: the reply to a create was lost, and the client knows one of the nodes
//! only.

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

/// For libraries that go on with the first node ([`keeps_first_of_attempt`](lockscope_base::recipe::Recipe::keeps_first_of_attempt)): without that
/// one the process halts.
const REMEDY_OF_LATER: &str = "delete the later node, guarded by its czxid, or ask the owner to restart that client: it goes on with the first node, and halts when that one is gone";

/// Names contain an id that is unique to one attempt, and an attempt needs only one node.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Orphan;

impl Check for Orphan {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        let mut left = MAX_SUSPICIONS;
        for positions in context.repeated.values() {
            let rows: Vec<_> = positions.iter().filter_map(|position| lock.row(*position)).collect();
            for (first, second) in of_one_attempt(lock, &rows) {
                if left == 0 {
                    return;
                }
                left -= 1;
                found.push(suspicion(context, first, second));
            }
        }
    }
}

fn suspicion(context: &LockContext<'_>, first: &ContenderRow<'_>, second: &ContenderRow<'_>) -> Suspicion {
    let keeps_first = context.lock.recipe().keeps_first_of_attempt();
    let (orphan, lost, remedy) =
        if keeps_first { (second, "a", REMEDY_OF_LATER) } else { (first, "the first", REMEDY) };
    let severity = if context.blocks_for_good(orphan) { Severity::Critical } else { Severity::Warning };
    let summary = format!(
        "{} and {} come from one attempt of {}: the reply to {lost} create was lost",
        short_node(&first.contender.node),
        short_node(&second.contender.node),
        context.table_at.who(orphan.contender)
    );
    let finding = of_contender(Code::Orphan, severity, context, orphan.contender).because(summary, remedy);
    Suspicion::new(finding, context.now(), Duration::ZERO).of_state(orphan.contender.czxid.0)
}

/// Returns each row with the next one of the same attempt, in the order of the first rows. Where the
/// library keeps the first, returns it with each of the others.
///
/// Linear apart from sorting the result: one session may have tens of thousands of nodes in a
/// queue.
fn of_one_attempt<'a, 'r>(
    lock: &LockQueue,
    rows: &'r [ContenderRow<'a>],
) -> Vec<(&'r ContenderRow<'a>, &'r ContenderRow<'a>)> {
    let mut known: FxHashMap<&str, usize> = FxHashMap::default();
    let mut pairs = Vec::new();
    let keeps_first = lock.recipe().keeps_first_of_attempt();
    for (at, row) in rows.iter().enumerate() {
        let Some(id) = attempt(lock, &row.contender.node) else { continue };
        let before = if keeps_first { Some(*known.entry(id).or_insert(at)) } else { known.insert(id, at) };
        pairs.extend(before.filter(|before| *before != at).map(|before| (before, at)));
    }
    pairs.sort_unstable();
    pairs.into_iter().map(|(before, at)| (&rows[before], &rows[at])).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, one_session_twice, uuid};
    use lockscope_base::znode::ZnodePath;

    pub fn examples() -> Vec<Example> {
        vec![(Code::Orphan, one_session_twice(1, 1, 3)), (Code::Orphan, accumulo().0)]
    }

    /// Plays that Accumulo's manager has created three nodes, and that another manager stands by.
    fn accumulo() -> (DiagnosisFixture, [ZnodePath; 3]) {
        let mut world = DiagnosisFixture::new();
        let of = |id| format!("/accumulo/managers/lock/zlock#{}#", uuid(id));
        let nodes = [(); 3].map(|()| world.create(&of(1), 1));
        world.create(&of(2), 2);
        // A manager watches the lowest node of its own, and of the one before it.
        world.client(1).watches = vec![nodes[0].clone()];
        world.client(2).watches = vec![nodes[0].clone()];
        world.pass(70);
        (world, nodes)
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
    fn of_accumulos_nodes_with_one_id_the_later_ones_are_orphans() {
        let (world, nodes) = accumulo();
        let found: Vec<_> = world.diagnosis.findings().filter_map(|finding| finding.node.as_deref()).collect();
        assert_eq!(found, [nodes[1].name(), nodes[2].name()], "nothing is said about the first one");
        assert!(world.diagnosis.findings().all(|finding| finding.code == Code::Orphan));
        let finding = world.found(Code::Orphan).expect("the finding stands");
        assert_eq!((finding.severity, finding.remedy.contains("later node")), (Severity::Warning, true));
        let lock = world.lock("/accumulo/managers/lock");
        assert_eq!(lock.waits_for(3, 9), [nodes[0].name()], "the next manager waits for the first of these");
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
