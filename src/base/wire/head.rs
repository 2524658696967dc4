//! The heads of requests and replies.

use super::{ErrorCode, LENGTH_BYTES, Malformed, Reader, Writer, frame};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::op;

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
