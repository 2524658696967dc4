//! The entries of the timeline: events of locks, findings and deletions.

use std::sync::Arc;

use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_live::admin::Ending;
use lockscope_model::diagnose::Finding;
use lockscope_model::queue::{ClientIdentity, ContenderId, Happening, LockName};

/// One line of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimelineEntry {
    /// An event of a lock or of the connection.
    Happening(Happening),
    /// A finding was raised or cleared.
    Finding {
        /// The time of the entry, by this machine's clock.
        at: Timestamp,
        finding: Arc<Finding>,
        /// Whether the finding was raised; else it was cleared.
        raised: bool,
    },
    /// The result of a deletion by this console.
    Deletion {
        /// When the result was known, by this machine's clock.
        at: Timestamp,
        /// The name of the lock, if it was known.
        lock: Option<LockName>,
        node: Arc<str>,
        /// The owner of the node, as far as known when the deletion was confirmed.
        client: ClientIdentity,
        ending: Box<Ending>,
    },
}

impl TimelineEntry {
    /// The time of the entry, by this machine's clock.
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Happening(happening) => happening.at,
            Self::Finding { at, .. } | Self::Deletion { at, .. } => *at,
        }
    }

    /// The name of the event in JSON and on the screen.
    pub fn event(&self) -> &'static str {
        match self {
            Self::Happening(happening) => happening.event.title(),
            Self::Finding { raised: true, .. } => "finding-raised",
            Self::Finding { raised: false, .. } => "finding-cleared",
            Self::Deletion { ending, .. } => match **ending {
                Ending::Deleted { .. } | Ending::DeletedOther => "deleted",
                Ending::Asked => "asked",
                Ending::NotKnown { .. } => "not-known",
                _ => "not-deleted",
            },
        }
    }

    /// The lock of the entry; `None` when the entry concerns the connection.
    pub fn lock(&self) -> Option<&LockName> {
        match self {
            Self::Happening(happening) => happening.lock.as_ref(),
            Self::Finding { finding, .. } => Some(&finding.lock),
            Self::Deletion { lock, .. } => lock.as_ref(),
        }
    }

    /// The session of the entry's node; `None` when the node has no owner or the owner is unknown.
    pub fn session(&self) -> Option<SessionId> {
        match self {
            Self::Happening(happening) => happening.session,
            Self::Deletion { client, .. } => client.session,
            Self::Finding { .. } => None,
        }
    }

    pub fn node(&self) -> Option<&Arc<str>> {
        match self {
            Self::Happening(happening) => happening.node.as_ref(),
            Self::Finding { finding, .. } => finding.node.as_ref(),
            Self::Deletion { node, .. } => Some(node),
        }
    }

    /// The contender of the entry, whichever node it has now; `None` when only the node is known.
    pub fn contender(&self) -> Option<&ContenderId> {
        match self {
            Self::Happening(happening) => happening.contender.as_ref(),
            Self::Finding { .. } | Self::Deletion { .. } => None,
        }
    }
}
