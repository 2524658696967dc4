//! Distributed locks on ZooKeeper, for applications in Rust.
//!
//! A [`Lock`] has a client, a path and an [`Algorithm`]. [`Lock::acquire`], [`Lock::try_acquire`] and
//! [`Lock::acquire_within`] give a [`Guard`]. [`Multi`] takes several locks as one; [`Reentrant`] lets one owner enter again.
//! All algorithms are used in the same way, so that one can be chosen at run time by its [name](Algorithm::named).
//!
//! The locks run on Tokio and work on every system that Tokio supports.
//!
//! ```no_run
//! # use lockscope::lock::{Algorithm, Lock};
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = zookeeper_client::Client::connect("localhost:2181").await?;
//! let guard = Lock::new(&client, "/locks/orders", Algorithm::Chain)?.acquire().await?;
//! // Do what only one may do at a time.
//! guard.release().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Writing with the fencing token
//!
//! A lock alone does not protect data: a program can be paused for so long that its session expires and others get the lock
//! before it runs again. So let the data know the highest [token](Guard::token) that has written, and refuse lower ones:
//!
//! ```no_run
//! # use lockscope::lock::{Algorithm, Lock};
//! # async fn example(client: zookeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
//! let guard = Lock::new(&client, "/locks/orders", Algorithm::Chain)?.acquire().await?;
//! let (data, stat) = client.get_data("/orders/last").await?;
//! let last_token: i64 = std::str::from_utf8(&data)?.parse()?;
//! if guard.token().0 > last_token {
//!     // The version makes the write fail when somebody else has written since the read.
//!     client.set_data("/orders/last", guard.token().to_string().as_bytes(), Some(stat.version)).await?;
//! }
//! guard.release().await?;
//! # Ok(())
//! # }
//! ```
//!
//! A whole program that also handles lost locks and expired sessions is the example `guarded_counter`.
//!
//! # Costs
//!
//! Requests and watch events of one acquisition, without lost connections, with parents that exist. `n` is the number
//! of waiters. A [`CostCounter`] counts the real ones.
//!
//! | algorithm | acquire | each time it waits | release | one release wakes | fair |
//! | --- | --- | --- | --- | --- | --- |
//! | [`Mutex`](Algorithm::Mutex) | 2 | 2, 1 event | 1, 1 event | all `n` | no |
//! | [`MutexParent`](Algorithm::MutexParent) | 2 | 3, 1 event | 1, 1 event | all `n`, and a create too | no |
//! | [`Herd`](Algorithm::Herd) | 2, one round trip | 1, 1 event | 1, 1 event | all `n`, and a create too | yes |
//! | [`Chain`](Algorithm::Chain) | 2, one round trip | 1, 1 event; 1 listing unless the predecessor was the head | 1 | one | yes |
//! | [`ChainAhead`](Algorithm::ChainAhead) | 2, one round trip | as the chain; 1 more, 1 event, unless the predecessor was the head | 1 | two | yes |
//! | [`SharedHerd`](Algorithm::SharedHerd) | 2, one round trip | 1, 1 event | 1, 1 event | all `n`, and a create too | yes |
//! | [`SharedChain`](Algorithm::SharedChain) | 2, one round trip | as the chain | 1 | one writer, or the readers behind a writer | yes |
//! | [`Semaphore`](Algorithm::Semaphore) | 5, two round trips | as the chain, then 1, 1 event | 1, 1 event | one | yes |
//!
//! Where many wait without a pause that makes 5 requests and 1 event an acquisition for the chain, 6 and 2 for the look-ahead
//! chain.
//!
//! In a queue whose names contain nothing but their number ([`Naming::Named`]) it is one request less: `red_lock_0000000041` can
//! only come right before `red_lock_0000000042`. There a chain that had two or more before it the last time, the nearest with the
//! number before its own, asks for its predecessor by name in place of the first listing. Without a node of that name it lists
//! after all, one round trip later, and the next acquire sends the create and the listing together again. Who asks by name does
//! not know whether its predecessor is the head: a [`Chain`](Algorithm::Chain) lists after its event in any case.
//!
//! What a hand-over takes, where several wait, in round trips: the deletion and its event are one, and each listing after the
//! event is one more.
//!
//! | algorithm | round trips |
//! | --- | --- |
//! | herds, [`Chain`](Algorithm::Chain), [`SharedChain`](Algorithm::SharedChain) | 2 |
//! | [`Mutex`](Algorithm::Mutex) | 2: the create comes after the event |
//! | [`ChainAhead`](Algorithm::ChainAhead) | 1 |
//!
//! So the look-ahead chain makes nearly twice as many acquisitions a second, the more clearly the farther the servers are.
//! Shared locks and semaphores do not look ahead. A writer in a shared lock may [downgrade](Guard::downgrade): then a reader
//! with the same number takes the place of the node that was watched, so that a writer behind it has to list whatever it has
//! known before. Leases may end in any order, and only a listing counts those that are left; the queue in front of them is a
//! chain, whose hand-overs take no time from anybody while all leases are held.
//!
//! Besides:
//!
//! - A waiter in a chain checks after one second, and then every five seconds, that its own node still exists: one request
//!   each. So does, once, a holder that got the lock by the end of its predecessor and has not seen its node for a second.
//! - A node before the own one whose ACL forbids reading is polled every second in place of a watch.
//! - An attempt that gives up removes its watches: one request each.
//! - [`Guard::lost`] adds one request, and one event at the release.
//!
//! # What a lock guarantees
//!
//! - **One holder** (or only readers, or no more holders than leases), as long as nobody deletes the holder's node and the
//!   holder acts on what [`Guard::lost`] says.
//! - **One node an attempt.** When the reply to a create is lost, the attempt searches for its node before it sends the create
//!   again: its id stands in the node's name, or at the beginning of its data. A create may be carried out late, by a server
//!   that receives it when the session has moved to another connection. So for two session timeouts after a lost reply a
//!   background task also looks for nodes that nobody waits for any more: two requests each time, after half a second, one
//!   second, two, and so on up to half of a timeout. The session stays open meanwhile.
//! - **No node left behind.** A dropped future, a timeout, an error and a dropped guard leave no node: a background task
//!   deletes it, through lost connections, as long as the session lives. The end of the session deletes it otherwise.
//! - **A wait survives a reconnect.** It ends with the lock, with the timeout, or with the session
//!   ([`SessionExpired`](LockError::SessionExpired)). After that the application needs a new client and a new [`Lock`].
//! - **A deleted node is reported**: to a waiter as [`NodeDeleted`](LockError::NodeDeleted), in a herd at once and in a chain
//!   at the next check; to a holder by [`Guard::lost`] and [`Guard::release`].
//!
//! # What it cannot guarantee
//!
//! - A holder that is paused (a stopped process, a frozen machine, swapping) does not learn that its session has expired
//!   until it runs again, and until then takes itself for the holder. Therefore
//!   [write with the fencing token](#writing-with-the-fencing-token).
//! - Without a connection a client cannot know whether its session lives. [`Guard::lost`] gives [`Loss::Expired`] after half
//!   of the session timeout without a connection. That is before the servers give the lock to others, provided that the
//!   client notices silence after two fifths of the timeout, as it does by default, and that clocks run equally fast.
//! - When somebody else deletes the node of a chain's waiter right before its predecessor's node ends, the waiter takes
//!   itself for the holder for at most one second, until it checks its node or releases.
//! - Whoever deletes a node of a queue and makes one of the same name in its place, or makes one with a number of its own
//!   choice, can have two holders. No lock library does so.
//! - A parent numbers 2^31 children in its lifetime. After that, two can hold: servers from 3.6 on give all the same number, and
//!   older ones count on from the lowest negative number, which comes first. The parent must be removed before.
//! - A runtime that is shut down stops the background tasks. Their nodes go with the session.

#![warn(clippy::missing_errors_doc)]

mod activity;
mod algorithm;
mod attempt;
mod cost;
mod downgrade;
mod error;
mod guard;
mod holding;
mod late_create;
#[expect(clippy::module_inception, reason = "the file of the type `Lock`")]
mod lock;
mod multi;
mod mutex;
mod naming;
mod node;
mod options;
mod position;
mod queue;
mod reentrant;
mod retrying_client;
mod semaphore;
mod session_clock;
mod spec;
mod task;
mod unanswered;

#[doc(hidden)]
pub use activity::{ActivityRecorder, LockActivity, RequestKind, WatchPlace};
pub use algorithm::{Access, Algorithm};
pub use cost::{Cost, CostCounter};
pub use error::{LockError, Loss};
pub use guard::Guard;
pub use lock::Lock;
pub use multi::{Multi, MultiGuard};
pub use naming::Naming;
pub use options::{LockOptions, Parents};
pub use reentrant::{Reentrant, ReentrantGuard};
