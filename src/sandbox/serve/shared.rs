//! The machine behind its lock, and the wakers of the connections' tasks.

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

/// The machine and the wakers, shared by all tasks.
#[derive(Debug)]
pub(super) struct SharedMachine {
    state: Mutex<GuardedState>,
    /// Notified when an event becomes due before the clock's next tick.
    pub sooner: Notify,
    /// The wall-clock time at the start, in milliseconds since 1970. With `start` it makes a clock
    /// that never jumps when the system's time is set.
    wall: i64,
    start: Instant,
}

/// The state behind the lock.
#[derive(Debug)]
pub(super) struct GuardedState {
    pub machine: Machine,
    /// The wakers of the connections' tasks, by connection.
    wakers: HashMap<usize, Waker>,
    /// Reused, so that a request needs no allocation.
    ready: Vec<usize>,
}

/// The handles that wake a connection's task.
#[derive(Clone, Debug, Default)]
pub(super) struct Waker {
    /// Notified when there is output or the connection must be closed.
    pub wake: Arc<Notify>,
    /// Cancelled when the connection must be closed at once, even while it sends.
    pub cut: CancellationToken,
}

impl SharedMachine {
    pub fn new(options: SandboxConfig) -> Self {
        let wall = time::now().0;
        let machine = Machine::new(options, Uuid::new_v4().into_bytes(), wall);
        let state = GuardedState { machine, wakers: HashMap::new(), ready: Vec::new() };
        Self { state: Mutex::new(state), sooner: Notify::new(), wall, start: Instant::now() }
    }

    /// Returns the time in milliseconds since 1970.
    pub fn now(&self) -> i64 {
        self.wall.saturating_add(i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX))
    }

    /// Locks the state. Callers hold the lock for a few requests at most, and never across an
    /// await.
    pub fn lock(&self) -> MutexGuard<'_, GuardedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts a connection and returns its number and its task's waker, or `None` at
    /// `max_connections`.
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

    /// Removes a connection.
    pub fn forget(&self, id: usize) {
        let mut state = self.lock();
        state.machine.forget(id);
        state.wakers.remove(&id);
    }
}

impl GuardedState {
    /// Wakes the tasks of all connections with output, except the one that is `awake`.
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
