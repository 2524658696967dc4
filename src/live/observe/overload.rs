//! Overload: what happens when events come faster than the consumer takes them. The consumer is
//! told, and gets sampled counts until everything is read again.
//!
//! Which lock parents are sampled, and when, does not depend on a client or a clock.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use zookeeper_client::Error;

use super::outbox::Outbox;
use super::schedule::ReadScheduler;
use super::server_checks::ServerTrust;
use super::wire;
use super::wire::{Answered, ConnectionEnd, RecursiveWatches, WatchDelivery, end_of};
use lockscope_base::time::Backoff;
use lockscope_base::znode::ZnodePath;
use lockscope_model::follow::{Follower, NodeRead, ReadAnswer, WatchStyle};
use lockscope_model::queue::{Change, ConnectionState};
use lockscope_requests::{Requests, SessionStates};

/// The reason shown to the user while the observer is overloaded.
const OVERLOADED: &str = "events come faster than they can be taken in: queues are shown as they were until everything is read again, and counts \
     with ~ are samples; --root limits what is watched";

/// An overload within this time of the last one counts as the same flood.
const OVERLOADED_AGAIN: Duration = Duration::from_secs(60);

/// The recent overloads of one connection, and what was counted meanwhile.
#[derive(Debug)]
pub struct Overloads {
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
pub struct OverloadedConnection<'a> {
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
    pub fn next_pause(&mut self, now: Duration) -> Duration {
        let again = self.last.replace(now).is_some_and(|before| now < before + OVERLOADED_AGAIN);
        if again {
            return self.backoff.next_pause();
        }
        self.backoff.reset();
        Duration::ZERO
    }

    /// Reports the overload, then waits until the consumer has caught up and the pause is over.
    /// During the pause lock parents are sampled. Events that arrive meanwhile are dropped.
    pub async fn sit_out(
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
pub async fn discarding<F: Future>(
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

/// The time between the beginnings of two sampling rounds.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);

/// Parents read in one round: about as many as the budget of live reads allows in a second.
const MAX_SAMPLED_PARENTS: usize = 3_000;

/// Reads the parents in turn, so that each is read equally often.
#[derive(Debug, Default)]
struct Sampler {
    /// The parents in the order in which they are read next.
    parents: VecDeque<ZnodePath>,
    open: Option<ZnodePath>,
    last: Option<ZnodePath>,
}

impl Sampler {
    /// Starts with the parents known now and continues where the last rounds ended. The parent of
    /// the open queue is read in each round.
    fn begin(&mut self, follower: &Follower) {
        self.open = follower.open_queue().filter(|open| follower.parents().any(|parent| parent == *open)).cloned();
        let others = follower.parents().filter(|parent| self.open.as_ref() != Some(parent));
        let mut parents: Vec<ZnodePath> = others.cloned().collect();
        parents.sort_unstable();
        let done = self.last.as_ref().map_or(0, |last| parents.partition_point(|parent| parent <= last));
        parents.rotate_left(done);
        self.parents = parents.into();
    }

    /// Returns the reads of the next round.
    fn next_round(&mut self) -> VecDeque<NodeRead> {
        let count = self.parents.len().min(MAX_SAMPLED_PARENTS);
        let turn: Vec<ZnodePath> = self.parents.range(..count).cloned().collect();
        self.parents.rotate_left(count);
        self.last = turn.last().cloned().or(self.last.take());
        self.open.iter().cloned().chain(turn).map(NodeRead::Node).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::path;
    use lockscope_base::znode::{Timestamp, ZnodeStat, Zxid};
    use lockscope_model::follow::{ReadAnswer, WatchStyle};

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

    /// Returns a follower that knows `locks` lock parents.
    fn follower(locks: usize) -> Follower {
        let root = path("/locks");
        let mut follower = Follower::new(std::slice::from_ref(&root), &[]);
        follower.begin(WatchStyle::Recursive);
        let stat = ZnodeStat::of_new(Zxid(1), Timestamp(0), None);
        while let Some(read) = follower.next_read(|_| true) {
            let answer = match &read {
                NodeRead::List(path) if *path == root => {
                    ReadAnswer::Children((0..locks).map(|lock| format!("l{lock:05}")).collect(), stat)
                }
                NodeRead::List(_) => ReadAnswer::Children(vec!["lock-0000000000".to_owned()], stat),
                NodeRead::Count(_) => ReadAnswer::Descendants(2 * locks),
                NodeRead::Node(_) => ReadAnswer::NoNode,
            };
            follower.answer(&read, answer);
        }
        follower
    }

    #[test]
    fn every_parent_is_sampled_even_when_sampling_restarts() {
        let parents = 2 * MAX_SAMPLED_PARENTS + 500;
        let (follower, mut sampler) = (follower(parents - 1), Sampler::default());
        let mut read = std::collections::BTreeSet::new();
        for _ in 0..3 {
            sampler.begin(&follower);
            let round = sampler.next_round();
            assert_eq!(round.len(), MAX_SAMPLED_PARENTS);
            read.extend(round.iter().map(|read| read.path().clone()));
        }
        assert_eq!(read.len(), parents);
        assert_eq!(sampler.next_round().len(), MAX_SAMPLED_PARENTS);
    }

    #[test]
    fn the_open_queue_is_sampled_in_every_round() {
        let (mut follower, mut sampler) = (follower(2 * MAX_SAMPLED_PARENTS), Sampler::default());
        let open = path("/locks/l05999");
        follower.set_open_queue(Some(open.clone()));
        sampler.begin(&follower);
        for _ in 0..3 {
            assert_eq!(sampler.next_round()[0], NodeRead::Node(open.clone()));
        }
    }
}
