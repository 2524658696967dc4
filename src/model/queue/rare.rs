//! What few locks have: apart from the rest of a lock, since a table has very many of them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ClientIdentity;
use super::handover::Handover;
use super::order::RankedKeys;
use lockscope_base::znode::{SessionId, Timestamp};

/// What is kept of a lock that has or had readers, leases, returned nodes or an expired holder.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct RareParts {
    /// The requests for reading among the order. Everything about writers follows from it.
    pub readers: RankedKeys,
    /// How many of the contenders have a lease.
    pub leases: usize,
    /// How many of the contenders returned.
    pub returned: usize,
    /// The hand-over of a semaphore, while a contender is between the queue and a lease.
    pub handover: Option<Box<Handover>>,
    pub maximum: Option<u32>,
    pub session_expired: Option<Box<SessionExpired>>,
}

/// A holder that lost its lock to the end of its session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionExpired {
    /// When its node was seen to go, by this machine's clock.
    pub at: Timestamp,
    /// Its node.
    pub node: Arc<str>,
    /// Its session.
    pub session: SessionId,
    /// Who it was.
    pub client: ClientIdentity,
}
