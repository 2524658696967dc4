//! What the servers' own view makes of the queues: who is alive, who watches what, and why a lock is stuck.
//!
//! [`TableAt`] joins a [`LockTable`](crate::queue::LockTable) with its [`ServerView`](crate::server_view::ServerView).
//! [`Diagnosis`] makes [`Finding`]s of it: one kind a file in `checks`, and one row a kind in `code`. [`Waits`] is the graph of who waits for whom, across locks.
//!
//! # What is found, and what cannot be
//!
//! A create whose reply was lost (`orphan`, proved where names carry an id; else `orphan-suspected` while it waits and
//! `self-blocked` while it holds), a release that failed or two lock objects of one thread (`self-blocked`), a waiter that gave up
//! or lost its wake-up (`lost-wake-up`), leases that never come back (`stuck-lease`), dead or silent owners (`expiring-holder`,
//! `silent-holder`, `ghost`, `adopted-node`, `head-changed-by-expiry`), processes that hang (`idle-holder`, `stuck`), cycles (`deadlock`), and what is
//! wrong with the tree (`sequence-overflow`, `empty-parent`, `persistent-contender`, `foreign-child`) or with watches on it
//! (`leaked-watch`), and a member that shows nodes which the ensemble deleted (`member-disagrees`).
//!
//! Not seen: that a holder whose node somebody deleted goes on, since nothing of it is left; children of a lock parent whose names
//! can be no contender's, since they are not read; parents that were empty before anybody looked, since nothing tells them
//! from other nodes; who watches children, since no server lists that; and a deleted node that a member brings back when it was
//! deleted before anybody looked, more than 10,000 deletions ago, or where the server has no recursive watches.
//!
//! Pure. Architecture invariant: without evidence nothing is claimed; what a missing server could know stays unknown, and
//! what a sound hand-over shows for a moment is a finding only when it lasts.

mod checks;
mod code;
mod context;
mod diagnosis;
mod election;
mod facts;
mod finding;
mod not_seen;
mod pace;
mod round_memory;
#[cfg(test)]
mod sentences;
mod session_locks;
mod standstill;
mod suspicion;
#[cfg(test)]
mod testing;
mod thresholds;
mod unaware;
mod unwatched;
mod waits;

pub use code::{Code, MAX_TITLE_WIDTH};
pub use diagnosis::{Diagnosis, FindingChanges};
pub use election::is_likely as is_likely_election;
pub use facts::{Facts, OwnerState, TableAt, WatchTarget};
pub use finding::{Finding, Severity};
pub use not_seen::{NotSeen, not_seen};
pub use pace::rest_between_looks;
pub use session_locks::{SessionLocks, WaitStyle, session_locks};
pub use standstill::Standstill;
pub use thresholds::Thresholds;
pub use unaware::Unaware;
pub use waits::{Blocker, Cycle, Wait, Waits};
