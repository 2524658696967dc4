//! Messages: the handshake, the heads of requests and replies, the protocol's error codes, and
//! watch events.
//!
//! In the handshake the client requests a new session or its old one, and the server answers.

use super::{LENGTH_BYTES, Malformed, Reader, Writer, frame};

/// The length of a session's password, in bytes.
pub const PASSWORD_BYTES: usize = 16;

/// The only version of the protocol.
const VERSION: i32 = 0;

/// A client's first frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectRequest {
    /// The last transaction that the client saw.
    pub last_zxid: i64,
    /// The requested session timeout, in milliseconds.
    pub timeout: i32,
    /// The session to resume; zero requests a new one.
    pub session: i64,
    /// The password of the session, which proves that it belongs to the client.
    pub password: Vec<u8>,
    /// Whether the client accepts a read-only server. `None` for old clients, which do not send
    /// this flag. Their answer has no flag either.
    pub read_only: Option<bool>,
}

impl ConnectRequest {
    /// The size of a request with the usual password and the flag, without the frame's length.
    pub const BYTES: usize = 4 + 8 + 4 + 8 + 4 + PASSWORD_BYTES + 1;

    /// Reads a frame without its length. Like servers, accepts any version and ignores bytes after
    /// the request.
    pub fn read(frame: &[u8]) -> Result<Self, Malformed> {
        let mut from = Reader::new(frame);
        from.int()?;
        Ok(Self {
            last_zxid: from.long()?,
            timeout: from.int()?,
            session: from.long()?,
            password: from.buffer()?.unwrap_or_default().to_vec(),
            read_only: from.bool().ok(),
        })
    }

    /// Returns the frame, with its length.
    pub fn to_frame(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame(&mut bytes, |out| {
            out.put_int(VERSION);
            out.put_long(self.last_zxid);
            out.put_int(self.timeout);
            out.put_long(self.session);
            put_end(out, &self.password, self.read_only);
        });
        bytes
    }
}

/// A server's first frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectResponse {
    /// The granted session timeout, in milliseconds; zero when the session has expired.
    pub timeout: i32,
    /// The session; zero when it has expired.
    pub session: i64,
    /// The password with which the client resumes the session.
    pub password: Vec<u8>,
    /// Whether the server is read-only. `None` for old servers, which do not send this flag.
    pub read_only: Option<bool>,
}

impl ConnectResponse {
    /// Creates the answer that the session has expired.
    pub fn expired() -> Self {
        Self { timeout: 0, session: 0, password: vec![0; PASSWORD_BYTES], read_only: Some(false) }
    }

    /// Reads a frame without its length. Fails on bytes after the answer.
    pub fn read(frame: &[u8]) -> Result<Self, Malformed> {
        let mut from = Reader::new(frame);
        if from.int()? != VERSION {
            return Err(Malformed("version"));
        }
        let (timeout, session) = (from.int()?, from.long()?);
        let password = from.buffer()?.unwrap_or_default().to_vec();
        let read_only = match from.rest() {
            [] => None,
            [0] => Some(false),
            [1] => Some(true),
            _ => return Err(Malformed("end of an answer")),
        };
        let is_right = !password.is_empty() && (timeout > 0 || session == 0 && timeout == 0);
        if is_right { Ok(Self { timeout, session, password, read_only }) } else { Err(Malformed("answer")) }
    }

    /// Returns the frame, with its length.
    pub fn to_frame(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame(&mut bytes, |out| {
            out.put_int(VERSION);
            out.put_int(self.timeout);
            out.put_long(self.session);
            put_end(out, &self.password, self.read_only);
        });
        bytes
    }
}

fn put_end(out: &mut Vec<u8>, password: &[u8], read_only: Option<bool>) {
    out.put_buffer(Some(password));
    if let Some(read_only) = read_only {
        out.put_bool(read_only);
    }
}

/// The xid of a watch event.
pub const EVENT_XID: i32 = -1;

/// The xid of every heartbeat.
pub const PING_XID: i32 = -2;

/// The zxid of a reply without one.
pub const NO_ZXID: i64 = -1;

/// The head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// The number of the request.
    pub xid: i32,
    /// The operation: one of [`op`](super::op) if the sender follows the protocol.
    pub op: i32,
}

impl RequestHead {
    /// The size of the head, in bytes.
    pub const BYTES: usize = 4 + 4;

    /// Reads a head.
    pub fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        from.array::<{ Self::BYTES }>("head of a request").map(Self::from)
    }
}

impl From<[u8; Self::BYTES]> for RequestHead {
    fn from([x0, x1, x2, x3, op @ ..]: [u8; Self::BYTES]) -> Self {
        Self { xid: i32::from_be_bytes([x0, x1, x2, x3]), op: i32::from_be_bytes(op) }
    }
}

/// The head of a reply or of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHead {
    /// The number of the request, or [`EVENT_XID`].
    pub xid: i32,
    /// The server's last transaction.
    pub zxid: i64,
    /// Zero for success, else the number of an [`ErrorCode`] if the server follows the protocol.
    pub error: i32,
}

impl ReplyHead {
    /// The size of the head, in bytes.
    pub const BYTES: usize = 4 + 8 + 4;

    fn write(self, out: &mut Vec<u8>) {
        out.put_int(self.xid);
        out.put_long(self.zxid);
        out.put_int(self.error);
    }
}

impl From<[u8; Self::BYTES]> for ReplyHead {
    fn from([x0, x1, x2, x3, zxid @ .., e0, e1, e2, e3]: [u8; Self::BYTES]) -> Self {
        Self {
            xid: i32::from_be_bytes([x0, x1, x2, x3]),
            zxid: i64::from_be_bytes(zxid),
            error: i32::from_be_bytes([e0, e1, e2, e3]),
        }
    }
}

/// Appends a successful reply as a frame.
pub fn reply(out: &mut Vec<u8>, xid: i32, zxid: i64, body: impl FnOnce(&mut Vec<u8>)) {
    frame(out, |out| {
        ReplyHead { xid, zxid, error: 0 }.write(out);
        body(out);
    });
}

/// Appends a reply with an error as a frame.
pub fn refusal(out: &mut Vec<u8>, xid: i32, zxid: i64, code: ErrorCode) {
    out.reserve(LENGTH_BYTES + ReplyHead::BYTES);
    frame(out, |out| ReplyHead { xid, zxid, error: code.number() }.write(out));
}

/// The server's reason for refusing a request, with the numbers of ZooKeeper's
/// `KeeperException.Code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum ErrorCode {
    /// Another operation of the same transaction failed.
    RuntimeInconsistency = -2,
    /// The request's body cannot be read.
    MarshallingError = -5,
    /// The server does not know the operation.
    Unimplemented = -6,
    /// An argument is invalid, most often the path.
    BadArguments = -8,
    /// The node or its parent does not exist.
    NoNode = -101,
    /// The node's ACL does not permit the operation to this connection.
    NoAuth = -102,
    /// The version does not match.
    BadVersion = -103,
    /// An ephemeral node cannot have children.
    NoChildrenForEphemerals = -108,
    /// The node exists already.
    NodeExists = -110,
    /// The node has children.
    NotEmpty = -111,
    /// The session is over.
    SessionExpired = -112,
    /// The ACL is empty, or names an invalid scheme or id.
    InvalidAcl = -114,
    /// The server rejected the credentials.
    AuthFailed = -115,
    /// The session is connected to another member.
    SessionMoved = -118,
    /// This connection has no such watch.
    NoWatcher = -121,
    /// The server does not support reconfiguration.
    ReconfigDisabled = -123,
    /// The server takes no session without a login.
    LoginRequired = -124,
    /// The server's memory is used up.
    QuotaExceeded = -125,
}

impl ErrorCode {
    /// Returns the number on the wire.
    pub const fn number(self) -> i32 {
        self as i32
    }
}

/// The kind of a watch event, with its number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum EventKind {
    /// The node was created.
    Created = 1,
    /// The node was deleted.
    Deleted = 2,
    /// The data of the node changed.
    DataChanged = 3,
    /// A child was created or deleted.
    ChildrenChanged = 4,
}

/// The session state in every event about a node.
pub const CONNECTED: i32 = 3;

impl EventKind {
    /// Returns the kind with this number.
    pub fn of(number: i32) -> Option<Self> {
        [Self::Created, Self::Deleted, Self::DataChanged, Self::ChildrenChanged]
            .into_iter()
            .find(|kind| *kind as i32 == number)
    }
}

/// Appends a watch event. It carries no zxid, as events of servers before 3.9 do not.
pub fn event(out: &mut Vec<u8>, kind: EventKind, path: &str) {
    reply(out, EVENT_XID, NO_ZXID, |out| {
        out.put_int(kind as i32);
        out.put_int(CONNECTED);
        out.put_text(path);
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::op;

    #[test]
    fn a_request_survives_the_codec_with_and_without_its_flag() {
        let asked = ConnectRequest {
            last_zxid: 7,
            timeout: 6_000,
            session: 9,
            password: vec![3; PASSWORD_BYTES],
            read_only: Some(false),
        };
        let frame = &asked.to_frame()[4..];
        assert_eq!(frame.len(), ConnectRequest::BYTES);
        assert_eq!(ConnectRequest::read(frame), Ok(asked.clone()));
        let old = ConnectRequest { read_only: None, ..asked };
        assert_eq!(ConnectRequest::read(&frame[..frame.len() - 1]), Ok(old));
        assert!(ConnectRequest::read(&frame[..frame.len() - 2]).is_err());
    }

    #[test]
    fn an_answer_may_lack_its_flag_and_nothing_else() {
        let answer = ConnectResponse { timeout: 4_000, session: 9, password: vec![8; 16], read_only: Some(false) };
        let frame = &answer.to_frame()[4..];
        assert_eq!(ConnectResponse::read(frame), Ok(answer.clone()));
        let old = ConnectResponse { read_only: None, ..answer };
        assert_eq!(ConnectResponse::read(&frame[..frame.len() - 1]), Ok(old));
        for end in 0..frame.len() - 1 {
            assert!(ConnectResponse::read(&frame[..end]).is_err(), "{end}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = (ConnectRequest::read(&bytes), ConnectResponse::read(&bytes));
        }
    }

    #[test]
    fn heads_survive_the_codec() {
        let mut request = Vec::new();
        request.put_int(7);
        request.put_int(op::CREATE2);
        let head = RequestHead { xid: 7, op: op::CREATE2 };
        assert_eq!(RequestHead::read(&mut Reader::new(&request)), Ok(head));
        assert!(RequestHead::read(&mut Reader::new(&request[1..])).is_err());

        let mut refused = Vec::new();
        refusal(&mut refused, -8, 1 << 40, ErrorCode::NoNode);
        let (length, head) = refused.split_at(LENGTH_BYTES);
        assert_eq!(length, [0, 0, 0, 16]);
        let head = ReplyHead::from(<[u8; ReplyHead::BYTES]>::try_from(head).expect("a head alone"));
        assert_eq!(head, ReplyHead { xid: -8, zxid: 1 << 40, error: -101 });
    }
}
