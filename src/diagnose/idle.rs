//! A holder that sends heartbeats and nothing else.

use super::checks::{LockContext, NodeKey, RoundMemory};
use super::suspicion::{Suspicion, finding};
use super::{Code, Severity, election};
use crate::queue::ContenderRow;
use crate::znode::{Timestamp, escaped};

/// Holders looked at most: readers hold together by the thousand.
const MOST_HOLDERS: usize = 16;

const REMEDY: &str =
    "look at that process first, and stop it if it hangs; deleting the node of a process that goes on lets two in";

/// Since when a holder's client has sent no request, as long as it holds by the same node.
pub(super) type Memory = RoundMemory<NodeKey, LastRequest>;

#[derive(Clone, Copy, Debug)]
pub(super) struct LastRequest {
    cxid: i64,
    established: Option<Timestamp>,
    since: Timestamp,
}

pub(super) fn check(context: &LockContext<'_>, memory: &mut Memory, found: &mut Vec<Suspicion>) {
    let lock = context.lock;
    if context.waiting() == 0 || election::is_likely(lock) || election::is_registry(lock) {
        return;
    }
    for row in lock.rows(0..lock.holding().min(MOST_HOLDERS)) {
        found.extend(suspicion(context, &row, memory));
    }
}

/// Heartbeats don't move the number of a client's last request.
fn suspicion(context: &LockContext<'_>, row: &ContenderRow<'_>, memory: &mut Memory) -> Option<Suspicion> {
    let session = row.contender.session?;
    let (member, connection) = context.table_at.view().connection_of(session)?;
    let gathered = member.connections.as_ref()?.at;
    let (cxid, heard) = (connection.last_cxid?, connection.last_heard?);
    let fresh = LastRequest { cxid, established: connection.established, since: gathered };
    let silence = memory.see((context.lock.id(), row.contender.czxid.0), || fresh);
    if (silence.cxid, silence.established) != (cxid, connection.established) {
        *silence = fresh;
    }
    let silent = gathered.since(silence.since);
    let least = context.thresholds.stuck_after;
    if silent < least || heard <= silence.since || context.first_waits()? < least {
        return None;
    }
    let summary = format!(
        "{} holds, and in the last {} s its session {session} sent heartbeats and no request",
        escaped(&row.contender.node),
        silent.as_secs()
    );
    let finding =
        finding(Code::IdleHolder, Severity::Warning, context.lock, Some(&row.contender.node)).because(summary, REMEDY);
    Some(Suspicion::proved(finding, gathered).of_state(row.contender.czxid.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::testing::{World, curator};

    fn held(path: &str) -> World {
        let mut world = World::new();
        world.create(&curator(path, 1), 1);
        world.create(&curator(path, 2), 2);
        world
    }

    #[test]
    fn a_holder_whose_client_only_sends_heartbeats_is_told_until_it_asks_something() {
        let mut world = held("/l");
        assert_eq!(world.pass(60).0, []);
        world.pass(5);
        assert_eq!(world.codes(Severity::Info), [Code::IdleHolder], "that it is stuck says no more");
        world.client(1).cxid += 1;
        world.pass(1);
        assert_eq!(world.found(Code::IdleHolder), None);
    }

    #[test]
    fn a_leader_may_be_quiet_for_as_long_as_it_likes() {
        let mut world = held("/app/leader-election");
        world.pass(100);
        assert_eq!(world.codes(Severity::Warning), []);
    }

    #[test]
    fn a_holder_with_nobody_waiting_may_be_quiet() {
        let mut world = World::new();
        world.create(&curator("/l", 1), 1);
        world.pass(100);
        assert_eq!(world.codes(Severity::Info), []);
    }
}
