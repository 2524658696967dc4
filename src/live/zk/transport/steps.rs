//! The content of replies, step by step, for each operation, in ZooKeeper's `jute` encoding. Pure.

use Number::{Acls, Any, Bytes, EventState, EventType, Names, Path, Text, Users};
use Step::{Number as N, Skip};
use lockscope_base::wire::op;

/// The length of a `Stat`, in bytes.
const STAT: u32 = 68;

pub(super) const EVENT: &[Step] = &[N(EventType), N(EventState), N(Path)];

/// The next item in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// This many bytes of any content.
    Skip(u32),
    /// This many bytes of text.
    Text(u32),
    /// A path of this many bytes: a text that begins with a slash.
    Slash(u32),
    /// A four-byte number and its meaning.
    Number(Number),
    /// This many items, each starting with the same kind of number.
    Repeat(u32, Number),
    /// The header of one result of a multi, or of the end of the results.
    Result,
}

/// The meaning of a number in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// The length of bytes, or -1 for none.
    Bytes,
    /// The length of a text, or -1 for none.
    Text,
    /// The length of the path of an event.
    Path,
    /// The number of items that follow.
    Names,
    Acls,
    Users,
    /// The permissions in an ACL entry; its scheme and identity follow.
    Permissions,
    /// The length of a user's scheme; the user follows.
    Scheme,
    EventType,
    EventState,
    Any,
}

/// Returns the steps of the reply to a successful operation; `None` when the client library reads
/// only its header.
pub(super) fn of_reply(operation: i32) -> Option<&'static [Step]> {
    Some(match operation {
        op::CREATE | op::SYNC => &[N(Text)],
        op::CREATE2 | op::CREATE_CONTAINER | op::CREATE_TTL => &[N(Text), Skip(STAT)],
        op::EXISTS | op::SET_DATA | op::SET_ACL => &[Skip(STAT)],
        op::GET_DATA | op::RECONFIG => &[N(Bytes), Skip(STAT)],
        op::GET_ACL => &[N(Acls), Skip(STAT)],
        op::GET_CHILDREN | op::GET_EPHEMERALS => &[N(Names)],
        op::GET_CHILDREN2 => &[N(Names), Skip(STAT)],
        op::MULTI | op::MULTI_READ => &[Step::Result],
        op::GET_ALL_CHILDREN_NUMBER => &[N(Any)],
        op::WHO_AM_I => &[N(Users)],
        op::SASL => &[N(Bytes)],
        _ => return None,
    })
}

/// Returns the steps of one result of a multi, after its header; `None` when there is no such
/// result.
pub(super) fn of_result(operation: i32) -> Option<&'static [Step]> {
    Some(match operation {
        op::CHECK | op::DELETE => &[],
        op::CREATE => &[N(Text)],
        op::CREATE2 => &[N(Text), Skip(STAT)],
        op::SET_DATA => &[Skip(STAT)],
        op::GET_DATA => &[N(Bytes), Skip(STAT)],
        op::GET_CHILDREN => &[N(Names)],
        op::ERROR => &[N(Any)],
        _ => return None,
    })
}
