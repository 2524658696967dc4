//! Fields that few locks need. They are stored apart because a table has very many locks.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ClientIdentity;
use super::handover::Handover;
use super::head_wait::HeadWait;
use super::order::RankedKeys;
use lockscope_base::znode::{SessionId, Timestamp};

/// The fields of a lock that has or had readers, leases, returned nodes or an expired holder.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct RareParts {
    /// The read requests in the order. Everything about writers follows from them.
    pub readers: RankedKeys,
    /// The number of contenders with a lease.
    pub leases: usize,
    /// The number of returned contenders.
    pub returned: usize,
    /// The hand-over of a semaphore, kept while a contender is between the queue and a lease.
    pub handover: Option<Box<Handover>>,
    pub maximum: Option<u32>,
    pub session_expired: Option<Box<SessionExpired>>,
    /// The watch by which the first contender waits. A recording stores it beside the table, because
    /// older ones have no place for it here.
    #[serde(skip)]
    pub head_wait: Option<Box<HeadWait>>,
}

/// A holder that lost its lock because its session expired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionExpired {
    /// When the deletion of its node was seen, by this machine's clock.
    pub at: Timestamp,
    /// The node's name.
    pub node: Arc<str>,
    /// The expired session.
    pub session: SessionId,
    /// The holder's client.
    pub client: ClientIdentity,
}
