//! The codec of ZooKeeper's wire protocol: frames, the `jute` encoding of their values, handshakes,
//! the heads of requests and replies, and watch events. Pure.
//!
//! Input is untrusted. Every length and every count is compared with the received bytes before
//! memory is allocated. Bytes that arrive in pieces are [gathered](Gather) into an array of a fixed
//! size.

mod code;
mod event;
mod frame;
mod gather;
mod handshake;
mod head;
pub mod op;
mod read;
mod write;

pub use code::ErrorCode;
pub use event::{CONNECTED, EventKind, event};
pub use frame::{Cut, LENGTH_BYTES, cut, frame};
pub use gather::Gather;
pub use handshake::{ConnectRequest, ConnectResponse, PASSWORD_BYTES};
pub use head::{EVENT_XID, NO_ZXID, PING_XID, ReplyHead, RequestHead, refusal, reply};
pub use read::{Malformed, Reader};
pub use write::Writer;
