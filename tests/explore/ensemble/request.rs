//! What clients ask and servers answer, and the connections that carry both.
//!
//! A connection belongs to one session and leads to one member: requests go one way, replies and
//! events the other, each in order.

use std::collections::VecDeque;
use std::sync::Arc;

use lockscope_base::wire::ErrorCode;
use lockscope_sandbox::parts::Stat;

/// A node to create.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub struct CreatedNode {
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
    Create(CreatedNode),
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
pub enum SimulatedWatchKind {
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
    SetWatches { seen: i64, watches: Vec<(Arc<str>, SimulatedWatchKind)> },
    /// Removes a watch that has not fired.
    RemoveWatch(Arc<str>, SimulatedWatchKind),
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
pub enum Response {
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
    Results(Vec<Result<Response, ErrorCode>>),
    /// Nothing was written, for the operation at this index.
    Failed { index: usize, code: ErrorCode },
}

impl Response {
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
    pub changes: Vec<Committed>,
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
pub enum Committed {
    /// A node was created. `czxid` is that of its transaction.
    Created { path: Arc<str>, owner: Option<i64> },
    /// A node was deleted.
    Deleted { path: Arc<str>, czxid: i64, version: i32, owner: Option<i64> },
    /// A node got other data.
    DataChanged { path: Arc<str>, czxid: i64, owner: Option<i64>, data: Arc<[u8]> },
}

impl Committed {
    /// Returns the path of the node.
    pub fn path(&self) -> &Arc<str> {
        let (Self::Created { path, .. } | Self::Deleted { path, .. } | Self::DataChanged { path, .. }) = self;
        path
    }
}

/// A connection: the client, and the number of its connections before this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId {
    /// The client.
    pub client: usize,
    /// The number of its earlier connections.
    pub number: u32,
}

/// What a watch tells.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum SimulatedEventKind {
    /// A node was created.
    Created,
    /// A node was deleted.
    Deleted,
    /// A node got other data.
    DataChanged,
    /// A node got or lost a child.
    ChildrenChanged,
}

/// Why a client gets an error for a request that is in order.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub enum Refusal {
    /// The server has too much to do.
    Throttled,
    /// The write would exceed a quota.
    Quota,
    /// The request was carried out, and the client library cannot read the reply.
    Garbled,
}

/// What a server sends to a client.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub enum SimulatedMessage {
    /// The reply to a request.
    Reply { xid: u32, answer: Result<Response, ErrorCode> },
    /// The reply of a server that did not carry out the request for a reason of its own, or a reply
    /// that cannot be read.
    Refused { xid: u32, why: Refusal },
    /// The event of a one-shot watch, or of a recursive one.
    Event { kind: SimulatedEventKind, path: Arc<str>, zxid: i64 },
    /// The server closes the connection.
    Closed,
}

/// A connection.
#[derive(Clone, Debug, Hash)]
pub struct Link {
    /// The session.
    pub session: i64,
    /// The server.
    pub member: usize,
    /// Sent by the client and not carried out yet.
    pub requests: VecDeque<(u32, Request)>,
    /// Sent by the member and not received yet. A reply has in its header the newest transaction
    /// that the member had applied; events have zero.
    pub messages: VecDeque<(i64, SimulatedMessage)>,
    /// The results of the oldest request, if it is a batch of reads that was carried out in part.
    pub(super) partly: Vec<Result<Response, ErrorCode>>,
    /// Whether the member has closed it: nothing arrives after that.
    closed: bool,
    /// Whether the client has given the connection up, so that only late requests are left.
    pub broken: bool,
}

impl Link {
    pub(super) fn new(session: i64, member: usize) -> Self {
        Self {
            session,
            member,
            requests: VecDeque::new(),
            messages: VecDeque::new(),
            partly: Vec::new(),
            closed: false,
            broken: false,
        }
    }

    pub(super) fn push(&mut self, zxid: i64, message: SimulatedMessage) {
        if !self.broken && !self.closed {
            self.messages.push_back((zxid, message));
        }
    }

    /// Returns whether the server has closed it, and the client has been told.
    pub fn is_over(&self) -> bool {
        self.closed && self.messages.is_empty()
    }

    /// Lets the server close the connection after what it has sent.
    pub(super) fn close(&mut self) {
        self.requests.clear();
        self.push(0, SimulatedMessage::Closed);
        self.closed = true;
    }
}
