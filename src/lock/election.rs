//! Leader elections: a lock whose holder leads, and whose waiters say who they are.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::error::NotAcquired;
use super::lock::Lock;
use super::participants::{Participant, read};
use super::retrying_client::{OneShotWatch, RetryingClient};
use super::{Algorithm, Guard, LockError, LockOptions, Loss, Naming};
use lockscope_requests::SessionStates;
use lockscope_terms::znode::Zxid;
use zookeeper_client::Client;

/// A leader election: one of those that take part leads, until it resigns or its session ends.
///
/// It is a [`Chain`](Algorithm::Chain) whose nodes have the identity as their data, so an election
/// keeps what [a lock guarantees](super#what-a-lock-guarantees). With the default naming
/// [`Latch`](Naming::Latch) Curator's `LeaderLatch` takes part in it, with
/// [`Curator`](Naming::Curator) its `LeaderSelector`, and with [`Kazoo`](Naming::Kazoo) kazoo's
/// `Election`.
///
/// Cost: that of a chain; [`leader`](Self::leader) and [`Leaders::next`] say theirs.
///
/// ```no_run
/// # use lockscope_lock::Election;
/// # async fn example(client: lockscope_lock::zookeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let election = Election::new(&client, "/elections/scheduler", "host-7")?;
/// // Leads for as long as the future runs. `Err` says how the leadership was lost meanwhile.
/// let outcome = election.lead(|leadership| schedule(leadership.token().0)).await?;
/// # Ok(())
/// # }
/// # async fn schedule(token: i64) {}
/// ```
#[derive(Clone, Debug)]
pub struct Election {
    lock: Lock,
}

impl Election {
    /// Creates an election whose nodes have the naming [`Latch`](Naming::Latch). Sends no request.
    ///
    /// `identity` tells the others who leads, such as a host name: at most 1 MiB, of which
    /// [`participants`](Self::participants) shows the first 1,024 bytes.
    ///
    /// # Errors
    ///
    /// Those of [`Lock::new`].
    pub fn new(client: &Client, path: &str, identity: impl Into<Vec<u8>>) -> Result<Self, LockError> {
        Self::with(client, path, LockOptions::default().naming(Naming::Latch).data(identity))
    }

    /// Creates an election with these options, whose [data](LockOptions::data) are the identity.
    /// Sends no request.
    ///
    /// With a naming without the id of the attempt, the id and a space precede the identity in
    /// [`Participant::data`].
    ///
    /// # Errors
    ///
    /// Those of [`Lock::with`].
    pub fn with(client: &Client, path: &str, options: LockOptions) -> Result<Self, LockError> {
        Ok(Self { lock: Lock::with(client, path, Algorithm::Chain, options)? })
    }

    /// Returns the lock that the leader holds.
    pub fn lock(&self) -> &Lock {
        &self.lock
    }

    /// Takes part, and waits until it leads. To give up, drop the future: cancel safe as
    /// [`Lock::acquire`].
    ///
    /// # Errors
    ///
    /// Those of [`Lock::acquire`].
    pub async fn campaign(&self) -> Result<Leadership, LockError> {
        self.lock.acquire().await.map(|guard| Leadership { guard })
    }

    /// Takes part, waits until it leads, and leads for as long as `work` runs. Then it resigns.
    ///
    /// `Ok(Ok(output))` says that `work` has ended. `Ok(Err(loss))` says that the leadership was
    /// lost before: `work` is then dropped at its next `await`. A clone of the [`Leadership`] that
    /// outlives `work` puts off the resignation. Cancel safe: a dropped future drops `work` and
    /// resigns in the background. Cost: that of [`Guard::run`] besides.
    ///
    /// # Errors
    ///
    /// Those of [`campaign`](Self::campaign).
    pub async fn lead<T, W>(&self, work: impl FnOnce(Arc<Leadership>) -> W) -> Result<Result<T, Loss>, LockError>
    where
        W: Future<Output = T>,
    {
        let leadership = Arc::new(self.campaign().await?);
        let outcome = leadership.run(work(Arc::clone(&leadership))).await;
        // A lost leadership ends in the background: without a connection that takes its time.
        if outcome.is_ok()
            && let Some(leadership) = Arc::into_inner(leadership)
        {
            // What the work has done stands, whatever has become of the node since.
            let _ = leadership.resign().await;
        }
        Ok(outcome)
    }

    /// Returns who leads by the order of the nodes; `None` while nobody takes part.
    ///
    /// The leader itself may not know yet, or may have been paused. A server that lags shows an
    /// earlier leader. Cost: one listing and one read, again while leaders go in between. Cancel
    /// safe.
    ///
    /// # Errors
    ///
    /// Those of [`Lock::participants`].
    pub async fn leader(&self) -> Result<Option<Participant>, LockError> {
        let client = self.lock.client();
        loop {
            let Some(first) = self.lock.listed(&client).await?.into_iter().next() else { return Ok(None) };
            // Each further look follows a leader that has gone.
            if let Some(leader) = read(&client, first).await? {
                return Ok(Some(leader));
            }
        }
    }

    /// Returns those that take part, the leader first: [`Lock::participants`].
    ///
    /// # Errors
    ///
    /// Those of [`Lock::participants`].
    pub async fn participants(&self) -> Result<Vec<Participant>, LockError> {
        self.lock.participants().await
    }

    /// Observes who leads, without taking part. Sends no request before [`Leaders::next`].
    pub fn observe(&self) -> Leaders {
        let client = self.lock.client();
        let states = client.states();
        Leaders { lock: self.lock.clone(), client, states, has_told: false, last: None, until: Until::Now }
    }
}

/// A leadership. Dropping it resigns in the background.
///
/// It is the [`Guard`] of the election's lock: [`lost`](Guard::lost) tells of a lost leadership,
/// [`suspended`](Guard::suspended) of a lost connection, and
/// [guarded writes](super#guarded-writes) arrive only while its node is there.
#[must_use = "dropping it resigns"]
#[derive(Debug)]
pub struct Leadership {
    guard: Guard,
}

impl Leadership {
    /// Gives the leadership to the next one that takes part. Cost and cancel safety as
    /// [`Guard::release`].
    ///
    /// # Errors
    ///
    /// Those of [`Guard::release`]: the leadership was lost before.
    pub async fn resign(self) -> Result<(), LockError> {
        self.guard.release().await
    }
}

impl Deref for Leadership {
    type Target = Guard;

    fn deref(&self) -> &Guard {
        &self.guard
    }
}

/// The interval between looks for a parent that is not there.
const PARENT_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// What an observer waits for before it looks again.
#[derive(Debug)]
enum Until {
    Now,
    /// The leader's node goes or changes.
    LeaderChanges(OneShotWatch),
    /// Somebody takes part.
    ChildrenChange(OneShotWatch),
    Polled(Instant),
}

/// The leaders of an election, one after the other: see [`Election::observe`].
///
/// ```no_run
/// # use lockscope_lock::{Election, LockError};
/// # async fn example(election: Election) -> Result<(), LockError> {
/// let mut leaders = election.observe();
/// loop {
///     match leaders.next().await? {
///         Some(leader) => println!("{} leads", String::from_utf8_lossy(&leader.data)),
///         None => println!("nobody leads"),
///     }
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Leaders {
    lock: Lock,
    client: RetryingClient,
    states: Box<dyn SessionStates>,
    /// Whether anything was told, and the token of who led then.
    has_told: bool,
    last: Option<Zxid>,
    until: Until,
}

impl Leaders {
    /// Returns the leader now, and after that waits for each that follows; `None` while nobody
    /// leads. Leaders that come and go between two looks are left out.
    ///
    /// Cost: for each leader one listing, one read and one watch event. The watch is on the leader's
    /// node, so a release wakes each that observes, besides the next leader; a change of its data
    /// costs the same. While nobody leads, it is two listings, and the watch is on the parent; where
    /// there is no parent, two listings every second. Dropping this removes the watch. Cancel safe.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Those of [`Lock::participants`], at the latest at the end of the session.
    pub async fn next(&mut self) -> Result<Option<Participant>, LockError> {
        loop {
            let waited = match &mut self.until {
                Until::Now => Ok(()),
                Until::LeaderChanges(watch) => answered(self.client.wait(watch).await),
                Until::ChildrenChange(watch) => {
                    answered(self.client.wait_for_children(watch, self.states.as_mut()).await)
                }
                Until::Polled(at) => {
                    sleep_until(*at).await;
                    Ok(())
                }
            };
            // A watch gives its event once, also if this is dropped in the next look.
            self.until = Until::Now;
            waited?;
            let leader = self.look().await?;
            let token = leader.as_ref().map(|leader| leader.token);
            if !self.has_told || self.last != token {
                (self.has_told, self.last) = (true, token);
                return Ok(leader);
            }
        }
    }

    /// Looks for the leader, and watches what ends this answer.
    async fn look(&mut self) -> Result<Option<Participant>, LockError> {
        loop {
            if let Some(first) = self.lock.listed(&self.client).await?.into_iter().next() {
                let Some(node) = self.client.watch(&first.path).await? else { continue };
                self.until = Until::LeaderChanges(node.watch);
                return Ok(Some(first.read_as(node.data.unwrap_or_default(), &node.stat)));
            }
            let Some(children) = self.client.list(self.lock.path(), true).await? else {
                self.until = Until::Polled(Instant::now() + PARENT_POLL_INTERVAL);
                return Ok(None);
            };
            if children.names.iter().all(|name| self.lock.names().read(name).is_none())
                && let Some(watch) = children.watch
            {
                self.until = Until::ChildrenChange(watch);
                return Ok(None);
            }
        }
    }
}

/// Returns the end of the session as an error. An observer is dropped, never cancelled.
fn answered<T>(answer: Result<T, NotAcquired>) -> Result<(), LockError> {
    match answer {
        Err(NotAcquired::Failed(error)) => Err(error),
        _ => Ok(()),
    }
}
