//! The codec of ZooKeeper's wire protocol: frames, the `jute` encoding of their values, handshakes,
//! the heads of requests and replies, and watch events. Pure.
//!
//! Input is untrusted. Every length and every count is compared with the received bytes before
//! memory is allocated. Bytes that arrive in pieces are [gathered](Gather) into an array of a fixed
//! size.

mod jute;
mod message;
pub mod op;

pub use jute::{Cut, Gather, LENGTH_BYTES, Malformed, Reader, Writer, cut, frame};
pub use message::{
    CONNECTED, ConnectRequest, ConnectResponse, EVENT_XID, ErrorCode, EventKind, NO_ZXID, PASSWORD_BYTES, PING_XID,
    ReplyHead, RequestHead, event, refusal, reply,
};
