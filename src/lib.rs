//! Distributed locks in Apache ZooKeeper: a library that takes them, and a terminal console that watches those of any program.
//!
//! # The library
//!
//! [`lock`] has exclusive and shared locks, semaphores, several locks taken as one, and locks that their owner may enter again.
//! They run on Tokio and on a [`Client`](zookeeper_client::Client) of the application's own, with its session and its credentials.
//!
//! ```no_run
//! use lockscope::lock::{Algorithm, Lock};
//! use zookeeper_client::Client;
//!
//! # async fn write_orders(_token: lockscope::znode::Zxid) {}
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::connect("localhost:2181").await?;
//! let lock = Lock::new(&client, "/locks/orders", Algorithm::Chain)?;
//! let guard = lock.acquire().await?;
//! tokio::select! {
//!     // The lock is lost, and others may get it: stop.
//!     loss = guard.lost() => return Err(loss.to_string().into()),
//!     () = write_orders(guard.token()) => {}
//! }
//! guard.release().await?;
//! # Ok(())
//! # }
//! ```
//!
//! ## Loss and fencing
//!
//! A holder can lose its lock at any time: its session expires when the servers do not hear from the client for the session
//! timeout, or somebody deletes its node. [`Guard::lost`](lock::Guard::lost) waits for that and says which it was. After an
//! expired session the application needs a new client and a new [`Lock`](lock::Lock).
//!
//! A program that was paused learns of the loss only when it runs again, and may write once more before. So whatever the lock
//! protects should remember the highest [fencing token](lock::Guard::token) that has written, and refuse lower ones:
//! [how to do that with a node](lock#writing-with-the-fencing-token). What the locks promise, and what they cannot, stands in
//! [the documentation of `lock`](lock#what-a-lock-guarantees); the example `guarded_counter` is a whole program.
//!
//! ## What works where
//!
//! - The library works on every system that Tokio supports, in its single-threaded and its multi-threaded runtime. The console
//!   works on Unix.
//! - Servers before ZooKeeper 3.5 have no container nodes: there the [parents](lock::Parents) that a lock creates stay.
//! - A lock can queue together with locks of Curator, kazoo, go-zookeeper and ZooKeeper's own recipes: see [`lock::Naming`].
//!
//! ## The modules of the library
//!
//! - [`lock`]: the locks, what they cost in requests and watch events, and their errors.
//! - [`recipe`]: reads the node names of locks: which library made a node, what it asks for, and to which lock it belongs.
//! - [`znode`]: paths, sequence numbers, ids of sessions and transactions, stats.
//!
//! The feature `console`, which is on by default, adds the console and everything that only it needs. A program that takes locks
//! switches it off (`default-features = false`).

#![cfg_attr(
    feature = "console",
    doc = r"
# The console

The console watches the lock parents of a real ensemble, whichever library made the locks, and shows each queue: who holds, who
waits for whom, since when, and how many watch events every change costs *herd-style* (every waiter watches the parent) and
*chain-style* (each watches its predecessor).

## The modules, from the bottom up

| module | what lives there | may use |
| --- | --- | --- |
| [`znode`] | ZooKeeper's words as types: paths, sequences, sessions, stats. Pure. | nothing |
| [`time`] | The wall clock, waits that may have no end, growing pauses between tries. | `znode` |
| [`text`] | Numbers, durations and times in words, and text that is safe to show in so many columns. Pure. | `znode` |
| [`recipe`] | What a child's name means: which library made it, which kind of lock, whom it waits for. Pure. | `znode` |
| [`server_view`] | What the servers say about themselves: connections, sessions, watches, watch events. Pure. | `znode` |
| [`queue`] | The state: a [`Change`](queue::Change) goes in, [`Happening`](queue::Happening)s come out. Pure. | `recipe`, `server_view`, `text`, `znode` |
| [`diagnose`] | Who is alive, who watches what, and why a lock is stuck: one finding a file. Pure. | `queue`, `recipe`, `server_view`, `text`, `znode` |
| [`report`] | The facts as JSON, and text that is safe to show. Pure. | `diagnose`, `queue`, `recipe`, `server_view`, `text`, `znode` |
| [`metrics`] | The same facts for Prometheus: what is counted of the locks, and the figures of a moment as text. Pure. | `diagnose`, `queue`, `recipe`, `server_view`, `znode` |
| [`plot`] | Figures over the number of clients as a picture to keep: charts, a table and their conditions, as SVG and HTML. Pure. | `text`, `znode` |
| [`files`] | Opening files that hold secrets, settings or evidence: who owns them, and who may change them. | nothing |
| [`record`] | The stream of changes in a file: written, bounded, and played back as the same stream. | `files`, `report`, `diagnose`, `queue`, `recipe`, `server_view`, `text`, `time`, `znode` |
| [`incident`] | What a recording says of a time as a page to hand over, and as trace events: who held, who waited for whom, and why. Pure. | `record`, `report`, `text`, `znode` |
| [`exporter`] | Serves metrics over HTTP: who may ask, and what is answered. | `files`, `metrics`, `znode` |
| [`zk`] | Connecting: session, identities and logins, TLS, and why it did not work; asking the servers about themselves. | `files`, `server_view`, `time`, `znode` |
| [`observe`] | Keeps a [`LockTable`](queue::LockTable) true to the ensemble: one recursive watch a root, reads, resync. | `zk`, `queue`, `recipe`, `server_view`, `time`, `znode` |
| [`lock`] | The built-in locks, for test clients and for applications: mutex, herd, chain, shared, semaphore, multi, reentrant. | `recipe`, `time`, `znode` |
| [`contend`] | Test clients on the built-in locks, each with its own session and a link that can be cut; the tally. | `lock`, `zk`, `server_view`, `text`, `time`, `znode` |
| [`sandbox`] | An in-process, in-memory, single-server ZooKeeper for demos and tests: the real wire protocol on a loopback port. | `time`, `znode` |
| [`demo`] | The guided tour: its script as data, and the sessions that act what test clients cannot. | `contend`, `lock`, `zk`, `time`, `znode` |
| [`admin`] | What changes other people's nodes: the plan of a deletion, the guard, the execution, the audit log. | `zk`, `files`, `report`, `diagnose`, `queue`, `recipe`, `server_view`, `text`, `time`, `znode` |
| [`examine`] | What is true of a node right before it is deleted: its queue and its owner, younger than a second. | `admin`, `observe`, `zk`, `diagnose`, `queue`, `recipe`, `server_view`, `time`, `znode` |
| [`tui`] | The screen: `app` (pure state), `view` (one file a screen), `widget`, `run`. | all above but `sandbox` |
| [`cli`] | Arguments, settings, one file for each headless subcommand. | all above |

Architecture invariant: dependencies point up this list only, no two files import each other, and the pure modules (and
`tui::app`) know no runtime, no screen, no client and no clock; time is an argument. `tests/structure` holds it.

## How data flows

```text
ensemble --watch events, reads--> observe ----Change--> queue::LockTable --Happening--> timeline, counters
servers ---words, AdminServer---> zk::survey --Change-->      |
                                                              +--> diagnose --> facts, findings
keys, resize, Change, Status --> tui::run --> App::update(event, now) -> (redraw?, Vec<Effect>)
Effect (start clients, delete, export, quit) --> tui::run --> contend, admin --> event
snapshot, watch, check <-- report <-- queue, diagnose
```

## Where to change what

- A lock made by another library: a row in [`recipe`], in the file of its family, and one in its table test.
- What a change means or costs: `queue::apply`, `queue::chain`.
- When the ensemble is asked what: `observe::follow`; the servers about themselves: `zk::survey`.
- Why a lock is called stuck: a file in [`diagnose`] for each finding.
- What is taken from a server, and who may use a connection: `zk::transport`; a login by Kerberos: `zk::kerberos`.
- How a lock works: [`lock`]; what test clients do and count: [`contend`].
- What may be deleted, and how it is confirmed: [`admin`].
- A key or a command: the one table in `tui::keymap`; footer and help follow.
- What the sandbox answers to a request: `sandbox::machine`, one file a family; what is on the wire: `sandbox::wire`.
- What the tour shows and says: `assets/demo.toml`.
- A field of the JSON: [`report`]; names are added, never renamed.
- How the page of an incident looks, and what it says: [`incident`].
- What a recording keeps and how it is read: [`record`]; a time in it on the screen: `tui::app::replay`.
- How a plot file looks: [`plot`]; what it shows of a comparison: `cli::contend::plot_page`.

`.github/CONTRIBUTING.md` has the steps.

## Glossary

Session, znode, ephemeral, czxid, watch, watch event and four-letter word are ZooKeeper's own.

| term | what it is here |
| --- | --- |
| lock parent, lock | The znode whose children queue; the queue in it. One parent can hold several locks, a semaphore has two parents. |
| contender | A node in a queue: one request of a session for a lock. It is the *holder*, or one of several (readers, leases), or a *waiter*. |
| predecessor | The contender that a waiter stands behind, and watches in a chain. |
| herd-style, chain-style | Every waiter watches the lock parent, and every change wakes all; or each watches its predecessor, and a release wakes one. |
| lease | One of the places of a semaphore: the node of a holder. |
| hand-over | What passes a lock on: the holder goes and the next one acquires. |
| fencing token | The holder's czxid: it rises with each holder, so that a resource can refuse an older one. |
| recipe, family | How a lock is made of znodes; the recipes of one library. |
| attempt | One try to acquire; its id in the node's name finds the node whose create lost its reply. |
| root | A path below which locks are looked for. |
| observer, resync | What follows the tree by watches; the reading of everything after a cut. |
| change | What was learned from the ensemble; all that the table knows came as one. |
| happening, event | What a change means for a lock (acquired, released, ...); on the screens and in the JSON it is called an event. |
| survey, server view | Asking the servers about themselves, again and again; the last of their answers, put together. |
| finding, remedy | One thing that is wrong with a lock, and what to do about it. A *suspicion* becomes a finding when it lasts. |
| orphan | A node that its maker does not know of, since the reply to its create was lost. |
| ghost | A node whose session no longer exists. |
| plan, recreation guard | What a deletion would do; how it is made sure that the node is still the one that was confirmed. |
| audit log | The file in which intent and outcome of each deletion stand. |
| guard | In [`lock`]: the proof that one holds; dropping it releases. |
| test client, fleet | A program's own client that contends for a lock; those of one run. |
| coordinator | The fleet's own session: it makes the lock's parents, counts, and looks for what is left behind. |
| link | A test client's connection, through a port of this process where it can be cut and delayed. |
| overlap, violation | Two clients think they hold at once. That is a violation unless one was frozen past the end of its session (*outlived*); so is a token that does not rise. |
| sandbox | The ZooKeeper in memory. |
| tour, scene, step | The guided demo, its six parts, and what `n` shows next. |
| recording, segment, keyframe | The stream of changes in a file; a piece of it; the whole state at the piece's beginning. |
| gap | A time of which nothing is known, since nobody recorded or the recorder was cut off. |
| replay | The screen on a recording. |
| excerpt | A part of a recording, in a file of its own: `lockscope cut` makes one. |
| headless | Without a screen: the subcommands. |
| effect | What the screen's state wants done (delete, export, quit), as data. |
"
)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "console")]
pub mod admin;
#[cfg(feature = "console")]
pub mod cli;
#[cfg(feature = "console")]
pub mod contend;
#[cfg(feature = "console")]
pub mod demo;
#[cfg(feature = "console")]
pub mod diagnose;
#[cfg(feature = "console")]
pub mod examine;
#[cfg(feature = "console")]
pub mod exporter;
#[cfg(feature = "console")]
pub mod files;
#[cfg(feature = "console")]
pub mod incident;
pub mod lock;
#[cfg(feature = "console")]
pub mod metrics;
#[cfg(feature = "console")]
pub mod observe;
#[cfg(feature = "console")]
pub mod plot;
#[cfg(feature = "console")]
pub mod queue;
pub mod recipe;
#[cfg(feature = "console")]
pub mod record;
#[cfg(feature = "console")]
pub mod report;
#[cfg(feature = "console")]
pub mod sandbox;
#[cfg(feature = "console")]
pub mod server_view;
#[cfg(feature = "console")]
pub mod text;
#[doc(hidden)]
pub mod time;
#[cfg(feature = "console")]
pub mod tui;
#[cfg(feature = "console")]
pub mod zk;
pub mod znode;
