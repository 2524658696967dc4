//! The task of one attempt: it owns the attempt's nodes from the first request to the last.
//!
//! The future of `acquire` and the guard are handles to the task. Dropping them cancels it. It then
//! deletes the nodes that it created, through lost replies and reconnects, as long as its session
//! lives, and ends.

use std::pin::pin;

use futures::future::join;
use lockscope_requests::SessionStates;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::attempt::{Attempt, HeldLock};
use super::error::NotAcquired;
use super::guard::GuardRequest;
use super::holding::Holding;
use super::retrying_client::{LastSeen, OwnNode};
use super::session_clock::SessionClock;
use super::{Algorithm, LockError, Loss, mutex, queue, semaphore};

/// The task's ends of the channels between it and its handle.
#[derive(Debug)]
pub(super) struct AttemptChannels {
    pub(super) granted: oneshot::Sender<Result<OwnNode, NotAcquired>>,
    pub(super) requests: mpsc::Receiver<GuardRequest>,
    pub(super) loss: watch::Sender<Option<Loss>>,
}

impl Attempt {
    /// Acquires the lock, holds it until it is cancelled or lost, and deletes what it created. The
    /// result is that of the release.
    pub(super) async fn run(self, channels: AttemptChannels) -> Result<(), LockError> {
        let released = tokio::select! {
            biased;
            released = self.acquire_and_hold(channels) => released,
            never = self.delete_late_nodes_under_way() => match never {},
        };
        self.delete_late_nodes();
        released
    }

    async fn acquire_and_hold(&self, channels: AttemptChannels) -> Result<(), LockError> {
        let mut states = self.client.states();
        let mut clock = SessionClock::new(self.client.session_timeout(), states.state(), Instant::now());
        let contended = ticking(self.contend(), &mut clock, &mut *states).await;
        let proved = match contended {
            Ok(held) => self.prove(held, &mut clock, &mut *states).await,
            Err(reason) => Err(reason),
        };
        let held = match proved {
            Ok(held) => held,
            Err(reason) => {
                // Fails when the handle was dropped.
                let _ = channels.granted.send(Err(reason));
                return Ok(());
            }
        };
        let _ = channels.granted.send(Ok(held.own.clone()));
        let queue_node = held.queue_node.clone();
        let leave_queue = async {
            if let Some(node) = &queue_node {
                // This fails only when the session ends, which deletes the node.
                let _ = self.client.delete(node, LastSeen::Before).await;
            }
        };
        // The queue node goes first, even if the guard is dropped at once. A client that returns
        // its lease while it is still in the queue looks like one that never had it.
        let holding = Holding::new(self, held, states, clock);
        let ((), released) = join(leave_queue, self.hold(holding, channels.requests, &channels.loss)).await;
        released
    }

    async fn contend(&self) -> Result<HeldLock, NotAcquired> {
        match self.spec.algorithm {
            Algorithm::Mutex | Algorithm::MutexParent => mutex::contend(self).await,
            Algorithm::Semaphore(leases) => semaphore::contend(self, leases).await,
            _ => queue::contend(self).await,
        }
    }

    /// Accepts a granted lock once a request proves that the session lives, if the process was paused
    /// or has connected again: the event that granted it may be older. A pause during the request
    /// makes its reply old, too.
    async fn prove(
        &self,
        held: HeldLock,
        clock: &mut SessionClock,
        states: &mut dyn SessionStates,
    ) -> Result<HeldLock, NotAcquired> {
        while clock.needs_proof() {
            let sent_at = Instant::now();
            if !ticking(self.client.has_in_sync(&held.own), clock, states).await? {
                if let Some(node) = &held.queue_node {
                    // This fails only when the session ends, which deletes the node.
                    let _ = self.client.delete(node, LastSeen::Before).await;
                }
                return Err(LockError::NodeDeleted { node: held.own.path }.into());
            }
            clock.proved(sent_at);
        }
        Ok(held)
    }

    async fn hold(
        &self,
        mut holding: Holding<'_>,
        mut requests: mpsc::Receiver<GuardRequest>,
        loss_sender: &watch::Sender<Option<Loss>>,
    ) -> Result<(), LockError> {
        let Some(loss) = holding.keep(&mut requests).await else { return holding.release().await };
        loss_sender.send_replace(Some(loss));
        let own = &holding.held.own;
        match loss {
            Loss::Deleted => self.client.meter.gone(&own.path),
            // The session may still live. A node without a guard must not block others.
            Loss::Expired => drop(self.client.delete(own, LastSeen::Before).await),
        }
        Err(loss.error(&self.spec.path, &own.path))
    }
}

/// Runs `work` and keeps the clock meanwhile. After a pause, the clock notices it before the work goes
/// on; after a suspension of the machine, before the work is done.
async fn ticking<T>(work: impl Future<Output = T>, clock: &mut SessionClock, states: &mut dyn SessionStates) -> T {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            () = sleep_until(clock.next_tick()) => clock.tick(Instant::now()),
            state = states.changed() => clock.changed(state, Instant::now()),
            done = &mut work => {
                clock.check_suspension(Instant::now());
                return done;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use futures::future::{BoxFuture, pending};
    use tokio::time::sleep;
    use zookeeper_client::SessionState;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(20);

    thread_local! {
        static SUSPENDED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    /// A session whose connection is sound.
    #[derive(Debug)]
    struct Connected;

    impl SessionStates for Connected {
        fn state(&mut self) -> SessionState {
            SessionState::SyncConnected
        }

        fn peek(&self) -> SessionState {
            SessionState::SyncConnected
        }

        fn changed(&mut self) -> BoxFuture<'_, SessionState> {
            Box::pin(pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lock_that_is_granted_right_after_a_suspension_needs_a_proof() {
        let clock = SessionClock::new(TIMEOUT, SessionState::SyncConnected, Instant::now());
        let mut clock = clock.with_suspended(|| SUSPENDED.get());
        let granted = async {
            sleep(Duration::from_millis(5_500)).await;
            SUSPENDED.set(TIMEOUT * 2);
        };
        ticking(granted, &mut clock, &mut Connected).await;
        assert!(clock.needs_proof());
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_simulation_is_no_suspension() {
        let mut clock = SessionClock::new(TIMEOUT, SessionState::SyncConnected, Instant::now());
        ticking(sleep(TIMEOUT * 5), &mut clock, &mut Connected).await;
        std::thread::sleep(Duration::from_millis(50));
        ticking(sleep(TIMEOUT / 100), &mut clock, &mut Connected).await;
        assert!(!clock.needs_proof());
    }
}
