//! What an execution needs beside the plan: a session of its own, and a log of what it intends and of
//! what came of it. Other implementations than those here exist for the exploration of schedules only.

use std::future::Future;

use lockscope_requests::Requests;
use zookeeper_client::Client;

use super::super::audit::{AuditLine, Subject};
use super::super::{Action, Audit, PlannedNode, Who};
use super::NodeOutcome;
use crate::zk::close_session;

/// A session that nothing else uses.
#[doc(hidden)]
pub trait OwnSession: Send {
    /// Returns the client of the session.
    fn requests(&self) -> &dyn Requests;

    /// Closes the session: requests that wait in the client are not sent any more.
    fn close(self) -> impl Future<Output = ()> + Send;
}

impl OwnSession for Client {
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
pub(super) struct AuditOf<'a> {
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
