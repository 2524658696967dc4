//! What one attempt to get a lock has at hand, and what it has when it has the lock.

use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::node::{Maker, OwnNode};
use super::probe::Meter;
use super::spec::Spec;
use super::wire::{Watch, Wire};

/// What an attempt has when it has the lock.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) own: OwnNode,
    /// A node that only served on the way here, to be deleted while the lock is held already.
    pub(super) leave: Option<OwnNode>,
    /// A watch that was set on the way here and has not fired.
    pub(super) kept: Option<Watch>,
    /// When to ask after the own node once, where the lock was had without seeing it.
    pub(super) look: Option<Instant>,
    /// Whether the own node is to be watched from the start, since others may make one with the same path.
    pub(super) name_is_reused: bool,
}

impl Held {
    pub(super) fn new(own: OwnNode) -> Self {
        Self { own, leave: None, kept: None, look: None, name_is_reused: false }
    }
}

/// One attempt.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) spec: Arc<Spec>,
    pub(super) wire: Wire,
    pub(super) id: Uuid,
    pub(super) waits: bool,
}

impl Attempt {
    pub(super) fn new(spec: Arc<Spec>, waits: bool, cancel: CancellationToken) -> Self {
        let meter = Meter::of(&spec.options.probe);
        let wire = Wire { client: spec.client.clone(), meter, lock: spec.path.clone(), cancel };
        Self { spec, wire, id: Uuid::new_v4(), waits }
    }

    pub(super) fn maker(&self) -> Maker<'_> {
        Maker { wire: &self.wire, options: &self.spec.options, id: self.id }
    }
}
