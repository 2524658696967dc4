//! Finds a node again and deletes it, or asks its owner to release in Curator's way.
//!
//! Every step needs the same checks: where the node is, whether it is still the same node, and
//! whether there is a connection. A deletion that needs a guard raises versions, and repairs
//! another node that such a write hit.

use tokio::time::{Duration, Instant, sleep};
use zookeeper_client::{Error, MultiWriteError, MultiWriteResult, SessionState, Stat};

use super::super::plan::NeededGuard;
use super::super::{Action, PlannedNode, RecreationGuard};
use super::sent::{Raise, Raised, Sent, UnansweredDeletion, counts, is_answer};
use super::{Ending, Examine, reexamine};
use lockscope_base::time::Backoff;
use lockscope_base::znode::Zxid;
use lockscope_requests::{Requests, Write};

/// The maximum number of tries for a node, for when others change it meanwhile or the connection is
/// lost.
const MAX_TRIES: usize = 10;

/// The first and the longest pause after a failed try.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(640));

/// The result of a step.
enum StepResult {
    /// The work is over.
    End(Ending),
    /// The step must be tried again: something changed.
    Again,
    /// The server does not permit the write that this guard needs.
    NotPermitted,
}

/// The write that shares a transaction with the deletion.
struct WrittenNode<'a> {
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
pub struct NodeDeleter<'a, E> {
    client: &'a dyn Requests,
    node: &'a PlannedNode,
    action: Action,
    examine: &'a mut E,
    /// The time of the last examination.
    examined: Instant,
    sent: Sent,
}

impl<'a, E: Examine> NodeDeleter<'a, E> {
    /// Starts with a node that was examined just now.
    pub fn new(client: &'a dyn Requests, node: &'a PlannedNode, action: Action, examine: &'a mut E) -> Self {
        Self { client, node, action, examine, examined: Instant::now(), sent: Sent::default() }
    }

    /// Returns what was handed to the client library, after the work has ended or was cut off.
    pub fn into_sent(self) -> Sent {
        self.sent
    }

    pub async fn run(&mut self) -> Ending {
        let mut backoff = Backoff::new(RETRY_PAUSES.0, RETRY_PAUSES.1);
        for _ in 0..MAX_TRIES {
            let step = match self.action {
                Action::Delete => self.try_delete().await,
                Action::Revoke => self.try_revoke().await,
            };
            match step {
                Ok(StepResult::End(ending)) => return ending,
                Ok(StepResult::Again | StepResult::NotPermitted) => sleep(backoff.next_pause()).await,
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

    async fn try_delete(&mut self) -> Result<StepResult, Error> {
        self.settle_raise().await?;
        let stat = match self.client.stat(self.path()).await? {
            Some(stat) if self.is_ours(&stat) => stat,
            other => return self.end_without(other).await.map(StepResult::End),
        };
        // The earlier deletion did not arrive, and cannot any more: its connection is gone, and the
        // server was synced.
        self.sent.deletion = None;
        if let Some(ending) = self.examine_again().await {
            return Ok(StepResult::End(ending));
        }
        let needed = RecreationGuard::needed(self.node);
        if needed == NeededGuard::Nothing {
            return self.send(stat.version, false).await;
        }
        let parent_is_closed =
            matches!(self.node.guard, Some(RecreationGuard::OwnNode { .. } | RecreationGuard::Unguarded));
        if needed == NeededGuard::ParentOrNode && !parent_is_closed {
            match self.delete_with_parent(&stat).await? {
                StepResult::NotPermitted if matches!(self.node.guard, Some(RecreationGuard::Parent { .. })) => {
                    let what = "its parent can no longer be written, so another guard is needed";
                    return Ok(StepResult::End(Ending::Changed { what: what.to_owned() }));
                }
                StepResult::NotPermitted => {}
                step => return Ok(step),
            }
        }
        match self.delete_raised(&stat).await? {
            StepResult::NotPermitted => self.delete_unguarded().await,
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
    async fn read_to_rewrite(&self, path: &str) -> Result<Result<(Vec<u8>, Stat), StepResult>, Error> {
        match self.client.data(path).await {
            Ok(read) => Ok(Ok(read)),
            Err(Error::NoAuth) => Ok(Err(StepResult::NotPermitted)),
            Err(Error::NoNode) => Ok(Err(StepResult::Again)),
            Err(error) => Err(error),
        }
    }

    /// Pins the parent by raising its version, then deletes the node in one transaction with a
    /// write to that parent: a number can come back only with another parent.
    async fn delete_with_parent(&mut self, stat: &Stat) -> Result<StepResult, Error> {
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
                    let written = WrittenNode { path: &parent, data: &data, czxid, version, deletion };
                    self.send_with(written, node.version).await
                }
                _ => Ok(StepResult::Again),
            },
            Raised::Again | Raised::Other(_) => Ok(StepResult::Again),
            Raised::Refused(_) => Ok(StepResult::NotPermitted),
        }
    }

    /// Deletes the node in one transaction with a write to the pinned node or parent. The reply
    /// shows which one that was.
    async fn send_with(&mut self, written: WrittenNode<'_>, node_version: i32) -> Result<StepResult, Error> {
        self.ready()?;
        let WrittenNode { path, data, czxid, version, deletion } = written;
        let writes = [Write::SetData(path, data, Some(version)), Write::Delete(self.path(), Some(node_version))];
        let written = self.client.write(&writes);
        self.sent.deletion = Some(deletion);
        let (index, error) = match written.await {
            Ok(results) => {
                self.sent.deletion = None;
                return Ok(StepResult::End(match results.first() {
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
            (0, Error::NoAuth) => StepResult::NotPermitted,
            (_, error) => refused(error),
        })
    }

    /// Pins the node by raising its own version, then deletes it in one transaction with one more
    /// write to it.
    async fn delete_raised(&mut self, stat: &Stat) -> Result<StepResult, Error> {
        let path = self.path().to_owned();
        let (data, read) = match self.read_to_rewrite(&path).await? {
            Ok(read) => read,
            Err(attempt) => return Ok(attempt),
        };
        if read.czxid != stat.czxid {
            return Ok(StepResult::Again);
        }
        match self.raise(&path, &data, &read, None).await? {
            Raised::At { version, .. } => {
                let deletion = UnansweredDeletion::Plain;
                let written = WrittenNode { path: &path, data: &data, czxid: stat.czxid, version, deletion };
                self.send_with(written, version.wrapping_add(1)).await
            }
            Raised::Again => Ok(StepResult::Again),
            Raised::Other(stat) => Ok(StepResult::End(Ending::ChangedHands { czxid: Zxid(stat.czxid) })),
            Raised::Refused(_) => Ok(StepResult::NotPermitted),
        }
    }

    /// Handles a node where neither it nor its parent may be written: looks once more and deletes
    /// it, if that was confirmed.
    async fn delete_unguarded(&mut self) -> Result<StepResult, Error> {
        if self.node.guard != Some(RecreationGuard::Unguarded) {
            let what = "neither it nor its parent can be written any more";
            return Ok(StepResult::End(Ending::Changed { what: what.to_owned() }));
        }
        match self.client.stat(self.path()).await? {
            Some(stat) if self.is_ours(&stat) => self.send(stat.version, true).await,
            _ => Ok(StepResult::Again),
        }
    }

    async fn send(&mut self, version: i32, window: bool) -> Result<StepResult, Error> {
        self.ready()?;
        let delete = self.client.delete(self.path(), Some(version));
        self.sent.deletion = Some(UnansweredDeletion::Plain);
        match delete.await {
            Ok(()) => {
                self.sent.deletion = None;
                Ok(StepResult::End(Ending::Deleted { window }))
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
fn refused(error: Error) -> StepResult {
    match error {
        Error::NoNode => StepResult::End(Ending::Gone),
        Error::BadVersion => StepResult::Again,
        Error::NotEmpty => StepResult::End(Ending::NotEmpty),
        Error::NoAuth => {
            StepResult::End(Ending::Refused { action: Action::Delete, lacks: "the DELETE permission on its parent" })
        }
        error => StepResult::End(Ending::NotDone { action: Action::Delete, why: error.to_string() }),
    }
}

/// The maximum age of an examination. An older one is repeated before anything is sent.
const MAX_EXAMINATION_AGE: Duration = Duration::from_secs(1);

impl<'a, E: Examine> NodeDeleter<'a, E> {
    /// Reads a node, with its data if that is permitted; `None` if it is gone.
    async fn read_node(&self, path: &str) -> Result<Option<(Option<Vec<u8>>, Stat)>, Error> {
        match self.client.data(path).await {
            Ok((data, stat)) => Ok(Some((Some(data), stat))),
            Err(Error::NoNode) => Ok(None),
            Err(Error::NoAuth) => Ok(self.client.stat(path).await?.map(|stat| (None, stat))),
            Err(error) => Err(error),
        }
    }

    /// Examines the confirmed facts again if the last examination is too old.
    async fn examine_again(&mut self) -> Option<Ending> {
        if self.examined.elapsed() < MAX_EXAMINATION_AGE {
            return None;
        }
        let found = reexamine(self.examine, self.action, self.node).await;
        self.examined = Instant::now();
        // The callers have settled earlier requests without an answer, so this result holds.
        found
    }

    /// Fails without a connection. The client library would keep a request and send it later.
    fn ready(&self) -> Result<(), Error> {
        if self.client.state() == SessionState::SyncConnected { Ok(()) } else { Err(Error::ConnectionLoss) }
    }

    fn path(&self) -> &'a str {
        self.node.path.as_str()
    }

    fn is_ours(&self, stat: &Stat) -> bool {
        Zxid(stat.czxid) == self.node.czxid
    }

    fn parent(&self) -> &'a str {
        self.node.path.parent_str().unwrap_or("/")
    }
}

impl<E: Examine> NodeDeleter<'_, E> {
    /// Raises a version in as many requests as the data need.
    async fn raise(&mut self, path: &str, data: &[u8], stat: &Stat, check: Option<i32>) -> Result<Raised, Error> {
        let (mut left, at_once) = counts(data);
        let mut version = stat.version;
        loop {
            let times = left.min(at_once);
            let raise =
                Raise { path: path.to_owned(), czxid: stat.czxid, data: data.to_owned(), version, times, read: None };
            let raised = self.raise_once(raise, check).await?;
            left -= times;
            match raised {
                Raised::At { version: reached, .. } if left > 0 => version = reached,
                raised => return Ok(raised),
            }
        }
    }

    async fn raise_once(&mut self, raise: Raise, check: Option<i32>) -> Result<Raised, Error> {
        self.ready()?;
        let (path, node) = (raise.path.clone(), self.path().to_owned());
        let has_come_late = |late: &Raise| late.has_come_before(&raise);
        if self.sent.late_raise.take_if(|late| has_come_late(late)).is_some() {
            self.note_raised(&path);
        }
        // All requests are sent at once: if the name passes to another node before them, the read
        // returns the data that the write destroys.
        let read = self.client.data(&path);
        let write = raise.write(self.client, check.map(|version| (node.as_str(), version)));
        let behind = check.map(|_| self.client.stat(&node));
        let behind = async { if let Some(behind) = behind { behind.await } else { Ok(None) } };
        self.sent.raise = Some(raise.clone());
        let (read, written, behind) = tokio::join!(read, write, behind);
        let raise = Raise { read: read.ok(), ..raise };
        let error = match written {
            Ok(stat) => {
                self.sent.raise = None;
                if stat.czxid == raise.czxid {
                    self.note_raised(&path);
                    return Ok(Raised::At { version: stat.version, behind });
                }
                self.put_back(&raise, &stat).await;
                return Ok(Raised::Other(stat));
            }
            Err(error) => Error::from(error),
        };
        self.sent.raise = Some(raise);
        if !is_answer(&error) {
            return Err(error);
        }
        self.sent.raise = None;
        match error {
            Error::NoNode | Error::BadVersion => Ok(Raised::Again),
            // It passes: no reason to take another guard.
            Error::Throttled => Err(error),
            error => Ok(Raised::Refused(error)),
        }
    }

    fn note_raised(&mut self, path: &str) {
        if self.action == Action::Delete {
            self.sent.raised = lockscope_base::znode::ZnodePath::new(path).ok();
        }
    }

    /// Restores the data of another node that got the write, if they were read and nobody has
    /// changed them since. That node's version stays raised.
    async fn put_back(&mut self, raise: &Raise, other: &Stat) {
        let Some(own) = raise.data_of(other) else {
            self.sent.overwritten = true;
            return;
        };
        if own == raise.data {
            self.note_raised(&raise.path);
            return;
        }
        // Assumed until there is an answer.
        let before = std::mem::replace(&mut self.sent.overwritten, true);
        let restored = self.client.set_data(&raise.path, own, Some(other.version)).await;
        // A write or deletion by somebody else has undone ours.
        if matches!(restored, Ok(_) | Err(Error::BadVersion | Error::NoNode)) {
            self.sent.overwritten = before;
        }
        if matches!(restored, Ok(_) | Err(Error::BadVersion)) {
            self.note_raised(&raise.path);
        }
    }

    /// Finds out whether a raise or a revocation whose reply was lost hit another node.
    async fn settle_raise(&mut self) -> Result<(), Error> {
        let Some(raise) = self.sent.raise.clone() else { return Ok(()) };
        let Some((data, stat)) = self.read_node(&raise.path).await? else {
            self.sent.raise = None;
            return Ok(());
        };
        self.sent.raise = None;
        if stat.czxid != raise.czxid {
            if raise.may_have_hit(data.as_deref().unwrap_or(&raise.data), &stat) {
                self.put_back(&raise, &stat).await;
            }
        } else if stat.version == raise.version {
            self.sent.late_raise = Some(raise);
        } else {
            self.note_raised(&raise.path);
        }
        Ok(())
    }
}

/// The data that Curator's lock owners take for a request to release.
const REVOKE_DATA: &[u8] = b"__REVOKE__";

impl<E: Examine> NodeDeleter<'_, E> {
    async fn try_revoke(&mut self) -> Result<StepResult, Error> {
        let (data, stat) = self.read_node(self.path()).await?.map_or((None, None), |(data, stat)| (data, Some(stat)));
        let Some(stat) = stat.filter(|stat| self.is_ours(stat)) else {
            let ending = match (&self.sent.raise, stat) {
                (Some(_), _) => self.sent.cut_off(self.action, "it is gone, and the reply to the request was lost"),
                (None, None) => Ending::Gone,
                (None, Some(other)) => Ending::ChangedHands { czxid: Zxid(other.czxid) },
            };
            self.settle_raise().await?;
            return Ok(StepResult::End(ending));
        };
        if self.sent.raise.take().is_some() && data.as_deref() == Some(REVOKE_DATA) {
            return Ok(StepResult::End(Ending::Asked));
        }
        if let Some(ending) = self.examine_again().await {
            return Ok(StepResult::End(ending));
        }
        let path = self.path().to_owned();
        let raise =
            Raise { path, czxid: stat.czxid, data: REVOKE_DATA.to_vec(), version: stat.version, times: 1, read: None };
        Ok(match self.raise_once(raise, None).await? {
            Raised::At { .. } => StepResult::End(Ending::Asked),
            Raised::Again => StepResult::Again,
            Raised::Other(stat) => StepResult::End(Ending::ChangedHands { czxid: Zxid(stat.czxid) }),
            Raised::Refused(Error::NoAuth) => {
                StepResult::End(Ending::Refused { action: self.action, lacks: "the WRITE permission on it" })
            }
            Raised::Refused(error) => StepResult::End(Ending::NotDone { action: self.action, why: error.to_string() }),
        })
    }
}
