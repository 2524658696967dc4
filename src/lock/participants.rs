//! The nodes that hold a lock and those that wait for it, as a listing tells them.

use futures::stream::{self, StreamExt, TryStreamExt};
use tokio_util::sync::CancellationToken;
use zookeeper_client::Stat;

use super::cost::AttemptMeter;
use super::lock::Lock;
use super::options::{NodeMode, QueueNames};
use super::retrying_client::RetryingClient;
use super::{Algorithm, LockError};
use lockscope_terms::znode::{Sequence, SessionId, ZnodePath, Zxid};

/// A node of a lock, by whichever library: its owner holds the lock or waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Participant {
    /// The node.
    pub path: ZnodePath,
    /// The number of the node in its queue; `None` for the two mutexes.
    pub sequence: Option<Sequence>,
    /// The session that owns the node.
    pub session: SessionId,
    /// The transaction that created the node: its [token](super::Guard::token) if it holds.
    pub token: Zxid,
    /// Whether the owner holds the lock, by the order of the nodes.
    pub holds: bool,
    /// The first 1,024 bytes of the node's data; empty where they must not be read.
    pub data: Vec<u8>,
}

/// The maximum number of nodes that are read.
const MAX_PARTICIPANTS: usize = 1_000;

/// The maximum number of reads under way.
const MAX_READS: usize = 16;

/// The maximum length of a participant's data, in bytes.
const MAX_DATA: usize = 1_024;

/// A node as a listing tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedNode {
    pub(crate) path: ZnodePath,
    sequence: Option<Sequence>,
    holds: bool,
}

impl Lock {
    /// Returns the nodes that hold the lock or wait for it, in their order: at most 1,000, and of a
    /// semaphore the leases before the queue for them. Other libraries' are among them. Nodes that
    /// come or go meanwhile may be missing, and a server that lags shows an earlier state.
    ///
    /// Cost: one listing, two for a semaphore, and one read for each node, 16 at a time. Cancel
    /// safe.
    ///
    /// # Errors
    ///
    /// - [`LockError::SessionExpired`] when the session has ended.
    /// - [`LockError::NotPermitted`] when an ACL forbids the listing.
    /// - [`LockError::Closed`] or [`LockError::Unexpected`] as in [`acquire`](Self::acquire).
    pub async fn participants(&self) -> Result<Vec<Participant>, LockError> {
        let client = self.client();
        let mut listed = self.listed(&client).await?;
        listed.truncate(MAX_PARTICIPANTS);
        let reads = listed.into_iter().map(|node| read(&client, node));
        stream::iter(reads).buffered(MAX_READS).try_filter_map(|read| async { Ok(read) }).try_collect().await
    }

    /// Returns how many nodes are before the first node of this lock and its clones, in the order of
    /// [`participants`](Self::participants): the progress of an attempt that waits. `None` while
    /// they have no node. A counter that several locks share
    /// ([`LockOptions::counter`](super::LockOptions::counter)) makes them one here if they have the
    /// same path.
    ///
    /// It compares paths. So with names that come back, a node of somebody else counts as its own
    /// until the loss of its own is noticed: ask [`Guard::is_lost`](super::Guard::is_lost), not this,
    /// whether the lock is held.
    ///
    /// Cost: one listing, two for a semaphore. Cancel safe.
    ///
    /// # Errors
    ///
    /// As [`participants`](Self::participants).
    pub async fn position(&self) -> Result<Option<usize>, LockError> {
        let own = self.counter().nodes();
        Ok(self.listed(&self.client()).await?.iter().position(|node| own.contains(&node.path)))
    }

    pub(super) fn client(&self) -> RetryingClient {
        let meter = AttemptMeter::of(self.counter());
        RetryingClient::new(self.requests(), meter, self.path().clone(), CancellationToken::new())
    }

    pub(super) async fn listed(&self, client: &RetryingClient) -> Result<Vec<ListedNode>, LockError> {
        let single = |path| vec![ListedNode { path, sequence: None, holds: true }];
        let path = self.path();
        match self.algorithm() {
            Algorithm::Mutex => Ok(single(path.clone())),
            Algorithm::MutexParent => Ok(single(path.child("lock"))),
            Algorithm::Semaphore(leases) => {
                let leases = usize::try_from(leases.get()).unwrap_or(usize::MAX);
                let mut nodes = list(client, path.child("leases"), &QueueNames::leases(), leases).await?;
                nodes.extend(list(client, path.child("locks"), self.names(), 0).await?);
                Ok(nodes)
            }
            _ => list(client, path.clone(), self.names(), 1).await,
        }
    }
}

async fn list(
    client: &RetryingClient,
    parent: ZnodePath,
    names: &QueueNames,
    max_holders: usize,
) -> Result<Vec<ListedNode>, LockError> {
    let children = client.list(&parent, false).await?.map(|listing| listing.names).unwrap_or_default();
    Ok(in_order(&children, &parent, names, max_holders))
}

/// Returns the nodes of a queue in their order. The first `max_holders` hold, and readers hold
/// beside each other before the first writer.
fn in_order(children: &[String], parent: &ZnodePath, names: &QueueNames, max_holders: usize) -> Vec<ListedNode> {
    let read = |name: &String| names.read(name).map(|(sequence, mode)| (sequence, name.clone(), mode));
    let mut nodes: Vec<(Sequence, String, NodeMode)> = children.iter().filter_map(read).collect();
    nodes.sort_unstable();
    let readers = nodes.iter().take_while(|(_, _, mode)| *mode == NodeMode::Read).count();
    let holders = readers.max(max_holders);
    let listed = |(at, (sequence, name, _)): (usize, (Sequence, String, NodeMode))| ListedNode {
        path: parent.child(&name),
        sequence: Some(sequence),
        holds: at < holders,
    };
    nodes.into_iter().enumerate().map(listed).collect()
}

impl ListedNode {
    pub(crate) fn read_as(self, mut data: Vec<u8>, stat: &Stat) -> Participant {
        data.truncate(MAX_DATA);
        let Self { path, sequence, holds } = self;
        let session = SessionId(stat.ephemeral_owner);
        Participant { path, sequence, session, token: Zxid(stat.czxid), holds, data }
    }
}

/// Reads a node; `None` when it is gone.
pub(crate) async fn read(client: &RetryingClient, node: ListedNode) -> Result<Option<Participant>, LockError> {
    let read = match client.read(&node.path).await {
        Err(LockError::NotPermitted { .. }) => client.stat(&node.path).await?.map(|stat| (Vec::new(), stat)),
        read => read?,
    };
    Ok(read.map(|(data, stat)| node.read_as(data, &stat)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Naming};

    #[test]
    fn readers_before_a_writer_hold_together_and_strangers_do_not_count() {
        let parent = ZnodePath::new("/lock").expect("a path");
        let names = QueueNames::of(&Naming::Session, Algorithm::SharedChain(Access::Read)).expect("they fit");
        let children = ["1-W-0000000007", "config", "1-R-0000000003", "2-R-0000000005", "2-R-0000000009"];
        let nodes = in_order(&children.map(str::to_owned), &parent, &names, 1);
        let shown: Vec<_> = nodes.iter().map(|node| (node.path.name(), node.holds)).collect();
        let expected = [(children[2], true), (children[3], true), (children[0], false), (children[4], false)];
        assert_eq!(shown, expected);
        let alone = in_order(&[children[0].to_owned()], &parent, &names, 1);
        assert!(alone[0].holds);
        assert!(!in_order(&[children[0].to_owned()], &parent, &names, 0)[0].holds, "it waits for a lease");
    }
}
