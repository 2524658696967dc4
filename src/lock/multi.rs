use std::time::Duration;

use futures::future::select_all;
use tokio::time::Instant;

use super::{Guard, Lock, LockError, Loss};

/// Several locks as one: all or none.
///
/// They are taken in the order in which they are given. Who takes the same locks elsewhere should give them in the same
/// order: two who begin at opposite ends wait for each other.
///
/// Cost: the sum of the locks', one after the other.
///
/// ```no_run
/// # use lockscope::lock::{Algorithm, Lock, Multi};
/// # async fn example(client: zookeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let from = Lock::new(&client, "/accounts/17", Algorithm::Chain)?;
/// let to = Lock::new(&client, "/accounts/42", Algorithm::Chain)?;
/// let both = Multi::new([from, to]).acquire().await?;
/// both.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Multi {
    locks: Vec<Lock>,
}

impl Multi {
    /// These locks, to be taken in this order.
    pub fn new(locks: impl IntoIterator<Item = Lock>) -> Self {
        Self { locks: locks.into_iter().collect() }
    }

    /// Waits for all of them. When one fails, those before it are released before this returns. Cancel safe: dropped
    /// at any point it leaves no node.
    pub async fn acquire(&self) -> Result<MultiGuard, LockError> {
        let mut held = MultiGuard::default();
        for lock in &self.locks {
            let guard = lock.acquire().await;
            held.add(guard.map(Some)).await?;
        }
        Ok(held)
    }

    /// Takes them when all are free now; `None`, and none of them is kept, when one is not.
    pub async fn try_acquire(&self) -> Result<Option<MultiGuard>, LockError> {
        let mut held = MultiGuard::default();
        for lock in &self.locks {
            let guard = lock.try_acquire().await;
            if !held.add(guard).await? {
                return Ok(None);
            }
        }
        Ok(Some(held))
    }

    /// Waits for all of them, at most for that long altogether. When that was not enough, none of them is kept.
    pub async fn acquire_within(&self, within: Duration) -> Result<MultiGuard, LockError> {
        let start = Instant::now();
        let mut held = MultiGuard::default();
        for lock in &self.locks {
            let guard =
                lock.acquire_within(within.saturating_sub(start.elapsed())).await.map_err(|error| match error {
                    // What was left for this one says nothing to the caller.
                    LockError::TimedOut { path, .. } => LockError::TimedOut { path, within },
                    other => other,
                });
            held.add(guard.map(Some)).await?;
        }
        Ok(held)
    }
}

/// All locks of a [`Multi`], held. Dropping it releases them in the background.
#[must_use = "the locks are released when their guard is dropped"]
#[derive(Debug, Default)]
pub struct MultiGuard {
    guards: Vec<Guard>,
}

impl MultiGuard {
    /// The guards, in the order of the locks.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// Ends when any of the locks is lost, and says which, by its place, and how. Never for no locks.
    pub async fn lost(&self) -> (usize, Loss) {
        if self.guards.is_empty() {
            return std::future::pending().await;
        }
        let (loss, which, _) = select_all(self.guards.iter().map(|guard| Box::pin(guard.lost()))).await;
        (which, loss)
    }

    /// Releases all, the last one first, also when one of them fails; the first error is told.
    pub async fn release(mut self) -> Result<(), LockError> {
        let mut outcome = Ok(());
        while let Some(guard) = self.guards.pop() {
            outcome = outcome.and(guard.release().await);
        }
        outcome
    }

    /// Adds a guard; releases all when there is none, which is `false`, or an error.
    async fn add(&mut self, guard: Result<Option<Guard>, LockError>) -> Result<bool, LockError> {
        match guard {
            Ok(Some(guard)) => {
                self.guards.push(guard);
                Ok(true)
            }
            other => {
                // What goes wrong in rolling back is less than why it is rolled back.
                let _ = std::mem::take(self).release().await;
                other.map(|_| false)
            }
        }
    }
}
