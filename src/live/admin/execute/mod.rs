//! Carries out what was confirmed: deletes the nodes that were seen, and no others.
//!
//! `delete(path, version)` compares only how often the data were changed, which is 0 for every fresh node. So each node is looked at
//! and recognized by its czxid first, and where its name can come back, [`RecreationGuard`](super::RecreationGuard) says how the moment between
//! that look and the deletion is closed:
//!
//! - A numbered node: the parent's data are written anew, unchanged, several times in one transaction, which raises the parent's
//!   version and shows its czxid; a look right behind it finds the node in that very parent; and the deletion is one transaction
//!   with one more write to the parent at that version. A number can only come back with another parent, and that one does not
//!   have the version. The transaction leaves a trace by which it is known after a lost reply.
//! - A name without a number, and a numbered one whose parent may not be written: the same with the node's own data and version.
//! - Where neither may be written: only if that was confirmed.
//!
//! Who takes a name in the moment between a read and the write that follows it on the same connection is not deleted, but
//! gets the data of the node before it: no request of ZooKeeper's writes by czxid. Where the read right before the
//! write had shown its own data it gets them back; else [`NodeOutcome::overwritten`] says so.
//!
//! A lost reply is followed by a new connection, `sync` and another look. `Sent` keeps what has no answer: as long as that is
//! a deletion, nobody says that nothing was deleted. When the time is up the session is closed first, so that what waits in the
//! client library is not sent after the outcome is reported.

mod deleter;
mod ending;
mod raise;
mod reach;
mod revoke;
mod sent;
mod version;

use std::time::Duration;

use tokio::time::timeout;
use zookeeper_client::Client;

use deleter::NodeDeleter;
pub use ending::{Ending, NodeOutcome};

use super::audit::{AuditLine, Subject};
use super::plan::outdated;
use super::{Action, Audit, Confirmed, DeletePlan, Permission, PlannedNode, Who};
use crate::zk::close_session;

/// How long an examination may take: servers that are slow to answer are waited for.
const EXAMINATION_TIMEOUT: Duration = Duration::from_secs(30);

/// Looks at a node again, right before it is deleted.
pub trait Examine: Send {
    /// What a plan would say of that node now, with facts that are younger than about a second; `None` when it is not there, or
    /// another node has its name; an error, as the rest of a sentence, when that cannot be found out. When this is cancelled,
    /// nothing is lost.
    fn examine(&mut self, node: &PlannedNode) -> impl Future<Output = Result<Option<PlannedNode>, String>> + Send;
}

/// What a new examination led to.
enum Reexamined {
    /// What was confirmed is still true.
    Same,
    /// The node is not to be touched.
    Ended(Ending),
}

async fn reexamine(examine: &mut impl Examine, action: Action, node: &PlannedNode) -> Reexamined {
    let unknown = |why: &str| {
        Reexamined::Ended(Ending::NotDone {
            why: format!("it could not be looked at again before the deletion: {why}"),
        })
    };
    match timeout(EXAMINATION_TIMEOUT, examine.examine(node)).await {
        // The execution finds out whether it is gone, and reports it.
        Ok(Ok(None)) => Reexamined::Same,
        Ok(Ok(Some(now))) if now.czxid != node.czxid => Reexamined::Same,
        Ok(Ok(Some(now))) => match outdated(action, node, &now) {
            Some(what) => Reexamined::Ended(Ending::Changed { what }),
            None => Reexamined::Same,
        },
        Ok(Err(why)) => unknown(&why),
        Err(_) => unknown("the servers gave no answer in time"),
    }
}

/// Carries out a plan: each node by itself, from a queue's end to its head, and at most `patience` for each, the look at it not
/// counted. Answers what came of each, in the plan's order.
///
/// The session is closed at the end. Nothing else may use it: when a node's time is up, it is closed before the outcome is reported, and the
/// nodes that are left are not tried.
///
/// Costs two requests a node, six where its number may come back with another parent, and five where its name may come back as it is;
/// more when something changes meanwhile or the connection is lost. A node whose intent cannot be written into the
/// audit log is left alone. When this is cancelled, what was sent is done, and the log shows an intent without an outcome.
pub async fn execute(
    client: Client,
    _permission: &Permission,
    plan: Confirmed<DeletePlan>,
    audit: &Audit,
    who: &Who,
    patience: Duration,
    examine: &mut impl Examine,
) -> Vec<NodeOutcome> {
    let (plan, by) = (plan.what(), plan.by());
    let mut run = PlanRun { session: Some(client), action: plan.action(), patience, examine };
    let mut outcomes: Vec<Option<NodeOutcome>> = plan.nodes().iter().map(|_| None).collect();
    for index in plan.execution_order() {
        let node = &plan.nodes()[index];
        let intent = AuditLine::intent(plan.action(), Subject::of(node), who, by);
        let outcome = if let Err(error) = audit.write(&intent).await {
            NodeOutcome::new(node, Ending::NotAudited { why: error.to_string() })
        } else {
            let mut outcome = run.one(node).await;
            let line = intent.outcome(outcome.ending.id(), outcome.sentence());
            outcome.unaudited = audit.write(&line).await.err().map(|error| error.to_string());
            outcome
        };
        outcomes[index] = Some(outcome);
    }
    if let Some(session) = run.session {
        close_session(session).await;
    }
    outcomes.into_iter().flatten().collect()
}

/// A plan that is being carried out.
struct PlanRun<'a, E> {
    /// `None` when it was closed since there was no answer.
    session: Option<Client>,
    action: Action,
    patience: Duration,
    examine: &'a mut E,
}

impl<E: Examine> PlanRun<'_, E> {
    async fn one(&mut self, node: &PlannedNode) -> NodeOutcome {
        let Some(client) = self.session.take() else {
            let why = "the servers gave no answer for the node before it".to_owned();
            return NodeOutcome::new(node, Ending::NotDone { why });
        };
        if let Reexamined::Ended(ending) = reexamine(self.examine, self.action, node).await {
            self.session = Some(client);
            return NodeOutcome::new(node, ending);
        }
        let mut deleter = NodeDeleter::new(&client, node, self.action, self.examine);
        let ended = timeout(self.patience, deleter.run()).await;
        let sent = deleter.into_sent();
        let ending = if let Ok(ending) = ended {
            self.session = Some(client);
            ending
        } else {
            // What still waits in the client library must not be sent after the outcome is reported.
            close_session(client).await;
            sent.cut_off(self.action, "the servers gave no answer in time")
        };
        sent.outcome(node, self.action, ending)
    }
}
