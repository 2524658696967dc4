//! The crate's locks behind one interface, for tests.

use std::num::NonZeroU32;

use lockscope_lock::{Access, Algorithm, Guard, Lock, LockError, LockOptions, Loss, Naming};
use zookeeper_client::Client;

/// A [`Naming`] that can be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    AsCurators,
    AsKazoos,
    AsWriteLocks,
    BySession,
    /// A name of the queue's own.
    ByName,
}

impl Called {
    fn naming(self) -> Naming {
        match self {
            Self::AsCurators => Naming::Curator,
            Self::AsKazoos => Naming::Kazoo,
            Self::AsWriteLocks => Naming::WriteLock,
            Self::BySession => Naming::Session,
            Self::ByName => Naming::Named("red".to_owned()),
        }
    }
}

/// The kind of lock that a test wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recipe {
    pub algorithm: Algorithm,
    pub called: Called,
    /// Whether the lock's last attempt had to wait. With names that contain only a number, the next
    /// attempt then requests its predecessor by name.
    /// predecessor by name.
    pub has_waited: bool,
}

impl Recipe {
    pub const MUTEX: Self = Self::of(Algorithm::Mutex);
    pub const MUTEX_PARENT: Self = Self::of(Algorithm::MutexParent);
    pub const HERD: Self = Self::of(Algorithm::Herd);
    pub const CHAIN: Self = Self::of(Algorithm::Chain);
    pub const CHAIN_AHEAD: Self = Self::of(Algorithm::ChainAhead);
    /// A semaphore with one lease, whose holder is alone.
    pub const SEMAPHORE: Self = Self::of(Algorithm::Semaphore(NonZeroU32::MIN));

    pub const fn of(algorithm: Algorithm) -> Self {
        Self { algorithm, called: Called::AsCurators, has_waited: false }
    }

    pub const fn called(self, called: Called) -> Self {
        Self { called, ..self }
    }

    pub const fn having_waited(self) -> Self {
        Self { has_waited: true, ..self }
    }

    pub const fn shared_herd(access: Access) -> Self {
        Self::of(Algorithm::SharedHerd(access))
    }

    pub const fn shared_chain(access: Access) -> Self {
        Self::of(Algorithm::SharedChain(access))
    }

    /// Returns a recipe that excludes this one: for a reader, a writer.
    pub fn rival(self) -> Self {
        Self { algorithm: self.algorithm.with_access(Access::Write), ..self }
    }

    pub fn lock(self, client: &Client, path: &str) -> Lock {
        let options = LockOptions::default().naming(self.called.naming());
        Lock::with(client, path, self.algorithm, options).unwrap_or_else(|error| panic!("{self:?} at {path}: {error}"))
    }

    pub async fn acquire(self, client: &Client, path: &str) -> Result<Held, LockError> {
        self.lock(client, path).acquire().await.map(Held)
    }

    pub async fn try_acquire(self, client: &Client, path: &str) -> Result<Option<Held>, LockError> {
        Ok(self.lock(client, path).try_acquire().await?.map(Held))
    }
}

/// A held lock.
pub struct Held(pub Guard);

impl Held {
    pub fn path(&self) -> String {
        self.0.path().as_str().to_owned()
    }

    /// Returns the last component of the path.
    pub fn name(&self) -> String {
        self.path().rsplit_once('/').expect("it is absolute").1.to_owned()
    }

    pub fn token(&self) -> i64 {
        self.0.token().0
    }

    pub async fn lost(&self) -> Loss {
        self.0.lost().await
    }

    pub async fn release(self) -> Result<(), LockError> {
        self.0.release().await
    }
}
