//! Hand-overs of which each wakes very many clients.

use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, TableContext};
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::diagnose::{Code, Severity};
use crate::queue::{ContenderState, LockId};
use crate::server_view::MemberView;
use crate::text::human;
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{SessionId, Timestamp};

const REMEDY: &str = "use a recipe in which each waiter watches the node before its own, such as Curator's InterProcessMutex or kazoo's Lock: a hand-over then wakes one";

/// From this many clients on, a hand-over wakes a herd.
const MANY: usize = 100;

/// A hand-over uses the watches up until the clients set them again. A herd that was seen counts for
/// this long.
const MAX_UNSEEN: Duration = Duration::from_secs(10);

/// Needs hand-overs: watches alone cost little. The followers of an election watch its leader by
/// design.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct HerdStorm {
    /// The herds that were seen lately, and when. Found anew within moments.
    #[serde(skip)]
    seen: FxHashMap<LockId, (Timestamp, usize)>,
}

impl Check for HerdStorm {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let (lock, now) = (context.lock, context.now());
        if context.election.is_some() || !matches!(lock.kind(), LockKind::Exclusive | LockKind::SingleNode) {
            return;
        }
        let herd =
            if self.seen.contains_key(&lock.id()) || context.waiting() >= MANY { woken(context) } else { return };
        let (at, woken) = match (herd >= MANY, self.seen.get(&lock.id())) {
            (true, _) => (now, herd),
            (false, Some(before)) if now.since(before.0) <= MAX_UNSEEN => *before,
            _ => {
                self.seen.remove(&lock.id());
                return;
            }
        };
        self.seen.insert(lock.id(), (at, woken));
        let a_second = lock.rates(now).acquisitions;
        if a_second <= 0.0 {
            return;
        }
        let summary = format!(
            "each hand-over wakes {} clients, which all ask the servers again, though one of them gets the lock; there are {a_second:.1} a second",
            human::count(woken)
        );
        let finding = finding(Code::HerdStorm, Severity::Warning, lock, None).because(summary, REMEDY);
        found.push(Suspicion::new(finding, now, context.thresholds.settled_after));
    }

    fn check_all(&mut self, context: &TableContext<'_>, _found: &mut Vec<Suspicion>) {
        let table = context.table_at.table();
        self.seen.retain(|id, _| table.lock(*id).is_some());
    }
}

/// Returns how many clients a hand-over wakes, as far as the servers tell: those that watch one node
/// of the lock, or those that watch none of them while so many watch children.
fn woken(context: &LockContext<'_>) -> usize {
    let (table_at, lock) = (context.table_at, context.lock);
    if lock.kind() == LockKind::SingleNode {
        return context.waiting();
    }
    let of_one_node = table_at.view().watched_below(&lock.queue_path()).map(|(_, watched)| watched.sessions.len());
    let of_children: u64 = table_at.view().members.iter().filter_map(MemberView::child_watches).sum();
    let waits = lock.rows(lock.holding()..lock.len()).filter(|row| row.state == ContenderState::Waits);
    let sessions = waits.filter_map(|row| row.contender.session());
    let is_listed = |session: &SessionId| table_at.view().watches_as_of(*session).is_some();
    let others = sessions.filter(|session| !context.watching.contains(session) && is_listed(session)).count();
    let of_children = if of_children >= others as u64 { others } else { 0 };
    of_one_node.max().unwrap_or_default().max(of_children)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, path};

    pub fn examples() -> Vec<Example> {
        let mut parent = clients_of_parent(150);
        hand_on(&mut parent, 10);
        vec![(Code::HerdStorm, of_one_node(300)), (Code::HerdStorm, parent)]
    }

    /// Clients watch one node, which one of them makes and deletes in turn.
    fn of_one_node(clients: i64) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        for client in 1..=clients {
            world.client(client).watches = vec![path("/app/lock")];
        }
        for turn in 1..12 {
            let node = world.create_at("/app/lock", turn);
            world.pass(1);
            world.delete(&node);
        }
        world
    }

    /// Clients queue and watch the children of the parent.
    fn clients_of_parent(clients: u32) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        for client in 1..=clients {
            world.client(client.into()).sound = false;
            world.create(&curator("/l", client), client.into());
        }
        world.child_watches = clients.into();
        world.pass(3);
        world
    }

    fn hand_on(world: &mut DiagnosisFixture, times: u32) {
        for turn in 0..times {
            let head = world.lock("/l").first_holder().expect("a holder").clone();
            let node = world.lock("/l").path_of(&head);
            world.delete(&node);
            world.create(&curator("/l", 1_000 + turn), head.session().expect("a session").0);
            world.pass(1);
        }
    }

    #[test]
    fn hand_overs_that_wake_hundreds_are_reported_until_they_end() {
        let mut world = of_one_node(300);
        let found = world.found(Code::HerdStorm).expect("the finding stands");
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.summary.starts_with("each hand-over wakes 299 clients"), "{}", found.summary);
        assert!(world.pass(30).1.contains(&Code::HerdStorm), "nobody takes the lock any more");
    }

    #[test]
    fn small_herds_and_long_chains_are_no_storm() {
        assert_eq!(of_one_node(5).found(Code::HerdStorm), None);
        let mut small = clients_of_parent(30);
        hand_on(&mut small, 10);
        assert_eq!(small.found(Code::HerdStorm), None);
        let mut chain = crate::diagnose::testing::queue(&(1..=150).collect::<Vec<_>>());
        chain.pass(3);
        hand_on(&mut chain, 10);
        assert_eq!(chain.codes(Severity::Info), []);
    }

    #[test]
    fn a_herd_without_hand_overs_is_no_storm() {
        let mut world = clients_of_parent(150);
        world.pass(30);
        assert_eq!(world.found(Code::HerdStorm), None);
    }
}
