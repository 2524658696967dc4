use zookeeper_client::{Acl, Acls};

use super::{CostCounter, Naming};

/// What becomes of parents that do not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parents {
    /// They are made as container nodes, which the server removes some time after their last child went. On servers
    /// that know none, before 3.5, as persistent ones.
    #[default]
    Container,
    /// They are made as persistent nodes.
    Persistent,
    /// They are not made: the lock fails with [`NoParent`](super::LockError::NoParent).
    Required,
}

/// How a lock's nodes are made. The default: Curator's names, no data, open to anyone, parents as containers.
#[derive(Clone, Debug)]
pub struct LockOptions {
    pub(super) naming: Naming,
    pub(super) data: Vec<u8>,
    pub(super) acls: Vec<Acl>,
    pub(super) parents: Parents,
    pub(super) counter: CostCounter,
}

impl Default for LockOptions {
    fn default() -> Self {
        Self {
            naming: Naming::Curator,
            data: Vec::new(),
            acls: Acls::anyone_all().to_vec(),
            parents: Parents::default(),
            counter: CostCounter::default(),
        }
    }
}

impl LockOptions {
    /// How queue nodes are called, and thereby with which library's they stand in one queue.
    #[must_use]
    pub fn naming(mut self, naming: Naming) -> Self {
        self.naming = naming;
        self
    }

    /// What the node holds, for people to read: a host name, an address. At most 1 MiB, less is better.
    ///
    /// Where the node's name has no room for the id of the attempt (single nodes, and all namings but Curator's and
    /// kazoo's), that id and a space are put in front.
    #[must_use]
    pub fn data(mut self, data: impl Into<Vec<u8>>) -> Self {
        self.data = data.into();
        self
    }

    /// Who may do what with the nodes that the lock makes, its parents included.
    #[must_use]
    pub fn acls(mut self, acls: impl Into<Vec<Acl>>) -> Self {
        self.acls = acls.into();
        self
    }

    /// What becomes of parents that do not exist.
    #[must_use]
    pub fn parents(mut self, parents: Parents) -> Self {
        self.parents = parents;
        self
    }

    /// Who counts the cost.
    #[must_use]
    pub fn counter(mut self, probe: CostCounter) -> Self {
        self.counter = probe;
        self
    }
}
