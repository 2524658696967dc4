//! Test clients that contend for a built-in lock, with an exact count of their cost.
//!
//! A [`Fleet`] runs a [`Scenario`]. Each client has its own session and its own link: a relay on
//! loopback that can delay, pause, cut and restore the connection. [`FleetCommand`]s make clients
//! join, leave, crash, freeze and thaw while it runs. A [`FleetStatus`] is the current state and a
//! [`FleetOutcome`] the result. [`compare()`] runs herds and chains of several sizes one after the
//! other.
//!
//! # What the figures mean
//!
//! Watch events are counted in four ways, which agree as far as possible:
//!
//! - **delivered**: what the locks' own [`CostCounter`](lockscope_lock::CostCounter)s count when a
//!   watch fires.
//! - **on the wire**: notifications that passed the links. Equal to the delivered ones if nothing
//!   was cut.
//! - **server**: the growth of the members' own counters, `node_children` and `node_deleted`. Equal
//!   to the delivered events too if the ensemble has no other clients and no session expired.
//! - **modelled**: the herd-style and chain-style figures of the console's Locks screen: each
//!   change of the queue times the number of waiters. This is an upper bound for the herd: watches
//!   are one-shot, so two changes between an event and the listing that sets the next watch cost
//!   one event. A release and the next request follow each other at once where clients do not
//!   pause, so a run without pauses has about half of the bound. The model leaves out the event
//!   that a herd's holder gets for its own release.
//!
//! An event is **in vain** if its client does not get the lock after it: all but the last event of
//! each wait that ended with the lock, and those that reach a client that does not wait, such as a
//! herd's holder. Events and requests of a stopped process count when it goes on. Those of a killed
//! process's library never count.
//!
//! # Stepping
//!
//! A fleet can be [held](FleetCommand::Hold) before each release and each new request, and
//! continued [step by step](FleetCommand::Step). Its statuses then carry a
//! [trace](FleetStatus::trace) of all actions of its clients and of all deliveries to them, in the
//! order in which the clients learnt of them. Statuses come as soon as something happens, at most
//! 60 a second. [`trace_missed`](FleetStatus::trace_missed) counts every entry that is lost.
//!
//! # What the lock protects
//!
//! A [resource](ResourceStatus) in this process remembers the highest fencing token that has
//! written, and refuses lower ones. Each holder writes after it acquires the lock and right before
//! it releases it. A holder that knows that it has lost the lock does not write, but a process that
//! was stopped meanwhile does not know.
//!
//! A refused write is not a violation: preventing it is the purpose of tokens. Readers do not
//! write. A semaphore has no such resource.
//!
//! Architecture invariant: the fleet creates nothing outside the scenario's path but its missing
//! parents, and never more clients than requested. All of it is deleted when the fleet is stopped
//! or dropped. What a killed program leaves expires with its sessions.

mod client;
mod client_stats;
mod compare;
mod coordinator;
mod fleet;
mod holder_claims;
mod outcome;
mod roster;
mod scenario;
mod status;
mod stepping;
mod tally;
mod turns;

pub use compare::{CompareProgress, ComparedFleets, Comparison, compare};
pub use fleet::{Fleet, MAX_QUEUED_COMMANDS};
pub use lockscope_lock::activity::{RequestKind, WatchPlace};
pub use outcome::{FleetOutcome, LinkBytes, RequestCount, WatchEventCounts};
pub use scenario::{ContendError, DEFAULT_SESSION_TIMEOUT, FleetOptions, MAX_CLIENTS, Scenario, ScenarioError, Speed};
pub use status::{
    ClientId, ClientState, ClientStatus, FleetCommand, FleetRates, FleetStatus, FleetTotals, LinkState, MAX_TRACE,
    NextStep, Overlap, Quantiles, RATE_SECONDS, ResourceStatus, ResourceWrite, ServerEvents, TraceEntry, TraceStep,
    WokenTurn,
};
pub use tally::OwnDeletions;

/// The maximum number of overlaps in a status.
pub const MAX_OVERLAPS: usize = 20;
