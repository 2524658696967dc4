//! What a transport knows about the servers, for those who wait for them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::flow::LastHeard;
use crate::zk::fault::Unreachable;

/// What a transport knows.
#[derive(Clone, Debug, Default)]
pub struct TransportReport {
    /// How often no member gave a session that lasted, each tried once.
    pub(super) rounds: u64,
    /// What was the matter with those that have been tried since there was a connection.
    pub(super) servers: Option<Unreachable>,
    /// Why the connection before was ended, as a sentence, when a server broke the protocol or the library failed.
    pub(super) broken: Option<String>,
    /// Whether the library's own task has ended without a word.
    pub(super) library_ended: bool,
    /// The member that gave the last connection, as the connect string names it.
    pub(super) member: Option<String>,
}

/// A view of a transport's report.
#[derive(Clone, Debug)]
pub struct TransportStatus {
    report: watch::Receiver<TransportReport>,
    heard: Arc<LastHeard>,
    leave: Arc<Notify>,
    has_others: bool,
}

impl TransportStatus {
    pub(super) fn new(
        report: watch::Receiver<TransportReport>,
        heard: Arc<LastHeard>,
        leave: Arc<Notify>,
        has_others: bool,
    ) -> Self {
        Self { report, heard, leave, has_others }
    }

    /// The member that gave the last connection, as the connect string names it.
    pub fn member(&self) -> Option<String> {
        self.report.borrow().member.clone()
    }

    /// Whether the connect string names more than one member.
    pub fn has_other_members(&self) -> bool {
        self.has_others
    }

    /// Ends the connection soon, so that the client makes another one: to any other member, if one
    /// takes it.
    pub fn want_another_member(&self) {
        self.leave.notify_one();
    }

    /// How long ago a byte from a server last passed, answers to heartbeats included; `None` when none has.
    pub fn last_heard(&self) -> Option<Duration> {
        self.heard.ago()
    }

    /// How often all members were tried in vain.
    pub fn rounds(&self) -> u64 {
        self.report.borrow().rounds
    }

    /// Waits until all members were tried in vain more often than so; gives what was the matter with each. For ever when the
    /// transport has ended. Cancel safe.
    pub async fn exhausted(&mut self, rounds: u64) -> Unreachable {
        if self.report.wait_for(|report| report.rounds > rounds).await.is_err() {
            std::future::pending::<()>().await;
        }
        self.report.borrow().servers.clone().unwrap_or_default()
    }

    /// What was the matter with the members that have been tried since there was a connection; `None` when none has been.
    pub fn servers(&self) -> Option<Unreachable> {
        self.report.borrow().servers.clone().filter(|found| !found.servers.is_empty())
    }

    /// How the server, or the client library, broke the last connection that has ended, as a sentence; `None` when it was closed or cut
    /// in the ordinary way.
    pub fn broken(&self) -> Option<String> {
        self.report.borrow().broken.clone()
    }

    /// Whether the library's own task has ended without a word, so that its client never learns of anything any more.
    pub fn library_ended(&self) -> bool {
        self.report.borrow().library_ended
    }

    /// Waits for that; for ever when the transport has ended. Cancel safe.
    pub(in crate::zk) async fn until_library_ended(&mut self) {
        if self.report.wait_for(|report| report.library_ended).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
