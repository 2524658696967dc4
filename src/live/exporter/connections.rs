//! The open connections of the exporter, and which of them has to leave for a new client.
//!
//! A client that sends no whole request costs a place, and anybody who reaches the address can open
//! many such connections. A new client never waits for one of them: the one that has waited longest
//! leaves. A client whose request is whole stays, since its answer is under way and has a time limit.
//! The client that takes its answer has one, too, and leaves earlier if another scrape waits.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

/// The maximum number of connections.
const MAX_CONNECTIONS: usize = 64;

/// The time limit for the head of a request, from the moment at which the connection is accepted.
/// It includes the handshake of TLS.
const MAX_HEAD_TIME: Duration = Duration::from_secs(5);

/// The time limit for making an answer, with the check of a password.
const MAX_ANSWERING_TIME: Duration = Duration::from_secs(15);

/// The time limit for taking the answer, which may be megabytes.
const MAX_SEND_TIME: Duration = Duration::from_secs(10);

/// How long a client has at least for its request, also when others want its place: the head of an
/// honest one comes right after its connection.
const MIN_HEAD_TIME: Duration = Duration::from_millis(50);

/// What a connection waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum RequestPhase {
    /// For a whole request.
    Head,
    /// For its answer.
    Answering,
    /// For its client, which takes the answer.
    Sending,
}

/// How long a client has at least for taking its answer, also when another scrape waits for it.
const MIN_SEND_TIME: Duration = Duration::from_secs(2);

/// How often a scrape that waits looks for a client that takes its answer.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Connections that wait for their clients, by their numbers, which rise: since when, and the task.
type Waiting = BTreeMap<u64, (Instant, AbortHandle)>;

/// The open connections that may be cut off.
#[derive(Debug, Default)]
struct Open {
    /// Those without a whole request. The first one has waited longest.
    unasked: Waiting,
    /// Those whose request is whole, and whose answer is not made yet.
    answering: BTreeMap<u64, AbortHandle>,
    /// Those whose clients take their answers.
    sending: Waiting,
}

/// The places for connections.
#[derive(Debug)]
pub(super) struct MetricsConnections {
    places: Arc<Semaphore>,
    open: Arc<Mutex<Open>>,
    next: u64,
}

/// A connection's place, and how far it is. Dropping it frees the place.
#[derive(Debug)]
pub(super) struct MetricsConnection {
    number: u64,
    accepted: Instant,
    phase: watch::Sender<RequestPhase>,
    open: Arc<Mutex<Open>>,
    _place: OwnedSemaphorePermit,
}

impl MetricsConnections {
    /// Creates the places, all free.
    pub fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(MAX_CONNECTIONS)), open: Arc::default(), next: 0 }
    }

    /// Waits for a place. When all are taken, cuts off the connection that has waited longest
    /// without a whole request. Returns `None` only when no places can be had any more.
    pub async fn place(&mut self) -> Option<OwnedSemaphorePermit> {
        let free = Arc::clone(&self.places).try_acquire_owned().ok();
        if free.is_some() {
            return free;
        }
        tokio::select! {
            place = Arc::clone(&self.places).acquire_owned() => return place.ok(),
            () = self.cut_off_one() => {}
        }
        // The aborted task gives its place back as soon as it is dropped.
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    /// Cuts off the connection that has waited longest without a whole request, after it has had
    /// its least time; waits forever without one. Cancel safe.
    async fn cut_off_one(&self) {
        loop {
            let Some(since) = lock(&self.open).unasked.first_entry().map(|first| first.get().0) else {
                // No connection joins meanwhile, so each ends by its own time limits.
                return pending().await;
            };
            sleep_until(since + MIN_HEAD_TIME).await;
            let mut open = lock(&self.open);
            if let Some(first) = open.unasked.first_entry().filter(|first| first.get().0 == since) {
                first.remove().1.abort();
                return;
            }
        }
    }

    /// Starts a connection on this place. `spawn` gets it and starts its task.
    pub fn start(&mut self, place: OwnedSemaphorePermit, spawn: impl FnOnce(MetricsConnection) -> AbortHandle) {
        let (number, accepted) = (self.next, Instant::now());
        self.next += 1;
        let (phase, open) = (watch::Sender::new(RequestPhase::Head), Arc::clone(&self.open));
        let connection = MetricsConnection { number, accepted, phase, open, _place: place };
        // The task waits for the lock before it removes itself.
        let mut open = lock(&self.open);
        open.unasked.insert(number, (accepted, spawn(connection)));
    }
}

impl MetricsConnection {
    /// Notes that the request is whole.
    pub fn asked(&self) {
        let mut open = lock(&self.open);
        if let Some((_, task)) = open.unasked.remove(&self.number) {
            open.answering.insert(self.number, task);
        }
        drop(open);
        self.phase.send_replace(RequestPhase::Answering);
    }

    /// Notes that the answer is made.
    pub fn answered(&self) {
        let mut open = lock(&self.open);
        if let Some(task) = open.answering.remove(&self.number) {
            open.sending.insert(self.number, (Instant::now(), task));
        }
        drop(open);
        self.phase.send_replace(RequestPhase::Sending);
    }

    /// Cuts off the client that has taken its answer for longest, after its least time. Cancel safe.
    pub async fn cut_off_slow_reader(&self) {
        loop {
            let slow = {
                let mut open = lock(&self.open);
                let slowest = open.sending.iter().min_by_key(|(_, (since, _))| *since);
                let slowest = slowest.filter(|(_, (since, _))| since.elapsed() >= MIN_SEND_TIME);
                let number = slowest.map(|(number, _)| *number);
                number.and_then(|number| open.sending.remove(&number))
            };
            match slow {
                Some((_, task)) => return task.abort(),
                None => sleep(LOOK_INTERVAL).await,
            }
        }
    }

    /// Returns when one of the phases has taken too long. Cancel safe.
    pub async fn overdue(&self) {
        let mut until = self.accepted;
        for (phase, limit) in [(RequestPhase::Head, MAX_HEAD_TIME), (RequestPhase::Answering, MAX_ANSWERING_TIME)] {
            until += limit;
            let mut current = self.phase.subscribe();
            if timeout_at(until, current.wait_for(|now| *now != phase)).await.is_err() {
                return;
            }
            until = Instant::now();
        }
        sleep_until(until + MAX_SEND_TIME).await;
    }
}

impl Drop for MetricsConnection {
    fn drop(&mut self) {
        let mut open = lock(&self.open);
        open.unasked.remove(&self.number);
        open.answering.remove(&self.number);
        open.sending.remove(&self.number);
    }
}

fn lock(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}
