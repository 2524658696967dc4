//! Writes that are carried out only while the lock is held.
//!
//! Each is one transaction: a check of the own node, a check of the fence if there is one, and the
//! writes. The servers carry out all of it or nothing, whenever it arrives.

use zookeeper_client::{Acls, CreateMode, Error, MultiWriteError, MultiWriteResult, Stat};

use super::error::{is_transient, is_unreadable};
use super::guard::{Guard, GuardRequest};
use super::{LockError, Loss};
use lockscope_requests::{NewNode, Write};
use lockscope_terms::znode::{ZnodePath, Zxid};

/// Why a guarded write failed. In all cases but [`Unknown`](Self::Unknown) nothing was written, and
/// nothing will be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The lock was lost before: [`NodeDeleted`](LockError::NodeDeleted) when its node is gone,
    /// [`SessionExpired`](LockError::SessionExpired) when the session has ended, or may have,
    /// [`Closed`](LockError::Closed) when the client is closed.
    #[error("nothing was written: {0}")]
    Lost(LockError),
    /// A later holder has raised the fence, so the lock was lost before.
    #[error("nothing was written: the fence {fence} has the higher token {token}, so others hold the lock since")]
    Fenced {
        /// The fence.
        fence: ZnodePath,
        /// The token that it has.
        token: Zxid,
    },
    /// The application's own write at this index failed: `NoNode`, `NodeExists`, `BadVersion` and
    /// so on. The lock was held.
    #[error("nothing was written: the write at index {index} failed: {source}")]
    Refused {
        /// The index of the write.
        index: usize,
        /// Its error.
        source: Error,
    },
    /// The reply was lost or cannot be read. The write was carried out, or will be as long as the
    /// lock is held, or never. It is not sent again: read what it writes before you do so.
    #[error("the write under the lock {lock} may have been carried out: {source}; read it before you write again")]
    Unknown {
        /// The lock.
        lock: ZnodePath,
        /// The error of the connection.
        source: Error,
    },
    /// The path of the lock's node can come back, so the node alone proves nothing, and there is no
    /// fence.
    #[error(
        "nothing was written: the names of the lock {lock} can come back, so set a fence in its options, or use the \
         names of Curator or kazoo"
    )]
    NeedsFence {
        /// The lock.
        lock: ZnodePath,
    },
    /// The fence cannot be read or raised, or its data are no token.
    #[error("nothing was written: the fence {fence} cannot be used: {why}")]
    BadFence {
        /// The fence.
        fence: ZnodePath,
        /// The reason.
        why: String,
    },
    /// The request was refused as a whole.
    #[error("nothing was written under the lock {lock}: {source}")]
    Failed {
        /// The lock.
        lock: ZnodePath,
        /// The error of the servers or of the client library.
        source: Error,
    },
}

/// The number of times that a fence is read for one write: others change it only in between.
const MAX_FENCE_READS: u32 = 5;

/// The version with which a check only asks whether the node exists.
const ANY_VERSION: i32 = -1;

/// Collects writes for one transaction, as the client library's `CheckWriter` does: see
/// [`Guard::check_writer`].
#[derive(Debug)]
#[must_use = "nothing is written before the commit"]
pub struct GuardedWriter<'a> {
    guard: &'a Guard,
    writes: Vec<Write<'a>>,
}

impl<'a> GuardedWriter<'a> {
    /// Adds a check of the version of a node's data.
    pub fn add_check_version(&mut self, path: &'a str, version: i32) -> &mut Self {
        self.add(Write::Check(path, version))
    }

    /// Adds a node to create.
    pub fn add_create(&mut self, path: &'a str, data: &'a [u8], mode: CreateMode, acls: Acls<'a>) -> &mut Self {
        self.add(Write::Create(NewNode { path, data, mode, acls }))
    }

    /// Adds a replacement of a node's data.
    pub fn add_set_data(&mut self, path: &'a str, data: &'a [u8], expected_version: Option<i32>) -> &mut Self {
        self.add(Write::SetData(path, data, expected_version))
    }

    /// Adds a deletion.
    pub fn add_delete(&mut self, path: &'a str, expected_version: Option<i32>) -> &mut Self {
        self.add(Write::Delete(path, expected_version))
    }

    /// Carries out all writes, or none: [`Guard::multi`].
    ///
    /// # Errors
    ///
    /// A [`WriteError`]; [`Refused`](WriteError::Refused) has the index of the write.
    pub async fn commit(self) -> Result<Vec<MultiWriteResult>, WriteError> {
        self.guard.multi(&self.writes).await
    }

    fn add(&mut self, write: Write<'a>) -> &mut Self {
        self.writes.push(write);
        self
    }
}

/// [Guarded writes](crate#guarded-writes): each is one transaction, which fails unless the lock's node
/// is there when the servers carry it out.
impl Guard {
    /// Creates a node, if the lock is held. Gives its path, with the number of a sequential node,
    /// and its stat, which servers before 3.7.2 and 3.8.2 do not fill in
    /// ([`Stat::is_invalid`]).
    ///
    /// Cost and cancellation as [`multi`](Self::multi).
    ///
    /// # Errors
    ///
    /// A [`WriteError`].
    pub async fn create(
        &self,
        path: &str,
        data: &[u8],
        mode: CreateMode,
        acls: Acls<'_>,
    ) -> Result<(String, Stat), WriteError> {
        match self.one(Write::Create(NewNode { path, data, mode, acls })).await? {
            MultiWriteResult::Create { path, stat } => Ok((path, stat)),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Replaces a node's data, if the lock is held and the data have this version.
    ///
    /// Cost and cancellation as [`multi`](Self::multi).
    ///
    /// # Errors
    ///
    /// A [`WriteError`].
    pub async fn set_data(&self, path: &str, data: &[u8], expected_version: Option<i32>) -> Result<Stat, WriteError> {
        match self.one(Write::SetData(path, data, expected_version)).await? {
            MultiWriteResult::SetData { stat } => Ok(stat),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Deletes a node, if the lock is held and the node's data have this version.
    ///
    /// Cost and cancellation as [`multi`](Self::multi).
    ///
    /// # Errors
    ///
    /// A [`WriteError`].
    pub async fn delete(&self, path: &str, expected_version: Option<i32>) -> Result<(), WriteError> {
        self.one(Write::Delete(path, expected_version)).await.map(drop)
    }

    /// Returns a writer that collects several writes for one transaction.
    pub fn check_writer(&self) -> GuardedWriter<'_> {
        GuardedWriter { guard: self, writes: Vec::new() }
    }

    /// Carries out all writes if the lock is held, or none. Gives one result for each.
    ///
    /// Without a write it proves that the lock is held, and raises the fence if there is one.
    ///
    /// Without a connection it waits for the next one, or for the end of the session. It is sent
    /// once, whatever happens; only a server that is overloaded is asked again.
    ///
    /// Cost: one request, one round trip; the first one with a fence is two requests, one after the
    /// other. Not cancel safe: a write whose future is dropped may be carried out, as long as the
    /// lock is held.
    ///
    /// # Errors
    ///
    /// A [`WriteError`].
    pub async fn multi(&self, writes: &[Write<'_>]) -> Result<Vec<MultiWriteResult>, WriteError> {
        if let Some(loss) = self.is_lost() {
            return Err(self.lost_by(loss));
        }
        let written = match self.fence() {
            Some(fence) => self.write_behind(fence, writes).await,
            None if self.own.path_returns => return Err(WriteError::NeedsFence { lock: self.lock().clone() }),
            None => self.write_once(None, writes).await.unwrap_or_else(|| Err(self.bad_fence("there is none"))),
        };
        if matches!(written, Err(WriteError::Lost(LockError::NodeDeleted { .. }))) {
            // Fails when the lock is known to be lost.
            let _ = self.handle.requests.send(GuardRequest::Gone).await;
            self.expired().await;
        }
        written
    }

    fn fence(&self) -> Option<&ZnodePath> {
        self.spec.options.fence.as_ref().ok()?.as_ref()
    }

    async fn one(&self, write: Write<'_>) -> Result<MultiWriteResult, WriteError> {
        let mut results = self.multi(&[write]).await?;
        results.pop().ok_or_else(|| self.unexpected(&results))
    }

    /// Writes behind a fence. The first write raises it to the token; the later ones check that
    /// nobody has raised it since.
    async fn write_behind(&self, fence: &ZnodePath, writes: &[Write<'_>]) -> Result<Vec<MultiWriteResult>, WriteError> {
        let token = self.token().0.to_string();
        for _ in 0..MAX_FENCE_READS {
            let mut raised = self.fence_version.lock().await;
            let known = *raised;
            let sent = if let Some(version) = known {
                drop(raised);
                let sent = self.write_once(Some(Write::Check(fence.as_str(), version)), writes).await;
                if sent.is_none() {
                    *self.fence_version.lock().await = None;
                }
                sent
            } else {
                // Locked meanwhile: a write that begins together with the first one follows it.
                let (step, version) = self.step_to(fence, &token).await?;
                let sent = self.write_once(Some(step), writes).await;
                *raised = matches!(sent, Some(Ok(_))).then_some(version);
                sent
            };
            if let Some(done) = sent {
                return done;
            }
        }
        Err(WriteError::BadFence { fence: fence.clone(), why: "others keep changing it".to_owned() })
    }

    /// Returns the write that raises the fence to the token, and the version that the fence then
    /// has.
    async fn step_to<'a>(&'a self, fence: &'a ZnodePath, token: &'a str) -> Result<(Write<'a>, i32), WriteError> {
        let read = self.handle.client.read(fence).await.map_err(|error| match error {
            ended @ (LockError::SessionExpired { .. } | LockError::Closed { .. }) => WriteError::Lost(ended),
            other => self.bad_fence(other),
        })?;
        let (path, data) = (fence.as_str(), token.as_bytes());
        let Some((seen, stat)) = read else {
            let acls = Acls::new(&self.spec.options.acls);
            return Ok((Write::Create(NewNode { path, data, mode: CreateMode::Persistent, acls }), 0));
        };
        let text = std::str::from_utf8(&seen).unwrap_or("?").trim();
        let highest = if text.is_empty() { Ok(0) } else { text.parse() };
        match highest {
            Err(_) => Err(self.bad_fence("its data are no token")),
            Ok(highest) if highest > self.token().0 => {
                Err(WriteError::Fenced { fence: fence.clone(), token: Zxid(highest) })
            }
            Ok(highest) if highest == self.token().0 => Ok((Write::Check(path, stat.version), stat.version)),
            Ok(_) => Ok((Write::SetData(path, data, Some(stat.version)), stat.version.wrapping_add(1))),
        }
    }

    /// Sends the transaction. `None` when the fence is not as it was read.
    async fn write_once(
        &self,
        fence: Option<Write<'_>>,
        writes: &[Write<'_>],
    ) -> Option<Result<Vec<MultiWriteResult>, WriteError>> {
        let is_new = matches!(fence, Some(Write::Create(_)));
        // The path is unique, or a fence tells the rest: so the node may have any version.
        let mut all = vec![Write::Check(self.own.path.as_str(), ANY_VERSION)];
        all.extend(fence);
        let checks = all.len();
        all.extend_from_slice(writes);
        let error = match self.handle.client.write(&all).await {
            Ok(mut results) if results.len() == all.len() => return Some(Ok(results.split_off(checks))),
            Ok(results) => self.unexpected(&results),
            Err(MultiWriteError::RequestFailed { source }) => self.failed(source),
            Err(MultiWriteError::OperationFailed { index, source }) => match (index, source) {
                (0, Error::NoNode) => self.lost_by(Loss::Deleted),
                (0, source) => self.failed(source),
                (index, source) if index >= checks => WriteError::Refused { index: index - checks, source },
                (_, Error::NoNode) if is_new => self.bad_fence("its parent does not exist"),
                (_, Error::NoNode | Error::NodeExists | Error::BadVersion) => return None,
                (_, source) => self.bad_fence(source),
            },
        };
        Some(Err(error))
    }

    fn lost_by(&self, loss: Loss) -> WriteError {
        WriteError::Lost(loss.error(self.lock(), self.path()))
    }

    fn bad_fence(&self, why: impl std::fmt::Display) -> WriteError {
        let fence = self.fence().unwrap_or(self.lock()).clone();
        WriteError::BadFence { fence, why: why.to_string() }
    }

    /// Returns the error of a request that has failed as a whole.
    fn failed(&self, source: Error) -> WriteError {
        let lock = self.lock().clone();
        match source {
            // The servers, or the client library before it sent anything.
            Error::SessionExpired => self.lost_by(Loss::Expired),
            // A refused login fails all requests that are under way.
            source
                if is_transient(&source)
                    || is_unreadable(&source)
                    || matches!(source, Error::ClientClosed | Error::AuthFailed) =>
            {
                WriteError::Unknown { lock, source }
            }
            source => WriteError::Failed { lock, source },
        }
    }

    fn unexpected(&self, result: &impl std::fmt::Debug) -> WriteError {
        self.failed(Error::UnexpectedError(format!("a transaction gave {result:?}")))
    }
}
