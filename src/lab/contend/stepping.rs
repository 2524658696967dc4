//! The queue of the clients that wait for a step, and the trace between two statuses. Pure.
//!
//! The queue is not a semaphore: a permit would go to the first waiter, and nothing would happen if
//! that client's process is stopped.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use super::{ClientId, MAX_TRACE, NextStep, TraceEntry, TraceStep};

/// The reason why a client may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetGo {
    /// The client got the step.
    Step,
    /// The fleet is not, or no longer, stepped through.
    Unheld,
}

/// The place of a client in the queue. Tickets are unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepTicket(u64);

#[derive(Debug)]
struct WaitingStep {
    ticket: StepTicket,
    client: ClientId,
    step: NextStep,
    since: Duration,
    let_go: oneshot::Sender<LetGo>,
}

/// The clients that wait for a step, ordered by the time since which they wait.
#[derive(Debug, Default)]
pub struct StepQueue {
    held: bool,
    waiting: VecDeque<WaitingStep>,
    last_ticket: u64,
}

impl StepQueue {
    /// Makes all clients wait for steps, or lets all go on.
    pub fn hold(&mut self, held: bool) {
        self.held = held;
        if !held {
            for waiting in self.waiting.drain(..) {
                // The client may have given up.
                let _ = waiting.let_go.send(LetGo::Unheld);
            }
        }
    }

    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Adds a client that waits for a step. `since` is the time at which it entered its state.
    /// Returns `None` if the fleet is not stepped through.
    ///
    /// `since` decides on the place: a client that releases is before the client that gets the lock
    /// by that, whichever of them learns of it first.
    pub fn enter(
        &mut self,
        client: ClientId,
        step: NextStep,
        since: Duration,
    ) -> Option<(StepTicket, oneshot::Receiver<LetGo>)> {
        if !self.held {
            return None;
        }
        self.last_ticket += 1;
        let ticket = StepTicket(self.last_ticket);
        let (let_go, receiver) = oneshot::channel();
        let place = self.waiting.partition_point(|waiting| waiting.since <= since);
        self.waiting.insert(place, WaitingStep { ticket, client, step, since, let_go });
        Some((ticket, receiver))
    }

    /// Removes a client that no longer waits.
    pub fn leave(&mut self, ticket: StepTicket) {
        self.waiting.retain(|waiting| waiting.ticket != ticket);
    }

    /// Removes a client that was killed or leaves. Its receiver never gets a step.
    pub fn forget(&mut self, client: ClientId) {
        self.waiting.retain(|waiting| waiting.client != client);
    }

    /// Returns the client that the next step lets go on, among those whose process runs, and what
    /// it will do.
    pub fn next(&self, runs: impl Fn(ClientId) -> bool) -> Option<(ClientId, NextStep)> {
        let next = self.waiting.get(self.next_index(runs)?)?;
        Some((next.client, next.step))
    }

    /// Returns the index of the next client. A client that asks again comes first, so that a queue
    /// with several holders does not run empty before it fills; otherwise the client that has
    /// waited longest.
    fn next_index(&self, runs: impl Fn(ClientId) -> bool) -> Option<usize> {
        let first = |asks: bool| {
            let wants = |waiting: &WaitingStep| !asks || waiting.step == NextStep::Ask;
            self.waiting.iter().position(|waiting| wants(waiting) && runs(waiting.client))
        };
        first(true).or_else(|| first(false))
    }

    /// Lets the next client go on.
    pub fn step(&mut self, runs: impl Fn(ClientId) -> bool) {
        while let Some(at) = self.next_index(&runs) {
            let Some(next) = self.waiting.remove(at) else { return };
            // A client that has just given up does not use up the step.
            if next.let_go.send(LetGo::Step).is_ok() {
                return;
            }
        }
    }
}

/// The trace since it was last taken: at most the last [`MAX_TRACE`] entries.
#[derive(Debug, Default)]
pub struct TraceLog {
    entries: VecDeque<TraceEntry>,
    missed: u64,
    is_on: bool,
    /// Whether there is news since the trace was last taken.
    is_new: bool,
    /// Notified about news that a status should report soon.
    news: Arc<Notify>,
}

impl TraceLog {
    /// Starts or stops to keep entries.
    pub fn keep(&mut self, is_on: bool) {
        self.is_on = is_on;
        self.announce();
    }

    /// Returns the handle that is notified about news while the trace is kept, and when that starts
    /// or stops.
    pub fn news(&self) -> Arc<Notify> {
        Arc::clone(&self.news)
    }

    /// Announces news other than an entry.
    pub fn has_news(&mut self) {
        if self.is_on {
            self.announce();
        }
    }

    fn announce(&mut self) {
        self.is_new = true;
        self.news.notify_one();
    }

    /// Returns whether there is news since the trace was last taken.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    pub fn push(&mut self, client: ClientId, step: TraceStep, at: Duration) {
        if self.is_on {
            self.entries.push_back(TraceEntry { at, client, step });
            self.missed += drop_oldest(&mut self.entries);
            self.announce();
        }
    }

    /// Takes the entries since the last call, and the number of missing ones before them.
    pub fn take(&mut self) -> (Arc<[TraceEntry]>, u64) {
        self.is_new = false;
        (self.entries.drain(..).collect(), std::mem::take(&mut self.missed))
    }
}

/// Joins two traces, the earlier first. Returns the entries and the number of missing ones before
/// them.
pub fn joined(
    earlier: &[TraceEntry],
    missed: u64,
    later: &[TraceEntry],
    missed_between: u64,
) -> (Arc<[TraceEntry]>, u64) {
    // Entries between the two can only be missing if the later trace is full, and then no entry of
    // the earlier one is kept.
    let all = earlier.len() + later.len();
    let dropped = all.saturating_sub(MAX_TRACE);
    let kept = earlier.iter().chain(later).skip(dropped).cloned().collect();
    (kept, missed + missed_between + dropped as u64)
}

/// Drops the oldest entries beyond the maximum, and returns their number.
fn drop_oldest(entries: &mut VecDeque<TraceEntry>) -> u64 {
    let excess = entries.len().saturating_sub(MAX_TRACE);
    entries.drain(..excess);
    excess as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held() -> StepQueue {
        let mut queue = StepQueue::default();
        queue.hold(true);
        queue
    }

    fn enter(queue: &mut StepQueue, client: u32) -> (StepTicket, oneshot::Receiver<LetGo>) {
        queue.enter(ClientId(client), NextStep::Release, Duration::ZERO).expect("clients wait for steps")
    }

    #[test]
    fn nobody_waits_in_a_fleet_that_is_not_stepped() {
        let mut queue = StepQueue::default();
        assert!(queue.enter(ClientId(1), NextStep::Ask, Duration::ZERO).is_none());
        queue.step(|_| true);
        assert_eq!(queue.next(|_| true), None);
    }

    #[test]
    fn each_step_goes_to_the_longest_waiter_and_a_stopped_one_keeps_its_place() {
        let mut queue = held();
        let [(_, mut first), (_, mut second), (_, mut third)] = [1, 2, 3].map(|client| enter(&mut queue, client));
        let runs = |client| client != ClientId(1);
        assert_eq!(queue.next(runs), Some((ClientId(2), NextStep::Release)));
        queue.step(runs);
        assert_eq!(second.try_recv(), Ok(LetGo::Step));
        assert!(first.try_recv().is_err() && third.try_recv().is_err());
        queue.step(|_| true);
        assert_eq!(first.try_recv(), Ok(LetGo::Step), "it goes on again, and is the first");
        assert_eq!(queue.next(|_| true), Some((ClientId(3), NextStep::Release)));
    }

    #[test]
    fn clients_that_ask_again_come_before_those_that_release() {
        let mut queue = held();
        let (_, mut releases) = enter(&mut queue, 1);
        let (_, mut asks) = queue.enter(ClientId(2), NextStep::Ask, Duration::ZERO).expect("clients wait for steps");
        assert_eq!(queue.next(|_| true), Some((ClientId(2), NextStep::Ask)));
        queue.step(|_| true);
        assert_eq!((asks.try_recv(), releases.try_recv().is_err()), (Ok(LetGo::Step), true));
        queue.step(|_| true);
        assert_eq!(releases.try_recv(), Ok(LetGo::Step));
    }

    #[test]
    fn a_client_that_gave_up_or_was_killed_uses_up_no_step() {
        let mut queue = held();
        let (ticket, _first) = enter(&mut queue, 1);
        drop(enter(&mut queue, 2));
        let (_, mut killed) = enter(&mut queue, 3);
        let (_, mut last) = enter(&mut queue, 4);
        queue.leave(ticket);
        queue.forget(ClientId(3));
        queue.step(|_| true);
        assert_eq!(last.try_recv(), Ok(LetGo::Step));
        assert!(killed.try_recv().is_err());
        queue.step(|_| true);
    }

    #[test]
    fn all_clients_go_on_when_stepping_ends() {
        let mut queue = held();
        let receivers = [1, 2].map(|client| enter(&mut queue, client).1);
        queue.hold(false);
        for mut receiver in receivers {
            assert_eq!(receiver.try_recv(), Ok(LetGo::Unheld));
        }
        assert_eq!(queue.next(|_| true), None);
    }

    #[test]
    fn a_releaser_is_before_the_next_holder_even_if_it_enters_later() {
        let mut queue = held();
        let at = Duration::from_millis;
        let _next_holder = queue.enter(ClientId(2), NextStep::Release, at(12));
        let _released = queue.enter(ClientId(1), NextStep::Ask, at(10));
        assert_eq!(queue.next(|_| true), Some((ClientId(1), NextStep::Ask)));
    }

    fn pushed(log: &mut TraceLog, times: std::ops::Range<usize>) {
        for n in times {
            log.push(ClientId(1), TraceStep::Releases, Duration::from_micros(n as u64));
        }
    }

    /// Returns the times of the first and the last entry, in microseconds.
    fn ends(trace: &[TraceEntry]) -> Option<(u128, u128)> {
        Some((trace.first()?.at.as_micros(), trace.last()?.at.as_micros()))
    }

    #[test]
    fn entries_are_kept_only_while_asked_and_taken_once() {
        let mut log = TraceLog::default();
        pushed(&mut log, 0..3);
        log.keep(true);
        pushed(&mut log, 3..5);
        log.keep(false);
        pushed(&mut log, 5..6);
        let (trace, missed) = log.take();
        assert_eq!((ends(&trace), missed), (Some((3, 4)), 0));
        assert_eq!(log.take(), (Arc::default(), 0));
    }

    #[test]
    fn the_oldest_of_too_many_entries_are_dropped_and_counted() {
        let mut log = TraceLog::default();
        log.keep(true);
        pushed(&mut log, 0..MAX_TRACE + 10);
        let (trace, missed) = log.take();
        assert_eq!((ends(&trace), missed), (Some((10, MAX_TRACE as u128 + 9)), 10));
    }

    #[test]
    fn a_trace_that_was_not_taken_precedes_the_next_one() {
        let mut log = TraceLog::default();
        log.keep(true);
        pushed(&mut log, 0..10);
        let (first, _) = log.take();
        pushed(&mut log, 10..15);
        let (second, _) = log.take();
        let (trace, missed) = joined(&first, 2, &second, 0);
        assert_eq!((ends(&trace), trace.len(), missed), (Some((0, 14)), 15, 2));
        pushed(&mut log, 15..MAX_TRACE + 20);
        let (third, third_missed) = log.take();
        let (trace, missed) = joined(&trace, missed, &third, third_missed);
        assert_eq!((trace.len(), missed), (MAX_TRACE, 2 + 20), "each entry is either there or counted");
    }
}
