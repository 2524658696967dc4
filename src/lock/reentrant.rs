//! A lock that its owner may acquire again while it holds it.

use std::sync::{Arc, Weak};

use tokio::sync::Mutex;

use super::{Access, Guard, Lock, LockError};

/// One owner of a lock, which may enter it again while it is inside, and leaves it as often.
///
/// Clones are the same owner. Tasks have no identity that a lock could know them by, so another
/// owner is another `Reentrant`, also with the same client. The last
/// [`leave`](ReentrantGuard::leave), or the drop of the last [`ReentrantGuard`], releases the lock.
///
/// Cost: that of the lock for the first to enter and the last to leave; no request for the others.
///
/// ```no_run
/// # use lockscope_lock::{Algorithm, Lock, Reentrant};
/// # async fn example(client: zookeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
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

    async fn enter_with(&self, lock: Lock) -> Result<ReentrantGuard, LockError> {
        // Locked while the attempt waits, so that two tasks which enter together are one attempt.
        let mut entered = self.inside.lock().await;
        let access = lock.algorithm().access();
        if let Some((guard, has)) = entered.as_ref().and_then(|inside| Some((inside.guard.upgrade()?, inside.access))) {
            if let Some(loss) = guard.is_lost() {
                return Err(loss.error(guard.lock(), guard.path()));
            }
            if has == Some(Access::Read) && access == Some(Access::Write) {
                return Err(LockError::UpgradeRefused { path: lock.path().clone() });
            }
            return Ok(ReentrantGuard { guard });
        }
        let guard = Arc::new(lock.acquire().await?);
        *entered = Some(Entered { guard: Arc::downgrade(&guard), access });
        Ok(ReentrantGuard { guard })
    }
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
