//! A bounded queue of the changes that the consumer has not taken yet.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;

use super::Observed;
use lockscope_base::time::now;
use lockscope_model::queue::Change;

/// The most changes in one batch.
const MAX_BATCH: usize = 1024;

/// The most batches in the channel.
const MAX_QUEUED_BATCHES: usize = 4;

/// No new reads are issued while more changes than this are held: their answers would only add to
/// them.
const MAX_HELD_TO_READ_MORE: usize = 16 * MAX_BATCH;

/// Creates the channel to the consumer.
pub fn channel() -> (mpsc::Sender<Vec<Observed>>, mpsc::Receiver<Vec<Observed>>) {
    mpsc::channel(MAX_QUEUED_BATCHES)
}

/// How far the consumer and the reading are. For display only: it is slightly behind.
#[derive(Clone, Debug, Default)]
pub struct ObserverProgress {
    untaken: Arc<AtomicUsize>,
    nodes_read: Arc<AtomicUsize>,
}

impl ObserverProgress {
    /// Returns how many changes the consumer has not taken yet.
    pub fn untaken(&self) -> usize {
        self.untaken.load(Ordering::Relaxed)
    }

    fn add(&self) {
        self.untaken.fetch_add(1, Ordering::Relaxed);
    }

    /// Subtracts changes that the consumer took or that were dropped.
    pub fn remove(&self, count: usize) {
        self.untaken.fetch_sub(count, Ordering::Relaxed);
    }

    /// Returns how many reads of nodes were answered.
    pub fn nodes_read(&self) -> usize {
        self.nodes_read.load(Ordering::Relaxed)
    }
}

/// The consumer has gone.
#[derive(Debug)]
pub struct ConsumerGone;

/// The changes that the consumer has not taken yet.
#[derive(Debug)]
pub struct Outbox {
    sender: mpsc::Sender<Vec<Observed>>,
    held: VecDeque<Observed>,
    /// The most changes held for a slow consumer; beyond it they are dropped and everything is read
    /// again.
    max_held: usize,
    overflown: bool,
    progress: ObserverProgress,
}

impl Outbox {
    pub fn new(sender: mpsc::Sender<Vec<Observed>>, max_held: usize, progress: ObserverProgress) -> Self {
        Self { sender, held: VecDeque::new(), max_held, overflown: false, progress }
    }

    /// Adds a change. When too many are held, all changes except those of the connection are
    /// dropped, and so are later ones until [`Self::start_over`].
    pub fn push(&mut self, change: Change) {
        let is_connection = |change: &Change| matches!(change, Change::Connection(_));
        if self.overflown && !is_connection(&change) {
            return;
        }
        if self.held.len() >= self.max_held {
            self.overflown = true;
            let before = self.held.len();
            self.held.retain(|observed| is_connection(&observed.change));
            self.progress.remove(before - self.held.len());
            if !is_connection(&change) {
                return;
            }
        }
        self.progress.add();
        self.held.push_back(Observed { at: now(), change });
    }

    /// Records that reads of nodes were answered.
    pub fn count_reads(&self, count: usize) {
        self.progress.nodes_read.fetch_add(count, Ordering::Relaxed);
    }

    pub fn max_held(&self) -> usize {
        self.max_held
    }

    /// Returns whether changes were dropped, so that everything must be read again.
    pub fn is_overflown(&self) -> bool {
        self.overflown
    }

    /// Returns whether there is room for the answers to more reads.
    pub fn has_room(&self) -> bool {
        self.held.len() < MAX_HELD_TO_READ_MORE && !self.overflown
    }

    /// Returns whether [`Self::send`] has nothing to send.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Sends one batch when the consumer has room for it. Cancel safe.
    pub async fn send(&mut self) -> Result<(), ConsumerGone> {
        let permit = self.sender.reserve().await.map_err(|_| ConsumerGone)?;
        let count = self.held.len().min(MAX_BATCH);
        if count > 0 {
            permit.send(self.held.drain(..count).collect());
        }
        if self.held.is_empty() && self.held.capacity() > MAX_BATCH {
            // Frees the memory that the first reading needed.
            self.held.shrink_to(MAX_BATCH);
        }
        Ok(())
    }

    /// Sends until no changes are held.
    pub async fn send_all(&mut self) -> Result<(), ConsumerGone> {
        while !self.is_empty() {
            self.send().await?;
        }
        Ok(())
    }

    /// Waits for `other` and keeps sending meanwhile.
    pub async fn send_while<F: Future>(&mut self, other: F) -> Result<F::Output, ConsumerGone> {
        let mut other = pin!(other);
        loop {
            tokio::select! {
                biased;
                sent = self.send(), if !self.is_empty() => sent?,
                output = &mut other => return Ok(output),
            }
        }
    }

    /// Waits until the consumer has taken everything, including the batches in the channel. Cancel
    /// safe.
    pub async fn caught_up(&mut self) -> Result<(), ConsumerGone> {
        self.send_all().await?;
        self.sender.reserve_many(self.sender.max_capacity()).await.map_err(|_| ConsumerGone)?;
        Ok(())
    }

    /// Accepts changes again after an overflow.
    pub fn start_over(&mut self) {
        self.overflown = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{deleted, lost, path};

    #[tokio::test]
    async fn memory_is_bounded_for_a_slow_consumer_which_gets_a_fresh_start() {
        let (sender, mut receiver) = channel();
        let progress = ObserverProgress::default();
        let mut outbox = Outbox::new(sender, 1_000, progress.clone());
        outbox.push(lost());
        for _ in 0..1_010 {
            outbox.push(deleted(&path("/")));
        }
        assert!(outbox.is_overflown() && !outbox.has_room());
        assert_eq!((outbox.held.len(), progress.untaken()), (1, 1), "changes of the connection are kept");

        let first = async {
            outbox.caught_up().await.expect("a consumer");
            "caught up"
        };
        let second = async { receiver.recv().await.expect("a batch") };
        let (state, batch) = tokio::join!(first, second);
        assert_eq!((state, batch.len()), ("caught up", 1));
        outbox.start_over();
        outbox.push(Change::Syncing);
        outbox.send_all().await.expect("a consumer");
        let batch = receiver.recv().await.expect("a batch");
        assert_eq!(batch[0].change, Change::Syncing);
    }
}
