//! Combines the queues with the servers' answers: which sessions are alive, who watches what, and
//! why a lock is stuck.
//!
//! [`TableAt`] joins a [`LockTable`](crate::queue::LockTable) with its
//! [`ServerView`](crate::server_view::ServerView). [`Diagnosis`] turns both into [`Finding`]s:
//! `checks` has the check of each kind, and `finding` one row per kind. [`Waits`] is the graph of
//! sessions that wait for each other, across locks. [`cross_waits`] finds clients that wait for each
//! other across ensembles.
//!
//! # What is found
//!
//! - A create whose reply was lost: `orphan`, proved where names contain an id. Otherwise it is
//!   `orphan-suspected` while the node waits, and `self-blocked` while it holds.
//! - A release that failed, or two lock objects in one thread: `self-blocked`.
//! - A waiter that gave up or lost its wake-up: `lost-wake-up`.
//! - A lease that is never returned: `stuck-lease`.
//! - An owner that is dead or silent: `expiring-holder`, `silent-holder`, `ghost`, `adopted-node`,
//!   `head-changed-by-expiry`.
//! - A process that hangs: `idle-holder`, `stuck`.
//! - Sessions that wait in a cycle: `deadlock`; over several ensembles, `cross-deadlock`.
//! - A fault in the tree: `sequence-overflow`, `empty-parent`, `persistent-contender`,
//!   `foreign-child`.
//! - Watches that are left behind: `leaked-watch`.
//! - What grows, or is done again and again: `growing-parents`, `leaking-session`, `churning`,
//!   `herd-storm`.
//! - A hold that is longer than promised: `held-long`.
//! - A member whose nodes are not those of the others: `member-disagrees`.
//!
//! # What cannot be found
//!
//! - A holder that goes on after its node was deleted: nothing is left of it.
//! - Children of a lock parent whose names fit no contender: they are not read.
//! - Few parents that were empty from the start: they look like any other node.
//! - Sessions that watch children: no server lists them.
//! - A deleted node that a member shows again, if it was deleted before the first look or more than
//!   10,000 deletions ago, or if the server has no recursive watches.
//!
//! The module is pure. Architecture invariant: nothing is claimed without evidence. What a missing
//! server could know stays unknown, and a state that also occurs for a moment in a sound hand-over
//! becomes a finding only if it lasts. Nothing is claimed to be well without evidence, either: a
//! [`LastLook`] says what was looked at and what is still open, and a finding ends only by a look that
//! would have shown it.

mod across;
mod checks;
mod context;
mod diagnosis;
mod facts;
mod finding;
#[cfg(test)]
mod sentences;
mod session_locks;
#[cfg(test)]
mod sound_elections;
#[cfg(test)]
mod sound_restarts;
mod standstill;
mod suspicion;
#[cfg(test)]
mod testing;
mod thresholds;
mod waits;

pub use crate::queue::is_likely_election;
pub use across::{
    AcrossEnsembles, CrossWaitsByEnsemble, EnsembleClaims, cross_waits, crossed_now, describe_cross_step,
    standing_cross_cycles,
};
pub use diagnosis::{Diagnosis, FindingChanges};
pub use facts::{AwaitedBy, HeldBy, OwnerFacts, OwnerState, TableAt, Unaware, WatchTarget};
pub use finding::{Code, Finding, MAX_TITLE_WIDTH, Severity};
pub use session_locks::{SessionLocks, WaitStyle, session_locks};
pub use standstill::Standstill;
pub use suspicion::{LastLook, OpenCheck, WhyOpen};
pub use thresholds::{FlappingLimit, NotSeen, Thresholds, not_seen, rest_between_checks};
pub use waits::{Blocker, Cycle, Wait, Waits};
