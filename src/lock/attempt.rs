//! One attempt to acquire a lock, and its result.

use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::background::AttemptRegistration;
use super::cost::AttemptMeter;
use super::node::NodeCreator;
use super::retrying_client::{OneShotWatch, OwnNode, RetryingClient};
use super::spec::LockSpec;

/// The result of an attempt that holds the lock.
#[derive(Debug)]
pub(super) struct HeldLock {
    pub(super) own: OwnNode,
    /// A semaphore's node in the queue for leases. The client deletes the node after the lease is
    /// granted.
    pub(super) queue_node: Option<OwnNode>,
    /// A watch that was set while waiting and has not fired.
    pub(super) unfired_watch: Option<OneShotWatch>,
    /// The time of the one check that the own node exists, if the lock was granted without reading
    /// it.
    pub(super) check_node_at: Option<Instant>,
}

impl HeldLock {
    pub(super) fn new(own: OwnNode) -> Self {
        Self { own, queue_node: None, unfired_watch: None, check_node_at: None }
    }
}

/// One attempt to acquire a lock.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) spec: Arc<LockSpec>,
    pub(super) client: RetryingClient,
    pub(super) id: Uuid,
    pub(super) waits: bool,
    _registration: AttemptRegistration,
}

impl Attempt {
    pub(super) fn new(spec: Arc<LockSpec>, waits: bool, cancel: CancellationToken) -> Self {
        let registration = AttemptRegistration::new(spec.client.session(), cancel.clone());
        let meter = AttemptMeter::of(&spec.options.counter);
        let client = RetryingClient::new(Arc::clone(&spec.client), meter, spec.path.clone(), cancel);
        let id = spec.client.attempt_id();
        Self { spec, client, id, waits, _registration: registration }
    }

    pub(super) fn creator(&self) -> NodeCreator<'_> {
        NodeCreator { client: &self.client, options: &self.spec.options, id: self.id }
    }
}
