//! The terms that all recipes share: what locks grant, what requests ask for, and the ids in node
//! names: UUIDs, 32 hex digits, session ids.

use serde::{Deserialize, Serialize};

/// The properties of a recipe.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecipeTraits {
    /// The name in JSON and on the command line. It never changes, since other programs depend on
    /// it.
    pub id: &'static str,
    /// The name for people, at most 16 columns.
    pub title: &'static str,
    pub kind: LockKind,
    /// Whether only ephemeral nodes are contenders, because the names alone do not tell a lock from
    /// a folder or another numbered node.
    pub needs_ephemeral: bool,
}

/// The kind of a lock: what it grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockKind {
    /// One holder.
    Exclusive,
    /// Readers together, or one writer.
    ReadWrite,
    /// Up to a number of leases.
    Semaphore,
    /// One leader until its node is gone; the others stand by.
    // Its name in earlier versions.
    #[serde(alias = "latch")]
    Election,
    /// One node; its waiters are not in the tree.
    SingleNode,
}

impl LockKind {
    /// Returns the name in JSON, in the config file and in recordings.
    pub fn id(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::ReadWrite => "read-write",
            Self::Semaphore => "semaphore",
            Self::Election => "election",
            Self::SingleNode => "single-node",
        }
    }
}

/// The mode of a contender's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestMode {
    /// The lock alone, in a queue without readers.
    Exclusive,
    /// The lock together with other readers.
    Read,
    /// The lock alone, in a queue that has readers too.
    Write,
    /// One of a semaphore's leases.
    Lease,
}

/// Returns whether the text is a UUID as Java and Rust write it: 36 characters, 8-4-4-4-12 hex
/// digits.
pub fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Returns whether the text is a UUID without dashes, as kazoo and Go write it: 32 hex digits.
pub fn is_hex32(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether the text is a UUID in either notation.
pub fn is_guid(text: &str) -> bool {
    is_uuid(text) || is_hex32(text)
}

/// Returns whether a name starts with `_c_<UUID>-` or `_c_<32 hex digits>-`. Curator's, Go's and
/// Rust's clients draw a new id for every node, so such a name never comes back.
///
/// All other names can. Numbers restart when their parent is deleted and created again. kazoo's 32
/// hex digits belong to a lock object, which uses them for each of its acquisitions
/// (`kazoo/recipe/lock.py`: `self.prefix`, `self.create_path`).
pub fn is_never_reused(name: &str) -> bool {
    let Some((id, _)) = name.strip_prefix("_c_").and_then(|rest| {
        let split = |length| rest.split_at_checked(length).filter(|(_, rest)| rest.starts_with('-'));
        split(36).or_else(|| split(32))
    }) else {
        return false;
    };
    is_guid(id)
}

/// Returns whether the text is a session id as a signed decimal number, as Java prints it.
pub fn is_decimal_session(text: &str) -> bool {
    // `i64`'s parser also accepts a plus sign, which no session id has.
    !text.starts_with('+') && text.parse::<i64>().is_ok()
}

/// Returns whether the text is a session id in hex, as C and the four-letter words print it, with
/// or without `0x`.
///
/// Without `0x`, a short text of the letters `a` to `f` alone (`cafe`) is a word. The time in a
/// session's upper bytes makes every real id longer.
pub fn is_hex_session(text: &str) -> bool {
    let (digits, marked) = text.strip_prefix("0x").map_or((text, false), |digits| (digits, true));
    (1..=16).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        && (marked || digits.len() > 8 || digits.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Returns whether a name like Curator's or kazoo's bears an id of lockscope's lock library: a UUID of
/// version 8. Theirs are of version 4.
///
/// The library uses Curator's names, but its readers watch the nearest writer.
pub fn is_of_own_lock(name: &str) -> bool {
    const VERSION_AT: usize = 14;
    const VERSION_WITHOUT_DASHES_AT: usize = 12;
    let split = name.strip_prefix("_c_").and_then(|rest| rest.split_at_checked(36));
    let as_curator =
        split.is_some_and(|(uuid, rest)| rest.starts_with('-') && is_uuid(uuid) && uuid.as_bytes()[VERSION_AT] == b'8');
    let as_kazoo = || {
        let split = name.split_at_checked(32).filter(|(id, rest)| rest.starts_with("__") && is_hex32(id));
        split.is_some_and(|(id, _)| id.as_bytes()[VERSION_WITHOUT_DASHES_AT] == b'8')
    };
    as_curator || as_kazoo()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_session_ids_are_sessions() {
        for session in ["0", "-1", "72057594037927936", "-9223372036854775808"] {
            assert!(is_decimal_session(session), "{session}");
        }
        for other in ["", "-", "+1", "9223372036854775808", "1 ", "１"] {
            assert!(!is_decimal_session(other), "{other}");
        }
        for session in ["0x1", "0xcafe", "100a2b3c4d0001", "ffffffffffffffff", "1f"] {
            assert!(is_hex_session(session), "{session}");
        }
        for other in ["", "0x", "cafe", "bob", "0x10000000000000000", "-1", "0X1"] {
            assert!(!is_hex_session(other), "{other}");
        }
    }

    #[test]
    fn only_names_with_a_new_id_for_each_node_are_never_reused() {
        for never in [
            "_c_b3a1c2d4-0f1e-4a2b-8c3d-112233445566-lock-0000000007",
            "_c_b3a1c2d4-0f1e-4a2b-8c3d-112233445566-lease-0000000000",
            "_c_b3a1c2d40f1e4a2b8c3d112233445566-lock-0000000007",
            "_c_b3a1c2d4-0f1e-4a2b-8c3d-112233445566-",
        ] {
            assert!(is_never_reused(never), "{never}");
        }
        for again in [
            "lock-0000000000",
            "b3a1c2d40f1e4a2b8c3d112233445566__lock__0000000000",
            "b3a1c2d40f1e4a2b8c3d112233445566",
            "_c_b3a1c2d4-0f1e-4a2b-8c3d-112233445566",
            "_c_lock-0000000000",
            "_c_b3a1c2d4-0f1e-4a2b-8c3d-11223344556é-lock-0000000000",
            "x-72057594037927936-0000000003",
            "",
        ] {
            assert!(!is_never_reused(again), "{again}");
        }
    }

    #[test]
    fn ids_of_the_wrong_shape_are_no_ids() {
        assert!(is_uuid("b3a1c2d4-0f1e-4a2b-8c3d-112233445566"));
        assert!(is_guid("b3a1c2d40f1e4a2b8c3d112233445566"));
        for other in ["", "b3a1c2d4-0f1e-4a2b-8c3d-11223344556", "b3a1c2d40f1e-4a2b-8c3d-11223344-5566", "ébcdefgh"] {
            assert!(!is_guid(other), "{other}");
        }
    }
}
