//! The wire protocol: frames, jute, requests, replies and events. Every length is checked.

mod code;
mod event;
mod frame;
pub mod op;
mod reader;
mod request;
mod word;
mod writer;

pub use code::ErrorCode;
pub use event::{EventKind, event};
pub use frame::{Cut, LENGTH, cut};
pub use reader::{Malformed, Reader};
pub use request::{AuthRequest, Connect, Create, Header, Lookup, SetWatches, Write, multi};
pub use word::Word;
pub use writer::{NO_ZXID, Writer, frame, refusal, reply};
