//! The node that an attempt owns, and the only way to delete one.

use lockscope_requests::{NewNode, Write};
use zookeeper_client::{Error, Stat};

use super::super::LockError;
use super::super::activity::RequestKind;
use super::super::error::lock_error;
use super::{Retries, RetryingClient};
use lockscope_base::znode::{Sequence, ZnodePath, Zxid};

/// A node that an attempt created. Path and czxid together are the node: when it is gone, another
/// one may get its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnNode {
    pub(crate) path: ZnodePath,
    /// The node's number; `None` if the node is not sequential.
    pub(crate) sequence: Option<Sequence>,
    /// The zxid of the transaction that created the node.
    pub(crate) created: Zxid,
    /// Whether another attempt may create a node with the same path once this one is gone. A path
    /// with the attempt's id never returns. A path with a number returns only when the parent is
    /// created again.
    pub(crate) path_returns: bool,
}

impl OwnNode {
    /// Returns whether a stat from the node's path is that of this node.
    pub(crate) fn is(&self, stat: &Stat) -> bool {
        Zxid(stat.czxid) == self.created
    }
}

/// The time at which a reply last showed the own node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastSeen {
    /// The attempt has waited for nothing since.
    JustNow,
    /// Any time ago, without a lost connection since.
    OnThisConnection,
    /// Any time ago.
    Before,
}

impl RetryingClient {
    /// Deletes the own node. Returns `false` if somebody else has deleted it before.
    ///
    /// ZooKeeper deletes by path. If another node can have the path, the own node is read before
    /// the deletion is sent, and again before it is resent after a lost reply, since the first one
    /// may have been carried out.
    ///
    /// After a lost connection the server catches up with the leader first, since one that lags
    /// behind still shows a deleted node. The servers refuse a late deletion on a connection whose
    /// session has moved.
    ///
    /// Cost: one request; one more to look, two after a lost connection.
    pub(crate) async fn delete(&self, own: &OwnNode, mut seen: LastSeen) -> Result<bool, LockError> {
        let mut retries = Retries::default();
        loop {
            let version = if own.path_returns && seen != LastSeen::JustNow {
                let Some(version) = self.version_of(own, seen == LastSeen::Before).await? else { break };
                Some(version)
            } else {
                None
            };
            self.meter.request(RequestKind::Delete);
            match self.raw.delete(own.path.as_str(), version).await {
                Ok(()) => {
                    self.meter.gone(&own.path);
                    return Ok(true);
                }
                Err(Error::NoNode) => break,
                // Somebody has changed the data since the read, or another node has the path.
                Err(Error::BadVersion) => seen = LastSeen::OnThisConnection,
                Err(error) if retries.may_help(&error) => {
                    seen = LastSeen::Before;
                    retries.wait().await;
                }
                Err(error) => return Err(lock_error(error, &self.lock, "delete", &own.path)),
            }
        }
        self.meter.gone(&own.path);
        // After a lost reply, this attempt's own deletion was carried out.
        Ok(retries.failures > 0)
    }

    /// Returns whether the own node exists.
    pub(crate) async fn has(&self, own: &OwnNode) -> Result<bool, LockError> {
        Ok(self.version_of(own, false).await?.is_some())
    }

    /// Returns whether the own node exists, once the server has caught up with the leader.
    ///
    /// This proves that the session lives. [`has`](Self::has) does not: a server that has lost its
    /// leader goes on for `syncLimit` ticks, and reads for its clients from a tree in which sessions
    /// that have ended still have their nodes. A sync is answered by the leader.
    ///
    /// Cost: two requests in one round trip.
    pub(crate) async fn has_in_sync(&self, own: &OwnNode) -> Result<bool, LockError> {
        Ok(self.version_of(own, true).await?.is_some())
    }

    /// Returns the version of the own node's data; `None` if the node is gone.
    pub(crate) async fn version_of(&self, own: &OwnNode, in_sync: bool) -> Result<Option<i32>, LockError> {
        let stat = if in_sync { self.stat_in_sync(&own.path).await? } else { self.stat(&own.path).await? };
        Ok(stat.filter(|stat| own.is(stat)).map(|stat| stat.version))
    }

    /// Creates a node and deletes the own one, in one transaction, once. With a version only if the
    /// data of the own one has it.
    pub(crate) async fn replace_once(
        &self,
        own: &OwnNode,
        version: Option<i32>,
        new: NewNode<'_>,
    ) -> Result<(), Error> {
        self.meter.request(RequestKind::Create);
        self.raw.write(&[Write::Create(new), Write::Delete(own.path.as_str(), version)]).await?;
        Ok(())
    }
}
