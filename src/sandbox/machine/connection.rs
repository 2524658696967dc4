//! What the server knows of a connection, and why it closes one.

use std::fmt;
use std::net::SocketAddr;

use crate::tree::Id;
use crate::watch::Statistic;

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// A four-letter word was answered.
    Word,
    /// The client closed its session.
    Closed,
    /// The session ran out.
    Expired,
    /// The session went on, on another connection.
    Moved,
    /// There is no such session, or the password is not its.
    NoSession,
    /// There are as many sessions as there may be.
    TooManySessions,
    /// The client has seen what this server has not: it comes from another one.
    FromTheFuture,
    /// A frame says that it has so many bytes.
    BadLength(i32),
    /// A frame is no handshake, or has no header.
    NoHeader,
    /// The credentials were not accepted.
    BadCredentials,
    /// The operation of that number is not known.
    UnknownOperation(i32),
    /// Too much waits to be read.
    Unread,
    /// The answer to a word would be too long.
    LongAnswer,
    /// All connections together take too much, and this one most.
    Crowded,
    /// It asked for no session in time.
    Silent,
}

impl CloseReason {
    /// Whether the client did what no client should do.
    pub fn is_fault(self) -> bool {
        !matches!(self, Self::Word | Self::Closed | Self::Expired | Self::Moved | Self::NoSession)
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Word => "a four-letter word was answered",
            Self::Closed => "the client closed its session",
            Self::Expired => "the session expired",
            Self::Moved => "the session moved to another connection",
            Self::NoSession => "there is no such session, or the password is wrong",
            Self::TooManySessions => "there are as many sessions as there may be",
            Self::FromTheFuture => "the client has seen a zxid that this server has not given yet",
            Self::BadLength(length) => return write!(f, "a frame of {length} bytes is not accepted"),
            Self::NoHeader => "a frame is too short for what it must hold",
            Self::BadCredentials => "the credentials were not accepted",
            Self::UnknownOperation(op) => return write!(f, "operation {op} is not known"),
            Self::Unread => "the client does not read what it is sent",
            Self::LongAnswer => "the answer to a four-letter word is too long",
            Self::Crowded => "all connections together take too much memory, and this one takes most",
            Self::Silent => "the client asked for no session in time",
        })
    }
}

/// What `cons` shows of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Traffic {
    pub since: i64,
    pub received: u64,
    pub sent: u64,
    /// The last operation, by its short name.
    pub last: &'static str,
    pub last_xid: i32,
    pub last_zxid: i64,
    pub last_response: i64,
    pub latency: Statistic,
}

/// One connection, with or without a session.
#[derive(Debug)]
pub struct ClientConnection {
    pub peer: SocketAddr,
    /// The session and its timeout in milliseconds, after the handshake.
    pub session: Option<(i64, i64)>,
    /// Who the client is known to be: its address, and what it proved.
    pub who: Vec<Id>,
    /// What waits to be sent.
    pub out: Vec<u8>,
    /// Bytes that were taken to be sent, and are being sent.
    pub sending: usize,
    /// Bytes that were received and are not done with.
    pub received: usize,
    /// What it counts for in the machine's sum, in bytes.
    pub counted: usize,
    /// Distinguishes it from an earlier connection with the same number.
    pub serial: u64,
    /// Set once the connection is to be closed, after `out` was sent.
    pub end: Option<CloseReason>,
    /// Whether it is in the list of those that have something to send.
    pub ready: bool,
    pub traffic: Traffic,
}

impl ClientConnection {
    /// Bytes of memory that it takes, about.
    pub fn bytes(&self) -> usize {
        let who: usize = self.who.iter().map(|id| id.scheme.len() + id.id.len()).sum();
        self.out.len() + self.sending + self.received + who
    }

    pub fn new(peer: SocketAddr, serial: u64, now: i64) -> Self {
        let traffic = Traffic {
            since: now,
            received: 0,
            sent: 0,
            last: "NA",
            last_xid: 0,
            last_zxid: -1,
            last_response: 0,
            latency: Statistic::default(),
        };
        let who = vec![Id::new("ip", &peer.ip().to_string())];
        Self {
            peer,
            session: None,
            who,
            out: Vec::new(),
            sending: 0,
            received: 0,
            counted: 0,
            serial,
            end: None,
            ready: false,
            traffic,
        }
    }
}
