use std::sync::{Arc, Weak};

use tokio::sync::Mutex;

use super::{Access, Guard, Lock, LockError};

/// One owner of a lock, who may enter again while it is inside: at no request, and it leaves as often.
///
/// Clones are the same owner. Another owner, also with the same client, is another `Reentrant`: tasks have no identity of
/// their own that a lock could know them by. The outermost [`leave`](Entry::leave), or the drop of the last
/// [`Entry`], releases the lock.
///
/// Cost: the lock's for the first to enter and the last to leave, nothing for the others.
///
/// ```no_run
/// # use lockscope::lock::{Algorithm, Lock, Reentrant};
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
    /// A new owner of a lock.
    pub fn new(lock: Lock) -> Self {
        Self { lock, inside: Arc::default() }
    }

    /// Enters: waits for the lock when the owner is not inside yet. Cancel safe as [`Lock::acquire`].
    ///
    /// A lock that is known to be lost is not entered again: the error says how it was lost, until all have left.
    pub async fn enter(&self) -> Result<ReentrantGuard, LockError> {
        self.enter_with(self.lock.clone()).await
    }

    /// As [`enter`](Self::enter), of a shared lock and for that access. Who is inside for writing may enter for reading;
    /// who is inside for reading alone is [refused](LockError::UpgradeRefused) the way up.
    pub async fn enter_for(&self, access: Access) -> Result<ReentrantGuard, LockError> {
        self.enter_with(self.lock.with_access(access)).await
    }

    async fn enter_with(&self, lock: Lock) -> Result<ReentrantGuard, LockError> {
        // Held while the lock is waited for, so that two who enter together are one attempt.
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

/// One time inside a [`Reentrant`] lock.
#[must_use = "the lock is left when its entry is dropped"]
#[derive(Debug)]
pub struct ReentrantGuard {
    guard: Arc<Guard>,
}

impl ReentrantGuard {
    /// The guard that all entries of the owner share.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Leaves; the last one to leave releases the lock, and learns what [`Guard::release`] tells.
    pub async fn leave(self) -> Result<(), LockError> {
        match Arc::into_inner(self.guard) {
            Some(guard) => guard.release().await,
            None => Ok(()),
        }
    }
}
