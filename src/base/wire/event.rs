//! Watch events as frames.

use super::{EVENT_XID, NO_ZXID, Writer, reply};

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
