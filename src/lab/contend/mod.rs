//! Test clients that contend for a built-in lock, and an honest count of what they cost.
//!
//! A [`Fleet`] carries out a [`Scenario`]: each client has a session and a connection of its own, through a link of its own,
//! a relay on loopback that can delay, pause, cut and heal. Clients join, leave, crash, freeze and thaw while it runs, on
//! [`FleetCommand`]s; a [`FleetStatus`] says how it stands, a [`FleetOutcome`] what it came to. [`compare()`] lets herds and chains
//! of several sizes run one after the other.
//!
//! # What the figures mean
//!
//! Watch events are counted in four ways, which agree as far as they can:
//!
//! - **delivered**: what the locks' own [`CostCounter`](lockscope_lock::CostCounter)s count when a watch fires.
//! - **on the wire**: notifications that passed the links. Where nothing was cut it equals the delivered ones exactly.
//! - **server**: the growth of the members' own counters, `node_children` and `node_deleted`. Other clients of
//!   the ensemble are in it; where there are none, and no session expired, it equals the delivered ones exactly too.
//! - **modelled**: what the console's Locks screen shows as herd-style and chain-style: each change of the queue times those
//!   who wait at that moment. It is a bound for the herd: watches are one-shot, so two changes between an event and
//!   the listing that sets the watch anew cost one event (they coalesce). A herd's own holder gets an event for its release as well, which
//!   the model leaves out.
//!
//! An event is **in vain** when its client does not get the lock after it: all but the last one of each wait that ended with the
//! lock, and those that come to a client that does not wait, as to a herd's holder. What a process that was stopped sends counts
//! when it goes on, and what the library of one that was killed does counts never.
//!
//! # Stepping
//!
//! A fleet can be [held](FleetCommand::Hold) before each release and each new request, and let go on [step by
//! step](FleetCommand::Step). Then its statuses carry a [trace](FleetStatus::trace) of all that its clients did and that was
//! delivered to them, in the order in which they learnt of it, and come as soon as something happens, at most 60 a second. No
//! entry is lost that [`trace_missed`](FleetStatus::trace_missed) does not count.
//!
//! # What the lock protects
//!
//! A [resource](ResourceStatus) in this process remembers the highest fencing token that has written, and refuses lower ones.
//! Each holder writes when it has acquired the lock and right before it releases; one that knows that it has lost the lock
//! does not, but a process that was stopped meanwhile does not know. A refused write is no violation: it is what tokens are for.
//! Readers do not write. A semaphore has no such resource.
//!
//! Architecture invariant: nothing is made outside the scenario's path but its missing parents, never more clients than asked
//! for, and all of it goes when the fleet is stopped or dropped; what a killed program leaves expires with its sessions.

mod client;
mod client_id;
mod client_stats;
mod compare;
mod conclusion;
mod coordinator;
mod deletions;
mod error;
mod fleet;
mod holder_claims;
mod link;
mod options;
mod outcome;
mod quantiles;
mod rates;
mod resource;
mod roster;
mod scenario;
mod speed;
mod status;
mod step_queue;
mod tally;
mod time_distribution;
mod trace;
mod trace_log;
mod wire_state;

pub use client_id::ClientId;
pub use compare::{ComparedFleets, Comparison, Progress, compare};
pub use deletions::Deletions;
pub use error::ContendError;
pub use fleet::{Fleet, MAX_QUEUED_COMMANDS};
pub use options::FleetOptions;
pub use outcome::{FleetOutcome, LinkBytes, RequestCount, WatchEventCounts};
pub use quantiles::Quantiles;
pub use rates::{FleetRates, RATE_SECONDS};
pub use scenario::{DEFAULT_SESSION_TIMEOUT, MAX_CLIENTS, Scenario, ScenarioError};
pub use speed::Speed;
pub use status::{ClientState, ClientStatus, FleetCommand, FleetStatus, FleetTotals, LinkState, Overlap, ServerEvents};
pub use trace::{MAX_TRACE, NextStep, ResourceStatus, ResourceWrite, TraceEntry, TraceStep};

pub use lockscope_lock::{RequestKind, WatchPlace};

/// How many overlaps a status lists.
pub const MAX_OVERLAPS: usize = 20;
