use zookeeper_client::Client;

use super::naming::Names;
use super::{Algorithm, Options};
use crate::znode::ZnodePath;

/// What a lock is.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) client: Client,
    pub(super) path: ZnodePath,
    pub(super) algorithm: Algorithm,
    pub(super) names: Names,
    pub(super) options: Options,
}
