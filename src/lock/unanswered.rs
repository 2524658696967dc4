//! The creates of an attempt that got no reply, whose nodes may still [come](super::late_create).

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::naming::QueueNames;
use lockscope_base::znode::{Sequence, ZnodePath};

/// The place where an unanswered create may still make a node.
#[derive(Clone, Debug)]
pub(super) enum CreatePlace {
    /// In a queue.
    Queue(QueuePlace),
    /// At this path.
    Node(ZnodePath),
}

/// The nodes of a queue that an unanswered create may still make.
#[derive(Clone, Debug)]
pub(super) struct QueuePlace {
    pub(super) parent: ZnodePath,
    pub(super) names: QueueNames,
    /// The beginning of the node's name.
    pub(super) prefix: String,
    /// The highest number in the parent at the unsuccessful search: the node gets a higher one.
    pub(super) after: Option<Sequence>,
}

/// A place of an unanswered create, and the attempt's knowledge of it.
#[derive(Clone, Debug)]
pub(super) struct UnansweredCreate {
    pub(super) place: CreatePlace,
    /// The time of the last loss of the connection.
    pub(super) lost_at: Instant,
    /// The node that the attempt finally created there.
    pub(super) own: Option<ZnodePath>,
}

/// The unanswered creates of one attempt. Each place is kept once, so that few are in doubt however
/// often a connection is lost.
#[derive(Debug, Default)]
pub(super) struct UnansweredCreates {
    creates: Mutex<Vec<UnansweredCreate>>,
    /// An attempt has created its node after a lost reply.
    settled: Notify,
}

impl UnansweredCreates {
    /// Records that the connection was lost before the reply to a create.
    pub(super) fn record_lost(&self, place: CreatePlace) {
        let (mut creates, lost_at) = (self.creates(), Instant::now());
        match creates.iter_mut().find(|known| known.place.path() == place.path()) {
            Some(known) => known.lost_at = lost_at,
            None => creates.push(UnansweredCreate { place, lost_at, own: None }),
        }
    }

    /// Records that the attempt has created a node whose path begins with `prefix`.
    pub(super) fn record_created(&self, prefix: &ZnodePath, own: &ZnodePath) {
        if let Some(known) = self.creates().iter_mut().find(|known| known.place.path() == *prefix) {
            known.own = Some(own.clone());
            self.settled.notify_one();
        }
    }

    /// Waits until the attempt has created a node after a lost reply. Cancel safe.
    pub(super) async fn settled(&self) {
        self.settled.notified().await;
    }

    /// Returns all unanswered creates.
    pub(super) fn all(&self) -> Vec<UnansweredCreate> {
        self.creates().clone()
    }

    fn creates(&self) -> MutexGuard<'_, Vec<UnansweredCreate>> {
        self.creates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CreatePlace {
    fn path(&self) -> ZnodePath {
        match self {
            Self::Queue(QueuePlace { parent, prefix, .. }) => parent.child(prefix),
            Self::Node(path) => path.clone(),
        }
    }
}
