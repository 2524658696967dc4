//! What is on the wire between ZooKeeper's clients and servers: frames, the values in them as `jute` encodes them, handshakes, the
//! heads of requests and replies, watch events. Pure.
//!
//! Nothing that is read is trusted: every length and every count is compared with what is there before anything is kept for it, and
//! what comes in pieces is [gathered](Gather) into an array of a fixed size.

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
