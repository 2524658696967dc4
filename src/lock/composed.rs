//! Locks made of locks: several as one, and one that its owner may acquire again while it holds it.
//!
//! Both use [`Lock`] and [`Guard`] as an application does.

use std::num::NonZeroU32;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::select_all;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep, timeout_at};

use super::lock::time_after;
use super::{Access, Algorithm, Guard, Lock, LockError, Loss};
use lockscope_terms::time::Backoff;

/// Several locks as one: all or none.
///
/// They are acquired in the order in which they are given. Give the same locks in the same order
/// everywhere: two programs that begin at opposite ends wait for each other forever.
///
/// Cost: the sum of the locks' costs, one lock after the other.
///
/// ```no_run
/// # use lockscope_lock::{Algorithm, Lock, Multi, zookeeper_client::Client};
/// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
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
    /// Creates a group of locks that are acquired in this order. Sends no request.
    pub fn new(locks: impl IntoIterator<Item = Lock>) -> Self {
        Self { locks: locks.into_iter().collect() }
    }

    /// Waits until all locks are held.
    ///
    /// Cancel safe: a dropped future leaves no node.
    ///
    /// # Errors
    ///
    /// Those of [`Lock::acquire`], of the first lock that fails, or that is known to be lost when the
    /// last one is held. The others are released when this returns.
    pub async fn acquire(&self) -> Result<MultiGuard, LockError> {
        let mut held = MultiGuard::default();
        for lock in &self.locks {
            let guard = lock.acquire().await;
            held.add(guard.map(Some)).await?;
        }
        held.if_none_is_lost().await
    }

    /// Takes all locks if all are free now. Returns `None` if one is not; none is then held.
    ///
    /// Cancel safe: a dropped future leaves no node.
    ///
    /// # Errors
    ///
    /// Those of [`Lock::try_acquire`], of the first lock that fails. The locks before it are
    /// released when this returns.
    pub async fn try_acquire(&self) -> Result<Option<MultiGuard>, LockError> {
        let mut held = MultiGuard::default();
        for lock in &self.locks {
            let guard = lock.try_acquire().await;
            if !held.add(guard).await? {
                return Ok(None);
            }
        }
        held.if_none_is_lost().await.map(Some)
    }

    /// Waits until all locks are held, but no longer than `within` altogether.
    ///
    /// Cancel safe: a dropped future leaves no node.
    ///
    /// # Errors
    ///
    /// Those of [`Lock::acquire_within`], of the first lock that fails. The locks before it are
    /// released when this returns.
    pub async fn acquire_within(&self, within: Duration) -> Result<MultiGuard, LockError> {
        self.acquire_until(time_after(within), within).await
    }

    /// Waits until all locks are held, but no longer than until `deadline`, an `Instant` of Tokio or
    /// of the standard library.
    ///
    /// Cancel safe: a dropped future leaves no node.
    ///
    /// # Errors
    ///
    /// As [`acquire_within`](Self::acquire_within).
    pub async fn acquire_by(&self, deadline: impl Into<Instant>) -> Result<MultiGuard, LockError> {
        let deadline = deadline.into();
        self.acquire_until(deadline, deadline.saturating_duration_since(Instant::now())).await
    }

    async fn acquire_until(&self, deadline: Instant, within: Duration) -> Result<MultiGuard, LockError> {
        let mut held = MultiGuard::default();
        for lock in &self.locks {
            let guard = lock.acquire_until(deadline, within).await;
            held.add(guard.map(Some)).await?;
        }
        held.if_none_is_lost().await
    }
}

/// All locks of a [`Multi`], held. Dropping it releases them in the background.
#[must_use = "the locks are released when their guard is dropped"]
#[derive(Debug, Default)]
pub struct MultiGuard {
    guards: Vec<Guard>,
}

impl MultiGuard {
    /// Returns the guards, in the order of the locks.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// Waits until any of the locks is lost. Gives its index in [`guards`](Self::guards), and how
    /// it was lost. Never ends when there are no locks.
    ///
    /// Cancel safe. Cost: that of [`Guard::lost`] for each lock.
    pub async fn lost(&self) -> (usize, Loss) {
        first(self.guards.iter().map(Guard::lost)).await
    }

    /// Returns the first lock that is known to be lost: its index in [`guards`](Self::guards), and
    /// how it was lost. Sends no request: see [`Guard::is_lost`].
    pub fn is_lost(&self) -> Option<(usize, Loss)> {
        self.guards.iter().enumerate().find_map(|(which, guard)| Some((which, guard.is_lost()?)))
    }

    /// Waits until the session of any of the locks has expired, or may have by now, as
    /// [`Guard::expired`] does. Gives what [`lost`](Self::lost) gives. Sends no request. Cancel safe.
    pub async fn expired(&self) -> (usize, Loss) {
        first(self.guards.iter().map(Guard::expired)).await
    }

    /// Releases all locks, the last one first.
    ///
    /// Cancel safe: a dropped future leaves the releases to background tasks.
    ///
    /// # Errors
    ///
    /// The first error of [`Guard::release`]. The other locks are released all the same.
    pub async fn release(mut self) -> Result<(), LockError> {
        let mut outcome = Ok(());
        while let Some(guard) = self.guards.pop() {
            outcome = outcome.and(guard.release().await);
        }
        outcome
    }

    /// Returns the guards, unless one of the locks was lost while the attempt waited for others. Then
    /// releases all, and gives that loss.
    async fn if_none_is_lost(self) -> Result<Self, LockError> {
        let Some((which, loss)) = self.is_lost() else { return Ok(self) };
        let error = loss.error(self.guards[which].lock(), self.guards[which].path());
        let _ = self.release().await;
        Err(error)
    }

    /// Adds a guard. Releases all and gives `false` when there is none, or the error.
    async fn add(&mut self, guard: Result<Option<Guard>, LockError>) -> Result<bool, LockError> {
        match guard {
            Ok(Some(guard)) => {
                self.guards.push(guard);
                Ok(true)
            }
            other => {
                // Why the lock was not acquired matters more than what goes wrong in the release.
                let _ = std::mem::take(self).release().await;
                other.map(|_| false)
            }
        }
    }
}

impl Lock {
    /// Waits for several leases of a semaphore: all or none. Dropping the guard returns them.
    ///
    /// They are taken one after the other, in the attempt's one turn: nobody else takes a lease
    /// meanwhile, so two that take several never wait for each other. Single leases that others want
    /// wait too, as long as this one waits.
    ///
    /// Cost: 4 requests, 2 and one event for each lease, and the waits as in the
    /// [table](super#costs). Cancel safe as [`acquire`](Self::acquire); a `tokio::time::timeout`
    /// around it bounds the time.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire), and [`LockError::BadOptions`] when the lock is no semaphore,
    /// or has fewer leases.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub async fn acquire_many(&self, leases: NonZeroU32) -> Result<MultiGuard, LockError> {
        if !matches!(self.algorithm(), Algorithm::Semaphore(all) if leases <= all) {
            return Err(LockError::BadOptions("only a semaphore has several leases, and no more than it was given"));
        }
        let (queue, lease) = self.queue_and_leases();
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        'turns: loop {
            let turn = queue.acquire().await?;
            let mut held = MultiGuard::default();
            for _ in 0..leases.get() {
                // Without its turn it would contend with somebody who takes several, too.
                let guard = match turn.run(lease.acquire()).await {
                    Ok(guard) => guard,
                    // The session may live: then the wait begins anew.
                    Err(Loss::Expired) => {
                        sleep(backoff.next_pause()).await;
                        continue 'turns;
                    }
                    Err(loss) => Err(loss.error(turn.lock(), turn.path())),
                };
                held.add(guard.map(Some)).await?;
            }
            // The leases are held, whatever has become of the turn.
            let _ = turn.release().await;
            return held.if_none_is_lost().await;
        }
    }
}

/// The pauses between turns of one that takes several leases and loses its turn.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Waits for the first of several losses; forever without any.
async fn first(losses: impl Iterator<Item = impl Future<Output = Loss>>) -> (usize, Loss) {
    let losses: Vec<_> = losses.map(Box::pin).collect();
    if losses.is_empty() {
        return std::future::pending().await;
    }
    let (loss, which, _) = select_all(losses).await;
    (which, loss)
}

/// One owner of a lock, which may enter it again while it is inside, and leaves it as often.
///
/// Clones are the same owner. Tasks have no identity that a lock could know them by, so another
/// owner is another `Reentrant`, also with the same client. The last
/// [`leave`](ReentrantGuard::leave), or the drop of the last [`ReentrantGuard`], releases the lock.
///
/// Cost: that of the lock for the first to enter and the last to leave; no request for the others.
///
/// ```no_run
/// # use lockscope_lock::{Algorithm, Lock, Reentrant, zookeeper_client::Client};
/// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// let owner = Reentrant::new(Lock::new(&client, "/locks/orders", Algorithm::Chain)?);
/// let outer = owner.enter().await?;
/// let inner = owner.enter().await?; // asks no server
/// inner.leave().await?;
/// outer.leave().await?; // deletes the node
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Reentrant {
    lock: Lock,
    inside: Arc<Mutex<Option<Entered>>>,
}

#[derive(Debug)]
struct Entered {
    guard: Weak<Guard>,
    access: Option<Access>,
}

impl Reentrant {
    /// Creates an owner of a lock. Sends no request.
    pub fn new(lock: Lock) -> Self {
        Self { lock, inside: Arc::default() }
    }

    /// Enters the lock: waits for it unless the owner is inside already. Cancel safe as
    /// [`Lock::acquire`].
    ///
    /// # Errors
    ///
    /// - Those of [`Lock::acquire`] when the owner is not inside yet.
    /// - [`LockError::SessionExpired`] or [`LockError::NodeDeleted`] when the owner is inside and
    ///   the lock is known to be lost, until all guards are gone.
    pub async fn enter(&self) -> Result<ReentrantGuard, LockError> {
        self.enter_with(self.lock.clone()).await
    }

    /// Enters a shared lock for that access. An owner that is inside for writing may enter for
    /// reading too. Cancel safe as [`Lock::acquire`].
    ///
    /// # Errors
    ///
    /// As [`enter`](Self::enter), and [`LockError::UpgradeRefused`] when the owner is inside for
    /// reading and asks for writing.
    pub async fn enter_for(&self, access: Access) -> Result<ReentrantGuard, LockError> {
        self.enter_with(self.lock.with_access(access)).await
    }

    /// Enters the lock if the owner is inside already, or if it is free now. Returns `None` if others
    /// hold it or wait for it, or another task of the owner is about to enter. Cancel safe as
    /// [`Lock::acquire`].
    ///
    /// # Errors
    ///
    /// As [`enter`](Self::enter), with those of [`Lock::try_acquire`].
    pub async fn try_enter(&self) -> Result<Option<ReentrantGuard>, LockError> {
        let Ok(mut entered) = self.inside.try_lock() else { return Ok(None) };
        if let Some(guard) = again(entered.as_ref(), &self.lock)? {
            return Ok(Some(guard));
        }
        Ok(self.lock.try_acquire().await?.map(|guard| enters(&mut entered, &self.lock, guard)))
    }

    /// Enters the lock, but waits for it no longer than `within`. Cancel safe as [`Lock::acquire`].
    ///
    /// # Errors
    ///
    /// As [`enter`](Self::enter), with those of [`Lock::acquire_within`].
    pub async fn enter_within(&self, within: Duration) -> Result<ReentrantGuard, LockError> {
        self.enter_until(time_after(within), within).await
    }

    /// Enters the lock, but waits for it no longer than until `deadline`, an `Instant` of Tokio or
    /// of the standard library. Cancel safe as [`Lock::acquire`].
    ///
    /// # Errors
    ///
    /// As [`enter_within`](Self::enter_within).
    pub async fn enter_by(&self, deadline: impl Into<Instant>) -> Result<ReentrantGuard, LockError> {
        let deadline = deadline.into();
        self.enter_until(deadline, deadline.saturating_duration_since(Instant::now())).await
    }

    async fn enter_until(&self, deadline: Instant, within: Duration) -> Result<ReentrantGuard, LockError> {
        let path = self.lock.path();
        let entered = timeout_at(deadline, self.inside.lock()).await;
        let mut entered = entered.map_err(|_| LockError::TimedOut { path: path.clone(), within })?;
        if let Some(guard) = again(entered.as_ref(), &self.lock)? {
            return Ok(guard);
        }
        let guard = self.lock.acquire_until(deadline, within).await?;
        Ok(enters(&mut entered, &self.lock, guard))
    }

    async fn enter_with(&self, lock: Lock) -> Result<ReentrantGuard, LockError> {
        // Locked while the attempt waits, so that two tasks which enter together are one attempt.
        let mut entered = self.inside.lock().await;
        if let Some(guard) = again(entered.as_ref(), &lock)? {
            return Ok(guard);
        }
        let guard = lock.acquire().await?;
        Ok(enters(&mut entered, &lock, guard))
    }
}

/// Enters again, if the owner is inside.
fn again(entered: Option<&Entered>, lock: &Lock) -> Result<Option<ReentrantGuard>, LockError> {
    let Some(Entered { guard, access }) = entered else { return Ok(None) };
    let Some(guard) = guard.upgrade() else { return Ok(None) };
    if let Some(loss) = guard.is_lost() {
        return Err(loss.error(guard.lock(), guard.path()));
    }
    if *access == Some(Access::Read) && lock.algorithm().access() == Some(Access::Write) {
        return Err(LockError::UpgradeRefused { path: lock.path().clone() });
    }
    Ok(Some(ReentrantGuard { guard }))
}

/// Enters as the first.
fn enters(entered: &mut MutexGuard<'_, Option<Entered>>, lock: &Lock, guard: Guard) -> ReentrantGuard {
    let guard = Arc::new(guard);
    **entered = Some(Entered { guard: Arc::downgrade(&guard), access: lock.algorithm().access() });
    ReentrantGuard { guard }
}

/// One entry into a [`Reentrant`] lock. Dropping it leaves the lock, in the background.
#[must_use = "the lock is left when this guard is dropped"]
#[derive(Debug)]
pub struct ReentrantGuard {
    guard: Arc<Guard>,
}

impl ReentrantGuard {
    /// Returns the guard of the lock, which all entries of the owner share.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Leaves the lock. The last one to leave releases it. Cancel safe as [`Guard::release`].
    ///
    /// # Errors
    ///
    /// Those of [`Guard::release`], for the last one to leave; none for the others.
    pub async fn leave(self) -> Result<(), LockError> {
        match Arc::into_inner(self.guard) {
            Some(guard) => guard.release().await,
            None => Ok(()),
        }
    }
}
