//! What a transport knows about the servers, for tasks that wait for them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::flow::LastHeard;
use crate::zk::fault::Unreachable;

/// The state published by a transport.
#[derive(Clone, Debug, Default)]
pub struct TransportReport {
    /// How many rounds, in which each member was tried once, ended without a lasting session.
    pub(super) rounds: u64,
    /// The faults of the members tried since the last connection.
    pub(super) servers: Option<Unreachable>,
    /// A sentence that says why the previous connection ended, when a server broke the protocol or
    /// the library failed.
    pub(super) broken: Option<String>,
    /// Whether the library's own task has ended unexpectedly.
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

    /// Returns the status of a session without a transport. It never reports anything.
    pub(crate) fn of_no_transport() -> Self {
        let (_, report) = watch::channel(TransportReport::default());
        Self::new(report, Arc::default(), Arc::default(), false)
    }

    /// Returns the member that gave the last connection, as the connect string names it.
    pub fn member(&self) -> Option<String> {
        self.report.borrow().member.clone()
    }

    /// Returns whether the connect string names more than one member.
    pub fn has_other_members(&self) -> bool {
        self.has_others
    }

    /// Ends the connection soon, so that the client makes a new one: to any other member, if one
    /// accepts it.
    pub fn want_another_member(&self) {
        self.leave.notify_one();
    }

    /// Returns how long ago a byte from a server last passed, including answers to heartbeats;
    /// `None` when none has.
    pub fn last_heard(&self) -> Option<Duration> {
        self.heard.ago()
    }

    /// Returns how many rounds of trying all members have failed.
    pub fn rounds(&self) -> u64 {
        self.report.borrow().rounds
    }

    /// Waits until more than `rounds` rounds have failed, and returns the fault of each member.
    /// Waits forever once the transport has ended. Cancel safe.
    pub async fn exhausted(&mut self, rounds: u64) -> Unreachable {
        if self.report.wait_for(|report| report.rounds > rounds).await.is_err() {
            std::future::pending::<()>().await;
        }
        self.report.borrow().servers.clone().unwrap_or_default()
    }

    /// Returns the faults of the members tried since the last connection; `None` when none has been
    /// tried.
    pub fn servers(&self) -> Option<Unreachable> {
        self.report.borrow().servers.clone().filter(|found| !found.servers.is_empty())
    }

    /// Returns a sentence that says how the server or the client library broke the last ended
    /// connection; `None` when it was closed or cut in the ordinary way.
    pub fn broken(&self) -> Option<String> {
        self.report.borrow().broken.clone()
    }

    /// Returns whether the library's own task has ended unexpectedly. Its client never learns of
    /// anything any more.
    pub fn library_ended(&self) -> bool {
        self.report.borrow().library_ended
    }

    /// Waits until the library's task has ended; forever once the transport has ended. Cancel safe.
    pub(in crate::zk) async fn until_library_ended(&mut self) {
        if self.report.wait_for(|report| report.library_ended).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
