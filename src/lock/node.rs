//! Creates the nodes of an attempt: each exactly once, even when the reply is lost.

use futures::future::{join, join_all};
use lockscope_requests::{Created, NewNode};
use uuid::Uuid;
use zookeeper_client::{Acls, CreateMode, Error, Stat};

use super::error::NotAcquired;
use super::error::lock_error;
use super::naming::{NodeMode, QueueNames};
use super::retrying_client::{LastSeen, Listing, OwnNode, Retries, RetryingClient};
use super::unanswered::{CreatePlace, QueuePlace};
use super::{LockError, LockOptions, Parents};
use lockscope_base::znode::{Sequence, ZnodePath, Zxid};

/// The number of times that an attempt creates a parent that keeps vanishing, before it gives up.
pub(super) const MAX_PARENT_CREATES: u32 = 20;

/// The listing of the parent that is sent together with the creation of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstListing {
    /// No listing: the predecessor's name is known without one.
    Skipped,
    Unwatched,
    Watched,
}

/// Returns whether a new node with this number is behind all earlier ones. After the last number,
/// servers up to 3.5 go on with negative numbers, and later servers repeat the last one.
fn is_in_order(sequence: Sequence) -> bool {
    (0..i32::MAX).contains(&sequence.0)
}

/// Creates the nodes of one attempt.
#[derive(Debug)]
pub(super) struct NodeCreator<'a> {
    pub(super) client: &'a RetryingClient,
    pub(super) options: &'a LockOptions,
    /// The id of this attempt, random.
    pub(super) id: Uuid,
}

impl NodeCreator<'_> {
    fn acls(&self) -> Acls<'_> {
        Acls::new(&self.options.acls)
    }

    /// Returns an ephemeral node to create.
    pub(super) fn ephemeral<'a>(&'a self, path: &'a ZnodePath, data: &'a [u8]) -> NewNode<'a> {
        NewNode { path: path.as_str(), data, mode: CreateMode::Ephemeral, acls: self.acls() }
    }

    /// Returns the data of a node. It begins with the id of the attempt if the name does not
    /// contain it.
    pub(super) fn data(&self, named_by_id: bool) -> Vec<u8> {
        let mark = if named_by_id { Vec::new() } else { self.mark() };
        [mark, self.options.node_data()].concat()
    }

    /// Returns whether a node with this data is this attempt's, if its name does not contain the id.
    pub(super) fn is_marked(&self, data: &[u8]) -> bool {
        data.starts_with(&self.mark())
    }

    /// Returns whether a node with this stat and data is this attempt's and belongs to its session,
    /// if its name does not contain the id.
    pub(super) fn is_own(&self, data: &[u8], stat: &Stat) -> bool {
        stat.ephemeral_owner == self.client.session().0 && self.is_marked(data)
    }

    /// Returns the node that this attempt created, with its stat. Deletes it and fails if the client
    /// has got a new session: see [`RetryingClient::check_session`].
    pub(super) async fn in_session(&self, own: OwnNode, created: &Stat) -> Result<OwnNode, LockError> {
        if let Err(ended) = self.client.check_session(created) {
            self.client.delete(&own, LastSeen::OnThisConnection).await?;
            return Err(ended);
        }
        Ok(own)
    }

    fn mark(&self) -> Vec<u8> {
        format!("{} ", self.id.simple()).into_bytes()
    }

    /// Creates a sequential node and lists its parent, both sent at once. The listing is `None`
    /// when it was not wanted or its reply was lost.
    ///
    /// A create whose reply was lost may have been carried out: before a second one the node is
    /// searched for.
    pub(super) async fn enqueue(
        &self,
        parent: &ZnodePath,
        names: &QueueNames,
        mode: NodeMode,
        first: FirstListing,
    ) -> Result<(OwnNode, Option<Listing>), NotAcquired> {
        let prefix = names.prefix(mode, self.id, self.client.session());
        let path = parent.child(&prefix);
        let data = self.data(names.carry_id());
        let node = NewNode { mode: CreateMode::EphemeralSequential, ..self.ephemeral(&path, &data) };
        let mut retries = Retries::default();
        loop {
            let create = async {
                let Created { stat, number } = self.client.create(&node).await?;
                let own = queue_node(parent.child(&format!("{prefix}{number}")), names, &stat);
                self.client.meter.made(&own.path);
                Ok((own, stat))
            };
            let list = async {
                match first {
                    FirstListing::Skipped => None,
                    _ => self.client.list_once(parent, first == FirstListing::Watched).await.ok(),
                }
            };
            let (created, listed) = join(create, list).await;
            match created {
                Ok((own, stat)) => {
                    let own = self.in_session(own, &stat).await?;
                    self.client.unanswered.record_created(&path, &own.path);
                    return Ok((self.in_order(own, parent).await?, listed));
                }
                Err(Error::NoNode) => {
                    if retries.failures >= MAX_PARENT_CREATES {
                        return Err(LockError::NoParent { path: parent.clone() }.into());
                    }
                    // The pause comes before the parent is created: after it, the pause would give
                    // others the time to delete the parent again.
                    self.cancelled()?;
                    retries.wait().await;
                    self.create_parents(parent).await?;
                    self.cancelled()?;
                    continue;
                }
                Err(error) if retries.may_help(&error) => {
                    let (own, after) = self.find(parent, names, &prefix).await?;
                    if let Some(own) = own {
                        self.client.meter.made(&own.path);
                        return Ok((self.in_order(own, parent).await?, None));
                    }
                    let (parent, names, prefix) = (parent.clone(), names.clone(), prefix.clone());
                    self.client.unanswered.record_lost(CreatePlace::Queue(QueuePlace { parent, names, prefix, after }));
                }
                // The server repeats the last number, and names that contain nothing else are
                // taken.
                Err(Error::NodeExists) => return Err(LockError::NumbersUsedUp { parent: parent.clone() }.into()),
                Err(Error::Unimplemented) => {
                    return Err(lock_error(Error::Unimplemented, &self.client.lock, "create", parent).into());
                }
                Err(error) => {
                    // The node may exist all the same, for example when the reply could not be
                    // decoded.
                    if let (Some(own), _) = self.find(parent, names, &prefix).await? {
                        self.client.delete(&own, LastSeen::JustNow).await?;
                    }
                    return Err(lock_error(error, &self.client.lock, "create nodes below", parent).into());
                }
            }
            self.cancelled()?;
            retries.wait().await;
        }
    }

    /// Returns the node if it is behind all earlier ones, and deletes it otherwise.
    async fn in_order(&self, own: OwnNode, parent: &ZnodePath) -> Result<OwnNode, LockError> {
        if own.sequence.is_none_or(is_in_order) {
            return Ok(own);
        }
        self.client.delete(&own, LastSeen::JustNow).await?;
        Err(LockError::NumbersUsedUp { parent: parent.clone() })
    }

    /// Finds the node of a create whose reply was lost; `None` when there is none. Gives also the
    /// highest number that a child of the parent has, as far as there are any.
    pub(super) async fn find(
        &self,
        parent: &ZnodePath,
        names: &QueueNames,
        prefix: &str,
    ) -> Result<(Option<OwnNode>, Option<Sequence>), LockError> {
        let Some(children) = self.client.list_in_sync(parent).await? else { return Ok((None, None)) };
        let highest = children.iter().filter_map(|name| Sequence::split(name)).map(|(_, number)| number).max();
        let alike = children.iter().filter(|name| name.starts_with(prefix) && names.read(name).is_some());
        Ok((self.first_own(alike.map(|name| parent.child(name)), names).await?, highest))
    }

    /// Returns the first of these nodes that is this attempt's.
    pub(super) async fn first_own(
        &self,
        paths: impl Iterator<Item = ZnodePath>,
        names: &QueueNames,
    ) -> Result<Option<OwnNode>, LockError> {
        let paths: Vec<ZnodePath> = paths.collect();
        let stats = join_all(paths.iter().map(|path| self.own_at(path, names))).await;
        for (path, stat) in paths.into_iter().zip(stats) {
            if let Some(stat) = stat? {
                return Ok(Some(queue_node(path, names, &stat)));
            }
        }
        Ok(None)
    }

    /// Returns the stat of this attempt's node, if that is the node at the path. Nodes of other
    /// sessions are not read, since that may be forbidden.
    async fn own_at(&self, path: &ZnodePath, names: &QueueNames) -> Result<Option<Stat>, LockError> {
        let stat = self.client.stat(path).await?.filter(|stat| stat.ephemeral_owner == self.client.session().0);
        if stat.is_none() || names.carry_id() {
            return Ok(stat);
        }
        let read = self.client.read(path).await?;
        Ok(read.filter(|(data, stat)| self.is_own(data, stat)).map(|(_, stat)| stat))
    }

    /// Creates a parent, and those above it that are missing too.
    pub(super) async fn create_parents(&self, parent: &ZnodePath) -> Result<(), LockError> {
        if self.options.parents == Parents::Required {
            return Err(LockError::NoParent { path: parent.clone() });
        }
        let containers = self.options.parents == Parents::Container;
        let mut mode = if containers { CreateMode::Container } else { CreateMode::Persistent };
        let mut missing = vec![parent.clone()];
        while let Some(next) = missing.last().cloned() {
            if next.is_root() {
                // The chroot is missing. It cannot be created from within.
                return Err(LockError::NoParent { path: next.clone() });
            }
            let node = NewNode { mode, ..self.ephemeral(&next, &[]) };
            match self.client.until_answered(|| self.client.create(&node)).await {
                Ok(_) | Err(Error::NodeExists) => drop(missing.pop()),
                Err(Error::NoNode) => missing.extend(next.parent()),
                // A server may lack containers alone.
                Err(Error::Unimplemented) if mode == CreateMode::Container => mode = CreateMode::Persistent,
                Err(error) => return Err(lock_error(error, &self.client.lock, "create", &next)),
            }
        }
        Ok(())
    }

    pub(super) fn cancelled(&self) -> Result<(), NotAcquired> {
        if self.client.cancel.is_cancelled() { Err(NotAcquired::Cancelled) } else { Ok(()) }
    }
}

/// Returns an attempt's node in a queue.
pub(super) fn queue_node(path: ZnodePath, names: &QueueNames, stat: &Stat) -> OwnNode {
    let sequence = Sequence::split(path.name()).map(|(_, sequence)| sequence);
    OwnNode { path, sequence, created: Zxid(stat.czxid), path_returns: !names.carry_id() }
}
