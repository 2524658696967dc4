//! The connection of one session to one member: requests one way, replies and events the other,
//! each in order.

use std::collections::VecDeque;
use std::sync::Arc;

use lockscope_base::wire::ErrorCode;

use super::request::{Answer, Request};

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
pub enum EventKind {
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
pub enum Message {
    /// The reply to a request.
    Reply { xid: u32, answer: Result<Answer, ErrorCode> },
    /// The reply of a server that did not carry out the request for a reason of its own, or a reply
    /// that cannot be read.
    Refused { xid: u32, why: Refusal },
    /// The event of a one-shot watch, or of a recursive one.
    Event { kind: EventKind, path: Arc<str>, zxid: i64 },
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
    pub messages: VecDeque<(i64, Message)>,
    /// The results of the oldest request, if it is a batch of reads that was carried out in part.
    pub(super) partly: Vec<Result<Answer, ErrorCode>>,
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

    pub(super) fn push(&mut self, zxid: i64, message: Message) {
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
        self.push(0, Message::Closed);
        self.closed = true;
    }
}
