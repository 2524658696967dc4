//! Watches that `exists` left on deleted nodes whose names never come back.

use rustc_hash::FxHashMap;

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext};
use crate::diagnose::facts::short_node;
use crate::diagnose::round_memory::RoundMemory;
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::{Code, Severity, WatchTarget};
use crate::queue::{ContenderState, LockId};
use crate::text::human::plural;
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{Sequence, SessionId, Timestamp, ZnodePath};

/// Maximum number of watched paths in memory per lock.
const MOST_PATHS: usize = 10_000;

const REMEDY: &str = "restart that client when there are many: it waits with exists, which leaves a watch behind when the node is gone; newer versions of kazoo and Curator do not";

/// A sequence number is never assigned twice, so a watch on a deleted sequential node never fires.
/// The node of a single-node lock may come back and is not checked.
///
/// A server that lags lists watches on nodes that are deleted elsewhere or not yet visible to
/// others, in an election for seconds. Such a watch is its session's own wait. So a watch counts as
/// a leak only if its session now waits for something else, or for nothing in this queue, and only
/// if its number was assigned before.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct LeakedWatch {
    /// The watches on missing paths, and since when each was seen.
    absent: RoundMemory<LockId, FxHashMap<(ZnodePath, SessionId), Timestamp>>,
}

impl Check for LeakedWatch {
    fn begin(&mut self) {
        self.absent.begin();
    }

    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        // The node by which a holder of a lease queued stays, and its watch with it.
        if matches!(lock.kind(), LockKind::SingleNode | LockKind::Semaphore) || !context.table_at.view().lists_watches()
        {
            return;
        }
        let (queue, table) = (lock.queue_path(), context.table_at.table());
        let mut absent: FxHashMap<(ZnodePath, SessionId), Timestamp> = FxHashMap::default();
        let mut moved_on = MovedOn::new(context);
        for (member, watched) in context.table_at.view().watched_below(&queue) {
            let is_child = watched.path.parent_str() == Some(queue.as_str());
            if absent.len() >= MOST_PATHS {
                break;
            }
            let number = Sequence::split(watched.path.name()).map(|(_, Sequence(number))| i64::from(number));
            let was_given = number.is_some_and(|number| lock.next_sequence().is_some_and(|next| number < next));
            if !is_child || !was_given || table.position(&watched.path).is_some() {
                continue;
            }
            let (Some(listing), sessions) = (&member.watched, &watched.sessions) else { continue };
            if let Some(session) = sessions.iter().copied().find(|session| moved_on.has(*session)) {
                absent.insert((watched.path.clone(), session), listing.at);
            }
        }
        if absent.is_empty() {
            return;
        }
        let kept = self.absent.see(lock.id(), FxHashMap::default);
        kept.retain(|watch, _| absent.contains_key(watch));
        let mut leaked: Vec<(&ZnodePath, Timestamp, SessionId)> = Vec::new();
        for (watch, listed) in &absent {
            let since = *kept.entry(watch.clone()).or_insert(context.now());
            if *listed >= since.plus(context.thresholds.settled_after) {
                leaked.push((&watch.0, *listed, watch.1));
            }
        }
        leaked.sort();
        if let [(path, gathered, session), ..] = leaked[..] {
            let severity =
                if leaked.len() >= context.thresholds.leaked_watches { Severity::Warning } else { Severity::Info };
            let summary = format!(
                "{} of this queue {} gone for good{} {}, watched by {}",
                plural(leaked.len(), "watched node", "watched nodes"),
                if leaked.len() == 1 { "is" } else { "are" },
                if leaked.len() == 1 { ":" } else { ", among them" },
                short_node(path.name()),
                context.table_at.who_is(session)
            );
            let finding = finding(Code::LeakedWatch, severity, lock, None).because(summary, REMEDY);
            found.push(Suspicion::proved(finding, gathered));
        }
    }
}

/// Tells which sessions watch all nodes that they wait for in a queue.
struct MovedOn<'a, 'b> {
    context: &'a LockContext<'b>,
    /// Whether each session in the queue watches everything that its nodes wait for.
    contends: FxHashMap<SessionId, bool>,
}

impl<'a, 'b> MovedOn<'a, 'b> {
    fn new(context: &'a LockContext<'b>) -> Self {
        Self { context, contends: FxHashMap::default() }
    }

    /// Returns whether further watches of this session cannot be its own wait. The first call is
    /// linear in the queue.
    fn has(&mut self, session: SessionId) -> bool {
        if self.contends.is_empty() {
            let LockContext { table_at, lock, .. } = self.context;
            for row in lock.rows(0..lock.len()) {
                let Some(owner) = row.contender.session() else { continue };
                // A holder may not have heard yet that it holds.
                let waits = row.state == ContenderState::Waits
                    && matches!(table_at.facts(lock, &row).watching, WatchTarget::Predecessor | WatchTarget::TwoBefore);
                let all = self.contends.entry(owner).or_insert(true);
                *all &= waits;
            }
        }
        self.contends.get(&session).copied().unwrap_or(true)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::Thresholds;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, path};

    pub fn examples() -> Vec<Example> {
        [1, 2].map(|watches| (Code::LeakedWatch, leaked(watches))).into()
    }

    fn leaked(watches: usize) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::with(Thresholds { leaked_watches: 2, ..Thresholds::default() });
        world.create_at("/l/x-17-0000000010", 1);
        world.client(2).watches = (0..watches).map(|number| path(&format!("/l/x-16-000000000{number}"))).collect();
        world.pass(8);
        world
    }

    #[test]
    fn a_watch_on_a_deleted_number_is_reported_until_the_watch_is_gone() {
        let mut world = DiagnosisFixture::new();
        world.create_at("/l/x-17-0000000010", 1);
        world.client(2).watches = vec![path("/l/x-16-0000000000"), path("/l")];
        world.pass(1);
        world.client(2).watches = vec![path("/l/x-16-0000000001"), path("/l")];
        assert_eq!(world.pass(8).0, [Code::LeakedWatch]);
        assert_eq!(world.severity(Code::LeakedWatch), Some(Severity::Info));
        world.client(2).watches.clear();
        assert_eq!(world.pass(1).1, [Code::LeakedWatch]);
    }

    #[test]
    fn a_watch_that_just_fired_is_no_leak() {
        let mut world = DiagnosisFixture::new();
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

    /// The waiters' member has not heard yet that the head was deleted and that another node was
    /// created.
    #[test]
    fn a_chain_whose_member_is_behind_leaks_nothing() {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        let second = world.create(&curator("/l", 2), 2);
        world.create(&curator("/l", 3), 3);
        world.client(2).watches = vec![head.clone()];
        let coming = path(&format!("{}0000000003", curator("/l", 4)));
        let client = world.client(3);
        (client.sound, client.watches) = (false, vec![second.clone(), coming]);
        world.pass(2);
        world.delete(&head);
        // Contender 2 holds without having heard, and later contender 3.
        world.pass(20);
        world.client(2).watches.clear();
        world.delete(&second);
        world.pass(20);
        assert_eq!(world.found(Code::LeakedWatch), None);
    }

    #[test]
    fn a_waiter_that_still_watches_a_former_predecessor_has_leaked_a_watch() {
        let mut world = DiagnosisFixture::new();
        let first = world.create("/l/x-17-", 1);
        world.create("/l/x-18-", 2);
        world.create("/l/x-19-", 3);
        world.delete(&first);
        world.client(3).watches = vec![first];
        world.pass(8);
        assert_eq!(world.severity(Code::LeakedWatch), Some(Severity::Info));
    }

    #[test]
    fn a_waiter_for_a_single_node_to_come_back_leaks_nothing() {
        let mut world = DiagnosisFixture::new();
        world.client(1);
        let node = world.create_at("/app/lock", 1);
        world.client(2).watches = vec![path("/app/lock")];
        world.delete(&node);
        world.pass(20);
        assert_eq!(world.codes(Severity::Info), []);
    }
}
