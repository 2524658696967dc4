//! The built-in locks: for test clients, and for applications in Rust.
//!
//! A [`Lock`] is made of a client, a path and an [`Algorithm`]; [`acquire`](Lock::acquire) and its sisters give a [`Guard`].
//! [`Multi`] takes several as one, [`Reentrant`] lets one owner enter again. All are used in the same way, so that the
//! algorithm can be chosen at run time by its [name](Algorithm::named).
//!
//! ```no_run
//! # use lockscope::lock::{Algorithm, Lock};
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = zookeeper_client::Client::connect("localhost:2181").await?;
//! let guard = Lock::new(&client, "/locks/orders", Algorithm::Chain)?.acquire().await?;
//! // Whatever must not be done by two at a time, done with `guard.token()`.
//! guard.release().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Costs
//!
//! Requests and watch events of one acquisition, without lost connections, with parents that exist. `n` is the number
//! of waiters.
//!
//! | algorithm | acquire | each time it waits | release | one release wakes | fair |
//! | --- | --- | --- | --- | --- | --- |
//! | [`Mutex`](Algorithm::Mutex) | 2 | 2, 1 event | 1, 1 event | all `n` | no |
//! | [`MutexParent`](Algorithm::MutexParent) | 2 | 3, 1 event | 1, 1 event | all `n`, and a create too | no |
//! | [`Herd`](Algorithm::Herd) | 2, one round trip | 1, 1 event | 1, 1 event | all `n`, and a create too | yes |
//! | [`Chain`](Algorithm::Chain) | 2, one round trip | 1, 1 event; 1 listing unless the predecessor was the head | 1 | one | yes |
//! | [`SharedHerd`](Algorithm::SharedHerd) | 2, one round trip | 1, 1 event | 1, 1 event | all `n`, and a create too | yes |
//! | [`SharedChain`](Algorithm::SharedChain) | 2, one round trip | as the chain | 1 | one writer, or the readers behind a writer | yes |
//! | [`Semaphore`](Algorithm::Semaphore) | 5, two round trips | as the chain, then 1, 1 event | 1, 1 event | one | yes |
//!
//! Further:
//!
//! - A wait of more than a second in a chain asks after its own node (one request), then every five seconds. So does, once,
//!   who got the lock by the end of its predecessor alone and still holds it when a second has passed without seeing its node.
//! - A predecessor that may not be read is asked after every second in place of a watch.
//! - Who gives up takes its watch back with one request.
//! - [`Guard::lost`] adds one request, and one event at the release.
//!
//! A [`Probe`] counts what it really was.
//!
//! # What a lock guarantees
//!
//! - **One holder** (or the readers, or the leases), as long as nobody deletes the holder's node, and as long as the holder
//!   acts on what [`Guard::lost`] says.
//! - **The own node alone.** A create whose reply was lost is searched for before it is sent again: the attempt's own
//!   id stands in the node's name, or at the beginning of its data.
//! - **Nothing left behind.** A future that is dropped, a time that is over, an error and a dropped guard leave no node: a task of
//!   the attempt deletes it, over lost connections, as long as the session lives, which takes the node along otherwise.
//! - **A wait survives a reconnect.** It ends with the lock, the time given, or the session
//!   ([`SessionExpired`](LockError::SessionExpired)). What to do then is the application's decision: with a new client and
//!   a new [`Lock`].
//! - **The own node's end is told**: to a waiter as [`NodeDeleted`](LockError::NodeDeleted), in a herd at once and in a chain
//!   when it lists or looks after its node; to a holder by [`Guard::lost`] and by [`Guard::release`].
//!
//! # What it cannot guarantee
//!
//! - A holder that is paused (a stopped process, a frozen machine, a long wait for memory) believes in its lock after its session
//!   has expired, until it runs again: nobody can tell it. Therefore give the [token](Guard::token) along with
//!   every write, and let the resource refuse a token that is lower than the highest it has seen.
//! - Without a connection nobody knows whether the session lives. [`Guard::lost`] says [`Loss::Expired`] when half of the
//!   session timeout has passed so: before the servers can have given the lock to others, provided that the client
//!   notices silence after two fifths of the timeout, as it does by default, and that clocks run equally fast.
//! - When somebody else deletes a chain waiter's node right before its turn comes by the end of its predecessor, it takes
//!   itself for a holder, for a second at most, until it asks after its node or releases.
//! - A runtime that is shut down takes the tasks along: their nodes go with the session, at its timeout.

mod algorithm;
mod attempt;
mod cost;
mod downgrade;
mod error;
mod guard;
#[expect(clippy::module_inception, reason = "the file of the type `Lock`, which is the room's namesake")]
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
mod spec;
mod task;

pub use algorithm::{Access, Algorithm};
pub use cost::{Cost, CostCounter};
pub use error::{LockError, Loss};
pub use guard::Guard;
pub use lock::Lock;
pub use multi::{Multi, MultiGuard};
pub use naming::Naming;
pub use options::{LockOptions, Parents};
pub use reentrant::{Reentrant, ReentrantGuard};
