//! The machine behind its lock, and how the connections' tasks are woken.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::config::SandboxConfig;
use crate::machine::Machine;
use lockscope_base::time;

/// The machine, and how to wake the tasks that wait for it.
#[derive(Debug)]
pub(super) struct SharedMachine {
    state: Mutex<GuardedState>,
    /// Notified when something is due sooner than the clock knows.
    pub sooner: Notify,
    /// The time at the start, in milliseconds since 1970, and when that was: the clock goes on evenly whatever happens to
    /// the system's.
    wall: i64,
    start: Instant,
}

/// What the one lock holds.
#[derive(Debug)]
pub(super) struct GuardedState {
    pub machine: Machine,
    /// Reaches the task of each connection.
    wakers: HashMap<usize, Waker>,
    /// Reused, so that a request needs no memory of its own.
    ready: Vec<usize>,
}

/// How a connection's task is woken.
#[derive(Clone, Debug, Default)]
pub(super) struct Waker {
    /// Something is to be sent, or it is to be closed.
    pub wake: Arc<Notify>,
    /// It is to be closed at once, whatever it is sending.
    pub cut: CancellationToken,
}

impl SharedMachine {
    pub fn new(options: SandboxConfig) -> Self {
        let wall = time::now().0;
        let machine = Machine::new(options, Uuid::new_v4().into_bytes(), wall);
        let state = GuardedState { machine, wakers: HashMap::new(), ready: Vec::new() };
        Self { state: Mutex::new(state), sooner: Notify::new(), wall, start: Instant::now() }
    }

    /// Milliseconds since 1970.
    pub fn now(&self) -> i64 {
        self.wall.saturating_add(i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX))
    }

    /// Held for a few requests at most, and never while anything is awaited.
    pub fn lock(&self) -> MutexGuard<'_, GuardedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a new connection: its number, and what wakes its task. `None` when there are as many as there may be.
    pub fn open(&self, peer: SocketAddr) -> Option<(usize, Waker)> {
        let now = self.now();
        let mut state = self.lock();
        let before = state.machine.next_tick();
        let id = state.machine.open(peer, now)?;
        if state.machine.next_tick() < before {
            self.sooner.notify_one();
        }
        let waker = Waker::default();
        state.wakers.insert(id, waker.clone());
        Some((id, waker))
    }

    /// Forgets a connection.
    pub fn forget(&self, id: usize) {
        let mut state = self.lock();
        state.machine.forget(id);
        state.wakers.remove(&id);
    }
}

impl GuardedState {
    /// Wakes the tasks of all connections that have something to send, but for one that is awake.
    pub fn wake(&mut self, awake: Option<usize>) {
        self.machine.ready(&mut self.ready);
        for id in self.ready.drain(..) {
            if awake != Some(id)
                && let Some(waker) = self.wakers.get(&id)
            {
                waker.wake.notify_one();
                if self.machine.is_cut(id) {
                    waker.cut.cancel();
                }
            }
        }
    }
}
