//! The queue of the clients that wait for a step. Pure.
//!
//! This is not a semaphore: a permit would go to the first waiter, and nothing would happen if that
//! client's process is stopped.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::oneshot;

use super::{ClientId, NextStep};

/// The reason why a client may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LetGo {
    /// The client got the step.
    Step,
    /// The fleet is not, or no longer, stepped through.
    Unheld,
}

/// The place of a client in the queue. Tickets are unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepTicket(u64);

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
pub(super) struct StepQueue {
    held: bool,
    waiting: VecDeque<WaitingStep>,
    last_ticket: u64,
}

impl StepQueue {
    /// Makes all clients wait for steps, or lets all go on.
    pub(super) fn hold(&mut self, held: bool) {
        self.held = held;
        if !held {
            for waiting in self.waiting.drain(..) {
                // The client may have given up.
                let _ = waiting.let_go.send(LetGo::Unheld);
            }
        }
    }

    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// Adds a client that waits for a step. `since` is the time at which it entered its state.
    /// Returns `None` if the fleet is not stepped through.
    ///
    /// `since` decides on the place: a client that releases is before the client that gets the lock
    /// by that, whichever of them learns of it first.
    pub(super) fn enter(
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
    pub(super) fn leave(&mut self, ticket: StepTicket) {
        self.waiting.retain(|waiting| waiting.ticket != ticket);
    }

    /// Removes a client that was killed or leaves. Its receiver never gets a step.
    pub(super) fn forget(&mut self, client: ClientId) {
        self.waiting.retain(|waiting| waiting.client != client);
    }

    /// Returns the client that the next step lets go on, among those whose process runs, and what
    /// it will do.
    pub(super) fn next(&self, runs: impl Fn(ClientId) -> bool) -> Option<(ClientId, NextStep)> {
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
    pub(super) fn step(&mut self, runs: impl Fn(ClientId) -> bool) {
        while let Some(at) = self.next_index(&runs) {
            let Some(next) = self.waiting.remove(at) else { return };
            // A client that has just given up does not use up the step.
            if next.let_go.send(LetGo::Step).is_ok() {
                return;
            }
        }
    }
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
}
