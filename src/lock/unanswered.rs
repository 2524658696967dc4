//! The creates of an attempt that got no reply, whose nodes may still [come](super::late_create).

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::naming::QueueNames;
use crate::znode::ZnodePath;

/// Where a create that got no reply may still make a node.
#[derive(Clone, Debug)]
pub(super) enum CreatePlace {
    /// In a queue, with a number behind this beginning of a name.
    Queue { parent: ZnodePath, names: QueueNames, prefix: String },
    /// At this path.
    Node(ZnodePath),
}

/// The creates of one attempt that got no reply. Each place is kept once: few are in doubt, however often a connection is lost.
#[derive(Debug, Default)]
pub(super) struct UnansweredCreates(Mutex<Vec<(CreatePlace, Instant)>>);

impl UnansweredCreates {
    /// The connection was lost before the reply to a create came.
    pub(super) fn note(&self, place: CreatePlace) {
        let (mut places, now) = (self.places(), Instant::now());
        match places.iter_mut().find(|(known, _)| known.path() == place.path()) {
            Some((_, lost_at)) => *lost_at = now,
            None => places.push((place, now)),
        }
    }

    /// Takes all that were noted, each with the time at which the connection was lost.
    pub(super) fn take(&self) -> Vec<(CreatePlace, Instant)> {
        std::mem::take(&mut *self.places())
    }

    fn places(&self) -> MutexGuard<'_, Vec<(CreatePlace, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CreatePlace {
    fn path(&self) -> ZnodePath {
        match self {
            Self::Queue { parent, prefix, .. } => parent.child(prefix),
            Self::Node(path) => path.clone(),
        }
    }
}
