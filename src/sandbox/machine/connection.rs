//! The state of a connection, and the reasons for closing one.

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
    /// The session expired.
    Expired,
    /// The session moved to another connection.
    Moved,
    /// The session does not exist, or the password is wrong.
    NoSession,
    /// The server has reached `max_sessions`.
    TooManySessions,
    /// The client has seen a zxid beyond the server's: it comes from another server.
    FromTheFuture,
    /// The length of a frame, in bytes, is negative or above the maximum.
    BadLength(i32),
    /// A frame is too short for a handshake or a header.
    NoHeader,
    /// The server rejected the credentials.
    BadCredentials,
    /// The operation's number is unknown.
    UnknownOperation(i32),
    /// More than `max_unread` bytes wait for the client.
    Unread,
    /// The answer to a word would be too long.
    LongAnswer,
    /// All connections together exceed `max_buffered`, and this one takes the most.
    Crowded,
    /// The client opened no session before the handshake timeout.
    Silent,
}

impl CloseReason {
    /// Returns whether the client misbehaved.
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

/// The figures of a connection that `cons` shows.
#[derive(Clone, Copy, Debug)]
pub struct Traffic {
    pub since: i64,
    pub received: u64,
    pub sent: u64,
    /// The short name of the last operation.
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
    /// The client's identities: its address, and those that it proved.
    pub who: Vec<Id>,
    /// The output that waits to be sent.
    pub out: Vec<u8>,
    /// The number of bytes that are being sent.
    pub sending: usize,
    /// The number of received bytes that are not processed yet.
    pub received: usize,
    /// The connection's share of the machine's `buffered`, in bytes.
    pub counted: usize,
    /// Distinguishes the connection from an earlier one with the same number.
    pub serial: u64,
    /// Set when the connection closes once `out` is sent.
    pub end: Option<CloseReason>,
    /// Whether the connection is in the machine's `ready` list.
    pub ready: bool,
    pub traffic: Traffic,
}

impl ClientConnection {
    /// Returns the approximate bytes of memory that the connection takes.
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
