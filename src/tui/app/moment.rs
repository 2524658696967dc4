use std::sync::Arc;

use crate::diagnose::Finding;
use crate::queue::{Happening, LockName};
use crate::znode::Timestamp;

/// One line of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// What happened to a lock or to the connection.
    Happening(Happening),
    /// Something was found to be wrong, or is mended.
    Finding {
        /// When, by this machine's clock.
        at: Timestamp,
        /// What.
        finding: Box<Finding>,
        /// Whether it is wrong from then on; else it is mended.
        raised: bool,
    },
}

impl Moment {
    /// When, by this machine's clock.
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Happening(happening) => happening.at,
            Self::Finding { at, .. } => *at,
        }
    }

    /// Its name in JSON and on the screen.
    pub fn event(&self) -> &'static str {
        match self {
            Self::Happening(happening) => happening.event.id(),
            Self::Finding { raised: true, .. } => "finding-raised",
            Self::Finding { raised: false, .. } => "finding-cleared",
        }
    }

    /// Which lock it is about; `None` when it concerns the connection.
    pub fn lock(&self) -> Option<&LockName> {
        match self {
            Self::Happening(happening) => happening.lock.as_ref(),
            Self::Finding { finding, .. } => Some(&finding.lock),
        }
    }

    /// Which node it is about.
    pub fn node(&self) -> Option<&Arc<str>> {
        match self {
            Self::Happening(happening) => happening.node.as_ref(),
            Self::Finding { finding, .. } => finding.node.as_ref(),
        }
    }
}
