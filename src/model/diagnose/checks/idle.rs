//! A holder whose client sends only heartbeats.
//!
//! That is no trouble by itself: it says more about a lock that is stuck.

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, of_contender};
use crate::diagnose::facts::short_node;
use crate::diagnose::round_memory::RoundMemory;
use crate::diagnose::suspicion::Suspicion;
use crate::diagnose::{Code, HeldBy, Severity};
use crate::queue::{ContenderRow, is_likely_election, is_registry};
use crate::text::human;
use lockscope_base::znode::{SessionId, Timestamp};

/// Maximum number of a lock's holders that are checked, since readers may hold by the thousand.
const MAX_HOLDERS: usize = 16;

const REMEDY: &str = "look at that process, and restart it only if it hangs; deleting the node of a process that still works lets two in";

/// The last request that a client sent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct LastRequest {
    /// The client's own number of the request.
    cxid: i64,
    /// When the connection was made. Numbers start again with each connection.
    established: Option<Timestamp>,
    /// When this was first seen to be the last request.
    since: Timestamp,
}

/// A process that works outside ZooKeeper looks the same as one that hangs, so a person has to
/// check.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct IdleHolder {
    /// The last request of each session that holds a lock with waiters. One entry covers all its
    /// locks.
    last_requests: RoundMemory<SessionId, LastRequest>,
}

impl Check for IdleHolder {
    fn begin(&mut self) {
        self.last_requests.begin();
    }

    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        if context.waiting() == 0 || is_likely_election(lock) || is_registry(lock) {
            return;
        }
        for row in lock.rows(0..lock.holding().min(MAX_HOLDERS)) {
            found.extend(suspicion(context, &row, &mut self.last_requests));
        }
    }
}

/// Returns the suspicion against a holder. Heartbeats do not change the number of a client's last
/// request.
fn suspicion(
    context: &LockContext<'_>,
    row: &ContenderRow<'_>,
    memory: &mut RoundMemory<SessionId, LastRequest>,
) -> Option<Suspicion> {
    let session = row.contender.session()?;
    let (member, connection) = context.table_at.view().connection_of(session)?;
    let gathered = member.connections.as_ref()?.at;
    let (cxid, heard) = (connection.last_cxid?, connection.last_heard?);
    let fresh = LastRequest { cxid, established: connection.established, since: gathered };
    let last = memory.see(session, || fresh);
    if (last.cxid, last.established) != (cxid, connection.established) {
        *last = fresh;
    }
    // Idle time before the acquisition does not count.
    let since = row.contender.acquired_at().map_or(last.since, |acquired| acquired.max(last.since));
    let silent = gathered.since(since);
    let min_silence = context.thresholds.stuck_after;
    if silent < min_silence || heard <= since || context.first_waits()? < min_silence {
        return None;
    }
    let behind = behind_itself(context, row);
    let silence = human::duration(silent);
    let holds = if context.table_at.held_by(context.lock, row).is_some_and(HeldBy::is_proven) {
        format!(
            "holds, and has sent only heartbeats for {silence}: normal while it works outside ZooKeeper, or it hangs"
        )
    } else {
        format!(
            "stands first, and has sent only heartbeats for {silence}: it works, hangs, or waits for another node, \
             which no list of watches excludes"
        )
    };
    let (who, slow) = (context.table_at.who(row.contender), context.table_at.slow_servers());
    let summary = format!("{}: {who} {holds}{behind}{slow}", headline(context, row)?);
    // Work outside ZooKeeper is normal, and `stuck` tells of the wait. A node that its client may have
    // forgotten is not.
    let severity = if behind.is_empty() { Severity::Info } else { Severity::Warning };
    let finding = of_contender(Code::IdleHolder, severity, context, row.contender).because(summary, REMEDY);
    Some(Suspicion::proved(finding, gathered).of_state(row.contender.czxid.0))
}

/// Names the node by which the holder's session also waits, as the end of a sentence; empty if there
/// is none. A client that forgot a node while it waited looks so when its turn has come.
/// [`self_blocked`](super::self_blocked) reports a session that held before it queued again.
fn behind_itself(context: &LockContext<'_>, row: &ContenderRow<'_>) -> String {
    let of_session = row.contender.session().and_then(|session| context.repeated.get(&session));
    let behind = of_session.into_iter().flatten().find(|position| **position >= context.lock.holding());
    behind.and_then(|position| context.lock.row(*position)).map_or_else(String::new, |waiter| {
        let node = short_node(&waiter.contender.node);
        format!("; it waits behind itself by {node}, unless these are two of its threads")
    })
}

/// Returns the same headline as for a lock that is only known to be stuck.
fn headline(context: &LockContext<'_>, idle: &ContenderRow<'_>) -> Option<String> {
    let mut standstill = context.table_at.standstill(context.lock)?;
    standstill.is_idle |= standstill.longest.position == idle.position;
    Some(standstill.headline())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, queue};

    pub fn examples() -> Vec<Example> {
        vec![(Code::IdleHolder, idle())]
    }

    fn idle() -> DiagnosisFixture {
        let mut world = queue(&[1, 2]);
        world.pass(65);
        world
    }

    fn held(path: &str) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        world.create(&curator(path, 1), 1);
        world.create(&curator(path, 2), 2);
        world
    }

    #[test]
    fn a_holder_that_sends_only_heartbeats_is_reported_until_its_next_request() {
        let mut world = held("/l");
        assert_eq!(world.pass(60).0, []);
        world.pass(5);
        assert_eq!(world.codes(Severity::Info), [Code::Stuck, Code::IdleHolder]);
        assert_eq!(world.severity(Code::IdleHolder), Some(Severity::Info), "it may work");
        world.client(1).cxid += 1;
        world.pass(1);
        assert_eq!(world.found(Code::IdleHolder), None);
    }

    #[test]
    fn idle_time_before_the_acquisition_does_not_count() {
        let mut world = held("/a");
        let head = world.create(&curator("/b", 3), 3);
        world.create(&curator("/b", 1), 1);
        world.create(&curator("/b", 2), 2);
        world.pass(65);
        world.delete(&head);
        world.pass(5);
        let is_idle = |world: &DiagnosisFixture, lock| {
            world.diagnosis.of(world.id(lock)).any(|finding| finding.code == Code::IdleHolder)
        };
        assert!(is_idle(&world, "/a") && !is_idle(&world, "/b"));
        world.pass(60);
        assert!(is_idle(&world, "/b"));
    }

    #[test]
    fn an_idle_leader_is_not_reported() {
        let mut world = held("/app/leader-election");
        world.pass(100);
        assert_eq!(world.codes(Severity::Warning), []);
    }

    #[test]
    fn an_idle_holder_without_waiters_is_not_reported() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        world.pass(100);
        assert_eq!(world.codes(Severity::Info), []);
    }

    #[test]
    fn a_client_whose_forgotten_node_holds_waits_behind_itself() {
        let mut world = DiagnosisFixture::new();
        let head = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        world.create(&curator("/l", 3), 2);
        world.pass(5);
        world.delete(&head);
        world.pass(65);
        let found = world.found(Code::IdleHolder).expect("the finding stands");
        assert!(found.summary.contains("it waits behind itself by node 2"), "{}", found.summary);
        assert_eq!(found.severity, Severity::Warning);
    }
}
