//! ZooKeeper's frames as far as a relay reads them: a length of four bytes, then a handshake or a
//! header.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::log::Asked;

/// The operation codes of ZooKeeper's protocol that tests use.
pub mod op {
    pub const DELETE: i32 = 2;
    pub const EXISTS: i32 = 3;
    pub const GET_DATA: i32 = 4;
    pub const LIST: i32 = 8;
    pub const SYNC: i32 = 9;
    pub const PING: i32 = 11;
    pub const LIST_WITH_STAT: i32 = 12;
    pub const MULTI: i32 = 14;
    pub const CREATE_WITH_STAT: i32 = 15;
    pub const REMOVE_WATCHES: i32 = 18;
    pub const CREATE_CONTAINER: i32 = 19;
    pub const MULTI_READ: i32 = 22;
    pub const AUTH: i32 = 100;
    pub const SET_WATCHES: i32 = 101;
    pub const SASL: i32 = 102;
    pub const SET_MORE_WATCHES: i32 = 105;
    pub const ADD_WATCH: i32 = 106;
    pub const WHO_AM_I: i32 = 107;
    pub const CLOSE_SESSION: i32 = -11;
    /// An operation that no server knows.
    pub const UNKNOWN: i32 = 999;

    /// Returns whether a client library sends the operation on its own, to maintain the session.
    pub fn is_housekeeping(code: i32) -> bool {
        [PING, AUTH, SASL, SET_WATCHES, SET_MORE_WATCHES, CLOSE_SESSION].contains(&code)
    }
}

/// The xid of watch events.
const EVENT: i32 = -1;

/// Replies with a smaller xid answer the library's own requests.
const FIRST_REPLY: i32 = 0;

/// The offset of the error in a reply: after the length, the xid and a zxid.
const ERROR: usize = 16;

/// The smallest size that cannot be a frame's. Four-letter words and TLS records look like such
/// sizes and are forwarded unchanged.
const NO_FRAME: u32 = 1 << 26;

/// The first bytes of a side.
pub enum Opening {
    /// A frame, including its length.
    Frame(Vec<u8>),
    /// The first bytes of something else.
    Raw(Vec<u8>),
}

/// A message of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Reply {
        xid: i32,
        ok: bool,
    },
    Event,
    /// The reply to a heartbeat, an authentication or the like.
    Housekeeping,
}

/// Reads a frame including its length, or the first four bytes of something else.
pub async fn opening(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Opening> {
    let length = from.read_u32().await?;
    let mut frame = length.to_be_bytes().to_vec();
    if length >= NO_FRAME {
        return Ok(Opening::Raw(frame));
    }
    frame.resize(4 + length as usize, 0);
    from.read_exact(&mut frame[4..]).await?;
    Ok(Opening::Frame(frame))
}

/// Reads a frame including its length.
pub async fn frame(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    match opening(from).await? {
        Opening::Frame(frame) => Ok(frame),
        Opening::Raw(_) => Err(io::Error::other("what followed a frame was none")),
    }
}

/// Returns a request's xid.
pub fn xid(frame: &[u8]) -> Option<i32> {
    number(frame, 4)
}

/// Returns what a request asks for, by the operation that the client sent. The last byte of a read
/// says whether it sets a watch.
pub fn asked(request: &[u8]) -> Option<Asked> {
    let op = operation(request)?;
    let reads = [op::EXISTS, op::GET_DATA, op::LIST, op::LIST_WITH_STAT].contains(&op);
    Some(Asked { op, watches: reads && request.last() == Some(&1) })
}

/// Returns a request's operation.
pub fn operation(request: &[u8]) -> Option<i32> {
    number(request, 8)
}

/// Replaces a request's operation.
pub fn set_operation(request: &mut [u8], code: i32) {
    request[8..12].copy_from_slice(&code.to_be_bytes());
}

/// Reads the header of a server's message.
pub fn answer(frame: &[u8]) -> Answer {
    match xid(frame) {
        Some(EVENT) => Answer::Event,
        Some(xid) if xid >= FIRST_REPLY => Answer::Reply { xid, ok: number(frame, ERROR) == Some(0) },
        _ => Answer::Housekeeping,
    }
}

pub fn number(frame: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_be_bytes(frame.get(at..at + 4)?.try_into().expect("four bytes")))
}
