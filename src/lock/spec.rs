//! The parts of a lock that its attempts share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lockscope_requests::Requests;

use super::naming::QueueNames;
use super::{Algorithm, LockOptions};
use lockscope_base::znode::ZnodePath;

/// The client, path and options of a lock.
#[derive(Debug)]
pub(super) struct LockSpec {
    pub(super) client: Arc<dyn Requests>,
    pub(super) path: ZnodePath,
    pub(super) algorithm: Algorithm,
    pub(super) names: QueueNames,
    pub(super) options: LockOptions,
    /// Whether the next attempt in a chain asks for its predecessor by name: it would have saved
    /// the last one a listing.
    pub(super) asks_by_name: AtomicBool,
}
