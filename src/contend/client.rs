//! One test client: a session of its own, and a loop of acquiring, holding and releasing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use zookeeper_client::Client as Session;

use super::link::Link;
use super::tally::Tally;
use super::{ClientId, ClientState, Scenario};
use crate::lock::{CostCounter, Lock, LockError, LockOptions};
use crate::time::Backoff;
use crate::zk::{ConnectOptions, close_session, connect_through};
use crate::znode::SessionId;

/// How often a client that has never had a session tries to connect.
const MAX_FIRST_CONNECTS: u32 = 3;

/// How long it waits between tries at first, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// What all clients of a fleet share.
#[derive(Debug)]
pub(super) struct FleetShared {
    pub(super) scenario: Arc<Scenario>,
    /// The ensemble, as the fleet was given it.
    pub(super) connection: ConnectOptions,
    pub(super) tally: Mutex<Tally>,
    pub(super) started: Instant,
    /// Whether the clients may begin to contend.
    pub(super) contending: watch::Sender<bool>,
    /// How many may make a session at the same time.
    pub(super) connecting: Semaphore,
}

impl FleetShared {
    pub(super) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    pub(super) fn tally(&self) -> MutexGuard<'_, Tally> {
        // Whoever panicked while counting left figures, not broken memory.
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a client shares with the roster, which controls it.
#[derive(Debug)]
pub(super) struct ClientHandle {
    pub(super) id: ClientId,
    pub(super) link: Link,
    pub(super) probe: CostCounter,
    /// Requests that opened the sessions, and are no cost of the locks.
    pub(super) connect_requests: AtomicU64,
    /// Whether its process is stopped.
    pub(super) frozen: watch::Sender<bool>,
    /// Ends it as a crash does: at once, without a word to the servers.
    pub(super) killed: CancellationToken,
    /// Ends it as a program ends: it gives up or releases, and closes its session.
    pub(super) leaves: CancellationToken,
}

/// A running test client.
pub(super) struct Client {
    fleet: Arc<FleetShared>,
    handle: Arc<ClientHandle>,
    rng: fastrand::Rng,
    session: Option<Session>,
    rounds: u32,
}

impl Client {
    pub(super) fn new(fleet: Arc<FleetShared>, handle: Arc<ClientHandle>) -> Self {
        // Clients must differ, and a run repeat.
        let seed = fleet.scenario.seed ^ (u64::from(handle.id.0) << 32 | u64::from(handle.id.0));
        Self { fleet, handle, rng: fastrand::Rng::with_seed(seed), session: None, rounds: 0 }
    }

    /// Runs until its rounds are done and it is to leave; also when it is killed before.
    pub(super) async fn run(mut self) {
        let (killed, leaves) = (self.handle.killed.clone(), self.handle.leaves.clone());
        let (fleet, handle) = (Arc::clone(&self.fleet), Arc::clone(&self.handle));
        let final_state = {
            let mut running = std::pin::pin!(while_thawed(handle.frozen.subscribe(), self.run_rounds()));
            let final_state = tokio::select! {
                biased;
                () = leaves.cancelled() => ClientState::Leaving,
                () = killed.cancelled() => ClientState::Crashed,
                state = &mut running => state,
            };
            // From here on it does not claim to hold. Its future is dropped after that, and its node deleted in the background.
            fleet.tally().enters(handle.id, final_state, fleet.now());
            final_state
        };
        if final_state == ClientState::Crashed {
            // A crashed client does not close its session.
            leaves.cancelled().await;
        }
        if let Some(session) = self.session {
            close_session(session).await;
        }
    }

    /// Does the rounds of the scenario, with a new session when one expires. Gives the state in which it stays.
    async fn run_rounds(&mut self) -> ClientState {
        loop {
            let Some(session) = self.connect().await else { return ClientState::Failed };
            let mut begun = self.fleet.contending.subscribe();
            // The fleet outlives its clients.
            let _ = begun.wait_for(|begun| *begun).await;
            if let Some(state) = self.contend(&session).await {
                return state;
            }
            self.session = None;
        }
    }

    /// Opens a session. Tries without end when the client has had one before; `None` when it gives up.
    async fn connect(&mut self) -> Option<Session> {
        let session_timeout = self.fleet.scenario.session_timeout;
        let options = ConnectOptions { session_timeout, ..self.fleet.connection.clone() };
        let mut backoff = Backoff::new(PAUSES.0, PAUSES.1);
        for attempt in 1_u32.. {
            // It is never closed, so that a permit comes in any case.
            let permit = self.fleet.connecting.acquire().await;
            let before = self.handle.link.passed().requests;
            let connected = connect_through(&self.handle.link, &options).await;
            drop(permit);
            let error = match connected {
                Ok(session) => {
                    let asked = self.handle.link.passed().requests - before;
                    self.handle.connect_requests.fetch_add(asked, Ordering::Relaxed);
                    // A session before this one has ended, and its nodes with it.
                    self.handle.probe.forget_nodes();
                    let id = SessionId(session.session_id().0);
                    self.fleet.tally().connected(self.handle.id, id, self.fleet.now());
                    self.session = Some(session.clone());
                    return Some(session);
                }
                Err(error) => error,
            };
            self.fleet.tally().troubled(self.handle.id, error.to_string());
            let is_first = self.rounds == 0 && !*self.fleet.contending.borrow();
            if error.is_permanent() || is_first && attempt >= MAX_FIRST_CONNECTS {
                break;
            }
            sleep(backoff.next_pause()).await;
        }
        None
    }

    /// Acquires, holds and releases until all rounds are done; `None` when the session ends before.
    async fn contend(&mut self, session: &Session) -> Option<ClientState> {
        let (fleet, handle) = (Arc::clone(&self.fleet), Arc::clone(&self.handle));
        let scenario = &fleet.scenario;
        let options = LockOptions::default()
            .naming(scenario.naming.clone())
            .data(format!("lockscope test client {}", handle.id))
            .counter(handle.probe.clone());
        let lock = match Lock::with(session, scenario.path.as_str(), scenario.algorithm, options) {
            Ok(lock) => lock,
            Err(error) => {
                self.fails(&error);
                return Some(ClientState::Failed);
            }
        };
        let mut backoff = Backoff::new(PAUSES.0, PAUSES.1);
        while scenario.rounds.is_none_or(|rounds| self.rounds < rounds) {
            match self.round(&lock).await {
                Ok(()) => backoff.reset(),
                Err(_) if session.state().is_terminated() => {
                    fleet.tally().expires(handle.id, fleet.now());
                    return None;
                }
                Err(error) => {
                    self.fails(&error);
                    sleep(backoff.next_pause()).await;
                }
            }
        }
        Some(ClientState::Done)
    }

    fn fails(&self, error: &LockError) {
        let mut tally = self.fleet.tally();
        tally.enters(self.handle.id, ClientState::Ready, self.fleet.now());
        tally.troubled(self.handle.id, error.to_string());
    }

    async fn round(&mut self, lock: &Lock) -> Result<(), LockError> {
        let (fleet, id) = (Arc::clone(&self.fleet), self.handle.id);
        let access = fleet.scenario.access(&mut self.rng);
        fleet.tally().asks(id, access, fleet.now());
        let guard = match fleet.scenario.algorithm.access() {
            Some(_) => lock.with_access(access).acquire().await?,
            None => lock.acquire().await?,
        };
        self.rounds += 1;
        fleet.tally().acquires(id, guard.token(), fleet.now());
        let hold = fleet.scenario.next_hold(&mut self.rng);
        if !hold.is_zero() {
            tokio::select! {
                () = sleep(hold) => {}
                // The release gives the error.
                _ = guard.expired() => {}
            }
        }
        fleet.tally().releases(id, fleet.now());
        guard.release().await
    }
}

/// Runs `work`, but not while the process is stopped.
async fn while_thawed<T>(mut frozen: watch::Receiver<bool>, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        if *frozen.borrow_and_update() {
            if frozen.changed().await.is_err() {
                // Nobody is left who could thaw it.
                std::future::pending::<()>().await;
            }
            continue;
        }
        tokio::select! {
            biased;
            changed = frozen.changed() => if changed.is_err() { return work.await },
            done = &mut work => return done,
        }
    }
}
