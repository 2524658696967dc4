//! Carries out what was confirmed: deletes the nodes that were seen, and no others.
//!
//! `delete(path, version)` compares only how often the data were changed, which is 0 for every fresh node. So each node is read and told
//! by its czxid first. A name that is given again (a single-node lock, a lock parent) could change hands between that read and the
//! deletion: there the node's data are written anew, unchanged, several times in one transaction. That raises the version and tells
//! in its answer which node it was, and the deletion with the raised version can hit that very node only. Numbered names are not
//! given again.
//!
//! Who takes such a name in the moment between a read and the write that follows it on the same connection is not deleted, but gets
//! the data of the node before it: no request of ZooKeeper's writes by czxid. Where the read right before the write had
//! shown it, it gets its own data back; else [`Ending::ChangedHands`] tells.
//!
//! A lost reply is followed by `sync` and another look: either the node is still there and it is tried again, or it is gone, and
//! then it is not known who deleted it.

mod ending;
mod hand;

use std::time::Duration;

use tokio::time::timeout;
use zookeeper_client::Client;

pub use ending::{Ending, Outcome};
use hand::Hand;

use super::audit::{Line, Subject};
use super::{Action, Audit, Confirmed, DeletePlan, Permission, PlannedNode, Who};

/// Carries out a plan: each node by itself, from a queue's end to its head, and at most `patience` for each. Answers what came of
/// each, in the plan's order.
///
/// Costs two requests a node, and four where its name may be given again; more when the node changes meanwhile or the
/// connection is lost. A node whose intent cannot be written into the audit log is left alone. When this is cancelled, what was
/// sent is done, and the log shows an intent without an outcome.
pub async fn execute(
    client: &Client,
    _permission: &Permission,
    plan: Confirmed<DeletePlan>,
    audit: &Audit,
    who: &Who,
    patience: Duration,
) -> Vec<Outcome> {
    let (plan, by) = (plan.what(), plan.by());
    let mut outcomes: Vec<Option<Outcome>> = plan.nodes().iter().map(|_| None).collect();
    for index in plan.execution_order() {
        let node = &plan.nodes()[index];
        outcomes[index] = Some(one(client, plan.action(), node, (audit, who, by), patience).await);
    }
    outcomes.into_iter().flatten().collect()
}

async fn one(
    client: &Client,
    action: Action,
    node: &PlannedNode,
    (audit, who, by): (&Audit, &Who, &str),
    patience: Duration,
) -> Outcome {
    let intent = Line::intent(action, Subject::of(node), who, by);
    if let Err(error) = audit.write(&intent).await {
        return Outcome::new(node, Ending::NotAudited { why: error.to_string() });
    }
    let mut hand = Hand::new(client, node);
    let done = async {
        match action {
            Action::Delete => hand.delete().await,
            Action::Revoke => hand.revoke().await,
        }
    };
    let ended = timeout(patience, done).await;
    let ending = ended.unwrap_or_else(|_| hand.cut_off());
    let mut outcome = Outcome::new(node, ending);
    let line = intent.outcome(outcome.ending.id(), outcome.sentence());
    outcome.unaudited = audit.write(&line).await.err().map(|error| error.to_string());
    outcome
}
