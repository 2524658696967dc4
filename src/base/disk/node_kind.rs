//! What makes a node go by itself.

use std::time::Duration;

use crate::znode::SessionId;

/// What makes a node go by itself, from ZooKeeper's `EphemeralType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// Nothing.
    Persistent,
    /// The end of this session.
    Ephemeral(SessionId),
    /// The deletion of its last child.
    Container,
    /// This time without a change and without children.
    Ttl(Duration),
}

/// The `ephemeralOwner` of a container.
const CONTAINER: i64 = i64::MIN;

/// The bits of a time to live, in milliseconds.
const TTL_VALUE: i64 = 0xff_ffff_ffff;

/// The bits above them in the `ephemeralOwner` of a TTL node. The lower two bytes of the three are
/// reserved, and zero.
const TTL_MARK: i64 = 0xff_0000 << 40;

impl NodeKind {
    /// Tells the kind from the `ephemeralOwner` in a snapshot.
    ///
    /// A session of a server with the id 255 begins like the mark of TTL nodes. It is taken for a
    /// session unless the two reserved bytes are zero. They are so in sessions from the first hours
    /// of the machine's uptime; servers that know TTL nodes refuse that id.
    pub fn of_owner(owner: i64) -> Self {
        match owner {
            0 => Self::Persistent,
            CONTAINER => Self::Container,
            _ if owner & !TTL_VALUE == TTL_MARK => Self::of_ttl(owner & TTL_VALUE),
            _ => Self::Ephemeral(SessionId(owner)),
        }
    }

    /// Returns the kind of a node with a time to live in milliseconds.
    pub(super) fn of_ttl(millis: i64) -> Self {
        Self::Ttl(Duration::from_millis(u64::try_from(millis).unwrap_or(0)))
    }

    /// Returns the session whose end deletes the node.
    pub fn session(self) -> Option<SessionId> {
        match self {
            Self::Ephemeral(session) => Some(session),
            Self::Persistent | Self::Container | Self::Ttl(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_and_ttl_nodes_belong_to_no_session() {
        let unsigned = |owner: u64| NodeKind::of_owner(owner.cast_signed());
        assert_eq!(unsigned(0), NodeKind::Persistent);
        assert_eq!(unsigned(0x8000_0000_0000_0000), NodeKind::Container);
        assert_eq!(unsigned(0xff00_0000_0000_03e8), NodeKind::Ttl(Duration::from_secs(1)));
        assert_eq!(unsigned(0xff00_00ff_ffff_ffff), NodeKind::Ttl(Duration::from_millis(0xff_ffff_ffff)));
        for session in [0x0100_0000_0000_0001_u64, 0x8000_0000_0000_0001, 0xff01_8f00_0000_0001] {
            assert_eq!(unsigned(session), NodeKind::Ephemeral(SessionId(session.cast_signed())), "{session:x}");
        }
    }
}
