//! All clients of a scenario, and the way to them.

use std::sync::Arc;

use super::{Order, Outcome, Scenario, ScenarioError, Status};
use crate::zk::{ConnectError, ConnectOptions};

/// Where and how a fleet runs.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// The ensemble.
    pub connection: ConnectOptions,
    /// How many recursive watches this program itself has over the scenario's path: what they add to the servers' counters
    /// is taken off.
    pub own_watches: u32,
}

/// Why a fleet did not get to run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ContendError {
    /// The scenario makes no sense.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// No session at all.
    #[error("{0}")]
    Connect(Arc<ConnectError>),
    /// The path cannot be made or read.
    #[error("cannot use {path}: {why}")]
    Path {
        /// The path.
        path: crate::znode::ZnodePath,
        /// What is the matter, and what to do.
        why: String,
    },
    /// Not all clients got a session.
    #[error("{failed} of {asked} test clients got no session: {why}")]
    Clients {
        /// How many got none.
        failed: u32,
        /// How many were asked for.
        asked: u32,
        /// What the first of them was told.
        why: String,
    },
}

/// A running fleet. Dropped, its clients go in the background; [`stop`](Self::stop) waits for that.
#[derive(Debug)]
pub struct Fleet {}

impl Fleet {
    /// Starts to connect the clients, in tasks of their own; when all have a session they begin to contend together.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn start(options: FleetOptions, scenario: Scenario) -> Result<Self, ContendError> {
        todo!()
    }

    /// How it stands, at most a tenth of a second ago.
    pub fn status(&self) -> Arc<Status> {
        todo!()
    }

    /// Waits for the next status, at most ten a second; the same one again and again when it has ended. An error says why the
    /// fleet cannot run, and comes again and again. Cancel safe.
    pub async fn changed(&mut self) -> Result<Arc<Status>, ContendError> {
        todo!()
    }

    /// Does something to a client. Of more than [`MOST_ORDERS`] that wait at a time, the rest is dropped: `false`.
    pub fn order(&self, order: Order) -> bool {
        todo!()
    }

    /// Ends all clients and waits until their sessions are closed and their nodes gone, a few seconds at most.
    pub async fn stop(self) -> Outcome {
        todo!()
    }
}
