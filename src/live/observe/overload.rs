//! Overload: what happens when events come faster than the consumer takes them. The consumer is
//! told, and gets sampled counts until everything is read again.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use lockscope_requests::{Requests, SessionStates};
use tokio::time::{Instant, sleep_until};
use zookeeper_client::Error;

use super::connection_end::{ConnectionEnd, end_of};
use super::outbox::Outbox;
use super::sample::{SAMPLE_INTERVAL, Sampler};
use super::schedule::ReadScheduler;
use super::server_trust::ServerTrust;
use super::wire::{self, Answered, RecursiveWatches, WatchDelivery};
use lockscope_base::time::Backoff;
use lockscope_model::follow::{Follower, ReadAnswer, WatchStyle};
use lockscope_model::queue::{Change, ConnectionState};

/// The reason shown to the user while the observer is overloaded.
const OVERLOADED: &str = "events come faster than they can be taken in: queues are shown as they were until everything is read again, and counts \
     with ~ are samples; --root limits what is watched";

/// An overload within this time of the last one counts as the same flood.
const OVERLOADED_AGAIN: Duration = Duration::from_secs(60);

/// The recent overloads of one connection, and what was counted meanwhile.
#[derive(Debug)]
pub(super) struct Overloads {
    /// When the last overload began, as time since the connection began.
    last: Option<Duration>,
    backoff: Backoff,
    sampler: Sampler,
}

impl Default for Overloads {
    fn default() -> Self {
        Self {
            last: None,
            backoff: Backoff::new(Duration::from_secs(1), Duration::from_secs(20)),
            sampler: Sampler::default(),
        }
    }
}

/// The parts of a connection that keep running during an overload.
pub(super) struct OverloadedConnection<'a> {
    pub client: &'a dyn Requests,
    pub follower: &'a Follower,
    pub scheduler: &'a mut ReadScheduler,
    pub outbox: &'a mut Outbox,
    pub states: &'a mut dyn SessionStates,
    pub watchers: &'a mut RecursiveWatches,
    pub trust: &'a ServerTrust,
}

impl Overloads {
    /// Returns how long to wait before everything is read again. The first pause is zero; pauses
    /// grow when overloads repeat within [`OVERLOADED_AGAIN`]. `now` is the time since the
    /// connection began.
    pub(super) fn next_pause(&mut self, now: Duration) -> Duration {
        let again = self.last.replace(now).is_some_and(|before| now < before + OVERLOADED_AGAIN);
        if again {
            return self.backoff.next_pause();
        }
        self.backoff.reset();
        Duration::ZERO
    }

    /// Reports the overload, then waits until the consumer has caught up and the pause is over.
    /// During the pause lock parents are sampled. Events that arrive meanwhile are dropped.
    pub(super) async fn sit_out(
        &mut self,
        pause: Duration,
        mut connection: OverloadedConnection<'_>,
    ) -> Result<(), ConnectionEnd> {
        tracing::info!(?pause, "more events than can be taken in: everything is read again");
        connection.outbox.push(Change::Connection(ConnectionState::Overloaded { reason: OVERLOADED.to_owned() }));
        connection.catch_up().await?;
        if pause.is_zero() {
            return Ok(());
        }
        self.sampler.begin(connection.follower);
        let end = Instant::now() + pause;
        loop {
            let began = Instant::now();
            connection.sample(&mut self.sampler).await?;
            if began >= end {
                return Ok(());
            }
            connection.wait_until(end.min(began + SAMPLE_INTERVAL)).await?;
        }
    }
}

impl OverloadedConnection<'_> {
    /// Waits until the consumer has taken everything; changes are held again from then on.
    async fn catch_up(&mut self) -> Result<(), ConnectionEnd> {
        discarding(self.watchers, self.states, self.outbox.caught_up()).await??;
        self.outbox.start_over();
        Ok(())
    }

    async fn wait_until(&mut self, time: Instant) -> Result<(), ConnectionEnd> {
        let waited = self.outbox.send_while(sleep_until(time));
        Ok(discarding(self.watchers, self.states, waited).await??)
    }

    /// Reads the lock parents of the next sampling round and reports their stats.
    async fn sample(&mut self, sampler: &mut Sampler) -> Result<(), ConnectionEnd> {
        let mut round = sampler.next_round();
        while let Some(request) = self.scheduler.next_sample(&mut round) {
            let answered = wire::send(self.client, request, WatchStyle::Recursive, false);
            let answered = self.outbox.send_while(answered);
            let Answered { request, answers, .. } = discarding(self.watchers, self.states, answered).await??;
            match answers {
                Ok(answers) => {
                    self.scheduler.answered(&request, answers.iter());
                    for (read, answer) in request.reads.into_iter().zip(answers) {
                        // A parent that is gone or unreadable is reported when everything is read
                        // again.
                        // Where `cversion` counts something else, nothing is known meanwhile.
                        if let (ReadAnswer::Node(node), true) = (answer, self.trust.is_whole()) {
                            self.outbox.push(Change::Sampled { path: read.path().clone(), stat: node.stat });
                        }
                    }
                }
                Err(error) if request.is_multiple() && !wire::ends_connection(&error) => {
                    if error == Error::Unimplemented {
                        self.scheduler.read_one_by_one();
                    }
                    self.scheduler.begin();
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.scheduler.begin();
        Ok(())
    }
}

/// Waits for `other` and drops the events that arrive meanwhile.
pub(super) async fn discarding<F: Future>(
    watchers: &mut RecursiveWatches,
    states: &mut dyn SessionStates,
    other: F,
) -> Result<F::Output, ConnectionEnd> {
    let mut other = pin!(other);
    loop {
        tokio::select! {
            biased;
            output = &mut other => return Ok(output),
            event = watchers.next() => {
                if let Some(WatchDelivery::Session(state)) = wire::read_event(&event) {
                    return Err(end_of(state));
                }
            }
            state = states.changed() => return Err(end_of(state)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_flood_is_read_again_at_once_and_repeated_ones_after_growing_pauses() {
        let second = Duration::from_secs(1);
        let mut overloads = Overloads::default();
        assert_eq!(overloads.next_pause(second), Duration::ZERO);
        let pauses: Vec<Duration> = (2..8).map(|now| overloads.next_pause(second * now)).collect();
        assert!(pauses.iter().all(|pause| *pause > Duration::ZERO && *pause <= 20 * second), "{pauses:?}");
        assert!(pauses[5] > 4 * pauses[0], "{pauses:?}");
        assert_eq!(overloads.next_pause(second * 70), Duration::ZERO, "that is another one");
        assert!(overloads.next_pause(second * 71) <= second, "and its pauses begin anew");
    }
}
