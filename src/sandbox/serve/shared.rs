use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::link::Link;
use crate::sandbox::machine::Machine;
use crate::sandbox::options::Options;

/// The machine, and how to wake who waits for it.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// Told when the clock may have less time than it thought.
    pub sooner: Notify,
    /// The time at the start, in milliseconds since 1970, and when that was: the clock goes on evenly whatever happens to
    /// the system's.
    wall: i64,
    start: Instant,
}

/// What the one lock holds.
#[derive(Debug)]
pub(super) struct State {
    pub machine: Machine,
    /// Reaches the task of each connection.
    bells: HashMap<usize, Waker>,
    /// Reused, so that a request needs no memory of its own.
    ready: Vec<usize>,
}

/// How a connection's task is told that something waits for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Waker {
    /// Something is to be sent, or it is to be closed.
    pub wake: Arc<Notify>,
    /// It is to be closed at once, whatever it is sending.
    pub cut: CancellationToken,
}

impl Shared {
    pub fn new(options: Options) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = i64::try_from(since.as_millis()).unwrap_or_default();
        let machine = Machine::new(options, Uuid::new_v4().into_bytes(), wall);
        let state = State { machine, bells: HashMap::new(), ready: Vec::new() };
        Self { state: Mutex::new(state), sooner: Notify::new(), wall, start: Instant::now() }
    }

    /// Milliseconds since 1970.
    pub fn now(&self) -> i64 {
        self.wall.saturating_add(i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX))
    }

    /// Held for a few requests at most, and never while anything is awaited.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new connection; `None` when there are as many as there may be.
    pub fn open(self: &Arc<Self>, peer: SocketAddr) -> Option<Link> {
        let now = self.now();
        let mut state = self.lock();
        let before = state.machine.next_tick();
        let id = state.machine.open(peer, now)?;
        if state.machine.next_tick() < before {
            self.sooner.notify_one();
        }
        let bell = Waker::default();
        state.bells.insert(id, bell.clone());
        drop(state);
        Some(Link::new(Arc::clone(self), id, peer, bell))
    }

    /// Forgets a connection.
    pub fn forget(&self, id: usize) {
        let mut state = self.lock();
        state.machine.forget(id);
        state.bells.remove(&id);
    }
}

impl State {
    /// Wakes the tasks of all connections that have something to send, but for one that is awake.
    pub fn wake(&mut self, awake: Option<usize>) {
        self.machine.ready(&mut self.ready);
        for id in self.ready.drain(..) {
            if awake != Some(id)
                && let Some(bell) = self.bells.get(&id)
            {
                bell.wake.notify_one();
                if self.machine.is_cut(id) {
                    bell.cut.cancel();
                }
            }
        }
    }
}
