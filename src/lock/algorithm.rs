//! The algorithms of the locks.

use std::num::NonZeroU32;

/// The access that a request to a shared lock asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Access {
    /// Reading, together with other readers.
    Read,
    /// Writing: no other holder.
    Write,
}

/// The algorithm of a lock. The [table of costs](crate#costs) compares them.
///
/// In all of them the holder's node is ephemeral: it is deleted with its session. See also
/// [what a lock guarantees](crate#what-a-lock-guarantees).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// One node at the lock's own path. The session that creates it holds the lock.
    ///
    /// The others watch that node and try again when it is deleted. Unfair: one that comes late may
    /// win, and every release wakes every waiter. All holders use the same path, so a release looks
    /// at the node before it deletes it: after a deletion by somebody else it would delete the node
    /// of the next holder.
    ///
    /// Cost: a create to acquire, a look and a delete to release. A waiter sends one failed create
    /// and sets one watch for each release by anybody, and gets one event.
    ///
    /// ```no_run
    /// # use lockscope_lock::{Algorithm, Lock, zookeeper_client::Client};
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let lock = Lock::new(&client, "/nightly-report", Algorithm::Mutex)?;
    /// if let Some(guard) = lock.try_acquire().await? {
    ///     println!("this machine makes the report; its token is {}", guard.token());
    ///     guard.release().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    Mutex,
    /// Like [`Mutex`](Self::Mutex), but the node is the child `lock` of the lock's path, and the
    /// waiters watch the children of that path.
    ///
    /// Any other creation or deletion below the path wakes them too. Cost: as
    /// [`Mutex`](Self::Mutex), with a listing and a read in place of a watch on the node.
    ///
    /// ```no_run
    /// # use lockscope_lock::{Algorithm, Lock, zookeeper_client::Client};
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let guard = Lock::new(&client, "/exclusive", Algorithm::MutexParent)?.acquire().await?;
    /// assert_eq!(guard.path().as_str(), "/exclusive/lock");
    /// # Ok(())
    /// # }
    /// ```
    MutexParent,
    /// A queue of numbered nodes in which every waiter watches the parent.
    ///
    /// Fair: the lowest number holds. Every create and every delete below the parent wakes every
    /// waiter, and each lists all children again: with `n` waiters a change costs `n` events and
    /// `n` listings. It is here to be compared with [`Chain`](Self::Chain).
    ///
    /// Cost: create and listing in one round trip to acquire, one delete to release, and for each
    /// change of the queue one event and one listing for each waiter. The holder's own watch, set
    /// with its listing, fires once too.
    ///
    /// ```no_run
    /// # use lockscope_lock::{Algorithm, Lock, zookeeper_client::Client};
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let lock = Lock::new(&client, "/locks/orders", Algorithm::Herd)?;
    /// let guard = lock.acquire().await?;
    /// println!("{} requests, {} events", guard.cost().requests, guard.cost().events);
    /// # Ok(())
    /// # }
    /// ```
    Herd,
    /// A queue of numbered nodes in which every waiter watches its predecessor. Use this one for an
    /// exclusive lock.
    ///
    /// Fair, and a release fires one event. When the predecessor was the head of the queue at the
    /// last listing, its end makes the waiter the holder at once. Otherwise its owner may have gone
    /// from the middle of the queue, and the waiter lists again.
    ///
    /// Cost: create and listing in **one** round trip to acquire, one delete to release. A waiter
    /// adds one watch and one event, and one listing unless the predecessor was the head. A waiter
    /// checks its own node after one second, then every five seconds: one read each. A waiter that
    /// gives up removes its watch: one request.
    ///
    /// ```no_run
    /// # use lockscope_lock::{Algorithm, Lock, LockError, zookeeper_client::Client};
    /// # use std::time::Duration;
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let lock = Lock::new(&client, "/locks/orders", Algorithm::Chain)?;
    /// match lock.acquire_within(Duration::from_secs(5)).await {
    ///     Ok(guard) => tokio::select! {
    ///         loss = guard.lost() => println!("stop: {loss}"),
    ///         () = work(guard.token()) => guard.release().await?,
    ///     },
    ///     Err(LockError::TimedOut { .. }) => println!("busy"),
    ///     Err(error) => return Err(error.into()),
    /// }
    /// # Ok(())
    /// # }
    /// # async fn work(_: lockscope_lock::Zxid) {}
    /// ```
    Chain,
    /// Like [`Chain`](Self::Chain), but a waiter watches its predecessor and the node before that
    /// one: its predecessor's predecessor. Use this one if many wait and the servers are far away.
    ///
    /// When the farther node is deleted, the waiter lists while its predecessor still holds. So it
    /// knows in time that its predecessor is the head of the queue, and the deletion of the
    /// predecessor alone makes it the holder.
    ///
    /// A hand-over takes one round trip (the deletion and its event) where [`Chain`](Self::Chain)
    /// takes two. With several waiters that gives nearly twice as many acquisitions a second, at
    /// any distance to the servers. Directly behind the head of the queue, both are the same.
    ///
    /// No client can get in between: a later one gets a higher number. When the predecessor goes
    /// first, from the middle of the queue or because it was faster, the waiter lists as in a
    /// chain.
    ///
    /// Cost: as [`Chain`](Self::Chain), and for a waiter that is not right behind the head one more
    /// watch and one more event. A release wakes two waiters. One that gives up removes up to two
    /// watches: one request each.
    ///
    /// ```no_run
    /// # use lockscope_lock::{Algorithm, Lock, zookeeper_client::Client};
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let lock = Lock::new(&client, "/locks/orders", Algorithm::ChainAhead)?;
    /// let guard = lock.acquire().await?;
    /// println!("{} requests, {} events", guard.cost().requests, guard.cost().events);
    /// # Ok(())
    /// # }
    /// ```
    ChainAhead,
    /// Readers together or one writer, in one queue; every waiter watches the parent.
    ///
    /// A request for reading holds if no request for writing is before it; one for writing holds if
    /// it is first. No request starves. Cost: as [`Herd`](Self::Herd).
    ///
    /// ```no_run
    /// # use lockscope_lock::{Access, Algorithm, Lock, zookeeper_client::Client};
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let guard = Lock::new(&client, "/locks/index", Algorithm::SharedHerd(Access::Read))?.acquire().await?;
    /// # Ok(())
    /// # }
    /// ```
    SharedHerd(Access),
    /// Like [`SharedHerd`](Self::SharedHerd), but a reader watches the last writer before it, and a
    /// writer the node before it.
    ///
    /// A holder can downgrade from writing to reading without letting a writer in between: see
    /// [`Guard::downgrade`](crate::Guard::downgrade). The other direction is refused: two readers
    /// that both want to write would wait for each other forever.
    ///
    /// Cost: as [`Chain`](Self::Chain). The end of a writer wakes all readers behind it. A writer
    /// behind a writer always lists again, since the one before it may have downgraded.
    ///
    /// ```no_run
    /// # use lockscope_lock::{Access, Algorithm, Lock, zookeeper_client::Client};
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let lock = Lock::new(&client, "/locks/index", Algorithm::SharedChain(Access::Write))?;
    /// let guard = lock.acquire().await?;
    /// // The index is rewritten; now look at it, together with others.
    /// let guard = guard.downgrade().await?;
    /// # Ok(())
    /// # }
    /// ```
    SharedChain(Access),
    /// Up to that many holders at once, in the layout of Curator's `InterProcessSemaphoreV2`.
    ///
    /// An attempt first takes the queue lock `PATH/locks` (a [`Chain`](Self::Chain)). Then it
    /// creates its lease below `PATH/leases`, waits until fewer leases than the maximum are before
    /// it, and releases the queue lock. So only one attempt watches the leases, and they are
    /// granted in the order of the queue. The maximum is not stored: all programs that use the path
    /// must give the same.
    ///
    /// Cost: four requests in two round trips to acquire, and one delete in the background; one
    /// delete to release. A waiter adds a watch and an event to get to the head of the queue, and
    /// an event and a listing for each lease that ends until one is free.
    ///
    /// ```no_run
    /// # use lockscope_lock::{Algorithm, Lock, zookeeper_client::Client};
    /// # use std::num::NonZeroU32;
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let three = NonZeroU32::new(3).ok_or("no lease")?;
    /// let lease = Lock::new(&client, "/limits/mailer", Algorithm::Semaphore(three))?.acquire().await?;
    /// # Ok(())
    /// # }
    /// ```
    Semaphore(NonZeroU32),
}

impl Algorithm {
    /// The names that [`named`](Self::named) knows.
    pub const NAMES: &'static [&'static str] =
        &["mutex", "mutex-parent", "herd", "chain", "chain-ahead", "shared-herd", "shared-chain", "semaphore"];

    /// Returns the algorithm with that name. Shared locks take `access`, semaphores take `leases`.
    ///
    /// ```
    /// # use lockscope_lock::{Access, Algorithm};
    /// # use std::num::NonZeroU32;
    /// assert_eq!(Algorithm::named("chain", Access::Write, NonZeroU32::MIN), Some(Algorithm::Chain));
    /// assert_eq!(Algorithm::named("spin", Access::Write, NonZeroU32::MIN), None);
    /// ```
    #[must_use]
    pub fn named(name: &str, access: Access, leases: NonZeroU32) -> Option<Self> {
        Some(match name {
            "mutex" => Self::Mutex,
            "mutex-parent" => Self::MutexParent,
            "herd" => Self::Herd,
            "chain" => Self::Chain,
            "chain-ahead" => Self::ChainAhead,
            "shared-herd" => Self::SharedHerd(access),
            "shared-chain" => Self::SharedChain(access),
            "semaphore" => Self::Semaphore(leases),
            _ => return None,
        })
    }

    /// Returns the name of the algorithm, without access or leases.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::MutexParent => "mutex-parent",
            Self::Herd => "herd",
            Self::Chain => "chain",
            Self::ChainAhead => "chain-ahead",
            Self::SharedHerd(_) => "shared-herd",
            Self::SharedChain(_) => "shared-chain",
            Self::Semaphore(_) => "semaphore",
        }
    }

    /// Returns the access that a shared lock asks for; `None` for the other algorithms.
    pub fn access(self) -> Option<Access> {
        match self {
            Self::SharedHerd(access) | Self::SharedChain(access) => Some(access),
            _ => None,
        }
    }

    /// Returns the algorithm with another access. An algorithm without shared access stays as it
    /// is.
    #[must_use]
    pub fn with_access(self, access: Access) -> Self {
        match self {
            Self::SharedHerd(_) => Self::SharedHerd(access),
            Self::SharedChain(_) => Self::SharedChain(access),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_finds_its_algorithm() {
        for name in Algorithm::NAMES {
            assert_eq!(Algorithm::named(name, Access::Read, NonZeroU32::MIN).map(Algorithm::name), Some(*name));
        }
    }
}
