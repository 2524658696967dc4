//! What a server may send without being asked, and how slowly it may answer.
//!
//! Replies are bounded by the requests. Watch events are not: the server alone decides how many there
//! are. The client library holds the events that its user has not taken yet without a bound, and each
//! costs time. So the relay reads no more from a server that sends them too fast, or faster than they
//! are taken, and ends the connection of one that sends what nobody asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::zk::fault::ReplyFault;

/// The time for one event at the highest rate: 50,000 events in a second. An ensemble commits no
/// more transactions than that in a second, and each causes one event for a recursive watch. A
/// stream at this rate takes less than half of a core.
const EVENT_TIME: Duration = Duration::from_micros(20);

/// How far the events may be ahead of this rate: 100,000 of them. After a pause of the network or of
/// the server, its events come at once.
const MAX_AHEAD: Duration = Duration::from_secs(2);

/// The most events for nodes that nobody watches, beyond [`UNWATCHED_TIME`] for each. An honest
/// server sends them only in the moment in which a watch is removed: one for each watch at most, and
/// a client of a server without recursive watches has as many watches as there are nodes with
/// children.
const MAX_UNWATCHED: u32 = 100_000;

/// The time after which one event for a node that nobody watches counts no more: 1,000 of them in a
/// second are dropped for ever.
const UNWATCHED_TIME: Duration = Duration::from_millis(1);

/// Limits the watch events of one connection, by how many come in a time.
#[derive(Debug)]
pub struct EventBudget {
    /// When the events so far would have come at the highest rate.
    due: Instant,
    /// When the last event for an unwatched node counts no more.
    unwatched_until: Instant,
    unwatched: u64,
}

impl EventBudget {
    pub fn new(now: Instant) -> Self {
        Self { due: now, unwatched_until: now, unwatched: 0 }
    }

    /// Records events by their cost, in units of a usual event.
    pub fn spend(&mut self, cost: u64, now: Instant) {
        let cost = u32::try_from(cost).unwrap_or(u32::MAX);
        self.due = self.due.max(now) + EVENT_TIME.saturating_mul(cost);
    }

    /// Records dropped events. Fails when they are too many.
    pub fn drop_unwatched(&mut self, count: u64, now: Instant) -> Result<(), ReplyFault> {
        self.unwatched += count;
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.unwatched_until = self.unwatched_until.max(now) + UNWATCHED_TIME * count;
        let is_too_many = self.unwatched_until > now + UNWATCHED_TIME * MAX_UNWATCHED;
        if is_too_many { Err(ReplyFault::Unwatched(self.unwatched)) } else { Ok(()) }
    }

    /// Waits until more events may come. Cancel safe.
    pub async fn ready(&self) {
        // Without a flood there is no wait, and so no timer.
        if let Some(time) = self.ready_at(Instant::now()) {
            sleep_until(time).await;
        }
    }

    /// Returns until when nothing may come; `None` when more may come now.
    fn ready_at(&self, now: Instant) -> Option<Instant> {
        self.due.checked_sub(MAX_AHEAD).filter(|time| *time > now)
    }
}

/// The most bytes of events that have passed and were not taken. A usual event has about a hundred
/// bytes, and takes about twice as many in the library.
const MAX_UNTAKEN: usize = 16 << 20;

/// The bytes of events between the relay and a consumer that tells when it has taken all. Without
/// such a consumer there is no bound: sessions without persistent watches get one event for each
/// watch.
#[derive(Debug, Default)]
pub struct EventRoom {
    is_counted: AtomicBool,
    bytes: AtomicUsize,
    taken: Notify,
}

impl EventRoom {
    /// Records that events have passed.
    pub fn passed(&self, bytes: usize) {
        if self.is_counted.load(Ordering::Relaxed) {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Waits until there is room for more events. Cancel safe.
    pub async fn ready(&self) {
        loop {
            let taken = self.taken.notified();
            if self.bytes.load(Ordering::Relaxed) < MAX_UNTAKEN {
                return;
            }
            taken.await;
        }
    }

    fn set(&self, is_counted: bool) {
        self.is_counted.store(is_counted, Ordering::Relaxed);
        if self.bytes.swap(0, Ordering::Relaxed) >= MAX_UNTAKEN {
            self.taken.notify_one();
        }
    }
}

/// A consumer of events. While it lives, at most 16 MiB of events wait for it.
#[derive(Debug)]
pub struct EventConsumer(Arc<EventRoom>);

impl EventConsumer {
    pub(super) fn new(room: Arc<EventRoom>) -> Self {
        room.set(true);
        Self(room)
    }

    /// Records that no event waits any more.
    pub fn took_all(&self) {
        self.0.set(true);
    }
}

impl Drop for EventConsumer {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// The time within which a reply of any size may be as slow as it likes. A busy server stops for some
/// seconds, for example to collect garbage.
const SLOW_TIME: Duration = Duration::from_secs(20);

/// The rate of a reply that takes longer than [`SLOW_TIME`], in bytes per second: slower than any
/// network in use, and fast enough that a connection does not live by single bytes.
const MIN_REPLY_RATE: u64 = 256;

/// The most time that counts between two pieces: this program may have been stopped.
const MAX_GAP: Duration = Duration::from_secs(2);

/// Measures how slowly a reply comes.
#[derive(Debug)]
pub struct ReplyPace {
    last: Instant,
    took: Duration,
    bytes: u64,
}

impl ReplyPace {
    pub fn new(now: Instant) -> Self {
        Self { last: now, took: Duration::ZERO, bytes: 0 }
    }

    /// Records bytes that have come. `is_new` tells whether another frame has begun, and `is_within`
    /// whether it has not ended. Fails when the frame comes too slowly.
    pub fn came(&mut self, bytes: usize, is_new: bool, is_within: bool, now: Instant) -> Result<(), ReplyFault> {
        let gap = now.duration_since(std::mem::replace(&mut self.last, now)).min(MAX_GAP);
        if is_new || !is_within {
            (self.took, self.bytes) = (Duration::ZERO, 0);
            return Ok(());
        }
        self.took += gap;
        self.bytes += bytes as u64;
        let seconds = self.took.as_secs();
        if self.took > SLOW_TIME && self.bytes < MIN_REPLY_RATE * seconds {
            return Err(ReplyFault::TooSlow { bytes: self.bytes, seconds });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn events_within_the_rate_never_wait_and_a_flood_waits() {
        let began = Instant::now();
        let mut budget = EventBudget::new(began);
        budget.spend(100_000, began);
        assert_eq!(budget.ready_at(began), None);
        budget.spend(50_000, began);
        assert_eq!(budget.ready_at(began), Some(began + SECOND));
        assert_eq!(budget.ready_at(began + SECOND), None);
    }

    #[test]
    fn a_few_events_that_nobody_watches_are_dropped_for_ever() {
        let mut now = Instant::now();
        let mut budget = EventBudget::new(now);
        for _ in 0..1_000 {
            assert_eq!(budget.drop_unwatched(1_000, now), Ok(()));
            now += SECOND;
        }
        assert_eq!(budget.drop_unwatched(100_001, now), Err(ReplyFault::Unwatched(1_100_001)));
    }

    #[test]
    fn nothing_waits_without_a_consumer_and_a_consumer_makes_room() {
        let room = Arc::<EventRoom>::default();
        let is_ready = || room.ready().now_or_never().is_some();
        room.passed(MAX_UNTAKEN);
        assert!(is_ready());
        let consumer = EventConsumer::new(Arc::clone(&room));
        room.passed(MAX_UNTAKEN);
        assert!(!is_ready());
        consumer.took_all();
        assert!(is_ready());
        room.passed(MAX_UNTAKEN);
        drop(consumer);
        assert!(is_ready());
    }

    #[test]
    fn a_byte_a_second_is_too_slow_and_a_stop_of_this_program_is_not() {
        let mut now = Instant::now();
        let mut pace = ReplyPace::new(now);
        pace.came(9, true, true, now).expect("it has begun");
        now += 3_600 * SECOND;
        pace.came(1, false, true, now).expect("the program may have been stopped");
        for _ in 0..18 {
            now += SECOND;
            pace.came(1, false, true, now).expect("it may take twenty seconds");
        }
        now += SECOND;
        let fault = pace.came(1, false, true, now);
        assert_eq!(fault, Err(ReplyFault::TooSlow { bytes: 20, seconds: 21 }));
    }
}
