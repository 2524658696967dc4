//! Keeps a [`LockTable`] in step with the ensemble: it discovers locks, sets watches, reads nodes,
//! and reads everything again after a lost connection. The output is a stream of [`Change`]s.
//!
//! [`Follower`](lockscope_model::follow::Follower) decides what to read and what to report.
//! `schedule` decides which reads share a request, and when it is sent. `run` connects, begins new
//! sessions, and keeps what outlives the connections of a session. `connection_run` feeds the
//! follower during one connection, `wire` turns reads into requests, and `outbox` holds the changes
//! that the consumer has not taken yet.
//!
//! `server_checks` notices that the ensemble does not answer, that the connected member lags behind
//! the others, and that a server's answers do not mean what `ZooKeeper`'s mean. `overload` handles
//! events that come faster than the consumer takes them, and chooses the lock parents that are read
//! meanwhile.
//!
//! Costs to the ensemble:
//!
//! - One session, and one recursive watch for each root.
//! - At the start and after each reconnect: one read for each node that may have children and one
//!   for each contender. A request holds up to 60 operations; replies under way are limited to 16
//!   MiB in total.
//! - Afterwards: one read for each contender that is created or gets new data, if it still exists
//!   when its turn comes. The read is sent at once while fewer than 50 requests per second are
//!   needed, and always for semaphores. Otherwise reads are gathered, none longer than 25 ms.
//! - Nothing for a deleted contender, and while nothing changes one `sync` in 1.5 s, which shows
//!   that the ensemble still answers.
//! - A server without `multiRead` gets one request for each read.
//! - Servers older than 3.6.0 have no recursive watches either. There each node that may have
//!   children costs one watch and the names of its children in memory, each change of such a node
//!   costs one listing, and each connection costs two more requests.
//!
//! Architecture invariant: nothing here grows without bound while the consumer is slow. Changes
//! beyond the bound are dropped and reported
//! ([`ConnectionState::Overloaded`](lockscope_model::queue::ConnectionState::Overloaded)), and
//! everything is read again. When overloads repeat, the observer pauses first and samples
//! meanwhile: once a second it reads up to 3,000 lock parents ([`Change::Sampled`]).

mod connection_run;
mod outbox;
mod overload;
mod run;
mod schedule;
mod server_checks;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::outbox::ObserverProgress;
use self::run::ObserverTask;
use crate::zk::ConnectOptions;
use lockscope_base::recipe::OwnRecipe;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::queue::{Change, Expectation, LockTable, NamedAddress};
use lockscope_model::server_view::ServerView;

#[doc(hidden)]
pub use run::observe_over;

#[cfg(test)]
mod follow_tests;

/// How long [`Observer::stop`] waits for the session to close.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The default for [`ObserveOptions::max_backlog`]: beyond it, reading everything again costs less.
pub const MAX_BACKLOG: usize = 100_000;

/// What to observe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObserveOptions {
    /// The ensemble, and the identities to log in with.
    pub connection: ConnectOptions,
    /// Paths below which locks are looked for; empty means the whole chroot. Roots within other
    /// roots are dropped.
    pub roots: Vec<ZnodePath>,
    /// Nodes that are single-node locks although their names do not show it.
    pub named: Vec<ZnodePath>,
    /// The user's own recipes.
    pub recipes: Vec<OwnRecipe>,
    /// What the user expects of elections.
    pub expected: Vec<Expectation>,
    /// The names that the user gives to clients.
    pub clients: Vec<NamedAddress>,
    /// The most changes not yet taken, and the most reads not yet sent. Beyond it the observer
    /// reports an overload
    /// ([`ConnectionState::Overloaded`](lockscope_model::queue::ConnectionState::Overloaded)).
    /// Usually [`MAX_BACKLOG`].
    pub max_backlog: usize,
}

impl ObserveOptions {
    /// Returns an empty table for the locks to observe.
    pub fn table(&self) -> LockTable {
        let table = LockTable::new(self.named.iter().cloned());
        table.with_recipes(&self.recipes).with_expectations(&self.expected).with_named_clients(&self.clients)
    }
}

/// Which connect errors are retried before the first session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RetryPolicy {
    /// Retries all errors that are not permanent, even those that need somebody's intervention.
    UntilStopped,
    /// Retries only errors that may pass by themselves.
    ForCommand,
    /// As [`ForCommand`](Self::ForCommand), but gives up after a few tries when there is no server
    /// at all.
    ForOneReading,
}

/// A change and the time at which it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The time at which the change was seen, by this machine's clock.
    pub at: Timestamp,
    /// The change.
    pub change: Change,
}

/// A running observer on a session of its own. It connects, reconnects and begins new sessions by
/// itself until it is stopped, dropped or refused. The pause after each failure grows, up to ten
/// seconds.
#[derive(Debug)]
pub struct Observer {
    changes: mpsc::Receiver<Vec<Observed>>,
    progress: ObserverProgress,
    open_queue: watch::Sender<Option<ZnodePath>>,
    views: watch::Sender<Arc<ServerView>>,
    task: JoinHandle<()>,
    cancel: DropGuard,
}

impl Observer {
    /// Starts to observe in a task of its own, which ends when the observer is stopped or dropped.
    ///
    /// # Panics
    ///
    /// Panics outside of a Tokio runtime.
    pub fn start(options: ObserveOptions) -> Self {
        Self::run(options, RetryPolicy::UntilStopped)
    }

    /// Starts to observe like [`start`](Self::start), for a command. Before the first session it
    /// also gives up on errors that somebody must first fix at the ensemble
    /// ([`ConnectError::ends_a_command`](crate::zk::ConnectError::ends_a_command)).
    ///
    /// # Panics
    ///
    /// Panics outside of a Tokio runtime.
    pub fn start_for_command(options: ObserveOptions) -> Self {
        Self::run(options, RetryPolicy::ForCommand)
    }

    /// Starts to observe like [`start_for_command`](Self::start_for_command), for a command that
    /// reads once. It also gives up when a few tries in a row find no server at all
    /// ([`ConnectError::nobody_listens`](crate::zk::ConnectError::nobody_listens)), which takes
    /// about a second.
    ///
    /// # Panics
    ///
    /// Panics outside of a Tokio runtime.
    pub fn start_for_one_reading(options: ObserveOptions) -> Self {
        Self::run(options, RetryPolicy::ForOneReading)
    }

    fn run(options: ObserveOptions, waits: RetryPolicy) -> Self {
        let (sender, changes) = outbox::channel();
        let (open_queue, opened) = watch::channel(None);
        let (views, viewed) = watch::channel(Arc::default());
        let progress = ObserverProgress::default();
        let cancel = CancellationToken::new();
        let (stopped, counted) = (cancel.clone(), progress.clone());
        let task = tokio::spawn(async move {
            let mut runner = ObserverTask::new(options, waits, sender, counted, opened, viewed);
            // The runner holds the session, whether it was cancelled or ended by itself.
            let _ = stopped.run_until_cancelled(Box::pin(runner.run())).await;
            runner.close().await;
        });
        Self { changes, progress, open_queue, views, task, cancel: cancel.drop_guard() }
    }

    /// Returns the next changes, in order: at least one, at most a few thousand. Returns `None`
    /// when the observer has ended because it was refused or stopped. Cancel safe.
    ///
    /// A consumer that is too slow gets a [`Change::Syncing`] in place of the dropped changes, and
    /// then everything again.
    pub async fn next(&mut self) -> Option<Vec<Observed>> {
        let changes = self.changes.recv().await?;
        self.progress.remove(changes.len());
        Some(changes)
    }

    /// Returns how many changes were seen and not taken yet.
    pub fn changes_behind(&self) -> usize {
        self.progress.untaken()
    }

    /// Returns how many reads of nodes the ensemble has answered.
    pub fn nodes_read(&self) -> usize {
        self.progress.nodes_read()
    }

    /// Sets the parent of the open queue, or none. While contenders come faster than they are read,
    /// those of the open queue are read first.
    pub fn set_open_queue(&self, parent: Option<ZnodePath>) {
        self.open_queue.send_replace(parent);
    }

    /// Passes on what the members report about themselves. The observer compares the connected
    /// member with the others. When it lags
    /// ([`ConnectionState::Lagging`](lockscope_model::queue::ConnectionState::Lagging)), the
    /// observer moves to another member of the connect string, or waits until the lagging one has
    /// caught up.
    pub fn compare_members(&self, view: &Arc<ServerView>) {
        self.views.send_replace(Arc::clone(view));
    }

    /// Ends the observer and waits at most two seconds until its session is closed.
    pub async fn stop(self) {
        self.stop_within(STOP_TIMEOUT).await;
    }

    /// Ends the session like [`stop`](Self::stop), and waits at most this long until it is closed.
    pub async fn stop_within(self, within: Duration) {
        let Self { changes, task, cancel, .. } = self;
        drop(cancel);
        drop(changes);
        // Without a connection the session cannot be closed in time: it then expires at the
        // servers.
        let _ = tokio::time::timeout(within, task).await;
    }
}
