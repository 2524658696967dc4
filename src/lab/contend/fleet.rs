//! A running fleet: starts, controls and stops all clients of a scenario.

mod published;
mod run;
mod status_pacing;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::published::Published;
use self::run::Runner;
use super::outcome::Remains;
use super::{
    ContendError, Deletions, FleetCommand, FleetOptions, FleetOutcome, FleetStatus, FleetTotals, ResourceStatus,
    Scenario,
};

/// The maximum number of queued commands.
pub const MAX_QUEUED_COMMANDS: usize = 1024;

/// A running fleet. Dropping it ends its clients in the background; [`stop`](Self::stop) also waits
/// for the end.
#[derive(Debug)]
pub struct Fleet {
    published: watch::Receiver<Published>,
    commands: mpsc::Sender<FleetCommand>,
    task: JoinHandle<FleetOutcome>,
    cancel: DropGuard,
    scenario: Arc<Scenario>,
}

impl Fleet {
    /// Starts to connect the clients, in spawned tasks. Once all have a session, they begin to
    /// contend together.
    ///
    /// The fleet's own session creates the missing parents of the path and deletes them at the end.
    /// The servers are asked for their counters (`mntr`) once a second.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn start(options: FleetOptions, scenario: Scenario) -> Result<Self, ContendError> {
        Self::start_beside(options, scenario, &Deletions::default())
    }

    /// Starts a fleet beside other fleets of this program on this ensemble that share `deletions`.
    /// Otherwise like [`start`](Self::start).
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn start_beside(
        options: FleetOptions,
        scenario: Scenario,
        deletions: &Deletions,
    ) -> Result<Self, ContendError> {
        scenario.check()?;
        let scenario = Arc::new(scenario);
        let (publish, published) = watch::channel(Published::new(FleetStatus::new(&scenario)));
        let (commands, receiver) = mpsc::channel(MAX_QUEUED_COMMANDS);
        let cancel = CancellationToken::new();
        let runner = Runner::new(options, Arc::clone(&scenario), deletions.clone(), publish);
        let task = tokio::spawn(runner.run(receiver, cancel.clone()));
        Ok(Self { published, commands, task, cancel: cancel.drop_guard(), scenario })
    }

    /// Returns the last status, at most 100 ms old while the fleet runs.
    pub fn status(&self) -> Arc<FleetStatus> {
        Arc::clone(&self.published.borrow().status)
    }

    /// Waits for the next status: ten a second, or up to 60 while the fleet is stepped through.
    /// After the last status, waits for ever. The traces of statuses that the caller missed are
    /// part of the next one. Cancel safe.
    ///
    /// # Errors
    ///
    /// The reason why the fleet cannot run.
    pub async fn changed(&mut self) -> Result<Arc<FleetStatus>, ContendError> {
        if self.published.changed().await.is_err() {
            // The fleet's task has ended, which happens only when this value is dropped or the task
            // panics.
            return std::future::pending().await;
        }
        let published = self.published.borrow_and_update();
        match &published.error {
            Some(error) => Err(error.clone()),
            None => Ok(published.take()),
        }
    }

    /// Sends a command to the fleet. A command for an unknown client does nothing. Returns `false`,
    /// and drops the command, if [`MAX_QUEUED_COMMANDS`] are queued already.
    pub fn command(&self, command: FleetCommand) -> bool {
        self.commands.try_send(command).is_ok()
    }

    /// Ends all clients and waits until their sessions are closed and their nodes are gone, a few
    /// seconds at most. The links of crashed and cut clients are restored, so that they can close
    /// their sessions.
    pub async fn stop(self) -> FleetOutcome {
        let Self { task, cancel, scenario, published, .. } = self;
        drop(cancel);
        let Ok(outcome) = task.await else {
            // The task panicked or the runtime is shutting down: only the last status is known.
            let status = Arc::clone(&published.borrow().status);
            return FleetOutcome::of(&FleetStatus { scenario, ..(*status).clone() }, Remains::default());
        };
        outcome
    }
}

impl FleetStatus {
    /// Creates the status of a fleet that has just started.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        Self {
            scenario: Arc::clone(scenario),
            elapsed: Duration::ZERO,
            age: Duration::ZERO,
            connected: 0,
            finished: false,
            clients: Vec::new(),
            totals: FleetTotals::default(),
            overlaps: Vec::new(),
            server: None,
            server_silence: None,
            servers_lost_for: None,
            stepped: false,
            next_step: None,
            trace: Arc::default(),
            trace_missed: 0,
            resource: ResourceStatus::default(),
        }
    }
}
