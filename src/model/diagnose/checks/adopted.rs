//! A node whose session is about to end, while the same host goes on with a newer session.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, of_contender};
use crate::diagnose::process::FormerSession;
use crate::diagnose::round_memory::RoundMemory;
use crate::diagnose::suspicion::Suspicion;
use crate::diagnose::{Code, Severity};
use crate::queue::{Contender, host_of};
use crate::server_view::{Connection, Liveness};
use lockscope_base::znode::{SessionId, Timestamp};

const REMEDY: &str = "see in its log whether it noticed, and restart that client otherwise: it may think that it holds, but its node goes with the older session";

/// The host of a holder's client, and when its connection was last listed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LastSeen {
    host: String,
    at: Timestamp,
}

/// A process that starts a new session may find the node of its old one and take it for its own.
///
/// A process that was restarted looks the same until it contends again, so this is never more than
/// a hint.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct AdoptedNode {
    /// The last known host of each session that holds a lock. One entry covers all its locks.
    last_seen: RoundMemory<SessionId, LastSeen>,
}

impl Check for AdoptedNode {
    fn begin(&mut self) {
        self.last_seen.begin();
    }

    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let (lock, view) = (context.lock, context.table_at.view());
        let Some((holder, session)) = lock.first_holder().and_then(|holder| Some((holder, holder.session()?))) else {
            return;
        };
        let Some(gathered) = view.connections_as_of() else { return };
        if let Some((_, connection)) = view.connection_of(session) {
            let seen = || LastSeen { host: host_of(&connection.client).to_owned(), at: gathered };
            let known = self.last_seen.see(session, seen);
            if known.at != gathered {
                *known = seen();
            }
            return;
        }
        let Some(known) = self.last_seen.recall(&session) else { return };
        if !matches!(view.liveness(session), Liveness::Disconnected { .. }) {
            return;
        }
        let former = FormerSession { session, host: &known.host, since: known.at };
        let successor = context.table_at.successor(former);
        found.extend(successor.map(|newer| suspicion(context, holder, newer, gathered)));
    }
}

fn suspicion(context: &LockContext<'_>, holder: &Contender, newer: &Connection, gathered: Timestamp) -> Suspicion {
    let summary = format!(
        "{} holds, but its session has no connection any more, while {} continues with the newer session {}",
        context.table_at.who(holder),
        host_of(&newer.client),
        newer.session
    );
    let finding = of_contender(Code::AdoptedNode, Severity::Info, context, holder).because(summary, REMEDY);
    Suspicion::new(finding, gathered, Duration::ZERO).of_state(holder.czxid.0)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, queue};

    pub fn examples() -> Vec<Example> {
        vec![(Code::AdoptedNode, adopted())]
    }

    fn adopted() -> DiagnosisFixture {
        let mut world = after_a_cut(queue(&[1, 2]), "10.0.0.1:5555");
        world.pass(3);
        world
    }

    /// Plays that session 1 holds and loses its connection. Then session 7 connects from `address`.
    fn come_back(address: &str) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        after_a_cut(world, address)
    }

    /// Plays that session 1 loses its connection. Then session 7 connects from `address`.
    fn after_a_cut(mut world: DiagnosisFixture, address: &str) -> DiagnosisFixture {
        world.pass(3);
        world.client(1).connected = false;
        let made = world.now.plus(Duration::from_millis(500));
        let newer = world.client(7);
        (newer.address, newer.established) = (address.to_owned(), made);
        world
    }

    #[test]
    fn a_host_that_goes_on_with_another_session_is_reported() {
        let mut world = come_back("10.0.0.1:5555");
        world.pass(3);
        assert_eq!(world.codes(Severity::Info), [Code::ExpiringHolder, Code::AdoptedNode]);
        world.client(1).connected = true;
        assert!(world.pass(1).1.contains(&Code::AdoptedNode));
    }

    #[test]
    fn the_host_of_a_session_is_remembered_for_all_its_locks() {
        let mut world = DiagnosisFixture::new();
        for lock in ["/l", "/m"] {
            world.create(&curator(lock, 1), 1);
        }
        let mut world = after_a_cut(world, "10.0.0.1:5555");
        world.pass(3);
        let found = world.diagnosis.findings().filter(|finding| finding.code == Code::AdoptedNode);
        let locks: Vec<&str> = found.map(|finding| finding.lock.path.as_str()).collect();
        assert_eq!(locks, ["/l", "/m"]);
    }

    #[test]
    fn another_lockscope_on_the_host_is_no_successor() {
        let mut world = come_back("10.0.0.1:5555");
        world.client(7).timeout_ms = 30_739;
        world.client(1).timeout_ms = 30_739;
        world.pass(3);
        assert_eq!(world.found(Code::AdoptedNode), None);
    }

    #[test]
    fn another_host_and_a_session_with_a_node_of_its_own_are_not_reported() {
        let mut world = come_back("10.0.0.9:5555");
        world.pass(3);
        assert_eq!(world.found(Code::AdoptedNode), None);
        let mut world = come_back("10.0.0.1:5555");
        world.create(&curator("/l", 7), 7);
        world.pass(3);
        assert_eq!(world.found(Code::AdoptedNode), None);
    }
}
