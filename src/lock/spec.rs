use zookeeper_client::Client;

use super::naming::QueueNames;
use super::{Algorithm, LockOptions};
use crate::znode::ZnodePath;

/// What a lock is.
#[derive(Debug)]
pub(super) struct LockSpec {
    pub(super) client: Client,
    pub(super) path: ZnodePath,
    pub(super) algorithm: Algorithm,
    pub(super) names: QueueNames,
    pub(super) options: LockOptions,
}
