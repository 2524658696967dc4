//! Watches on nodes that are gone and never come back: `exists` leaves them.

use rustc_hash::FxHashMap;

use super::checks::{Kept, Scene};
use super::suspicion::{Suspicion, finding};
use super::{Code, Severity};
use crate::queue::LockId;
use crate::recipe::Kind;
use crate::znode::{Sequence, SessionId, Timestamp, ZnodePath, escaped, plural};

/// Paths remembered at most of one lock.
const MOST_PATHS: usize = 10_000;

const REMEDY: &str =
    "upgrade or restart the client: it waits with exists, which leaves a watch behind on a node that is gone";

/// The watched paths that were not there, and since when.
pub(super) type Memory = Kept<LockId, FxHashMap<ZnodePath, Timestamp>>;

/// Numbers are not given twice, so that such a watch never fires; the node of a single-node lock may come back.
pub(super) fn check(scene: &Scene<'_>, memory: &mut Memory, found: &mut Vec<Suspicion>) {
    let lock = scene.lock;
    if lock.kind() == Kind::SingleNode {
        return;
    }
    let (queue, table) = (lock.queue_path(), scene.sight.table());
    let mut absent: FxHashMap<ZnodePath, (Timestamp, SessionId)> = FxHashMap::default();
    for (member, watched) in scene.sight.view().watched_below(&queue) {
        let is_child = watched.path.parent_str() == Some(queue.as_str());
        if absent.len() == MOST_PATHS {
            break;
        }
        if let (true, Some(_), None) = (is_child, Sequence::split(watched.path.name()), table.position(&watched.path))
            && let (Some(listing), Some(session)) = (&member.watched, watched.sessions.first())
        {
            absent.insert(watched.path.clone(), (listing.at, *session));
        }
    }
    if absent.is_empty() {
        return;
    }
    let kept = memory.see(lock.id(), FxHashMap::default);
    kept.retain(|path, _| absent.contains_key(path));
    let mut leaked: Vec<(&ZnodePath, Timestamp, SessionId)> = Vec::new();
    for (path, (listed, session)) in &absent {
        let since = *kept.entry(path.clone()).or_insert(scene.now());
        if *listed >= since.plus(scene.thresholds.settled_after) {
            leaked.push((path, *listed, *session));
        }
    }
    leaked.sort();
    if let [(path, gathered, session), ..] = leaked[..] {
        let severity = if leaked.len() >= scene.thresholds.leaked_watches { Severity::Warning } else { Severity::Info };
        let summary = format!(
            "{} of this queue {} back, {} of session {session} among them",
            plural(leaked.len() as u64, "watched node", "watched nodes"),
            if leaked.len() == 1 { "is gone and never comes" } else { "are gone and never come" },
            escaped(path.name())
        );
        let finding = finding(Code::LeakedWatch, severity, lock, None).because(summary, REMEDY);
        found.push(Suspicion::proved(finding, gathered));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::testing::{World, path};

    #[test]
    fn a_watch_on_a_number_that_is_gone_is_told_until_it_is_gone_too() {
        let mut world = World::new();
        world.create("/l/x-17-", 1);
        world.client(2).watches = vec![path("/l/x-16-0000000000"), path("/l")];
        world.pass(1);
        world.client(2).watches = vec![path("/l/x-16-0000009999"), path("/l")];
        assert_eq!(world.pass(8).0, [Code::LeakedWatch]);
        assert_eq!(world.severity(Code::LeakedWatch), Some(Severity::Info));
        world.client(2).watches.clear();
        assert_eq!(world.pass(1).1, [Code::LeakedWatch]);
    }

    #[test]
    fn a_watch_that_just_fired_is_none() {
        let mut world = World::new();
        for _ in 0..20 {
            let node = world.create("/l/x-17-", 1);
            let waiter = world.create("/l/x-18-", 2);
            world.client(3).watches = vec![node.clone()];
            world.pass(1);
            world.delete(&node);
            world.pass(1);
            world.delete(&waiter);
        }
        assert_eq!(world.codes(Severity::Info), []);
    }

    #[test]
    fn who_waits_for_a_single_node_to_come_back_leaks_nothing() {
        let mut world = World::new();
        world.client(1);
        let node = world.create_at("/app/lock", 1);
        world.client(2).watches = vec![path("/app/lock")];
        world.delete(&node);
        world.pass(20);
        assert_eq!(world.codes(Severity::Info), []);
    }
}
