//! A waiter that watches nothing and will not notice when its turn comes, and a holder that has not
//! noticed its turn.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, MAX_SUSPICIONS, Unwatched, of_contender};
use crate::diagnose::facts::short_node;
use crate::diagnose::round_memory::{NodeKey, RoundMemory};
use crate::diagnose::suspicion::Suspicion;
use crate::diagnose::{Code, Severity};
use crate::queue::{ContenderRow, ContenderState};
use crate::text::human;
use lockscope_base::recipe::{Recipe, is_of_own_lock};
use lockscope_base::znode::Timestamp;

const REMEDY: &str = "restart that client, and leave the head: it does not wait for its turn; its node goes with its session, and if it is deleted before, some libraries take the lock without one";

/// The time in which a waiter was seen to watch nothing, and its client's last request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SeenUnwatched {
    from: Timestamp,
    until: Timestamp,
    cxid: Option<i64>,
}

/// Checks only the last of a session's nodes in one queue. `orphan_suspected` covers the others.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct LostWakeUp {
    /// The waiters that were seen to watch nothing.
    unwatched: RoundMemory<NodeKey, SeenUnwatched>,
    /// The last request of each first waiter. A recording leaves it out, since the next look makes it
    /// again.
    #[serde(skip)]
    next_in_line: Box<RoundMemory<NodeKey, LastRequest>>,
}

/// The last request of a client while its contender waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LastRequest {
    cxid: i64,
    /// When the connection was made. Numbers start again with each connection.
    established: Option<Timestamp>,
}

impl Check for LostWakeUp {
    fn begin(&mut self) {
        self.unwatched.begin();
        self.next_in_line.begin();
    }

    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let slept_through = slept_through(context, &mut self.unwatched);
        let is_known = slept_through.is_some();
        found.extend(slept_through);
        found.extend(unnoticed(context, &mut self.next_in_line).filter(|_| !is_known));
        let mut reported = 0;
        for seen in &context.unwatched {
            let last = context.repeated.get(&seen.session).and_then(|positions| positions.last().copied());
            let Some(row) = context.lock.row(seen.position).filter(|_| last.is_none_or(|last| last == seen.position))
            else {
                continue;
            };
            let key = (context.lock.id(), row.contender.czxid.0);
            let kept = self.unwatched.see(key, || SeenUnwatched {
                from: context.now(),
                until: seen.gathered,
                cxid: seen.cxid,
            });
            *kept = SeenUnwatched { from: kept.from, until: seen.gathered, cxid: seen.cxid };
            reported += 1;
            if reported <= MAX_SUSPICIONS {
                found.push(suspicion(context, &row, seen));
            }
        }
    }
}

fn suspicion(context: &LockContext<'_>, row: &ContenderRow<'_>, seen: &Unwatched) -> Suspicion {
    let summary = format!(
        "{} waits for {}, but watches nothing here: it lost its wake-up, or gave up and left {}",
        context.table_at.who(row.contender),
        short_node(&seen.behind),
        short_node(&row.contender.node)
    );
    let finding = of_contender(Code::LostWakeUp, Severity::Warning, context, row.contender).because(summary, REMEDY);
    let suspicion = Suspicion::new(finding, seen.gathered, context.thresholds.settled_after);
    suspicion.of_state(seen.state).of_client_heard(seen.heard)
}

/// Returns the suspicion that the holder does not know that it holds: it was seen to watch nothing
/// while it waited, and has sent no request since.
fn slept_through(context: &LockContext<'_>, memory: &mut RoundMemory<NodeKey, SeenUnwatched>) -> Option<Suspicion> {
    let row = context.lock.row(0).filter(|row| row.state == ContenderState::Holds)?;
    let seen = *memory.recall(&(context.lock.id(), row.contender.czxid.0))?;
    let session = row.contender.session()?;
    let (member, connection) = context.table_at.view().connection_of(session)?;
    let (gathered, heard) = (member.connections.as_ref()?.at, connection.last_heard?);
    let lasted = seen.until.since(seen.from) >= context.thresholds.settled_after;
    if !lasted || seen.cxid.is_none() || connection.last_cxid != seen.cxid {
        return None;
    }
    let who = context.table_at.who(row.contender);
    let summary = format!("it is the turn of {who}, but it watched nothing and has sent no request since");
    let severity = if context.blocks_for_good(&row) { Severity::Critical } else { Severity::Warning };
    let finding = of_contender(Code::LostWakeUp, severity, context, row.contender)
        .because(summary, "restart that client: it does not know that it holds; its node goes with its session, and if it is deleted before, some libraries hold without one");
    let suspicion = Suspicion::new(finding, gathered, Duration::ZERO).of_state(row.contender.czxid.0);
    Some(suspicion.of_client_heard(heard))
}

/// Returns the suspicion that the holder has not noticed its turn: it has sent no request since it
/// waited.
fn unnoticed(context: &LockContext<'_>, memory: &mut RoundMemory<NodeKey, LastRequest>) -> Option<Suspicion> {
    let (lock, view) = (context.lock, context.table_at.view());
    if lock.waiting() == 0 && memory.is_empty() || !lists_at_its_turn(lock.recipe()) {
        return None;
    }
    let last_request = |row: &ContenderRow<'_>| {
        let (member, connection) = view.connection_of(row.contender.session()?)?;
        let request = LastRequest { cxid: connection.last_cxid?, established: connection.established };
        Some((request, member.connections.as_ref()?.at))
    };
    let next = lock.row(lock.holding()).filter(|row| row.state == ContenderState::Waits);
    if let Some((next, (request, _))) = next.and_then(|next| Some((next, last_request(&next)?))) {
        *memory.see((lock.id(), next.contender.czxid.0), || request) = request;
    }
    let row = lock.row(0).filter(|row| row.state == ContenderState::Holds && !is_of_own_lock(&row.contender.node))?;
    // A client that does not know of the node has another finding.
    if context.table_at.unaware(lock, &row).is_some() {
        return None;
    }
    let waited = *memory.recall(&(lock.id(), row.contender.czxid.0))?;
    let turn = row.contender.acquired_at()?;
    let (request, gathered) = last_request(&row)?;
    if request != waited || gathered < turn.plus(context.thresholds.settled_after) {
        return None;
    }
    let summary = format!(
        "the turn of {} came {} ago, and its client has not noticed: it has sent no request since",
        context.table_at.who(row.contender),
        human::duration(gathered.since(turn))
    );
    let severity = if lock.waiting() > 0 { Severity::Warning } else { Severity::Info };
    let remedy = "look at that process: it hangs, or lost the event; restart it if it does not go on";
    let finding = of_contender(Code::UnawareHolder, severity, context, row.contender).because(summary, remedy);
    Some(Suspicion::new(finding, gathered, Duration::ZERO).of_state(row.contender.czxid.0))
}

/// Returns whether only libraries have these names that list the queue when the node before theirs is
/// gone, so that the client sends a request at its turn. lockscope's own may not.
fn lists_at_its_turn(recipe: Recipe) -> bool {
    matches!(
        recipe,
        Recipe::CuratorMutex
            | Recipe::CuratorReadWrite
            | Recipe::CuratorLatch
            | Recipe::KazooLock
            | Recipe::KazooReadWrite
            | Recipe::GoLock
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator};
    use lockscope_base::znode::ZnodePath;

    pub fn examples() -> Vec<Example> {
        let unnoticed = {
            let mut world = turn_unnoticed();
            world.pass(6);
            (Code::UnawareHolder, world)
        };
        [false, true]
            .map(|at_its_turn| (Code::LostWakeUp, lost_wake_up(at_its_turn)))
            .into_iter()
            .chain([unnoticed])
            .collect()
    }

    /// A sound waiter whose turn has just come.
    fn turn_unnoticed() -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        for session in [2, 3] {
            world.create(&curator("/l", session), session.into());
        }
        world.pass(10);
        world.delete(&head);
        world
    }

    #[test]
    fn a_turn_that_a_client_has_not_noticed_is_reported_until_it_sends_a_request() {
        let mut world = turn_unnoticed();
        assert_eq!(world.pass(2).0, []);
        world.pass(4);
        assert_eq!(world.codes(Severity::Info), [Code::UnawareHolder]);
        world.client(2).cxid += 1;
        assert_eq!(world.pass(1).1, [Code::UnawareHolder]);
    }

    #[test]
    fn a_client_that_lists_the_queue_at_its_turn_has_noticed() {
        let mut world = turn_unnoticed();
        world.client(2).cxid += 1;
        world.pass(10);
        assert_eq!(world.codes(Severity::Info), []);
    }

    fn lost_wake_up(at_its_turn: bool) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        world.client(2).sound = false;
        world.pass(10);
        if at_its_turn {
            world.delete(&head);
            world.pass(3);
        }
        world
    }

    fn queue() -> (DiagnosisFixture, ZnodePath, ZnodePath) {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        let waiter = world.create(&curator("/l", 2), 2);
        world.client(2).sound = false;
        (world, head, waiter)
    }

    #[test]
    fn a_waiter_that_watches_nothing_is_reported_until_it_watches() {
        let (mut world, head, waiter) = queue();
        assert_eq!(world.pass(3).0, []);
        assert_eq!(world.pass(2).0, [Code::LostWakeUp]);
        let finding = world.found(Code::LostWakeUp).expect("the finding stands");
        assert_eq!((finding.severity, finding.node.as_deref()), (Severity::Warning, Some(waiter.name())));
        world.client(2).watches = vec![head];
        assert_eq!(world.pass(1).1, [Code::LostWakeUp]);
    }

    #[test]
    fn a_herd_and_a_server_without_watch_lists_raise_nothing() {
        let (mut world, ..) = queue();
        world.child_watches = 1;
        world.pass(20);
        assert_eq!(world.codes(Severity::Info), []);
        (world.child_watches, world.lists_watches) = (0, false);
        world.pass(20);
        assert_eq!(world.codes(Severity::Info), []);
    }

    #[test]
    fn beside_watchers_of_children_a_waiter_is_recognized_by_its_silence() {
        let (mut world, ..) = queue();
        world.child_watches = 7;
        world.pass(5);
        let third = world.create(&curator("/l", 3), 3);
        assert_eq!(world.pass(12).0, [Code::LostWakeUp]);
        world.delete(&third);
        world.client(2).cxid += 1;
        world.pass(1);
        assert_eq!(world.codes(Severity::Info), [], "who asks something may have listed the children");
    }

    #[test]
    fn a_herd_that_lists_the_children_after_each_event_is_not_reported() {
        let (mut world, ..) = queue();
        world.client(3).sound = false;
        world.child_watches = 2;
        for number in 0..30 {
            let node = world.create(&curator("/l", 3), 3);
            if number % 3 == 0 {
                world.clients.iter_mut().for_each(|client| client.cxid += 1);
            }
            world.pass(1);
            world.delete(&node);
        }
        assert_eq!(world.codes(Severity::Info), []);
    }

    #[test]
    fn members_of_a_group_wait_for_nobody() {
        let mut world = DiagnosisFixture::new();
        for number in 1..=3 {
            world.create("/workers/worker-", number);
            world.client(number).sound = false;
        }
        world.pass(200);
        assert_eq!(world.codes(Severity::Info), []);
    }

    #[test]
    fn a_waiter_that_watches_another_node_of_the_queue_is_not_reported() {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        let second = world.create(&curator("/l", 2), 2);
        world.create(&curator("/l", 3), 3);
        let client = world.client(3);
        (client.sound, client.watches) = (false, vec![head]);
        world.pass(20);
        assert_eq!(world.codes(Severity::Info), [], "{second}");
    }

    #[test]
    fn a_queue_that_moves_on_each_second_has_waiters_between_two_watches() {
        let mut world = DiagnosisFixture::new();
        let mut nodes: Vec<_> =
            (1..=30).map(|number| world.create(&curator("/l", number), i64::from(number))).collect();
        for next in 2..=30 {
            // The next contender does not seem to watch, and holds a second later.
            world.client(next).sound = false;
            world.pass(1);
            assert_eq!(world.found(Code::LostWakeUp), None, "{next} is next");
            if next < 30 {
                world.delete(&nodes.remove(0));
            }
        }
        world.pass(10);
        assert_eq!(
            world.severity(Code::LostWakeUp),
            Some(Severity::Warning),
            "the queue stands, and the last has waited"
        );
    }

    #[test]
    fn a_frozen_client_is_not_reported_before_it_is_heard_again() {
        let (mut world, ..) = queue();
        world.client(2).heard = Some(world.now);
        world.pass(20);
        assert_eq!(world.codes(Severity::Info), []);
        world.client(2).heard = None;
        world.pass(1);
        assert_eq!(world.codes(Severity::Info), [Code::LostWakeUp]);
    }

    #[test]
    fn a_client_that_lost_its_wake_up_does_not_know_that_it_holds() {
        let (mut world, head, _) = queue();
        world.create(&curator("/l", 3), 3);
        world.client(3).watches = vec![
            crate::diagnose::testing::path("/l").child(&world.lock("/l").row(1).expect("a waiter").contender.node),
        ];
        world.pass(10);
        world.delete(&head);
        world.pass(3);
        assert_eq!(world.severity(Code::LostWakeUp), Some(Severity::Critical));
        world.client(2).cxid += 1;
        world.pass(1);
        assert_eq!(world.severity(Code::LostWakeUp), None, "it asked something: it woke up");
    }
}
