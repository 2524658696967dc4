//! Keeps a [`LockTable`](lockscope_model::queue::LockTable) true to the ensemble: discovery, watches, reads, and reading all again
//! after every cut. Its output is a stream of [`Change`]s.
//!
//! What is read and reported is decided in `follow`, which knows no client, and which reads go into one request, and when, in
//! `schedule`. `run` keeps a session open, `connection_run` feeds the follower as long as one connection of it lasts, `wire` puts
//! reads into requests, and `outbox` holds what the consumer has not taken yet. What is done when more happens than can be taken in
//! stands in `overload`, and which lock parents are read meanwhile in `sample`. `member_watch`
//! notices that the member of the ensemble that answers lags behind the others.
//!
//! Costs to the ensemble: one session; one recursive watch a root; at the start and after each reconnect one read for each node
//! that may have children and one for each contender, up to 60 operations in a request, whose replies are not to weigh more than
//! 16 MiB at a time; then one read for each contender that is created or gets new data and is still there when its turn comes,
//! at once while less than 50 requests a second serve that (and always of a semaphore), else gathered, no read waiting longer than
//! 25 ms; none for one that is deleted, and nothing when nothing changes (heartbeats aside). A server that knows no `multiRead` gets one request for each
//! read. Servers older than 3.6.0 know no recursive watch either: there it is one watch and the names in memory for each node that
//! may have children, and one listing for each change of one; and two requests more for each connection.
//!
//! Architecture invariant: nothing here grows without a bound while the consumer is slow. What it cannot hold it drops, says so
//! ([`ConnectionState::Overloaded`](lockscope_model::queue::ConnectionState::Overloaded)), and reads everything again. When that comes again and
//! again, it pauses before, and meanwhile counts: once a second it reads up to 3,000 lock parents ([`Change::Sampled`]).

mod connection_end;
mod connection_run;
mod follow;
mod member_watch;
mod outbox;
mod overload;
mod run;
mod sample;
mod schedule;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::outbox::UntakenChanges;
use self::run::ObserverTask;
use crate::zk::ConnectOptions;
use lockscope_base::recipe::OwnRecipe;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::queue::Change;
use lockscope_model::server_view::ServerView;

/// How long [`Observer::stop`] waits for the end of the session.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// How many changes and reads may wait when nothing else is said: with more, reading everything again costs less.
pub const MAX_BACKLOG: usize = 100_000;

/// What to observe.
#[derive(Clone, Debug)]
pub struct ObserveOptions {
    /// The ensemble, and who we are there.
    pub connection: ConnectOptions,
    /// Below which nodes locks are looked for; none is the whole chroot. Roots within others are left out.
    pub roots: Vec<ZnodePath>,
    /// Nodes that are single-node locks though their names do not show it.
    pub named: Vec<ZnodePath>,
    /// The recipes of the user's own.
    pub recipes: Vec<OwnRecipe>,
    /// How many changes may wait to be taken, and how many reads to be sent, before it is said that there are too many
    /// ([`ConnectionState::Overloaded`](lockscope_model::queue::ConnectionState::Overloaded)); usually [`MAX_BACKLOG`].
    pub max_backlog: usize,
}

/// After which errors the observer tries again as long as it has had no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RetryPolicy {
    /// After all that are not permanent, even if somebody must change something first.
    UntilStopped,
    /// Only after those that may pass by themselves.
    ForCommand,
    /// As [`ForCommand`](Self::ForCommand), and only a few times while there is no server at all.
    ForOneReading,
}

/// A change, and when it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// By this machine's clock.
    pub at: Timestamp,
    /// What was seen.
    pub change: Change,
}

/// A running observer, on a session of its own. It connects, reconnects and begins new sessions by itself, waiting
/// longer after each failure, up to ten seconds, until it is stopped, dropped or refused.
#[derive(Debug)]
pub struct Observer {
    changes: mpsc::Receiver<Vec<Observed>>,
    untaken: UntakenChanges,
    open_queue: watch::Sender<Option<ZnodePath>>,
    views: watch::Sender<Arc<ServerView>>,
    task: JoinHandle<()>,
    cancel: DropGuard,
}

impl Observer {
    /// Starts to observe, in a task of its own that ends when this is stopped or dropped.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn start(options: ObserveOptions) -> Self {
        Self::run(options, RetryPolicy::UntilStopped)
    }

    /// As [`start`](Self::start), for a command: it is refused too by what somebody must first mend at the ensemble
    /// ([`ConnectError::ends_a_command`](crate::zk::ConnectError::ends_a_command)), as long as it has had no session.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn start_for_command(options: ObserveOptions) -> Self {
        Self::run(options, RetryPolicy::ForCommand)
    }

    /// As [`start_for_command`](Self::start_for_command), for a command that reads once: it is refused, too, when a few tries in a
    /// row find no server at all ([`ConnectError::nobody_listens`](crate::zk::ConnectError::nobody_listens)), which takes about a
    /// second.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn start_for_one_reading(options: ObserveOptions) -> Self {
        Self::run(options, RetryPolicy::ForOneReading)
    }

    fn run(options: ObserveOptions, waits: RetryPolicy) -> Self {
        let (sender, changes) = outbox::channel();
        let (open_queue, opened) = watch::channel(None);
        let (views, viewed) = watch::channel(Arc::default());
        let untaken = UntakenChanges::default();
        let cancel = CancellationToken::new();
        let (stopped, counted) = (cancel.clone(), untaken.clone());
        let task = tokio::spawn(async move {
            let mut runner = ObserverTask::new(options, waits, (sender, counted), (opened, viewed));
            // Cancelled or ended: the runner holds the session either way.
            let _ = stopped.run_until_cancelled(Box::pin(runner.run())).await;
            runner.close().await;
        });
        Self { changes, untaken, open_queue, views, task, cancel: cancel.drop_guard() }
    }

    /// The next changes, in order: at least one, at most a few thousand. `None` when it ended (it was refused, or stopped).
    /// Cancel safe.
    ///
    /// Who takes them too slowly gets a [`Change::Syncing`] in place of what could not be held, and everything anew.
    pub async fn next(&mut self) -> Option<Vec<Observed>> {
        let changes = self.changes.recv().await?;
        self.untaken.remove(changes.len());
        Some(changes)
    }

    /// How many changes were seen and not taken yet.
    pub fn changes_behind(&self) -> usize {
        self.untaken.get()
    }

    /// Somebody looks at the queue below this node, or at none: while more contenders come than can be read at once, those of that
    /// queue are read first.
    pub fn look_at_queue(&self, parent: Option<ZnodePath>) {
        self.open_queue.send_replace(parent);
    }

    /// What the members say about themselves. The observer compares the member that it is connected
    /// to with the others. Where that one lags
    /// ([`ConnectionState::Lagging`](lockscope_model::queue::ConnectionState::Lagging)), it goes on with
    /// another member of the connect string, or waits until that one has caught up.
    pub fn compare_members(&self, view: &Arc<ServerView>) {
        self.views.send_replace(Arc::clone(view));
    }

    /// Ends it and waits until its session is closed, at most two seconds.
    pub async fn stop(self) {
        let Self { changes, task, cancel, .. } = self;
        drop(cancel);
        drop(changes);
        // A session that cannot be closed in time, because there is no connection, times out at the servers.
        let _ = tokio::time::timeout(STOP_TIMEOUT, task).await;
    }
}
