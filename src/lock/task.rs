//! The task of one attempt: it owns the attempt's nodes from the first request to the last.
//!
//! The future of `acquire` and the guard are handles to the task. Dropping them cancels it. It then
//! deletes the nodes that it created, through lost replies and reconnects, as long as its session
//! lives, and ends.
//!
//! # Late creates
//!
//! A create without a reply was carried out, was not, or was not *yet*. Its request may still be on
//! a connection that the client has given up, while the same session sends the create again on
//! another one. The server closes the old connection only when the session comes back to that
//! server, or after one session timeout without a message.
//!
//! A late create makes a node of a live session that no attempt knows of: it would block the queue
//! until the session ends. So an attempt that has sent a create again looks for such nodes after
//! its own are deleted, for as long as one may come.

use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use futures::future::join;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tracing::Instrument;

use super::attempt::{Attempt, HeldLock, NodeCreator};
use super::error::NotAcquired;
use super::guard::{GuardRequest, HoldState, Holding};
use super::retrying_client::{CreatePlace, LastSeen, OwnNode, QueuePlace, UnansweredCreate};
use super::session_clock::SessionClock;
use super::{Algorithm, LockError, Loss, mutex, queue, spans};
use lockscope_requests::SessionStates;
use lockscope_terms::time::Backoff;
use lockscope_terms::znode::{Sequence, ZnodePath};

/// The task's ends of the channels between it and its handle.
#[derive(Debug)]
pub struct AttemptChannels {
    pub(super) granted: oneshot::Sender<Result<OwnNode, NotAcquired>>,
    pub(super) requests: mpsc::Receiver<GuardRequest>,
    pub(super) state: watch::Sender<HoldState>,
}

impl Attempt {
    /// Acquires the lock, holds it until it is cancelled or lost, and deletes what it created. The
    /// result is that of the release.
    pub async fn run(self, channels: AttemptChannels) -> Result<(), LockError> {
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
        let wait = spans::wait(&self.spec.path);
        let contended = ticking(self.contend(), &mut clock, &mut *states).instrument(wait.clone()).await;
        let proved = match contended {
            Ok(held) => self.prove(held, &mut clock, &mut *states).instrument(wait).await,
            Err(reason) => Err(reason),
        };
        let held = match proved {
            Ok(held) => held,
            Err(reason) => {
                spans::not_acquired(&self.spec.path, &reason);
                // Fails when the handle was dropped.
                let _ = channels.granted.send(Err(reason));
                return Ok(());
            }
        };
        let _ = channels.granted.send(Ok(held.own.clone()));
        let span = spans::hold(&self.spec.path, &held.own);
        let queue_node = held.queue_node.clone();
        let leave_queue = async {
            if let Some(node) = &queue_node {
                // This fails only when the session ends, which deletes the node.
                let _ = self.client.delete(node, LastSeen::Before).await;
            }
        };
        // The queue node goes first, even if the guard is dropped at once. A client that returns
        // its lease while it is still in the queue looks like one that never had it.
        let holding = Holding::new(self, &channels.state, held, states, clock);
        let keep_and_release = self.hold(holding, channels.requests, &channels.state).instrument(span);
        let ((), released) = join(leave_queue, keep_and_release).await;
        released
    }

    async fn contend(&self) -> Result<HeldLock, NotAcquired> {
        match self.spec.algorithm {
            Algorithm::Mutex | Algorithm::MutexParent => mutex::contend(self).await,
            Algorithm::Semaphore(leases) => queue::contend_for_lease(self, leases).await,
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
        told: &watch::Sender<HoldState>,
    ) -> Result<(), LockError> {
        let Some(loss) = holding.keep(&mut requests).await else {
            let released = holding.release().await;
            return released.inspect_err(|error| spans::release_failed(&self.spec.path, &holding.held.own, error));
        };
        told.send_modify(|state| state.loss = Some(loss));
        let own = &holding.held.own;
        spans::lost(&self.spec.path, own, loss);
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

/// The pause before the second search. Later pauses grow up to half of a session timeout.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The number of session timeouts after a lost reply in which nodes are searched for: one until the
/// server closes the connection, and one to spare.
const TIMEOUTS: u32 = 2;

/// The interval between searches while the attempt waits or holds.
const PAUSE_UNDER_WAY: Duration = Duration::from_secs(5);

/// The maximum number of possible late nodes that one search reads while the attempt waits or
/// holds.
const MAX_LOOKED_AT: usize = 16;

impl Attempt {
    /// Searches for late nodes in the background, after the attempt has ended and its known nodes
    /// are deleted. Does nothing without a lost reply to a create.
    pub(crate) fn delete_late_nodes(self) {
        let creates = self.client.unanswered.all();
        if !creates.is_empty() {
            tokio::spawn(async move {
                // This fails only when the session ends, which deletes the nodes, or when their
                // deletion is not permitted.
                let _ = self.look_for_late_nodes(&creates).await;
            });
        }
    }

    async fn look_for_late_nodes(&self, creates: &[UnansweredCreate]) -> Result<(), LockError> {
        let timeout = self.client.session_timeout();
        let mut pauses = Backoff::new(FIRST_PAUSE, timeout / 2);
        loop {
            let now = Instant::now();
            for create in creates {
                self.creator().delete_late(&create.place).await?;
            }
            let end = creates.iter().map(|create| create.lost_at + timeout * TIMEOUTS).max();
            let Some(end) = end.filter(|end| now < *end) else { return Ok(()) };
            sleep_until(end.min(now + pauses.next_pause())).await;
        }
    }

    /// Searches queues for late nodes while the attempt waits or holds: this attempt or others
    /// would be behind them. Does nothing without a lost reply to a create. A single node needs no
    /// search, since each create finds it.
    pub(crate) async fn delete_late_nodes_under_way(&self) -> Infallible {
        loop {
            self.client.unanswered.settled().await;
            loop {
                sleep(PAUSE_UNDER_WAY).await;
                let oldest = Instant::now() - self.client.session_timeout() * TIMEOUTS;
                let mut creates = self.client.unanswered.all();
                creates.retain(|create| create.lost_at >= oldest);
                if creates.is_empty() {
                    break;
                }
                for create in creates {
                    if let (CreatePlace::Queue(place), Some(own)) = (&create.place, &create.own) {
                        // A failure is retried; the end of the session ends the attempt.
                        let _ = self.creator().delete_late_beside(place, own).await;
                    }
                }
            }
        }
    }
}

impl NodeCreator<'_> {
    async fn delete_late(&self, place: &CreatePlace) -> Result<(), LockError> {
        match place {
            CreatePlace::Queue(QueuePlace { parent, names, prefix, .. }) => {
                while let (Some(late), _) = self.find(parent, names, prefix).await? {
                    self.client.delete(&late, LastSeen::OnThisConnection).await?;
                }
            }
            CreatePlace::Node(path) => {
                if let Some((data, stat)) = self.client.read(path).await?
                    && self.is_own(&data, &stat)
                {
                    self.client.delete(&mutex::single_node(path.clone(), &stat), LastSeen::OnThisConnection).await?;
                }
            }
        }
        Ok(())
    }

    /// Deletes a late node beside the own one. Costs one request, and more only if there may be
    /// one. If the name does not contain the attempt's id, a late node has a number between the
    /// last unsuccessful search and the own node. One behind the own node waits until the end.
    async fn delete_late_beside(&self, place: &QueuePlace, own: &ZnodePath) -> Result<(), LockError> {
        let QueuePlace { parent, names, prefix, after } = place;
        let Some(listing) = self.client.list(parent, false).await? else { return Ok(()) };
        let own_number = number_of(own.name());
        let may_be_late = |name: &&String| {
            let number = number_of(name);
            name.starts_with(prefix)
                && names.read(name).is_some()
                && name.as_str() != own.name()
                && (names.carry_id() || (*after < number && number < own_number))
        };
        let candidates = listing.names.iter().filter(may_be_late).take(MAX_LOOKED_AT);
        if let Some(late) = self.first_own(candidates.map(|name| parent.child(name)), names).await? {
            self.client.delete(&late, LastSeen::OnThisConnection).await?;
        }
        Ok(())
    }
}

fn number_of(name: &str) -> Option<Sequence> {
    Sequence::split(name).map(|(_, number)| number)
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
