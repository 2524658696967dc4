//! Watch events as frames.

use super::writer::{NO_ZXID, Writer, reply};

/// The kind of a watch event, with its number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum EventKind {
    Created = 1,
    Deleted = 2,
    DataChanged = 3,
    ChildrenChanged = 4,
}

/// The xid of an event.
const XID: i32 = -1;

/// The session state in every event.
const CONNECTED: i32 = 3;

/// Appends a watch event. Like events of servers before 3.9, it carries no zxid.
pub fn event(out: &mut Vec<u8>, kind: EventKind, path: &str) {
    reply(out, XID, NO_ZXID, |out| {
        out.put_int(kind as i32);
        out.put_int(CONNECTED);
        out.put_text(path);
    });
}
