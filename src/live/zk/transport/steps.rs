//! What stands in a reply, step by step, by the operation that it answers, as ZooKeeper's `jute` writes it. Pure.

use super::op;
use Number::{Acls, Any, Bytes, EventState, EventType, Names, Path, Text, Users};
use Step::{Number as N, Skip};

/// The length of a `Stat`, in bytes.
const STAT: u32 = 68;

/// A watch event.
pub(super) const EVENT: &[Step] = &[N(EventType), N(EventState), N(Path)];

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// So many bytes, whatever they are.
    Skip(u32),
    /// So many bytes of text.
    Text(u32),
    /// A path: a text that begins with a slash.
    Slash(u32),
    /// A number of four bytes, and what it means.
    Number(Number),
    /// So many things that each begin with the same kind of number.
    Repeat(u32, Number),
    /// The head of one result of several, or of their end.
    Result,
}

/// What a number in a reply means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// The length of bytes, or -1 for none.
    Bytes,
    /// The length of a text, or -1 for none.
    Text,
    /// The length of the path of an event.
    Path,
    /// How many there are of what follows.
    Names,
    Acls,
    Users,
    /// The permissions of an ACL's entry; its scheme and its identity follow.
    Permissions,
    /// The length of a user's scheme; the user follows.
    Scheme,
    EventType,
    EventState,
    Any,
}

/// The reply to an operation that was done; `None` when the client library reads no more of it than its header.
pub(super) fn of_reply(operation: i32) -> Option<&'static [Step]> {
    Some(match operation {
        op::CREATE | op::SYNC => &[N(Text)],
        op::CREATE_2 | op::CREATE_CONTAINER | op::CREATE_TTL => &[N(Text), Skip(STAT)],
        op::EXISTS | op::SET_DATA | op::SET_ACL => &[Skip(STAT)],
        op::GET_DATA | op::RECONFIG => &[N(Bytes), Skip(STAT)],
        op::GET_ACL => &[N(Acls), Skip(STAT)],
        op::GET_CHILDREN | op::GET_EPHEMERALS => &[N(Names)],
        op::GET_CHILDREN_2 => &[N(Names), Skip(STAT)],
        op::MULTI | op::MULTI_READ => &[Step::Result],
        op::GET_ALL_CHILDREN_NUMBER => &[N(Any)],
        op::WHO_AM_I => &[N(Users)],
        op::SASL => &[N(Bytes)],
        _ => return None,
    })
}

/// One result of several, after its head; `None` when there is no such result.
pub(super) fn of_result(operation: i32) -> Option<&'static [Step]> {
    Some(match operation {
        op::CHECK | op::DELETE => &[],
        op::CREATE => &[N(Text)],
        op::CREATE_2 => &[N(Text), Skip(STAT)],
        op::SET_DATA => &[Skip(STAT)],
        op::GET_DATA => &[N(Bytes), Skip(STAT)],
        op::GET_CHILDREN => &[N(Names)],
        op::ERROR => &[N(Any)],
        _ => return None,
    })
}
