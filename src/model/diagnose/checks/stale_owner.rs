//! A leader or holder whose node belongs to an earlier session of a process that goes on with
//! another one.

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, of_contender};
use crate::diagnose::process::FormerSession;
use crate::diagnose::suspicion::Suspicion;
use crate::diagnose::{Code, Severity};
use crate::queue::{ClientIdentity, Contender, ContenderRow};
use crate::server_view::Liveness;
use lockscope_base::znode::SessionId;

const REMEDY: &str = "restart that process: its earlier session keeps the node for as long as a forgotten client of the process sends heartbeats";

/// Two kinds of evidence, which must last longer than a process needs to start again:
///
/// - The same client, by its name and host, waits behind its own node with a newer session.
/// - The holder's session has no connection, its host has a newer session that queues nowhere, and
///   the lock is an election. [`adopted`](super::adopted) reports the same of any lock at once, as
///   a hint.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct StaleOwner;

impl Check for StaleOwner {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        let Some((holder, session)) = lock.first_holder().and_then(|holder| Some((holder, holder.session()?))) else {
            return;
        };
        let Some(gathered) = context.table_at.view().connections_as_of() else { return };
        let behind = waits_behind_itself(context, holder, session);
        let Some(why) = behind.or_else(|| left_behind(context, session)) else { return };
        let summary = format!("{} holds by its session {session}, {why}", context.table_at.who(holder));
        let finding = of_contender(Code::StaleOwner, Severity::Warning, context, holder).because(summary, REMEDY);
        let suspicion = Suspicion::new(finding, gathered, context.thresholds.ghost_after);
        found.push(suspicion.of_state(holder.czxid.0));
    }
}

/// Describes the newer session by which a holder waits behind its own node. The first in line is
/// enough: a client queues once.
fn waits_behind_itself(context: &LockContext<'_>, holder: &Contender, session: SessionId) -> Option<String> {
    let table_at = context.table_at;
    let owner = table_at.identity(holder);
    let name = owner.name_of_one_client()?;
    let is_same = |row: &ContenderRow<'_>| {
        let other = table_at.identity(row.contender);
        row.contender.session().is_some_and(|other| other != session)
            && other.name_of_one_client() == Some(name)
            && is_same_host(&owner, &other)
    };
    let waiting = context.lock.rows(context.lock.holding()..context.lock.len().min(MAX_LOOKED_AT));
    let mut same = waiting.filter(is_same);
    let (waiter, None) = (same.next()?, same.next()) else { return None };
    let newer = waiter.contender.session()?;
    Some(format!("and waits behind its own node with the session {newer}"))
}

/// Maximum number of contenders that are compared with a holder.
const MAX_LOOKED_AT: usize = 100;

fn is_same_host(one: &ClientIdentity, other: &ClientIdentity) -> bool {
    one.host().is_some() && one.host() == other.host()
}

/// Describes the newer session of a leader's host, while the leader's own session has no
/// connection.
fn left_behind(context: &LockContext<'_>, session: SessionId) -> Option<String> {
    let table_at = context.table_at;
    context.election?;
    if !matches!(table_at.view().liveness(session), Liveness::Disconnected { .. }) {
        return None;
    }
    let last = table_at.table().last_connection(session)?;
    let host = crate::queue::host_of(&last.connection.client);
    let newer = table_at.successor(FormerSession { session, host, since: last.last_listed? })?;
    Some(format!("which has no connection, while {host} goes on with the newer session {}", newer.session))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, latch};

    pub fn examples() -> Vec<Example> {
        let mut cut_off = DiagnosisFixture::new();
        cut_off.create(&latch("/e", 1), 1);
        goes_on(&mut cut_off);
        [behind_itself("10.0.0.1:5000", "worker-1"), cut_off].map(|world| (Code::StaleOwner, world)).into()
    }

    /// Plays that session 7 queues behind session 1, from `address` and by that name.
    fn behind_itself(address: &str, name: &str) -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        world.create_named(&latch("/e", 1), 1, "worker-1");
        world.client(7).address = address.to_owned();
        world.create_named(&latch("/e", 2), 7, name);
        world.pass(13);
        world
    }

    /// Plays that session 1 loses its connection, and its host goes on with session 7.
    fn goes_on(world: &mut DiagnosisFixture) {
        world.pass(2);
        world.client(1).connected = false;
        let made = world.now.plus(std::time::Duration::from_millis(500));
        let newer = world.client(7);
        (newer.address, newer.established) = ("10.0.0.1:5000".to_owned(), made);
        world.pass(14);
    }

    #[test]
    fn a_client_that_waits_behind_its_own_node_is_reported() {
        let world = behind_itself("10.0.0.1:5000", "worker-1");
        assert_eq!(world.severity(Code::StaleOwner), Some(Severity::Warning));
        for (address, name) in [("10.0.0.1:5000", "worker-2"), ("10.0.0.9:5000", "worker-1")] {
            assert_eq!(behind_itself(address, name).found(Code::StaleOwner), None, "{address} {name}");
        }
    }

    #[test]
    fn a_restarted_leader_that_waits_for_its_old_session_to_expire_is_not_reported() {
        let mut world = DiagnosisFixture::new();
        let old = world.create_named(&latch("/e", 1), 1, "worker-1");
        world.pass(2);
        world.client(1).connected = false;
        world.client(7).address = "10.0.0.1:5000".to_owned();
        world.create_named(&latch("/e", 2), 7, "worker-1");
        world.pass(8);
        world.delete(&old);
        world.pass(20);
        assert_eq!(world.found(Code::StaleOwner), None);
    }
}
