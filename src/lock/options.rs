//! The way in which a lock creates its nodes.

use zookeeper_client::{Acl, Acls};

use super::{CostCounter, Naming};
use lockscope_base::trace_context::TraceContext;
use lockscope_base::znode::ZnodePath;

/// The handling of parents that do not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parents {
    /// Creates them as container nodes, which the server deletes some time after their last child
    /// is gone. On servers that have no containers the parents are persistent.
    #[default]
    Container,
    /// Creates them as persistent nodes.
    Persistent,
    /// Does not create them: the attempt fails with [`NoParent`](super::LockError::NoParent).
    Required,
}

/// The way in which a lock creates its nodes. By default: Curator's names, no data, all permissions
/// for anyone, parents as containers.
#[derive(Clone, Debug)]
pub struct LockOptions {
    pub(super) naming: Naming,
    pub(super) data: Vec<u8>,
    pub(super) trace_context: Option<TraceContext>,
    pub(super) acls: Vec<Acl>,
    pub(super) parents: Parents,
    pub(super) counter: CostCounter,
}

impl Default for LockOptions {
    fn default() -> Self {
        Self {
            naming: Naming::Curator,
            data: Vec::new(),
            trace_context: None,
            acls: Acls::anyone_all().to_vec(),
            parents: Parents::default(),
            counter: CostCounter::default(),
        }
    }
}

impl LockOptions {
    /// Sets the names of the nodes in the queue, and so the libraries with which the lock shares
    /// its queue.
    #[must_use]
    pub fn naming(mut self, naming: Naming) -> Self {
        self.naming = naming;
        self
    }

    /// Sets the data of the node, for people to read, such as a host name. With the path and the
    /// ACLs it has at most 1 MiB: [`Lock::with`](super::Lock::with) refuses more, since servers do
    /// by default (`jute.maxbuffer`).
    ///
    /// If the node's name does not contain the id of the attempt (single nodes, and all namings but
    /// Curator's and kazoo's), the id and a space are put in front of the data.
    #[must_use]
    pub fn data(mut self, data: impl Into<Vec<u8>>) -> Self {
        self.data = data.into();
        self
    }

    /// Adds a trace context to the data of the node: by default there is none. `lockscope record
    /// --otlp` then puts the wait and the hold into that trace, below that span, next to the hold
    /// that was waited for.
    ///
    /// The context follows the data as a last word, such as
    /// `traceparent=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`: 67 bytes more, a
    /// blank before it, and no further request. A recorder keeps 1,024 bytes of a node's data, so
    /// longer data hide the context from it.
    ///
    /// [`Lock::traced`](super::Lock::traced) sets it for one acquisition.
    #[must_use]
    pub fn trace_context(mut self, context: TraceContext) -> Self {
        self.trace_context = Some(context);
        self
    }

    /// Returns the data and the trace context, as a node has them.
    pub(super) fn node_data(&self) -> Vec<u8> {
        match self.trace_context {
            Some(context) => context.added_to(self.data.clone()),
            None => self.data.clone(),
        }
    }

    /// Sets the ACLs of the nodes that the lock creates, including its parents.
    /// [`Lock::with`](super::Lock::with) refuses an empty list.
    #[must_use]
    pub fn acls(mut self, acls: impl Into<Vec<Acl>>) -> Self {
        self.acls = acls.into();
        self
    }

    /// Returns the maximum size of the request that creates a node, in bytes.
    pub(super) fn create_size(&self, lock: &ZnodePath) -> usize {
        // The bytes of every request and of every ACL, and the bytes that an attempt adds to the
        // path and the data.
        const REQUEST: usize = 256;
        const ACL: usize = 12;
        let name = if let Naming::Named(name) = &self.naming { name.len() } else { 0 };
        let acls: usize = self.acls.iter().map(|acl| ACL + acl.scheme().len() + acl.id().len()).sum();
        REQUEST + lock.as_str().len() + name + self.node_data().len() + acls
    }

    /// Sets the handling of parents that do not exist.
    #[must_use]
    pub fn parents(mut self, parents: Parents) -> Self {
        self.parents = parents;
        self
    }

    /// Counts the cost of the lock with this counter, which other locks may share.
    #[must_use]
    pub fn counter(mut self, counter: CostCounter) -> Self {
        self.counter = counter;
        self
    }
}
