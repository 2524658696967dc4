//! What clients ask, and what servers answer.

use std::sync::Arc;

use lockscope_base::wire::ErrorCode;
use lockscope_sandbox::parts::Stat;

/// A node to create.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct Create {
    /// The path; that of a sequential node is the prefix of its number.
    pub path: Arc<str>,
    /// The data.
    pub data: Arc<[u8]>,
    /// Whether the end of the session deletes the node.
    pub ephemeral: bool,
    /// Whether the server appends a number to the path.
    pub sequential: bool,
    /// Whether the node is a container.
    pub container: bool,
}

/// One write of a request.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub enum WriteOp {
    /// Creates a node.
    Create(Create),
    /// Deletes a node, if its data has this version.
    Delete { path: Arc<str>, version: Option<i32> },
    /// Replaces a node's data, if it has this version.
    SetData { path: Arc<str>, data: Arc<[u8]>, version: Option<i32> },
    /// Fails unless a node's data has this version.
    Check { path: Arc<str>, version: i32 },
}

/// One read of a request.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub enum ReadOp {
    /// Reads a node.
    Data(Arc<str>),
    /// Reads a node's stat, if it exists.
    Stat(Arc<str>),
    /// Lists a node's children.
    Children(Arc<str>),
    /// Counts the nodes below a node.
    Count(Arc<str>),
}

/// The kinds of one-shot watches that a client sets.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchKind {
    /// On an existing node, for its data and its end.
    Data,
    /// On a missing node, for its creation.
    Exists,
    /// On a node's children, and for its end.
    Children,
}

/// A request of a client.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub enum Request {
    /// Carries out one write.
    Write(WriteOp),
    /// Carries out all writes, or none.
    Multi(Vec<WriteOp>),
    /// Carries out one read, and watches what it reads.
    Read { read: ReadOp, watch: bool },
    /// Carries out several reads.
    Reads(Vec<ReadOp>),
    /// Lets the member catch up with the leader.
    Sync,
    /// Watches a node and all nodes below it.
    WatchRecursively(Arc<str>),
    /// Sets watches again after a new connection, as of what the client had seen.
    SetWatches { seen: i64, watches: Vec<(Arc<str>, WatchKind)> },
    /// Removes a watch that has not fired.
    RemoveWatch(Arc<str>, WatchKind),
    /// Removes a recursive watch.
    RemoveRecursive(Arc<str>),
}

impl Request {
    /// Returns the writes.
    pub fn writes(&self) -> &[WriteOp] {
        match self {
            Self::Write(write) => std::slice::from_ref(write),
            Self::Multi(writes) => writes,
            _ => &[],
        }
    }
}

/// The answer to a request that was carried out.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub enum Answer {
    /// Done, without a result.
    Done,
    /// A node was created.
    Created { path: Arc<str>, stat: Stat },
    /// A node's data and stat.
    Data { data: Arc<[u8]>, stat: Stat },
    /// A node's stat; `None` if there is no such node.
    Stat(Option<Stat>),
    /// The names of a node's children, and its stat.
    Children { names: Vec<Arc<str>>, stat: Stat },
    /// A number of nodes.
    Count(usize),
    /// The results of several operations.
    Results(Vec<Result<Answer, ErrorCode>>),
    /// Nothing was written, for the operation at this index.
    Failed { index: usize, code: ErrorCode },
}

impl Answer {
    /// Returns the answer with zeros in place of what the lock library never reads.
    pub(super) fn masked(self) -> Self {
        let mask = |stat: Stat| Stat {
            czxid: stat.czxid,
            version: stat.version,
            ephemeral_owner: stat.ephemeral_owner,
            ..Stat::default()
        };
        match self {
            Self::Created { path, stat } => Self::Created { path, stat: mask(stat) },
            Self::Data { data, stat } => Self::Data { data, stat: mask(stat) },
            Self::Stat(stat) => Self::Stat(stat.map(mask)),
            Self::Children { names, stat } => Self::Children { names, stat: mask(stat) },
            other => other,
        }
    }
}

/// A transaction of the leader: its changes in order, none if it was refused.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The zxid.
    pub zxid: i64,
    /// The author.
    pub by: Author,
    /// The changes.
    pub changes: Vec<Change>,
}

/// The author of a transaction.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum Author {
    /// A client, by its session.
    Session(i64),
    /// The servers, at the end of a session.
    Expiry(i64),
    /// The servers, which delete an empty container.
    Servers,
    /// Somebody whom the exploration lets write.
    Stranger,
}

/// A change that the leader has committed.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub enum Change {
    /// A node was created. `czxid` is that of its transaction.
    Created { path: Arc<str>, owner: Option<i64> },
    /// A node was deleted.
    Deleted { path: Arc<str>, czxid: i64, version: i32, owner: Option<i64> },
    /// A node got other data.
    DataChanged { path: Arc<str>, czxid: i64, owner: Option<i64>, data: Arc<[u8]> },
}

impl Change {
    /// Returns the path of the node.
    pub fn path(&self) -> &Arc<str> {
        let (Self::Created { path, .. } | Self::Deleted { path, .. } | Self::DataChanged { path, .. }) = self;
        path
    }
}
