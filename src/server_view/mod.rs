//! What the servers tell about themselves, as types: each member's connections, sessions and watches, and the watch events
//! that it sent. Read from the answers to the four-letter words and from AdminServer's JSON.
//!
//! Pure: bytes in, facts out; nothing here asks a server, and every answer may be cut off, hostile or empty.

mod monitor;

pub use monitor::{Monitor, WatchEventTotals};
