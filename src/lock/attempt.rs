//! What one attempt to get a lock has at hand, and what it has when it has the lock.

use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::cost::AttemptMeter;
use super::node::{NodeCreator, OwnNode};
use super::retrying_client::{OneShotWatch, RetryingClient};
use super::spec::LockSpec;

/// What an attempt has when it has the lock.
#[derive(Debug)]
pub(super) struct HeldLock {
    pub(super) own: OwnNode,
    /// A node that only served on the way here, to be deleted while the lock is held already.
    pub(super) queue_node: Option<OwnNode>,
    /// A watch that was set on the way here and has not fired.
    pub(super) unfired_watch: Option<OneShotWatch>,
    /// When to ask after the own node once, where the lock was had without seeing it.
    pub(super) check_node_at: Option<Instant>,
    /// Whether the own node is to be watched from the start, since others may make one with the same path.
    pub(super) name_is_reused: bool,
}

impl HeldLock {
    pub(super) fn new(own: OwnNode) -> Self {
        Self { own, queue_node: None, unfired_watch: None, check_node_at: None, name_is_reused: false }
    }
}

/// One attempt.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) spec: Arc<LockSpec>,
    pub(super) client: RetryingClient,
    pub(super) id: Uuid,
    pub(super) waits: bool,
}

impl Attempt {
    pub(super) fn new(spec: Arc<LockSpec>, waits: bool, cancel: CancellationToken) -> Self {
        let meter = AttemptMeter::of(&spec.options.counter);
        let wire = RetryingClient { raw: spec.client.clone(), meter, lock: spec.path.clone(), cancel };
        Self { spec, client: wire, id: Uuid::new_v4(), waits }
    }

    pub(super) fn creator(&self) -> NodeCreator<'_> {
        NodeCreator { client: &self.client, options: &self.spec.options, id: self.id }
    }
}
