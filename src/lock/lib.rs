//! Distributed locks on ZooKeeper, for applications in Rust.
//!
//! A [`Lock`] has a client, a path and an [`Algorithm`]. [`Lock::acquire`], [`Lock::try_acquire`],
//! [`Lock::acquire_within`] and [`Lock::acquire_by`] give a [`Guard`], [`Lock::acquire_many`]
//! several leases of a semaphore. [`Multi`] takes several locks as one; [`Reentrant`] lets one owner
//! enter again. All algorithms are used in the same way, so that one
//! can be chosen at run time by its [name](Algorithm::named).
//!
//! The locks run on Tokio, in its single-threaded and its multi-threaded runtime, on every system
//! that Tokio supports. They use a [`Client`](zookeeper_client::Client) of the application's own,
//! with its session and its credentials. A lock can queue together with locks of Curator, kazoo,
//! go-zookeeper and ZooKeeper's own recipes: see [`Naming`]. The servers must be of ZooKeeper 3.5
//! or later: older ones refuse to create a node and return its stat
//! ([`ServerTooOld`](LockError::ServerTooOld), measured on 3.4.6).
//!
//! ```no_run
//! # use lockscope_lock::{Algorithm, Lock, zookeeper_client::Client};
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::connect("localhost:2181").await?;
//! let guard = Lock::new(&client, "/locks/orders", Algorithm::Chain)?.acquire().await?;
//! // Do what only one may do at a time.
//! guard.release().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Writing with the fencing token
//!
//! A lock alone does not protect data: a program can be paused for so long that its session expires
//! and others get the lock before it runs again. So let the data know the highest
//! [token](Guard::token) that has written, and refuse lower ones:
//!
//! ```no_run
//! # use lockscope_lock::{Algorithm, Lock, zookeeper_client::Client};
//! # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
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
//! A whole program that also handles lost locks and expired sessions is the example
//! `guarded_counter`.
//!
//! # Guarded writes
//!
//! Where the data are in the same ensemble, the servers check the lock themselves. A guarded write
//! ([`Guard::create`], [`set_data`](Guard::set_data), [`delete`](Guard::delete),
//! [`multi`](Guard::multi), [`check_writer`](Guard::check_writer)) is one transaction of a check of
//! the lock's node and the writes. Whenever it reaches the servers, it is carried out while that
//! node is there, or not at all (`late-guarded-write`, `fenced-write` in `tests/schedules`). Where
//! the path of the node can come back, a fence refuses it once a later holder has written.
//!
//! ```no_run
//! # use lockscope_lock::{Algorithm, Lock, WriteError};
//! # async fn example(client: zookeeper_client::Client) -> Result<(), Box<dyn std::error::Error>> {
//! let guard = Lock::new(&client, "/locks/orders", Algorithm::Chain)?.acquire().await?;
//! match guard.set_data("/orders/last", b"4711", None).await {
//!     Ok(stat) => println!("written, the version is {}", stat.version),
//!     Err(WriteError::Lost(loss)) => println!("nothing was written: {loss}"),
//!     Err(other) => return Err(other.into()),
//! }
//! guard.release().await?;
//! # Ok(())
//! # }
//! ```
//!
//! | the lock | a guarded write checks | none is carried out after | cost |
//! | --- | --- | --- | --- |
//! | names with the attempt's id: [`Curator`](Naming::Curator), [`Latch`](Naming::Latch) and [`Kazoo`](Naming::Kazoo) in queues, shared locks, semaphores | its node, whose path never comes back | the end of its node, so before the next one holds | 1 request |
//! | the same with a [fence](LockOptions::fence) | its node and the fence | that, or a guarded write of a holder with a higher token | 1 request, 2 for the first |
//! | the two mutexes, [`WriteLock`](Naming::WriteLock), [`Session`](Naming::Session) and [`Named`](Naming::Named), with a fence | that a node has its path, and the fence | a guarded write of a later holder | 1 request, 2 for the first |
//! | these without a fence | | [`NeedsFence`](WriteError::NeedsFence) | nothing |
//!
//! The requests come one after the other. The number of writes does not matter, and acquire and
//! release cost as without.
//!
//! A fence is a node whose data are the highest token that has written. The first guarded write of
//! a hold raises it in the same transaction. A holder that decides by what it reads raises it
//! before it reads, with `guard.multi(&[])`. With one fence for several locks or for a lock that
//! was restored from a backup, an older token is refused there too.
//!
//! The data of the lock's node may change, as by a [request to release](Guard::revoked). The servers
//! demand the permission to read the node.
//!
//! # While the lock is held
//!
//! | what happens | who tells it | cost |
//! | --- | --- | --- |
//! | The lock is lost. | [`Guard::lost`]; [`Guard::run`] ends work by it | 1 request, 1 event at the release, once for all that share the watch |
//! | The session has expired, or may have. | [`Guard::expired`], [`Guard::is_lost`] | nothing |
//! | The connection is gone, and the lock is not lost yet. | [`Guard::suspended`], with the time that is left; [`Guard::presumed_lost_at`] | nothing |
//! | It is back, and the session is proved. | [`Guard::resumed`] | nothing |
//! | Somebody asks the holder to release: Curator's `Revoker`, or lockscope's console. | [`Guard::revoked`] | that of [`Guard::lost`]; 1 request and 1 event more for each change |
//! | Others wait. | [`Lock::participants`], [`Lock::position`] | 1 listing; 1 read for each participant |
//! | The program ends. | [`cleaned_up`] returns when nothing is left behind | nothing |
//!
//! # Costs
//!
//! Requests and watch events of one acquisition, without lost connections and pauses, with parents
//! that exist. After either of the two, 2 requests more in one round trip prove the session.
//! `n` is the number of waiters. A [`CostCounter`] counts the real ones.
//!
//! | algorithm | acquire | each time it waits | release | one release wakes | fair |
//! | --- | --- | --- | --- | --- | --- |
//! | [`Mutex`](Algorithm::Mutex) | 1 | 2, 1 event | 2, two round trips | all `n` | no |
//! | [`MutexParent`](Algorithm::MutexParent) | 1 | 3, 1 event | 2, two round trips | all `n`, and a create too | no |
//! | [`Herd`](Algorithm::Herd) | 2, one round trip | 1, 1 event | 1, 1 event | all `n`, and a create too | yes |
//! | [`Chain`](Algorithm::Chain) | 2, one round trip | 1, 1 event; 1 listing unless the predecessor was the head | 1 | one | yes |
//! | [`ChainAhead`](Algorithm::ChainAhead) | 2, one round trip | as the chain; 1 more, 1 event, unless the predecessor was the head | 1 | two | yes |
//! | [`SharedHerd`](Algorithm::SharedHerd) | 2, one round trip | 1, 1 event | 1, 1 event | all `n`, and a create too | yes |
//! | [`SharedChain`](Algorithm::SharedChain) | 2, one round trip | as the chain | 1 | one writer, or the readers behind a writer | yes |
//! | [`Semaphore`](Algorithm::Semaphore) | 5, two round trips | as the chain, then 1, 1 event | 1, 1 event | one | yes |
//!
//! With many waiters and no pauses, an acquisition costs the chain 5 requests and 1 event, and the
//! look-ahead chain 6 requests and 2 events.
//!
//! A release deletes by path. If another node can have the path once the own node is gone, the
//! release first reads the node: one request and one round trip more. This applies to the two
//! mutexes, whose holders all use one path, and to the namings [`WriteLock`](Naming::WriteLock),
//! [`Session`](Naming::Session) and [`Named`](Naming::Named), whose numbers come back when the
//! parent is created again.
//!
//! The names of Curator and kazoo contain the id of the attempt and never come back.
//!
//! In a queue whose names contain nothing but their number ([`Naming::Named`]), an acquire takes
//! one request less: `red_lock_0000000041` can only come right before `red_lock_0000000042`. A
//! chain then asks for its predecessor by name instead of the first listing. It does so if its last
//! attempt had two or more nodes before it, the nearest with the number before its own.
//!
//! Without a node of that name it lists after all, one round trip later, and the next acquire sends
//! the create and the listing together again. An attempt that asks by name does not know whether
//! its predecessor is the head, so a [`Chain`](Algorithm::Chain) lists after its event in any case.
//!
//! The round trips of a hand-over with several waiters: the deletion and its event are one, and
//! each listing after the event is one more.
//!
//! | algorithm | round trips |
//! | --- | --- |
//! | herds, [`Chain`](Algorithm::Chain), [`SharedChain`](Algorithm::SharedChain) | 2 |
//! | [`Mutex`](Algorithm::Mutex) | 2: the create comes after the event |
//! | [`ChainAhead`](Algorithm::ChainAhead) | 1 |
//!
//! So the look-ahead chain makes up to nearly twice as many acquisitions a second; the farther the
//! servers are, the closer it comes to that. Shared locks and semaphores do not look ahead.
//!
//! A writer in a shared lock may [downgrade](Guard::downgrade): then a reader with the same number
//! replaces the watched node, so a writer behind it must list again. Leases may end in any order,
//! and only a listing counts the remaining ones. The queue before them is a chain, whose hand-overs
//! delay no client while all leases are held.
//!
//! Further requests:
//!
//! - A waiter in a chain checks after one second, and then every five seconds, that its own node
//!   still exists: one request each. A holder that got the lock by the end of its predecessor, and
//!   has not read its node for a second, checks once, in sync with the leader: two requests.
//! - A node before the own one whose ACL forbids reading is polled every second instead of watched.
//! - An attempt that gives up removes its watches: one request each. If the path of its node can
//!   come back, it reads the node before it deletes it: two requests.
//! - After a lost connection, a read before a deletion is two requests: the server first catches up
//!   with the leader.
//! - [`Guard::lost`], [`run`](Guard::run) and [`revoked`](Guard::revoked) together add one request,
//!   and one event at the release.
//! - After a lost reply to a create in a queue, the attempt lists the queue every five seconds, for
//!   two session timeouts.
//! - A client and its locks wake up twenty times in a session timeout. That sends no request,
//!   except after a [pause](#what-it-cannot-guarantee) and after a reconnect: then one for each
//!   held lock, and one for a lock that is granted after it.
//!
//! # Tracing
//!
//! A lock tells [`tracing`](https://docs.rs/tracing) what it does, with the target
//! `lockscope_lock`. No field has the data of a node in it. Without a subscriber this costs one
//! comparison for each span and event, and allocates nothing.
//!
//! | span or event | level | from, to | fields |
//! | --- | --- | --- | --- |
//! | `lock_attempt` | debug | the first poll; the deletion of its node. Below the caller's span | `lock`, `algorithm`, `session`, `waits` |
//! | `lock_wait` | debug | in `lock_attempt`: until it holds or gives up | `lock` |
//! | `lock_hold` | debug | in `lock_attempt`: until it is released or lost | `lock`, `node`, `token` |
//! | "the lock is lost" | warn | in `lock_hold` | `lock`, `node`, `token`, `loss` |
//! | "the release failed" | warn | in `lock_hold`: the lock was lost before, or its node stays | `lock`, `node`, `token`, `error` |
//! | "the lock was not acquired", "the lock is not free", "the attempt was cancelled" | debug | in `lock_attempt` | `lock`, `error` |
//!
//! [`activity`] has each request and each watch, for programs that count or draw them. Programs
//! without an async runtime use [`blocking`].
//!
//! # What a lock guarantees
//!
//! `T` is the negotiated session timeout.
//!
//! An exploration runs this code on simulated servers: through every schedule of two and three
//! clients with up to two faults, and through random schedules of up to six clients with up to six
//! faults. A fault is a lost connection, a request that arrives late, a stopped process, a session
//! that ends, a member that lags, a refused request, a reply that cannot be read, a dropped future
//! or guard, or somebody else's write. In each schedule of each algorithm the following holds,
//! except for [what a lock cannot guarantee](#what-it-cannot-guarantee).
//!
//! - **One holder** (or only readers, or no more holders than leases), provided that nobody else
//!   deletes the holder's node and that the holder stops when [`Guard::lost`] returns. The
//!   [tokens](Guard::token) of exclusive locks rise from holder to holder.
//! - **Only its own nodes.** A lock deletes and overwrites no node of anybody else. The single
//!   nodes of the two mutexes, and queues whose names contain no id, have three limits below.
//! - **A loss is reported in time.** Without a connection, [`Guard::lost`] returns
//!   [`Loss::Expired`] at most `0.3 T` after the last time at which the client library had a sound
//!   connection. The servers count from the last message that they received. That is at most `0.65
//!   T` older: a heartbeat is sent after `0.15 T` to `0.2 T` without a request, and silence is
//!   noticed after `0.4 T` to `0.45 T`. So `0.05 T` are left: the client's clock may run up to 5 %
//!   slower than the servers' (`0.95 T / (1 - 0.05) = T`). Measured on 3.8.0 with sessions of 4, 6,
//!   10, 20, 40 and 60 s, cut off at eight points of the heartbeat: the holder knows at least `0.15
//!   T` before the next one holds.
//! - **A pause is noticed.** A process that did not run for more than `0.075 T`, because it or its
//!   machine was stopped, checks its session when it runs again: it asks for its own node, and
//!   keeps the lock only if the reply comes within `0.05 T`, or within `0.3 T` of the last time
//!   before the pause. A waiter that was paused, or has connected again, is granted the lock only
//!   after the reply to such a request that it has sent since (`reply-older-than-a-stop`). The
//!   request is a sync and a look in one round trip, because a server that has lost its leader
//!   answers a look alone from a tree in which ended sessions still have their nodes. Measured on
//!   three members of 3.8.0: of eight holders that were stopped past the end of their sessions of 8
//!   s, on a member that was cut off meanwhile, each knew within 0.42 s in ten runs, and within 24
//!   s without the sync; in one run with sessions of 4, 6, 10, 20, 40 and 60 s, within `0.051 T`.
//! - **A node is path and czxid.** A node of another attempt with the same path is never mistaken
//!   for the own one: it is not released, and its changes are not reported as the own node's.
//! - **One node for each attempt.** If the reply to a create is lost, the attempt searches for its
//!   node before it sends the create again. The attempt's id is in the node's name, or at the
//!   beginning of its data.
//! - **A late node blocks the queue only briefly.** A create without a reply may be carried out
//!   after the search. For `2 T` after a lost reply the attempt looks for such nodes: every five
//!   seconds while it waits or holds, and afterwards in a background task, at once, after half a
//!   second, one second, two, and so on up to `T / 2`. The session stays open meanwhile.
//! - **No node is left behind.** A dropped future, a timeout, an error and a dropped guard leave no
//!   node. A background task deletes it, through lost connections, as long as the session lives.
//!   Otherwise the end of the session deletes it. [`cleaned_up`] waits for these tasks: call it
//!   before the runtime is shut down.
//! - **A wait survives a reconnect**, a refusal for overload, and up to five replies in a row that
//!   cannot be read: the request is sent again. It ends with the lock, with the timeout, or with
//!   the session ([`SessionExpired`](LockError::SessionExpired)). After that the application needs
//!   a new client and a new [`Lock`].
//! - **A deleted node is reported.** A waiter gets [`NodeDeleted`](LockError::NodeDeleted): in a
//!   herd at once, in a chain at the next check, at most five seconds later. A holder learns of it
//!   by [`Guard::lost`] and [`Guard::release`].
//! - **A session that is replaced is noticed.** ClickHouse Keeper gives a client whose session has
//!   ended a new one without notice. The holder's node is gone then, which counts as a deletion:
//!   the holder learns of it after the reconnect. A waiter learns of it like of a deleted node, and
//!   the client gets no lock any more ([`SessionExpired`](LockError::SessionExpired)).
//!
//! # What it cannot guarantee
//!
//! The names in parentheses are schedules of `tests/schedules` that show the limit. The exploration
//! meets these limits, and no others:
//!
//! | limits | the two mutexes, and queues named [`WriteLock`](Naming::WriteLock), [`Session`](Naming::Session) or [`Named`](Naming::Named) | all other queues |
//! | --- | --- | --- |
//! | `stopped`, `ended-early`, `deleted-before-its-turn` | yes | yes |
//! | `replaced-meanwhile`, `late-deletion`, `overwritten` | yes | no |
//!
//! - **A process that does not run** (`stopped`) does not learn of anything. When it runs again
//!   after its session has expired, it believes that it holds the lock for up to `0.05 T`; after a
//!   suspension of the machine for up to `0.1 T`, and that on Linux and Android only. Other
//!   systems' clocks may stand still in a suspension, as do those of a virtual machine that its
//!   host pauses: then no pause is noticed. Therefore [write with the fencing
//!   token](#writing-with-the-fencing-token).
//! - **A member that has lost its leader** answers the heartbeats of its clients for up to
//!   `syncLimit × tickTime` of the servers' configuration: 10 s in ZooKeeper's sample file. The
//!   leader ends their sessions meanwhile. So two clients can hold if `T` is shorter than `1.25 ×
//!   (syncLimit + 0.5) × tickTime`, 13.75 s in the sample file. The client cannot notice it.
//! - **The bound on a loss has conditions.** A reply takes less than `0.15 T`. The network does not
//!   lose the client's messages while it delivers events. What the client's clock runs slower than
//!   the servers' and what its process runs late are less than `0.05 T` in a session timeout
//!   together.
//! - **A connection timeout `C` that the application sets**
//!   ([`Connector::with_connection_timeout`](zookeeper_client::Connector::with_connection_timeout))
//!   must be at most `0.4 T`, which is the default: silence is noticed after `C` to `1.125 C`, and
//!   a heartbeat is sent after `0.375 C` to `0.5 C`, within which a reply must come. So `0.7 T -
//!   1.625 C` are left in place of `0.05 T`: nothing with `C` above `0.43 T`, and two clients can
//!   hold. `T` is the timeout that the servers grant, which may be shorter than the requested one.
//!   A `C` above `0.6 T` counts as not set. The lock cannot read the value. Measured on 3.8.0: with
//!   `C = 0.59 T` the next one holds up to `0.13 T` before the holder knows.
//! - **A session that the servers end early** (`ended-early`), while they hear from its client: an
//!   administrator can do so, and so can a leader that lost its followers. The holder learns of it
//!   with its next message, or after `0.35 T` without a connection.
//! - **A node that somebody else deletes and replaces within one round trip**
//!   (`replaced-meanwhile`). Only the two mutexes, and queues whose names contain no id. ZooKeeper
//!   deletes by path, so a release first reads the node. If the node is deleted after that read, or
//!   the client's server has not applied its deletion yet, and another client creates one with the
//!   same path before the deletion arrives, the deletion hits that one. [`Guard::lost`] tells its
//!   holder.
//! - **A deletion that arrives late at a mutex** (`late-deletion`). A server hangs for longer than
//!   `0.4 T` while a deletion is on its way to it. The client moves to another server, reads the
//!   node, and sends the deletion again; another client takes the lock. The hung server refuses the
//!   late deletion, since the session has moved (measured on 3.8.0). But it may also receive a
//!   later attempt of the client to connect to it. That moves the session back, and the late
//!   deletion can then hit the next holder's node: in 4 of 15 runs in which both were held up.
//!   [`Guard::lost`] tells the next holder. In a queue, the parent must also have been created
//!   again.
//! - **A waiter whose node is deleted right before its turn** (`deleted-before-its-turn`) in a
//!   chain believes that it holds the lock for at most one second, until it checks its node or
//!   releases. A check before each hand-over would cost every acquisition a round trip.
//! - **A node that somebody overwrites before its create is answered** (`overwritten`). Only the
//!   two mutexes, and queues whose names contain no id: there the data tell whose node it is. An
//!   attempt that lost the reply does not know its node again, and the node stays until the session
//!   ends.
//! - **Nodes with a chosen number or a copied name.** A client that creates one in a queue can
//!   cause two holders. No lock library does so.
//! - **More than 2^31 children.** A parent has that many numbers in its lifetime. After them,
//!   servers from 3.6 on repeat the last number, and older ones continue with the lowest negative
//!   number, which sorts first. The lock refuses such a node with
//!   [`NumbersUsedUp`](LockError::NumbersUsedUp): remove the parent before.
//! - **A server with a smaller `jute.maxbuffer`** than the default of 1 MiB closes the connection
//!   at a longer create. The attempt treats that as a transient fault and tries again.
//! - **A runtime that is shut down** stops the background tasks. Their nodes go with the session,
//!   unless [`cleaned_up`] was awaited before.

//!
//! # Versions
//!
//! Types of [`zookeeper_client`] are in the signatures (the client, ACLs, its error), and Tokio's `Instant`. So this crate
//! exports the one that it is built with, and a new minor version of that crate (as long as it is
//! below 1.0) is one of this crate, too. A program that needs its TLS or SASL depends on the same
//! version with those features. Below 1.0 a new minor version may change anything, and a
//! new patch version only adds. Additions are new items, methods, and variants and fields of types
//! that are `#[non_exhaustive]`, so match those with a last arm for all others. What is hidden from
//! this documentation may change at any time. The oldest version of Rust is the `rust-version` of
//! `Cargo.toml`; raising it is a new minor version.
//!
//! What a lock does on the servers is part of the interface, since locks of two versions queue
//! together: the names and data of nodes, and who waits for whom.

#![warn(clippy::missing_errors_doc)]

#[cfg(doctest)]
#[doc = include_str!("README.md")]
struct Readme;

pub mod activity;
mod algorithm;
mod attempt;
pub mod blocking;
mod composed;
mod cost;
mod election;
mod error;
mod guard;
mod guarded_write;
mod lock;
mod mutex;
mod options;
mod participants;
mod queue;
mod retrying_client;
mod session_clock;
mod spans;
mod task;

pub use algorithm::{Access, Algorithm};
pub use attempt::cleaned_up;
pub use composed::{Multi, MultiGuard, Reentrant, ReentrantGuard};
pub use cost::{Cost, CostCounter};
pub use election::{Election, Leaders, Leadership};
pub use error::{LockError, Loss};
pub use guard::Guard;
pub use guarded_write::{GuardedWriter, WriteError};
pub use lock::Lock;
pub use lockscope_requests::{NewNode, Write};
pub use lockscope_terms::trace_context::{BadTraceContext, SpanId, TraceContext, TraceId};
pub use lockscope_terms::znode::{BadPath, Sequence, SessionId, ZnodePath, Zxid};
pub use options::{LockOptions, Naming, Parents};
pub use participants::Participant;
pub use zookeeper_client;
