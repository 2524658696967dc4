//! Executes a confirmed plan: deletes the nodes that were seen, and no others.
//!
//! `delete(path, version)` compares only the number of data changes, which is 0 for every new node.
//! So each node is first read and recognized by its czxid. If its name can come back, a
//! [`RecreationGuard`](super::RecreationGuard) protects the time between that read and the
//! deletion:
//!
//! - A numbered node: one transaction rewrites the parent's data unchanged several times, which
//!   raises the parent's version and returns its czxid. A read sent right behind it finds the node
//!   in that same parent. The deletion is one transaction with one more write to the parent at that
//!   version. A number can come back only with another parent, which does not have that version.
//!   The transaction leaves a trace that shows after a lost reply whether it was carried out.
//! - A name without a number, or a numbered node whose parent may not be written: the same with the
//!   node's own data and version.
//! - A node where neither may be written: it is deleted only if that was confirmed.
//!
//! A node that takes the name between a read and the write that follows on the same connection is
//! not deleted, but gets the earlier node's data: no request of ZooKeeper writes by czxid. If the
//! read right before the write returned that node's own data, they are restored; otherwise
//! [`NodeOutcome::overwritten`] reports it. An owner that created both nodes may then take the
//! later one for the earlier one, and give it up. In either case that node's version stays raised.
//!
//! After a lost reply come a new connection, `sync` and another read. `Sent` keeps the unanswered
//! requests: while a deletion is among them, no result says that nothing was deleted. When the time
//! is up, the session is closed first, so that requests that wait in the client library are not
//! sent after the result is reported.
//!
//! Beside the plan, an execution needs a session of its own, and a log of what it intends and of
//! what came of it. Other implementations of both than those here exist for the exploration of
//! schedules only.

mod deleter;
mod outcome;
mod sent;

use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;
use zookeeper_client::Client;

use super::audit::{AuditLine, Subject};
use super::plan::outdated;
use super::{Action, Audit, Confirmed, DeletePlan, Permission, PlannedNode, Who};
use crate::zk::close_session;
use deleter::NodeDeleter;
use lockscope_requests::Requests;

pub use outcome::{DeletionFacts, DeletionReport, Ending, NodeOutcome};

/// The time limit of an examination. It allows for slow servers.
const EXAMINATION_TIMEOUT: Duration = Duration::from_secs(30);

/// Examines a node again, right before it is deleted.
pub trait Examine: Send {
    /// Returns the plan's facts about that node as they are now, at most about a second old.
    /// Returns `None` if the node is gone or another node has its name. An error, as the rest of a
    /// sentence, says why the facts cannot be found out. Cancel safe.
    fn examine(&mut self, node: &PlannedNode) -> impl Future<Output = Result<Option<PlannedNode>, String>> + Send;

    /// Waits until the servers can be asked for the next deletion. Returns `false` if the remaining
    /// nodes are to be left, without a line in the audit log. `last` is the result before.
    fn may_go_on(&mut self, _last: Option<&Ending>) -> impl Future<Output = bool> + Send {
        std::future::ready(true)
    }
}

/// Examines a node again. Returns `None` if the confirmed facts are still true; otherwise the node
/// must not be touched.
async fn reexamine(examine: &mut impl Examine, action: Action, node: &PlannedNode) -> Option<Ending> {
    let unknown =
        |why: &str| Ending::NotDone { action, why: format!("it could not be looked at again before that: {why}") };
    match timeout(EXAMINATION_TIMEOUT, examine.examine(node)).await {
        // The execution finds out whether the node is gone, and reports it.
        Ok(Ok(None)) => None,
        Ok(Ok(Some(now))) if now.czxid != node.czxid => None,
        Ok(Ok(Some(now))) => outdated(action, node, &now).map(|what| Ending::Changed { what }),
        Ok(Err(why)) => Some(unknown(&why)),
        Err(_) => Some(unknown("the servers gave no answer in time")),
    }
}

/// Executes a plan, node by node, from a queue's end to its head. Each node takes at most
/// `patience`, not counting its examination. Returns the results in the plan's order.
///
/// The session is closed at the end; nothing else may use it. If a node's time is up, the session
/// is closed before the result is reported, and the remaining nodes are not tried. Nodes that
/// [`Examine::may_go_on`] leaves have no result.
///
/// Costs two requests a node; six if its number may come back with another parent, and five if its
/// name may come back as it is; more if something changes meanwhile or the connection is lost.
///
/// A node whose intent cannot be written into the audit log is left alone. If the future is
/// dropped, requests that were sent are carried out, and the log has an intent without an outcome.
pub async fn execute(
    client: Client,
    permission: &Permission,
    plan: Confirmed<DeletePlan>,
    audit: &Audit,
    who: &Who,
    patience: Duration,
    examine: &mut impl Examine,
) -> Vec<NodeOutcome> {
    let mut log = AuditOf { audit, who, by: plan.by() };
    execute_over(client, permission, plan.what(), &mut log, patience, examine).await
}

/// Executes a plan over a session that somebody else has begun, such as that of a simulated
/// ensemble.
///
/// [`execute()`] does no more than this. It is public for the exploration of schedules only: nobody
/// has confirmed the plan.
#[doc(hidden)]
pub async fn execute_over(
    session: impl DeletionSession,
    _permission: &Permission,
    plan: &DeletePlan,
    log: &mut impl IntentLog,
    patience: Duration,
    examine: &mut impl Examine,
) -> Vec<NodeOutcome> {
    let mut run = PlanRun { session: Some(session), action: plan.action(), patience, examine };
    let mut outcomes: Vec<Option<NodeOutcome>> = plan.nodes().iter().map(|_| None).collect();
    let mut last = None;
    for index in plan.execution_order() {
        if !run.examine.may_go_on(last.as_ref()).await {
            break;
        }
        let node = &plan.nodes()[index];
        let outcome = match log.intend(plan.action(), node).await {
            Err(why) => NodeOutcome::new(node, Ending::NotAudited { why }),
            Ok(intent) => {
                let mut outcome = run.one(node).await;
                outcome.unaudited = log.conclude(intent, &outcome).await.err();
                outcome
            }
        };
        last = Some(outcome.ending.clone());
        outcomes[index] = Some(outcome);
    }
    if let Some(session) = run.session {
        session.close().await;
    }
    outcomes.into_iter().flatten().collect()
}

/// A plan that is being executed.
struct PlanRun<'a, S, E> {
    /// `None` after it was closed because there was no answer.
    session: Option<S>,
    action: Action,
    patience: Duration,
    examine: &'a mut E,
}

impl<S: DeletionSession, E: Examine> PlanRun<'_, S, E> {
    async fn one(&mut self, node: &PlannedNode) -> NodeOutcome {
        let Some(session) = self.session.take() else {
            let why = "the servers gave no answer for the node before it".to_owned();
            return NodeOutcome::new(node, Ending::NotDone { action: self.action, why });
        };
        let client = session.requests();
        let NodeRun { outcome, in_time } = delete_over(client, node, self.action, self.patience, self.examine).await;
        if in_time {
            self.session = Some(session);
        } else {
            session.close().await;
        }
        outcome
    }
}

/// The result for one node, and whether the session may go on.
struct NodeRun {
    outcome: NodeOutcome,
    /// Whether the work ended within its time. Otherwise the session must be closed before the
    /// result is reported: requests that still wait in the client must not be sent after that.
    in_time: bool,
}

/// Examines one node and carries out the action on it, within `patience` after the examination.
async fn delete_over(
    client: &dyn Requests,
    node: &PlannedNode,
    action: Action,
    patience: Duration,
    examine: &mut impl Examine,
) -> NodeRun {
    if let Some(ending) = reexamine(examine, action, node).await {
        return NodeRun { outcome: NodeOutcome::new(node, ending), in_time: true };
    }
    let mut deleter = NodeDeleter::new(client, node, action, examine);
    let ended = timeout(patience, deleter.run()).await;
    let sent = deleter.into_sent();
    let in_time = ended.is_ok();
    let ending = ended.unwrap_or_else(|_| sent.cut_off(action, "the servers gave no answer in time"));
    NodeRun { outcome: sent.outcome(node, action, ending), in_time }
}

/// A session that nothing else uses.
#[doc(hidden)]
pub trait DeletionSession: Send {
    /// Returns the client of the session.
    fn requests(&self) -> &dyn Requests;

    /// Closes the session: requests that wait in the client are not sent any more.
    fn close(self) -> impl Future<Output = ()> + Send;
}

impl DeletionSession for Client {
    fn requests(&self) -> &dyn Requests {
        self
    }

    fn close(self) -> impl Future<Output = ()> + Send {
        close_session(self)
    }
}

/// Where intents and outcomes are recorded. An error is a sentence.
#[doc(hidden)]
pub trait IntentLog: Send {
    /// What joins an outcome to its intent.
    type Intent: Send;

    /// Records the intent, and returns once nothing can undo that.
    fn intend(
        &mut self,
        action: Action,
        node: &PlannedNode,
    ) -> impl Future<Output = Result<Self::Intent, String>> + Send;

    /// Records the outcome.
    fn conclude(
        &mut self,
        intent: Self::Intent,
        outcome: &NodeOutcome,
    ) -> impl Future<Output = Result<(), String>> + Send;
}

/// The audit log, and who writes to it.
struct AuditOf<'a> {
    pub audit: &'a Audit,
    pub who: &'a Who,
    /// The way of confirmation.
    pub by: &'static str,
}

impl IntentLog for AuditOf<'_> {
    type Intent = AuditLine;

    async fn intend(&mut self, action: Action, node: &PlannedNode) -> Result<AuditLine, String> {
        let intent = AuditLine::intent(action, Subject::of(node), self.who, self.by);
        self.audit.write(&intent).await.map_err(|error| error.to_string())?;
        Ok(intent)
    }

    async fn conclude(&mut self, intent: AuditLine, outcome: &NodeOutcome) -> Result<(), String> {
        let line = intent.outcome(outcome.ending.id(), outcome.sentence());
        self.audit.write(&line).await.map_err(|error| error.to_string())
    }
}
