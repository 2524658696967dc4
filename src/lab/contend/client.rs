//! A test client: its session, and its loop of acquiring, holding and releasing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use zookeeper_client::Client as Session;

use super::status::Link;
use super::stepping::{LetGo, StepTicket};
use super::tally::Tally;
use super::{ClientId, ClientState, NextStep, Scenario};
use lockscope_base::time::Backoff;
use lockscope_base::znode::SessionId;
use lockscope_live::zk::{ConnectOptions, SessionRole, close_session, connect_through};
use lockscope_lock::activity::{ActivityRecorder, LockActivity};
use lockscope_lock::{CostCounter, Guard, Lock, LockError, LockOptions};

/// The number of connection attempts of a client before the clients begin to contend. Later
/// attempts have no limit.
const MAX_FIRST_CONNECTS: u32 = 3;

/// The first and the longest pause between attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// The state that all clients of a fleet share.
#[derive(Debug)]
pub struct FleetShared {
    pub(super) scenario: Arc<Scenario>,
    /// The ensemble and the settings of its connections.
    pub(super) connection: ConnectOptions,
    pub(super) tally: Mutex<Tally>,
    pub(super) started: Instant,
    /// Whether the clients may begin to contend.
    pub(super) contending: watch::Sender<bool>,
    /// Bounds the number of sessions that are opened at the same time.
    pub(super) connecting: Semaphore,
    /// Whether the clients wait for a step before they go on. Changes while the tally is locked.
    pub(super) stepped: watch::Sender<bool>,
}

impl FleetShared {
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    pub fn tally(&self) -> MutexGuard<'_, Tally> {
        // A panic while counting leaves wrong figures at worst, so a poisoned lock stays usable.
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reports the activity of one client's locks to the tally.
#[derive(Debug)]
pub struct ClientRecorder {
    pub(super) fleet: Arc<FleetShared>,
    pub(super) client: ClientId,
}

impl ActivityRecorder for ClientRecorder {
    fn record(&self, activity: LockActivity) {
        self.fleet.tally().notes(self.client, activity, self.fleet.now());
    }
}

/// The part of a client that the roster controls.
#[derive(Debug)]
pub struct ClientHandle {
    pub(super) id: ClientId,
    pub(super) link: Link,
    pub(super) probe: CostCounter,
    /// The requests that opened the sessions. They are not a cost of the locks.
    pub(super) connect_requests: AtomicU64,
    /// Whether the client's process is stopped.
    pub(super) frozen: watch::Sender<bool>,
    /// Ends the client like a crash: at once, without a message to the servers.
    pub(super) killed: CancellationToken,
    /// Ends the client like a program: it gives up or releases, and closes its session.
    pub(super) leaves: CancellationToken,
}

/// A running test client.
pub struct TestClient {
    fleet: Arc<FleetShared>,
    handle: Arc<ClientHandle>,
    rng: fastrand::Rng,
    session: Option<Session>,
    rounds: u32,
    has_asked: bool,
}

impl TestClient {
    pub fn new(fleet: Arc<FleetShared>, handle: Arc<ClientHandle>) -> Self {
        // Each client draws other numbers, and a run with the same seed repeats them.
        let seed = fleet.scenario.seed ^ (u64::from(handle.id.0) << 32 | u64::from(handle.id.0));
        Self { fleet, handle, rng: fastrand::Rng::with_seed(seed), session: None, rounds: 0, has_asked: false }
    }

    /// Runs until the rounds are done, the client is told to leave, or it is killed. Then closes
    /// the session. A killed client keeps its session open until it is told to leave.
    pub async fn run(mut self) {
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
            // From here on the client does not claim to hold. Its future is dropped after that, and
            // its node is deleted in the background.
            fleet.tally().enters(handle.id, final_state, fleet.now());
            final_state
        };
        if final_state == ClientState::Crashed {
            // A crashed client does not close its session.
            tokio::select! {
                () = leaves.cancelled() => {}
                () = ended(self.session.as_ref()) => {
                    fleet.tally().dead_session_ends(handle.id);
                    leaves.cancelled().await;
                }
            }
        }
        if let Some(session) = self.session {
            close_session(session).await;
        }
    }

    /// Runs the rounds of the scenario, with a new session after an expiry. Returns the final
    /// state.
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

    /// Opens a session. Returns `None` after a permanent error, or after [`MAX_FIRST_CONNECTS`]
    /// attempts while the clients have not begun to contend. Otherwise it tries for ever.
    async fn connect(&mut self) -> Option<Session> {
        let session_timeout = self.fleet.scenario.session_timeout;
        let role = SessionRole::Client;
        let options = ConnectOptions { session_timeout, role, ..self.fleet.connection.clone() };
        let mut backoff = Backoff::new(PAUSES.0, PAUSES.1);
        for attempt in 1_u32.. {
            // The semaphore is never closed, so this always gets a permit.
            let permit = self.fleet.connecting.acquire().await;
            let before = self.handle.link.passed().requests;
            let connected = connect_through(&self.handle.link, &options).await;
            drop(permit);
            let error = match connected {
                Ok(session) => {
                    let asked = self.handle.link.passed().requests - before;
                    self.handle.connect_requests.fetch_add(asked, Ordering::Relaxed);
                    // Any earlier session has ended, and its nodes with it.
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

    /// Acquires, holds and releases until all rounds are done. Returns `None` if the session ends
    /// before.
    async fn contend(&mut self, session: &Session) -> Option<ClientState> {
        let (fleet, handle) = (Arc::clone(&self.fleet), Arc::clone(&self.handle));
        let scenario = &fleet.scenario;
        let options =
            LockOptions::default().naming(scenario.naming.clone()).data(handle.id.name()).counter(handle.probe.clone());
        let lock = match Lock::with(session, scenario.path.as_str(), scenario.algorithm, options) {
            Ok(lock) => lock,
            Err(error) => {
                self.fails(&error);
                return Some(ClientState::Failed);
            }
        };
        let mut backoff = Backoff::new(PAUSES.0, PAUSES.1);
        while scenario.rounds.is_none_or(|rounds| self.rounds < rounds) {
            if self.has_asked {
                tokio::select! {
                    () = ended(Some(session)) => {}
                    _ = self.wait_for_turn(NextStep::Ask) => {}
                }
            } else {
                sleep(scenario.delay_of_first(handle.id.0)).await;
            }
            match self.round(&lock).await {
                Ok(()) => backoff.reset(),
                Err(_) if session.state().is_terminated() => {
                    fleet.tally().expires(handle.id, fleet.now());
                    return None;
                }
                Err(error @ LockError::ServerTooOld { .. }) => {
                    self.fails(&error);
                    return Some(ClientState::Failed);
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
        let access = fleet.scenario.access(id.0, &mut self.rng);
        self.has_asked = true;
        fleet.tally().asks(id, access, fleet.now());
        let guard = match fleet.scenario.algorithm.access() {
            Some(_) => lock.with_access(access).acquire().await?,
            None => lock.acquire().await?,
        };
        self.rounds += 1;
        fleet.tally().acquires(id, guard.token(), fleet.now());
        let hold = fleet.scenario.next_hold(&mut self.rng);
        self.hold(&guard, hold).await;
        fleet.tally().releases(id, guard.is_lost().is_some(), fleet.now());
        guard.release().await
    }

    /// Holds the lock for a time, until a step lets the client go on, or until the lock is lost;
    /// the release returns that error. When the fleet is no longer stepped through, the rest of the
    /// time counts again.
    async fn hold(&self, guard: &Guard, hold: Duration) {
        let mut stepped = self.fleet.stepped.subscribe();
        if hold.is_zero() && !*stepped.borrow() {
            return;
        }
        let start = Instant::now();
        loop {
            let is_stepped = *stepped.borrow_and_update();
            tokio::select! {
                biased;
                _ = guard.expired() => return,
                let_go = self.wait_for_turn(NextStep::Release), if is_stepped => if let_go == LetGo::Step { return },
                () = sleep(hold.saturating_sub(start.elapsed())), if !is_stepped => return,
                // The fleet outlives its clients.
                _ = stepped.changed(), if !is_stepped => {}
            }
        }
    }

    /// Waits until the client may take its next step; returns at once if the fleet is not stepped
    /// through. Cancel safe: a dropped future gives up its place in the queue.
    async fn wait_for_turn(&self, step: NextStep) -> LetGo {
        let fleet = &self.fleet;
        let entered = {
            let mut tally = fleet.tally();
            tally.waits_for_step(self.handle.id, step)
        };
        let Some((ticket, let_go)) = entered else { return LetGo::Unheld };
        let _place = StepPlace { fleet, ticket };
        match let_go.await {
            Ok(let_go) => let_go,
            // The client was killed or told to leave, which drops this future.
            Err(_) => std::future::pending().await,
        }
    }
}

/// A place in the queue for steps. Dropping it leaves the queue.
struct StepPlace<'a> {
    fleet: &'a FleetShared,
    ticket: StepTicket,
}

impl Drop for StepPlace<'_> {
    fn drop(&mut self) {
        let mut tally = self.fleet.tally();
        tally.steps.leave(self.ticket);
        tally.trace.has_news();
    }
}

/// Waits for the end of a session; for ever without one.
async fn ended(session: Option<&Session>) {
    let Some(session) = session else { return std::future::pending().await };
    let mut states = session.state_watcher();
    let mut state = states.peek_state();
    while !state.is_terminated() {
        state = states.changed().await;
    }
}

/// Runs `work`, except while the process is stopped.
async fn while_thawed<T>(mut frozen: watch::Receiver<bool>, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        if *frozen.borrow_and_update() {
            if frozen.changed().await.is_err() {
                // No sender is left that could thaw the process.
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
