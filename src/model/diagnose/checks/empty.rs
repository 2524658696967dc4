//! A lock parent without contenders, and very many of them below one node.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use rustc_hash::{FxHashSet, FxHasher};
use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, TableContext};
use crate::diagnose::round_memory::RoundMemory;
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::{Code, Finding, Severity};
use crate::queue::{EmptiedBelow, LockId, LockName, LockQueue};
use crate::text::human;
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{Timestamp, ZnodePath, escaped};

const REMEDY: &str = "if no running process uses this lock any more, delete the empty parent, not recursively: a lock object that kazoo keeps does not make it again";

/// From this many on, empty parents below one node are one finding.
const MANY: usize = 100;

/// From this many on, it is a warning if some of them were locks in view.
const VERY_MANY: usize = 1_000;

/// Only parents that had contenders are reported by themselves. A parent that was empty from the
/// start may be no lock's. In an election, nobody leads: the parent is not to be deleted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct EmptyParent {
    /// When each lock parent was first seen empty.
    empty_since: RoundMemory<LockId, Timestamp>,
    /// The locks that one finding for many covers. Found anew in each look.
    #[serde(skip)]
    among_many: FxHashSet<LockId>,
}

impl Check for EmptyParent {
    fn begin(&mut self) {
        self.empty_since.begin();
    }

    fn check_all(&mut self, context: &TableContext<'_>, found: &mut Vec<Suspicion>) {
        let (table, now, after) = (context.table_at.table(), context.table_at.now(), context.thresholds.empty_after);
        self.among_many.clear();
        for mut below in table.emptied_parents(MANY, after, now) {
            below.locks.retain(|id| {
                let since = self.empty_since.recall(id).copied().zip(table.lock(*id));
                since.is_some_and(|(since, lock)| empty_for(lock, since, now) >= after)
            });
            let (all, proven) = (below.locks.len() + below.others, below.locks.len() + below.others_proven);
            if all < MANY {
                continue;
            }
            let suspicion = Suspicion::new(describe(&below, table.server_time(now)), now, after);
            found.push(Suspicion { proved: proven >= MANY, ..suspicion });
            self.among_many.extend(below.locks);
        }
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
        let since = *self.empty_since.see(lock.id(), || context.now());
        let empty = empty_for(lock, since, context.now());
        if empty < context.thresholds.empty_after || self.among_many.contains(&lock.id()) {
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

/// Returns how long a lock that no look found in use since then has been empty. It may have been used
/// between two looks.
fn empty_for(lock: &LockQueue, since: Timestamp, now: Timestamp) -> Duration {
    now.since(lock.acquired_after().map_or(since, |acquired| acquired.max(since)))
}

fn describe(below: &EmptiedBelow, server_now: Timestamp) -> Finding {
    let (locks, others) = (below.locks.len(), below.others);
    let (all, above) = (human::count(locks + others), escaped(below.above.as_str()));
    let what = match (locks, others) {
        (_, 0) => format!("{all} lock parents below {above} are empty"),
        (0, _) => format!("{all} nodes below {above} are empty and had children before, as lock parents have"),
        _ => {
            let seen = human::count(locks);
            format!(
                "{all} nodes below {above} are empty, {seen} of them lock parents whose last contender was seen to go"
            )
        }
    };
    let age =
        |created: Timestamp| format!("; the oldest was created {} ago", human::duration(server_now.since(created)));
    let oldest = below.oldest.map(age).unwrap_or_default();
    let summary = format!("{what}{oldest}; each costs memory on every server");
    let severity = if locks > 0 && locks + others >= VERY_MANY { Severity::Warning } else { Severity::Info };
    let lock = LockName { id: id_of(&below.above), path: below.above.clone(), name: None };
    Finding {
        code: Code::GrowingParents,
        severity,
        lock,
        node: None,
        client: None,
        summary,
        remedy: remedy_of_many(&below.above).into(),
    }
}

fn remedy_of_many(above: &ZnodePath) -> String {
    // Below the root are the nodes of every application, so there the command refuses.
    let how = if above.is_root() {
        ", not recursively".to_owned()
    } else {
        format!(" with lockscope delete --empty-parents {} --older-than 7d", escaped(above.as_str()))
    };
    format!(
        "create these parents as container nodes, which servers remove when they are empty, or let the application delete each when \
         it is done; delete those that no running process uses{how}: a server refuses to delete one that is in use"
    )
}

/// Returns the id for a node that is no lock. The table counts its locks from zero.
fn id_of(above: &ZnodePath) -> LockId {
    let mut hasher = FxHasher::default();
    above.as_str().hash(&mut hasher);
    LockId(hasher.finish() | 1 << 63)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, path};
    use crate::queue::Change;
    use lockscope_base::znode::{ZnodeStat, Zxid};

    pub fn examples() -> Vec<Example> {
        let mut both = found_empty(900, true);
        use_and_leave(&mut both, 0..100);
        both.pass(603);
        let mut found = found_empty(1_503, true);
        found.pass(1);
        vec![
            (Code::EmptyParent, empty()),
            (Code::GrowingParents, left_empty(1_503)),
            (Code::GrowingParents, found),
            (Code::GrowingParents, both),
        ]
    }

    fn empty() -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let node = world.create(&curator("/l", 1), 1);
        world.delete(&node);
        world.pass(603);
        world
    }

    fn use_and_leave(world: &mut DiagnosisFixture, locks: std::ops::Range<u32>) {
        for lock in locks {
            let node = world.create(&curator(&format!("/conductor/locks/{lock}"), lock), 1);
            world.delete(&node);
        }
    }

    fn left_empty(locks: u32) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        use_and_leave(&mut world, 0..locks);
        world.pass(603);
        world
    }

    /// Starts on nodes that are empty and had children before. `is_dated`: another node tells that
    /// this was long ago.
    fn found_empty(nodes: u32, is_dated: bool) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let created = world.now.minus(std::time::Duration::from_secs(86_400));
        let stat = |czxid, pzxid, created| ZnodeStat {
            pzxid: Zxid(pzxid),
            cversion: 2,
            ..ZnodeStat::of_new(Zxid(czxid), created, None)
        };
        let listed = |path, stat| Change::Listed { path, stat };
        let many = (0..nodes).map(|node| listed(path(&format!("/conductor/locks/{node}")), stat(10, 20, created)));
        let later = listed(path("/other"), stat(30, 30, created));
        world.table = crate::testing::table(many.chain(is_dated.then_some(later)), world.now);
        world
    }

    #[test]
    fn very_many_empty_lock_parents_below_one_node_are_one_finding() {
        let mut world = left_empty(1_503);
        assert_eq!(world.codes(Severity::Info), [Code::GrowingParents]);
        let found = world.found(Code::GrowingParents).expect("the finding stands").clone();
        assert_eq!((found.severity, found.lock.path.as_str()), (Severity::Warning, "/conductor/locks"));
        assert!(found.summary.contains("503 lock parents below /conductor/locks are empty"), "{}", found.summary);
        for lock in 0..1_450 {
            world.delete(&path(&format!("/conductor/locks/{lock}")));
        }
        assert_eq!(world.pass(1).1, [Code::GrowingParents]);
        assert_eq!(world.codes(Severity::Info), [Code::EmptyParent; 53]);
    }

    #[test]
    fn parents_that_were_found_empty_count_at_once_where_that_is_dated_and_else_after_a_while() {
        assert_eq!(found_empty(150, true).pass(1).0, [Code::GrowingParents]);
        let mut world = found_empty(150, false);
        assert_eq!(world.pass(590).0, []);
        assert_eq!(world.pass(13).0, [Code::GrowingParents]);
        let found = world.found(Code::GrowingParents).expect("the finding stands");
        assert_eq!(found.severity, Severity::Info, "whether they are lock parents is not known");
    }

    #[test]
    fn many_locks_that_are_free_between_uses_are_no_finding() {
        let mut world = found_empty(150, false);
        for _ in 0..8 {
            use_and_leave(&mut world, 0..150);
            world.pass(100);
        }
        assert_eq!(world.codes(Severity::Info), []);
    }

    #[test]
    fn a_lock_that_is_used_between_the_looks_is_not_empty() {
        let mut world = DiagnosisFixture::new();
        for number in 0..8 {
            let node = world.create(&curator("/l", number), 1);
            world.delete(&node);
            world.pass(100);
        }
        assert_eq!(world.codes(Severity::Info), []);
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
