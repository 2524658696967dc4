//! The entries of the timeline: events of locks, findings, deletions.

use std::sync::Arc;

use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_live::admin::Ending;
use lockscope_model::diagnose::Finding;
use lockscope_model::queue::{ClientIdentity, ContenderId, Happening, LockName};

/// One line of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimelineEntry {
    /// What happened to a lock or to the connection.
    Happening(Happening),
    /// Something was found to be wrong, or is mended.
    Finding {
        /// When, by this machine's clock.
        at: Timestamp,
        finding: Arc<Finding>,
        /// Whether it is wrong from then on; else it is mended.
        raised: bool,
    },
    /// What came of a deletion from this console.
    Deletion {
        /// When that was known, by this machine's clock.
        at: Timestamp,
        /// The lock's name, where it was known.
        lock: Option<LockName>,
        node: Arc<str>,
        /// Who owned it, as far as that was known when the deletion was confirmed.
        client: ClientIdentity,
        ending: Box<Ending>,
    },
}

impl TimelineEntry {
    /// When, by this machine's clock.
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Happening(happening) => happening.at,
            Self::Finding { at, .. } | Self::Deletion { at, .. } => *at,
        }
    }

    /// Its name in JSON and on the screen.
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

    /// Which lock it is about; `None` when it concerns the connection.
    pub fn lock(&self) -> Option<&LockName> {
        match self {
            Self::Happening(happening) => happening.lock.as_ref(),
            Self::Finding { finding, .. } => Some(&finding.lock),
            Self::Deletion { lock, .. } => lock.as_ref(),
        }
    }

    /// Whose node it is about; `None` where nobody owns it or that is not known.
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

    /// The contender that it is about, whichever node it stands by now; `None` where only the node is known.
    pub fn contender(&self) -> Option<&ContenderId> {
        match self {
            Self::Happening(happening) => happening.contender.as_ref(),
            Self::Finding { .. } | Self::Deletion { .. } => None,
        }
    }
}
