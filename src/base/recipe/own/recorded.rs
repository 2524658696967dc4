//! How a recording keeps the definition of a recipe.

use serde::{Deserialize, Serialize};

use super::{Definition, LockKind, NameRole};
use crate::znode::ZnodePath;

/// A definition with the fields that it had in format 2.
///
/// What later formats add stands behind the roles. A recording gives fields by their position, so
/// one with more of them could not be told from one of an earlier format.
#[derive(Serialize, Deserialize)]
pub(super) struct Recorded {
    name: String,
    pattern: String,
    kind: LockKind,
    roles: Vec<(String, RecordedRole)>,
    lock: bool,
    persistent: bool,
    below: Option<ZnodePath>,
}

/// The role of a word, or a fact that format 8 added, with the word as its value. The order is that of
/// recordings.
#[derive(Serialize, Deserialize)]
enum RecordedRole {
    Reader,
    Writer,
    Lease,
    Waiter,
    /// The number of leases.
    Leases,
    /// The key of the owner's name.
    NameFrom,
}

impl From<NameRole> for RecordedRole {
    fn from(role: NameRole) -> Self {
        match role {
            NameRole::Reader => Self::Reader,
            NameRole::Writer => Self::Writer,
            NameRole::Lease => Self::Lease,
            NameRole::Waiter => Self::Waiter,
        }
    }
}

impl From<Definition> for Recorded {
    fn from(definition: Definition) -> Self {
        let Definition { name, pattern, kind, roles, lock, persistent, below, leases, name_from } = definition;
        let roles = roles.into_iter().map(|(word, role)| (word, role.into()));
        let leases = leases.map(|leases| (leases.to_string(), RecordedRole::Leases));
        let name_from = name_from.map(|key| (key, RecordedRole::NameFrom));
        Self { name, pattern, kind, roles: roles.chain(leases).chain(name_from).collect(), lock, persistent, below }
    }
}

impl From<Recorded> for Definition {
    fn from(recorded: Recorded) -> Self {
        let Recorded { name, pattern, kind, roles: all, lock, persistent, below } = recorded;
        let (mut roles, mut leases, mut name_from) = (Vec::new(), None, None);
        for (word, role) in all {
            match role {
                RecordedRole::Reader => roles.push((word, NameRole::Reader)),
                RecordedRole::Writer => roles.push((word, NameRole::Writer)),
                RecordedRole::Lease => roles.push((word, NameRole::Lease)),
                RecordedRole::Waiter => roles.push((word, NameRole::Waiter)),
                // A damaged number becomes 0, which no definition allows.
                RecordedRole::Leases => leases = Some(word.parse().unwrap_or(0)),
                RecordedRole::NameFrom => name_from = Some(word),
            }
        }
        Self { name, pattern, kind, roles, lock, persistent, below, leases, name_from }
    }
}
