//! A waiter that watches nothing: when its turn comes it will not know.

use std::time::Duration;

use super::checks::{Kept, Look, MOST_OF_A_KIND, NodeKey};
use super::suspicion::{Suspicion, finding};
use super::unwatched::{Unwatched, unwatched};
use super::{Code, Severity};
use crate::queue::{Row, State};
use crate::znode::{Timestamp, escaped};

const REMEDY: &str = "restart that client, or delete its node, not the head: it does not wait for its turn";

/// Waiters that were seen to watch nothing: from when on, until when, and their clients' last request.
pub(super) type Memory = Kept<NodeKey, Seen>;

#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    from: Timestamp,
    until: Timestamp,
    cxid: Option<i64>,
}

/// Of the nodes of one session in one queue only the last is asked about: the others are `orphan_suspected`.
pub(super) fn check(look: &Look<'_>, memory: &mut Memory, found: &mut Vec<Suspicion>) {
    let lock = look.lock;
    if lock.waiting() == 0 && lock.holding() == 0 {
        return;
    }
    found.extend(slept_through(look, memory));
    let mut lost = 0;
    for row in lock.rows(lock.holding()..lock.len()) {
        let last = row.contender.session.and_then(|session| look.repeated.get(&session)?.last().copied());
        if last.is_some_and(|last| last != row.position) {
            continue;
        }
        let Some(seen) = unwatched(look, &row) else { continue };
        let key = (lock.id(), row.contender.czxid.0);
        let kept = memory.see(key, || Seen { from: look.now(), until: seen.gathered, cxid: seen.cxid });
        *kept = Seen { from: kept.from, until: seen.gathered, cxid: seen.cxid };
        lost += 1;
        if lost <= MOST_OF_A_KIND {
            found.push(suspicion(look, &row, seen));
        }
    }
}

fn suspicion(look: &Look<'_>, row: &Row<'_>, seen: Unwatched) -> Suspicion {
    let [node, behind] = [&row.contender.node, &seen.behind].map(|name| escaped(name));
    let summary = format!(
        "{node} waits for {behind}, but its session {} watches nothing here: it lost its wake-up, or gave up and left its node",
        seen.session
    );
    let finding =
        finding(Code::LostWakeUp, Severity::Warning, look.lock, Some(&row.contender.node)).because(summary, REMEDY);
    let suspicion = Suspicion::new(finding, seen.gathered, look.thresholds.settled_after);
    suspicion.of_state(seen.state).of_client_heard(seen.heard)
}

/// The holder, when it was seen to watch nothing while it waited, and has asked the servers nothing since.
fn slept_through(look: &Look<'_>, memory: &mut Memory) -> Option<Suspicion> {
    let row = look.lock.row(0).filter(|row| row.state == State::Holds)?;
    let seen = *memory.recall(&(look.lock.id(), row.contender.czxid.0))?;
    let session = row.contender.session?;
    let (member, connection) = look.sight.view().connection_of(session)?;
    let gathered = member.connections.as_ref()?.at;
    let lasted = seen.until.since(seen.from) >= look.thresholds.settled_after;
    if !lasted || seen.cxid.is_none() || connection.last_cxid != seen.cxid {
        return None;
    }
    let node = escaped(&row.contender.node);
    let summary =
        format!("it is the turn of {node}, but its session {session} watched nothing, and has asked nothing since");
    let severity = if look.lock.waiting() > 0 { Severity::Critical } else { Severity::Warning };
    let finding = finding(Code::LostWakeUp, severity, look.lock, Some(&row.contender.node))
        .because(summary, "restart that client, or delete its node: it does not know that it holds");
    let suspicion = Suspicion::new(finding, gathered, Duration::ZERO).of_state(row.contender.czxid.0);
    Some(suspicion.of_client_heard(connection.last_heard))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::testing::{World, curator};
    use crate::znode::ZnodePath;

    fn queue() -> (World, ZnodePath, ZnodePath) {
        let mut world = World::new();
        let head = world.create(&curator("/l", 1), 1);
        let waiter = world.create(&curator("/l", 2), 2);
        world.client(2).sound = false;
        (world, head, waiter)
    }

    #[test]
    fn a_waiter_that_watches_nothing_is_told_until_it_watches() {
        let (mut world, head, waiter) = queue();
        assert_eq!(world.pass(3).0, []);
        assert_eq!(world.pass(2).0, [Code::LostWakeUp]);
        let finding = world.found(Code::LostWakeUp).expect("it stands");
        assert_eq!((finding.severity, finding.node.as_deref()), (Severity::Warning, Some(waiter.name())));
        world.client(2).watches = vec![head];
        assert_eq!(world.pass(1).1, [Code::LostWakeUp]);
    }

    #[test]
    fn a_herd_and_a_server_that_does_not_list_watches_are_not_accused() {
        let (mut world, ..) = queue();
        world.child_watches = 1;
        world.pass(20);
        assert_eq!(world.codes(Severity::Info), []);
        (world.child_watches, world.lists_watches) = (0, false);
        world.pass(20);
        assert_eq!(world.codes(Severity::Info), []);
    }

    #[test]
    fn whoever_watches_another_node_of_the_queue_has_listed_it_some_other_way() {
        let mut world = World::new();
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
        let mut world = World::new();
        let mut nodes: Vec<_> =
            (0..30).map(|number| world.create(&curator("/l", number), i64::from(number) + 1)).collect();
        while nodes.len() > 1 {
            // Nobody is ever seen to watch.
            world.delete(&nodes.remove(0));
            let (raised, _) = world.pass(1);
            let behind = |code: &Code| *code != Code::LostWakeUp;
            assert!(raised.iter().all(behind) || nodes.len() < 27);
        }
    }

    #[test]
    fn a_client_that_is_frozen_is_not_accused_before_it_is_heard_again() {
        let (mut world, ..) = queue();
        world.client(2).heard = Some(world.now);
        world.pass(20);
        assert_eq!(world.codes(Severity::Info), []);
        world.client(2).heard = None;
        world.pass(1);
        assert_eq!(world.codes(Severity::Info), [Code::LostWakeUp]);
    }

    #[test]
    fn who_lost_its_wake_up_does_not_know_that_it_holds() {
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
