//! What a lock is made of, shared by its attempts.

use zookeeper_client::Client;

use super::naming::QueueNames;
use super::{Algorithm, LockOptions};
use crate::znode::ZnodePath;

/// The client, path and options of a lock.
#[derive(Debug)]
pub(super) struct LockSpec {
    pub(super) client: Client,
    pub(super) path: ZnodePath,
    pub(super) algorithm: Algorithm,
    pub(super) names: QueueNames,
    pub(super) options: LockOptions,
}
