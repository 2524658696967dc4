//! Creates the nodes of an attempt: each exactly once, even when the reply is lost.

use futures::future::{join, join_all};
use uuid::Uuid;
use zookeeper_client::{Acls, CreateMode, CreateOptions, Error, Stat};

use super::error::NotAcquired;
use super::error::{is_transient, lock_error};
use super::naming::{NodeMode, QueueNames};
use super::retrying_client::{Listing, Retries, RetryingClient};
use super::unanswered::CreatePlace;
use super::{LockError, LockOptions, Parents};
use crate::znode::{Sequence, ZnodePath, Zxid};

/// How often an attempt creates a parent that vanishes again and again, before it gives up.
pub(super) const MAX_PARENT_CREATES: u32 = 20;

/// A node that an attempt owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnNode {
    pub(super) path: ZnodePath,
    /// `None` where the node is not a sequential one.
    pub(super) sequence: Option<Sequence>,
    pub(super) created: Zxid,
}

/// The listing of the parent that is sent together with the creation of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstListing {
    /// None: the name of the predecessor is known without.
    Skipped,
    Unwatched,
    Watched,
}

/// Whether a new node with this number is behind all that were made before it. Servers up to 3.5 go on with negative numbers after
/// the last, and later ones give the last again and again.
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

    pub(super) fn ephemeral(&self) -> CreateOptions<'_> {
        CreateMode::Ephemeral.with_acls(self.acls())
    }

    /// The data of a node. It begins with the id of the attempt where the name does not contain it.
    pub(super) fn data(&self, named_by_id: bool) -> Vec<u8> {
        let mark = if named_by_id { Vec::new() } else { self.mark() };
        [mark.as_slice(), &self.options.data].concat()
    }

    /// Whether a node with this data is this attempt's, among those whose names do not contain the id.
    pub(super) fn is_own(&self, data: &[u8]) -> bool {
        data.starts_with(&self.mark())
    }

    fn mark(&self) -> Vec<u8> {
        format!("{} ", self.id.simple()).into_bytes()
    }

    /// Creates a sequential node and lists its parent, both sent at once. The listing is `None` when it was not wanted or its
    /// reply was lost.
    ///
    /// A create whose reply was lost may have been carried out: before a second one the node is searched for.
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
        let options = CreateMode::EphemeralSequential.with_acls(self.acls());
        let mut retries = Retries::default();
        loop {
            let create = async {
                let (stat, number) = self.client.create(path.as_str(), &data, &options).await?;
                let path = parent.child(&format!("{prefix}{number}"));
                self.client.meter.made(&path);
                let sequence = Sequence::split(path.name()).map(|(_, sequence)| sequence);
                Ok(OwnNode { path, sequence, created: Zxid(stat.czxid) })
            };
            let list = async {
                match first {
                    FirstListing::Skipped => None,
                    _ => self.client.list_once(parent, first == FirstListing::Watched).await.ok(),
                }
            };
            let (created, listed) = join(create, list).await;
            match created {
                Ok(own) => return Ok((self.in_order(own, parent).await?, listed)),
                Err(Error::NoNode) => {
                    if retries.failures >= MAX_PARENT_CREATES {
                        return Err(LockError::NoParent { path: parent.clone() }.into());
                    }
                    // The pause comes before: whoever removes the parent again must not have it to do so.
                    self.cancelled()?;
                    retries.wait().await;
                    self.create_parents(parent).await?;
                    self.cancelled()?;
                    continue;
                }
                Err(error) if is_transient(&error) => {
                    if let Some(own) = self.find(parent, names, &prefix).await? {
                        self.client.meter.made(&own.path);
                        return Ok((self.in_order(own, parent).await?, None));
                    }
                    let (parent, names, prefix) = (parent.clone(), names.clone(), prefix.clone());
                    self.client.unanswered.note(CreatePlace::Queue { parent, names, prefix });
                }
                // The last number is given again and again, and names that contain nothing else are taken.
                Err(Error::NodeExists) => return Err(LockError::NumbersUsedUp { parent: parent.clone() }.into()),
                Err(error) => {
                    // The node may exist all the same, for example when the reply could not be decoded.
                    if let Some(own) = self.find(parent, names, &prefix).await? {
                        self.client.delete(&own.path).await?;
                    }
                    return Err(lock_error(error, &self.client.lock, "create nodes below", parent).into());
                }
            }
            self.cancelled()?;
            retries.wait().await;
        }
    }

    /// Gives the node back if it is behind all that were made before it, and deletes it otherwise.
    async fn in_order(&self, own: OwnNode, parent: &ZnodePath) -> Result<OwnNode, LockError> {
        if own.sequence.is_none_or(is_in_order) {
            return Ok(own);
        }
        self.client.delete(&own.path).await?;
        Err(LockError::NumbersUsedUp { parent: parent.clone() })
    }

    /// Finds the node of a create whose reply was lost; `None` when there is none.
    pub(super) async fn find(
        &self,
        parent: &ZnodePath,
        names: &QueueNames,
        prefix: &str,
    ) -> Result<Option<OwnNode>, LockError> {
        let Some(children) = self.client.list_in_sync(parent).await? else { return Ok(None) };
        let alike = children.iter().filter(|name| name.starts_with(prefix) && names.read(name).is_some());
        let alike: Vec<ZnodePath> = alike.map(|name| parent.child(name)).collect();
        let own = join_all(alike.iter().map(|path| self.own_at(path, names))).await;
        for (path, own) in alike.into_iter().zip(own) {
            if let Some(stat) = own? {
                let sequence = Sequence::split(path.name()).map(|(_, sequence)| sequence);
                return Ok(Some(OwnNode { path, sequence, created: Zxid(stat.czxid) }));
            }
        }
        Ok(None)
    }

    /// The stat of this attempt's node, if that is what is at the path. Nodes of other sessions are not read: they may forbid it.
    async fn own_at(&self, path: &ZnodePath, names: &QueueNames) -> Result<Option<Stat>, LockError> {
        let stat = self.client.stat(path).await?.filter(|stat| stat.ephemeral_owner == self.client.session().0);
        if stat.is_none() || names.carry_id() {
            return Ok(stat);
        }
        let read = self.client.read(path).await?;
        Ok(read.filter(|(data, _)| self.is_own(data)).map(|(_, stat)| stat))
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
            let options = mode.with_acls(self.acls());
            match self.client.until_answered(|| self.client.create(next.as_str(), &[], &options)).await {
                Ok(_) | Err(Error::NodeExists) => drop(missing.pop()),
                Err(Error::NoNode) => missing.extend(next.parent()),
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
