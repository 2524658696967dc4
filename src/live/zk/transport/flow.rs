//! How a transport delays, pauses, drops or cuts the traffic, and what it counts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How a transport treats the traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// The delay of all bytes, each way.
    pub delay: Duration,
    /// How long bytes from the server may wait for more: after a piece passed, nothing is read for
    /// this time, unless a request is unanswered. Each piece that passes wakes several tasks and
    /// threads, which costs more than handling its content.
    pub gather: Duration,
    /// Whether all bytes are held back while the connection stays.
    pub paused: bool,
    /// Whether connections are cut.
    pub cut: bool,
    /// Whether bytes from the server are dropped. The connection ends soon after the first dropped
    /// byte.
    pub loses_replies: bool,
}

/// The traffic of one or more transports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Requests of the program itself: no heartbeats, authentication or ends of sessions.
    pub requests: u64,
    /// The watch events.
    pub events: u64,
    /// Watch events that were dropped, because the client watches no such node.
    pub unwatched: u64,
    /// Bytes to the server, including handshakes.
    pub up: u64,
    /// Bytes from the server.
    pub down: u64,
}

impl std::ops::AddAssign for Passed {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.events += other.events;
        self.unwatched += other.unwatched;
        self.up += other.up;
        self.down += other.down;
    }
}

/// Counts the traffic.
#[derive(Debug, Default)]
pub struct FlowMeter {
    requests: AtomicU64,
    events: AtomicU64,
    unwatched: AtomicU64,
    up: AtomicU64,
    down: AtomicU64,
    heard: Arc<LastHeard>,
}

impl FlowMeter {
    pub fn count_up(&self, bytes: usize, requests: u64) {
        self.up.fetch_add(bytes as u64, Ordering::Relaxed);
        self.requests.fetch_add(requests, Ordering::Relaxed);
    }

    pub fn count_down(&self, bytes: usize, events: u64, unwatched: u64) {
        self.down.fetch_add(bytes as u64, Ordering::Relaxed);
        self.events.fetch_add(events, Ordering::Relaxed);
        self.unwatched.fetch_add(unwatched, Ordering::Relaxed);
        self.heard.is_now();
    }

    /// Tells when a byte from a server last passed.
    pub fn heard(&self) -> Arc<LastHeard> {
        Arc::clone(&self.heard)
    }

    pub fn passed(&self) -> Passed {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Passed {
            requests: load(&self.requests),
            events: load(&self.events),
            unwatched: load(&self.unwatched),
            up: load(&self.up),
            down: load(&self.down),
        }
    }
}

/// When a server was last heard from: by a reply, an event, or the answer to a heartbeat.
#[derive(Debug)]
pub struct LastHeard {
    began: Instant,
    /// Milliseconds from `began` to the last byte, plus one; 0 while nothing was heard.
    after: AtomicU64,
}

impl Default for LastHeard {
    fn default() -> Self {
        Self { began: Instant::now(), after: AtomicU64::new(0) }
    }
}

impl LastHeard {
    fn is_now(&self) {
        let after = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX - 1);
        self.after.store(after + 1, Ordering::Relaxed);
    }

    /// Returns how long ago a byte arrived; `None` when none has.
    pub fn ago(&self) -> Option<Duration> {
        let after = self.after.load(Ordering::Relaxed).checked_sub(1)?;
        Some(self.began.elapsed().saturating_sub(Duration::from_millis(after)))
    }
}

/// Lets connections write only while the transport is not cut. A cut takes effect before the call
/// returns: not one byte of an older connection is passed to the system afterwards, even when the
/// cut is undone at once.
#[derive(Debug, Default)]
pub struct Gate(Mutex<Cuts>);

#[derive(Clone, Copy, Debug, Default)]
struct Cuts {
    so_far: u64,
    is_cut: bool,
}

/// The number of cuts when a connection began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission(u64);

impl Gate {
    /// Cuts the transport, or undoes the cut.
    pub fn set(&self, is_cut: bool) {
        let mut cuts = self.lock();
        if is_cut && !cuts.is_cut {
            cuts.so_far += 1;
        }
        cuts.is_cut = is_cut;
    }

    /// Admits a new connection; `None` during a cut.
    pub fn admit(&self) -> Option<Admission> {
        let cuts = self.lock();
        (!cuts.is_cut).then_some(Admission(cuts.so_far))
    }

    /// Returns whether no cut has happened since the connection was admitted.
    pub fn admits(&self, admission: Admission) -> bool {
        self.lock().so_far == admission.0
    }

    /// Runs `act` while cuts wait; `None` when a cut came before.
    pub fn while_open<T>(&self, admission: Admission, act: impl FnOnce() -> T) -> Option<T> {
        let cuts = self.lock();
        (cuts.so_far == admission.0).then(act)
    }

    fn lock(&self) -> MutexGuard<'_, Cuts> {
        // No code panics halfway under the lock, so a poisoned state is still consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_that_is_undone_at_once_still_ends_existing_connections() {
        let gate = Gate::default();
        let before = gate.admit().expect("no cut");
        assert_eq!(gate.while_open(before, || 1), Some(1));
        gate.set(true);
        assert_eq!(gate.admit(), None);
        gate.set(false);
        assert_eq!(gate.while_open(before, || 1), None);
        let after = gate.admit().expect("no cut any more");
        assert!(gate.admits(after) && !gate.admits(before));
    }
}
