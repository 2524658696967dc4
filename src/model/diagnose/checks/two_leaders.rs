//! A former leader may think that it still leads, while another one leads.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::diagnose::Code;
use crate::diagnose::context::{Check, Danger, LockContext};
use crate::diagnose::process::FormerSession;
use crate::diagnose::suspicion::{Suspicion, finding};
use crate::queue::{Contender, Departure, DepartureEnd};

/// Maximum time for which a former leader is reported. After that, a process that still runs would
/// have asked the servers for something.
const MAX_UNAWARE: Duration = Duration::from_secs(600);

/// Two kinds of evidence:
///
/// - *Proof*: the former leader's node is gone, its session is connected, and its client has sent no
///   request since before the deletion. So it did not delete the node, and reads nothing that tells
///   it. A watch event may have told it.
/// - *Suspicion*: the former leader's session expired, and a session that contends for nothing was
///   made from the same host since. It may be the same process, or another one of that host.
///
/// A former leader that queues again knows that it lost.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct TwoLeaders;

impl Check for TwoLeaders {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let Some(record) = context.election.and_then(|_| context.election_record()) else { return };
        let Some(leader) = context.lock.first_holder().filter(|leader| leader.is_read()) else { return };
        let recent = |former: &&Departure| context.now().since(former.at) <= MAX_UNAWARE;
        for former in record.absent().filter(recent).filter(|former| record.led(former)) {
            if former.session != leader.session() {
                let suspected = || suspected(context, former, leader).filter(|_| !context.is_back(former));
                found.extend(proven(context, former, leader).or_else(suspected));
            }
        }
    }
}

fn proven(context: &LockContext<'_>, former: &Departure, leader: &Contender) -> Option<Suspicion> {
    let view = context.table_at.view();
    let (member, connection) = view.connection_of(former.session?)?;
    let listed_at = member.connections.as_ref()?.at;
    let is_silent = former.last_request.is_some() && connection.last_cxid == former.last_request;
    let summary = format!(
        "{} led until its node was deleted, and its client has sent no request since before that: it did not delete the node, and knows of it only by a watch event; {} leads now",
        former.client.in_sentence(context.now()),
        context.table_at.who(leader)
    );
    let suspicion = of(context, former, leader, Danger::Proven, summary, listed_at, Duration::ZERO);
    // A request since then tells nothing about what the client knows.
    (listed_at > former.at).then(|| if is_silent { suspicion } else { suspicion.keeping() })
}

fn suspected(context: &LockContext<'_>, former: &Departure, leader: &Contender) -> Option<Suspicion> {
    let gathered = context.table_at.view().connections_as_of()?;
    if !matches!(former.end, DepartureEnd::Expired | DepartureEnd::Unknown) {
        return None;
    }
    let host = former.host()?;
    let since = former.last_heard();
    let connects = match &context.table_at.successors(FormerSession { session: former.session?, host, since })[..] {
        [] => return None,
        [newer] => format!("the newer session {}, which queues nowhere: if this", newer.session),
        several => format!("{} newer sessions, which queue nowhere: if one of them", several.len()),
    };
    let summary = format!(
        "{} led until its session ended, and {host} connects with {connects} is the same process, it may think that it still leads; {} leads now; the log of that process proves it",
        former.client.in_sentence(context.now()),
        context.table_at.who(leader)
    );
    Some(of(context, former, leader, Danger::Suspected, summary, gathered, context.thresholds.ghost_after))
}

fn of(
    context: &LockContext<'_>,
    former: &Departure,
    leader: &Contender,
    danger: Danger,
    summary: String,
    gathered: lockscope_base::znode::Timestamp,
    lasts: Duration,
) -> Suspicion {
    let remedy = format!(
        "restart the former leader's process unless its log says that it gave up; what it writes to should refuse fencing tokens below {}, if it checks any; delete no node",
        leader.czxid
    );
    let finding = finding(Code::TwoLeaders, context.severity_of(danger), context.lock, Some(&former.node))
        .of_client(former.client.clone())
        .because(summary, remedy);
    Suspicion::new(finding, gathered, lasts).of_state(former.at.0)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnose::Severity;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, latch};
    use lockscope_base::znode::ZnodePath;

    pub fn examples() -> Vec<Example> {
        let mut several = came_back("10.0.0.1:5000", 0);
        let made = several.now;
        let other = several.client(8);
        (other.address, other.established) = ("10.0.0.1:5001".to_owned(), made);
        several.pass(15);
        [deleted_by_another(), came_back("10.0.0.1:5000", 15), several].map(|world| (Code::TwoLeaders, world)).into()
    }

    fn election() -> (DiagnosisFixture, ZnodePath) {
        let mut world = DiagnosisFixture::new();
        let leader = world.create_named(&latch("/e", 1), 1, "worker-1");
        world.create_named(&latch("/e", 2), 2, "worker-2");
        world.pass(30);
        (world, leader)
    }

    /// Plays that somebody else deletes the leader's node.
    fn deleted_by_another() -> DiagnosisFixture {
        let (mut world, leader) = election();
        world.delete(&leader);
        world.pass(3);
        world
    }

    /// Plays that the leader's session expires. Then session 7 connects from `address`.
    fn came_back(address: &str, seconds: u32) -> DiagnosisFixture {
        let (mut world, leader) = election();
        world.let_expire(1, &[&leader]);
        let made = world.now;
        let newer = world.client(7);
        (newer.address, newer.established) = (address.to_owned(), made);
        world.pass(seconds);
        world
    }

    #[test]
    fn a_leader_that_did_not_delete_its_node_may_still_lead() {
        let mut world = deleted_by_another();
        assert_eq!(world.severity(Code::TwoLeaders), Some(Severity::Critical));
        world.client(1).cxid += 1;
        world.pass(5);
        assert!(world.found(Code::TwoLeaders).is_some(), "a request does not tell what it knows");
        world.create_named(&latch("/e", 1), 1, "worker-1");
        assert!(world.pass(1).1.contains(&Code::TwoLeaders), "it queues again, so it knows");
    }

    /// A mutex below a path that names an election: its recipe does not say that it is one.
    #[test]
    fn proven_danger_is_critical_where_only_the_path_names_an_election_and_a_suspicion_is_not() {
        let likely = |expires: bool| {
            let mut world = DiagnosisFixture::new();
            let leader = world.create_named(&curator("/app/leader", 1), 1, "worker-1");
            world.create_named(&curator("/app/leader", 2), 2, "worker-2");
            world.pass(30);
            if expires {
                world.let_expire(1, &[&leader]);
                let made = world.now;
                let newer = world.client(7);
                (newer.address, newer.established) = ("10.0.0.1:5000".to_owned(), made);
                world.pass(15);
            } else {
                world.delete(&leader);
                world.pass(3);
            }
            world.severity(Code::TwoLeaders)
        };
        assert_eq!(likely(false), Some(Severity::Critical));
        assert_eq!(likely(true), Some(Severity::Warning));
    }

    #[test]
    fn a_leader_that_resigns_has_sent_the_deletion_itself() {
        let (mut world, leader) = election();
        world.client(1).cxid += 1;
        world.delete(&leader);
        world.pass(30);
        assert_eq!(world.found(Code::TwoLeaders), None);
    }

    #[test]
    fn a_host_that_goes_on_after_its_leader_expired_is_suspect() {
        assert_eq!(came_back("10.0.0.1:5000", 5).found(Code::TwoLeaders), None);
        let mut world = came_back("10.0.0.1:5000", 15);
        assert_eq!(world.severity(Code::TwoLeaders), Some(Severity::Warning));
        world.create_named(&latch("/e", 1), 7, "worker-1");
        assert!(world.pass(1).1.contains(&Code::TwoLeaders));
        assert_eq!(came_back("10.0.0.9:5000", 30).found(Code::TwoLeaders), None, "another host");
    }

    #[test]
    fn without_a_new_leader_there_are_no_two() {
        let mut world = DiagnosisFixture::new();
        let leader = world.create_named(&latch("/e", 1), 1, "worker-1");
        world.pass(3);
        world.delete(&leader);
        world.pass(30);
        assert_eq!(world.found(Code::TwoLeaders), None);
    }
}
