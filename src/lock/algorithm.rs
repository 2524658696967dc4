use std::num::NonZeroU32;

/// What is asked of a shared lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Together with other readers.
    Read,
    /// Alone.
    Write,
}

/// How a lock works. The [table of costs](crate::lock#costs) sets them side by side.
///
/// In every one of them the lock's node is ephemeral: it goes with its session. What each guarantees is said in
/// [the module's documentation](crate::lock#what-a-lock-guarantees).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// One node at the lock's own path; whoever creates it holds.
    ///
    /// The others watch that node and compete again when it goes. Unfair: a late comer may win, and every release
    /// wakes every waiter. The node's name is used again and again, so the holder watches it: a release that came after
    /// somebody else had deleted the node would otherwise delete the next holder's.
    ///
    /// Cost: create and watch to acquire, delete to release. A waiter pays one failed create and one watch for each
    /// release by anybody, and gets one event.
    ///
    /// ```no_run
    /// # use lockscope::lock::{Algorithm, Lock};
    /// # async fn example(client: zookeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let lock = Lock::new(&client, "/nightly-report", Algorithm::Mutex)?;
    /// if let Some(guard) = lock.try_acquire().await? {
    ///     println!("this machine makes the report; its token is {}", guard.token());
    ///     guard.release().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    Mutex,
    /// The same with a child called `lock` of the lock's path; the waiters watch that parent's children.
    ///
    /// Whatever else comes and goes below the parent wakes them too. Cost: as [`Mutex`](Self::Mutex), and one listing
    /// with a watch in place of a watch on the node.
    ///
    /// ```no_run
    /// # use lockscope::lock::{Algorithm, Lock};
    /// # async fn example(client: zookeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let guard = Lock::new(&client, "/exclusive", Algorithm::MutexParent)?.acquire().await?;
    /// assert_eq!(guard.path().as_str(), "/exclusive/lock");
    /// # Ok(())
    /// # }
    /// ```
    MutexParent,
    /// A queue of numbered nodes in which every waiter watches the parent.
    ///
    /// Fair: the lowest number holds. Every create and every delete below the parent wakes every waiter, and each
    /// lists all children again: with `n` waiters a change costs `n` events and `n` listings. It is here to be compared
    /// with [`Chain`](Self::Chain).
    ///
    /// Cost: create and listing in one round trip to acquire, one delete to release, and for each change of the queue one
    /// event and one listing for each waiter. The holder gets one event too, since it had set the watch when it looked.
    ///
    /// ```no_run
    /// # use lockscope::lock::{Algorithm, Lock};
    /// # async fn example(client: zookeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let lock = Lock::new(&client, "/locks/orders", Algorithm::Herd)?;
    /// let guard = lock.acquire().await?;
    /// println!("{} requests, {} events", guard.cost().requests, guard.cost().events);
    /// # Ok(())
    /// # }
    /// ```
    Herd,
    /// A queue of numbered nodes in which every waiter watches its predecessor: the one to use.
    ///
    /// Fair, and one event a release. When the predecessor was the head at the last listing, its end is the waiter's
    /// turn at once; otherwise its owner may have died in mid-queue, and the waiter lists again.
    ///
    /// Cost: create and listing in **one** round trip to acquire, one delete to release. A waiter adds one watch and
    /// one event, and one listing unless the predecessor was the head. A wait of more than a second asks after its
    /// own node, then every five seconds: one read each. A waiter that gives up takes its watch back: one request.
    ///
    /// ```no_run
    /// # use lockscope::lock::{Algorithm, Lock, LockError};
    /// # use std::time::Duration;
    /// # async fn example(client: zookeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
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
    /// # async fn work(_: lockscope::znode::Zxid) {}
    /// ```
    Chain,
    /// Readers together or one writer, in one queue; every waiter watches the parent.
    ///
    /// A request for reading holds when no request for writing is before it, one for writing when it is first: nobody is
    /// starved. Cost: as [`Herd`](Self::Herd).
    ///
    /// ```no_run
    /// # use lockscope::lock::{Access, Algorithm, Lock};
    /// # async fn example(client: zookeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let guard = Lock::new(&client, "/locks/index", Algorithm::SharedHerd(Access::Read))?.acquire().await?;
    /// # Ok(())
    /// # }
    /// ```
    SharedHerd(Access),
    /// The same, and a reader watches the last writer before it, a writer the node before it.
    ///
    /// A holder for writing may step down to reading without letting a writer in between, see
    /// [`Guard::downgrade`](crate::lock::Guard::downgrade); the way up is refused, since two readers who both want it
    /// would wait for each other forever.
    ///
    /// Cost: as [`Chain`](Self::Chain); the end of a writer wakes all readers behind it, which is what they are for. A
    /// writer behind a writer always lists again, since the one before it may have stepped down.
    ///
    /// ```no_run
    /// # use lockscope::lock::{Access, Algorithm, Lock};
    /// # async fn example(client: zookeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let lock = Lock::new(&client, "/locks/index", Algorithm::SharedChain(Access::Write))?;
    /// let guard = lock.acquire().await?;
    /// // The index is rewritten; now look at it, together with others.
    /// let guard = guard.downgrade().await?;
    /// # Ok(())
    /// # }
    /// ```
    SharedChain(Access),
    /// Up to that many leases at once, in the layout of Curator's `InterProcessSemaphoreV2`.
    ///
    /// Who wants a lease first takes the queue lock `PATH/locks` (a [`Chain`](Self::Chain)), creates its lease below
    /// `PATH/leases`, waits there until no more than the maximum stand before it, and leaves the queue. So only one
    /// waiter watches the leases, and the leases go out in the order of the queue. The maximum is not stored: all who
    /// use the path must name the same.
    ///
    /// Cost: four requests in two round trips to acquire, and one delete that nobody waits for; one delete to release. A
    /// waiter adds a watch and an event to get to the head of the queue, and an event and a listing for each lease
    /// that ends until one is free.
    ///
    /// ```no_run
    /// # use lockscope::lock::{Algorithm, Lock};
    /// # use std::num::NonZeroU32;
    /// # async fn example(client: zookeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let three = NonZeroU32::new(3).ok_or("no lease")?;
    /// let lease = Lock::new(&client, "/limits/mailer", Algorithm::Semaphore(three))?.acquire().await?;
    /// # Ok(())
    /// # }
    /// ```
    Semaphore(NonZeroU32),
}

impl Algorithm {
    /// The names on the command line.
    pub const NAMES: [&str; 7] = ["mutex", "mutex-parent", "herd", "chain", "shared-herd", "shared-chain", "semaphore"];

    /// The algorithm of that name; `None` when there is none. Shared locks take the access, semaphores the leases.
    ///
    /// ```
    /// # use lockscope::lock::{Access, Algorithm};
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
            "shared-herd" => Self::SharedHerd(access),
            "shared-chain" => Self::SharedChain(access),
            "semaphore" => Self::Semaphore(leases),
            _ => return None,
        })
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mutex => "mutex",
            Self::MutexParent => "mutex-parent",
            Self::Herd => "herd",
            Self::Chain => "chain",
            Self::SharedHerd(_) => "shared-herd",
            Self::SharedChain(_) => "shared-chain",
            Self::Semaphore(_) => "semaphore",
        }
    }

    /// What it asks for, of the shared locks.
    pub fn access(self) -> Option<Access> {
        match self {
            Self::SharedHerd(access) | Self::SharedChain(access) => Some(access),
            _ => None,
        }
    }

    /// The same with another access; itself where there is none to choose.
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
            assert_eq!(Algorithm::named(name, Access::Read, NonZeroU32::MIN).map(Algorithm::name), Some(name));
        }
    }
}
