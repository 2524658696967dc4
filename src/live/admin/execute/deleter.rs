//! Finds a node again and deletes it.

use lockscope_requests::{Requests, Write};
use tokio::time::{Duration, Instant, sleep};
use zookeeper_client::{Error, MultiWriteError, MultiWriteResult, SessionState, Stat};

use super::super::plan::NeededGuard;
use super::super::{Action, PlannedNode, RecreationGuard};
use super::raise::{Raised, is_answer};
use super::sent::{Sent, UnansweredDeletion};
use super::{Ending, Examine};
use lockscope_base::time::Backoff;
use lockscope_base::znode::Zxid;

/// The maximum number of tries for a node, for when others change it meanwhile or the connection is
/// lost.
const MAX_TRIES: usize = 10;

/// The first and the longest pause after a failed try.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(640));

/// The result of a step.
pub(super) enum Attempt {
    /// The work is over.
    End(Ending),
    /// The step must be tried again: something changed.
    Again,
    /// The server does not permit the write that this guard needs.
    NotPermitted,
}

/// The write that shares a transaction with the deletion.
struct Written<'a> {
    path: &'a str,
    data: &'a [u8],
    /// The creating transaction of the intended node.
    czxid: i64,
    /// The version to which the node was raised.
    version: i32,
    /// The trace that shows whether the deletion was carried out if the reply is lost.
    deletion: UnansweredDeletion,
}

/// The deletion of one node, or the request to its owner to release.
pub(super) struct NodeDeleter<'a, E> {
    pub(super) client: &'a dyn Requests,
    pub(super) node: &'a PlannedNode,
    pub(super) action: Action,
    pub(super) examine: &'a mut E,
    /// The time of the last examination.
    pub(super) examined: Instant,
    pub(super) sent: Sent,
}

impl<'a, E: Examine> NodeDeleter<'a, E> {
    /// Starts with a node that was examined just now.
    pub(super) fn new(client: &'a dyn Requests, node: &'a PlannedNode, action: Action, examine: &'a mut E) -> Self {
        Self { client, node, action, examine, examined: Instant::now(), sent: Sent::default() }
    }

    /// Returns what was handed to the client library, after the work has ended or was cut off.
    pub(super) fn into_sent(self) -> Sent {
        self.sent
    }

    pub(super) async fn run(&mut self) -> Ending {
        let mut backoff = Backoff::new(RETRY_PAUSES.0, RETRY_PAUSES.1);
        for _ in 0..MAX_TRIES {
            let step = match self.action {
                Action::Delete => self.try_delete().await,
                Action::Revoke => self.try_revoke().await,
            };
            match step {
                Ok(Attempt::End(ending)) => return ending,
                Ok(Attempt::Again | Attempt::NotPermitted) => sleep(backoff.next_pause()).await,
                Err(error) => {
                    if let Err(ending) = self.recover(error, &mut backoff).await {
                        return ending;
                    }
                }
            }
        }
        match self.sent.cut_off(self.action, "the connection was lost repeatedly") {
            Ending::NotDone { .. } => Ending::Busy,
            not_known => not_known,
        }
    }

    async fn try_delete(&mut self) -> Result<Attempt, Error> {
        self.settle_raise().await?;
        let stat = match self.client.stat(self.path()).await? {
            Some(stat) if self.is_ours(&stat) => stat,
            other => return self.end_without(other).await.map(Attempt::End),
        };
        // The earlier deletion did not arrive, and cannot any more: its connection is gone, and the
        // server was synced.
        self.sent.deletion = None;
        if let Some(ending) = self.examine_again().await {
            return Ok(Attempt::End(ending));
        }
        let needed = RecreationGuard::needed(self.node);
        if needed == NeededGuard::Nothing {
            return self.send(stat.version, false).await;
        }
        let parent_is_closed =
            matches!(self.node.guard, Some(RecreationGuard::OwnNode { .. } | RecreationGuard::Unguarded));
        if needed == NeededGuard::ParentOrNode && !parent_is_closed {
            match self.delete_with_parent(&stat).await? {
                Attempt::NotPermitted if matches!(self.node.guard, Some(RecreationGuard::Parent { .. })) => {
                    let what = "its parent can no longer be written, so another guard is needed";
                    return Ok(Attempt::End(Ending::Changed { what: what.to_owned() }));
                }
                Attempt::NotPermitted => {}
                step => return Ok(step),
            }
        }
        match self.delete_raised(&stat).await? {
            Attempt::NotPermitted => self.delete_unguarded().await,
            step => Ok(step),
        }
    }

    /// Ends the work when the confirmed node is gone: finds out whether an unanswered deletion did
    /// it.
    async fn end_without(&mut self, other: Option<Stat>) -> Result<Ending, Error> {
        let not_ours = match &other {
            None => Ending::Gone,
            Some(stat) => Ending::ChangedHands { czxid: Zxid(stat.czxid) },
        };
        match self.sent.deletion {
            None => Ok(not_ours),
            Some(UnansweredDeletion::Plain) => {
                Ok(self.sent.cut_off(self.action, "it is gone, and the reply to the deletion was lost"))
            }
            Some(UnansweredDeletion::WithParent { czxid, version }) => {
                // The transaction that deletes the node also raises the parent's version: this is
                // its trace.
                let parent = self.client.stat(self.parent()).await?.filter(|parent| parent.czxid == czxid);
                Ok(match parent {
                    Some(parent) if parent.version == version => {
                        self.sent.deletion = None;
                        not_ours
                    }
                    Some(parent) if parent.version == version.wrapping_add(1) && parent.mzxid == parent.pzxid => {
                        Ending::Deleted { window: false }
                    }
                    _ => self.sent.cut_off(self.action, "it is gone, and the reply to the deletion was lost"),
                })
            }
        }
    }

    /// Reads a node's data, to rewrite them unchanged. Returns the attempt's result if the data
    /// cannot be read.
    async fn read_to_rewrite(&self, path: &str) -> Result<Result<(Vec<u8>, Stat), Attempt>, Error> {
        match self.client.data(path).await {
            Ok(read) => Ok(Ok(read)),
            Err(Error::NoAuth) => Ok(Err(Attempt::NotPermitted)),
            Err(Error::NoNode) => Ok(Err(Attempt::Again)),
            Err(error) => Err(error),
        }
    }

    /// Pins the parent by raising its version, then deletes the node in one transaction with a
    /// write to that parent: a number can come back only with another parent.
    async fn delete_with_parent(&mut self, stat: &Stat) -> Result<Attempt, Error> {
        let parent = self.parent().to_owned();
        let (data, before) = match self.read_to_rewrite(&parent).await? {
            Ok(read) => read,
            Err(attempt) => return Ok(attempt),
        };
        match self.raise(&parent, &data, &before, Some(stat.version)).await? {
            Raised::At { version, behind } => match behind? {
                Some(node) if self.is_ours(&node) => {
                    let czxid = before.czxid;
                    let deletion = UnansweredDeletion::WithParent { czxid, version };
                    let written = Written { path: &parent, data: &data, czxid, version, deletion };
                    self.send_with(written, node.version).await
                }
                _ => Ok(Attempt::Again),
            },
            Raised::Again | Raised::Other(_) => Ok(Attempt::Again),
            Raised::NotPermitted => Ok(Attempt::NotPermitted),
        }
    }

    /// Deletes the node in one transaction with a write to the pinned node or parent. The reply
    /// shows which one that was.
    async fn send_with(&mut self, written: Written<'_>, node_version: i32) -> Result<Attempt, Error> {
        self.ready()?;
        let Written { path, data, czxid, version, deletion } = written;
        let writes = [Write::SetData(path, data, Some(version)), Write::Delete(self.path(), Some(node_version))];
        let written = self.client.write(&writes);
        self.sent.deletion = Some(deletion);
        let (index, error) = match written.await {
            Ok(results) => {
                self.sent.deletion = None;
                return Ok(Attempt::End(match results.first() {
                    Some(MultiWriteResult::SetData { stat }) if stat.czxid != czxid => {
                        self.sent.overwritten = true;
                        Ending::DeletedOther
                    }
                    _ => Ending::Deleted { window: false },
                }));
            }
            Err(MultiWriteError::OperationFailed { index, source }) => (index, source),
            Err(MultiWriteError::RequestFailed { source }) => (0, source),
        };
        if !is_answer(&error) {
            return Err(error);
        }
        self.sent.deletion = None;
        Ok(match (index, error) {
            (0, Error::NoAuth) => Attempt::NotPermitted,
            (_, error) => refused(error),
        })
    }

    /// Pins the node by raising its own version, then deletes it in one transaction with one more
    /// write to it.
    async fn delete_raised(&mut self, stat: &Stat) -> Result<Attempt, Error> {
        let path = self.path().to_owned();
        let (data, read) = match self.read_to_rewrite(&path).await? {
            Ok(read) => read,
            Err(attempt) => return Ok(attempt),
        };
        if read.czxid != stat.czxid {
            return Ok(Attempt::Again);
        }
        match self.raise(&path, &data, &read, None).await? {
            Raised::At { version, .. } => {
                let deletion = UnansweredDeletion::Plain;
                let written = Written { path: &path, data: &data, czxid: stat.czxid, version, deletion };
                self.send_with(written, version.wrapping_add(1)).await
            }
            Raised::Again => Ok(Attempt::Again),
            Raised::Other(stat) => Ok(Attempt::End(Ending::ChangedHands { czxid: Zxid(stat.czxid) })),
            Raised::NotPermitted => Ok(Attempt::NotPermitted),
        }
    }

    /// Handles a node where neither it nor its parent may be written: looks once more and deletes
    /// it, if that was confirmed.
    async fn delete_unguarded(&mut self) -> Result<Attempt, Error> {
        if self.node.guard != Some(RecreationGuard::Unguarded) {
            let what = "neither it nor its parent can be written any more";
            return Ok(Attempt::End(Ending::Changed { what: what.to_owned() }));
        }
        match self.client.stat(self.path()).await? {
            Some(stat) if self.is_ours(&stat) => self.send(stat.version, true).await,
            _ => Ok(Attempt::Again),
        }
    }

    async fn send(&mut self, version: i32, window: bool) -> Result<Attempt, Error> {
        self.ready()?;
        let delete = self.client.delete(self.path(), Some(version));
        self.sent.deletion = Some(UnansweredDeletion::Plain);
        match delete.await {
            Ok(()) => {
                self.sent.deletion = None;
                Ok(Attempt::End(Ending::Deleted { window }))
            }
            Err(error) if is_answer(&error) => {
                self.sent.deletion = None;
                Ok(refused(error))
            }
            Err(error) => Err(error),
        }
    }

    /// Handles a lost connection: waits for the next one, and until the server behind it has caught
    /// up with all earlier changes.
    async fn recover(&self, error: Error, backoff: &mut Backoff) -> Result<(), Ending> {
        if is_answer(&error) {
            return Err(self.sent.cut_off(self.action, &error.to_string()));
        }
        let mut states = self.client.states();
        loop {
            sleep(backoff.next_pause()).await;
            loop {
                match states.peek() {
                    SessionState::SyncConnected => break,
                    state if state.is_terminated() => {
                        return Err(self.sent.cut_off(self.action, "the session ended"));
                    }
                    _ => {}
                }
                states.changed().await;
            }
            // Without the sync, a server that lags behind may still show deleted nodes.
            match self.client.sync(self.path()).await {
                Err(error) if !is_answer(&error) => {}
                _ => return Ok(()),
            }
        }
    }
}

/// Returns the result of a deletion that the server refused.
fn refused(error: Error) -> Attempt {
    match error {
        Error::NoNode => Attempt::End(Ending::Gone),
        Error::BadVersion => Attempt::Again,
        Error::NotEmpty => Attempt::End(Ending::NotEmpty),
        Error::NoAuth => Attempt::End(Ending::Refused { lacks: "the DELETE permission on its parent" }),
        error => Attempt::End(Ending::NotDone { why: error.to_string() }),
    }
}
