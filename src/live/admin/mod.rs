//! Changes to other people's nodes: the plan of a deletion, the guard, the execution, and the audit
//! log.
//!
//! ```text
//! TableAt, paths --> DeletePlan --answer--> guard::confirm --> Confirmed<DeletePlan> --> execute
//!                                                                                          |
//!                                           audit log: intent, synced | outcome <----------+
//!                                                                                          v
//!                                                                                       outcomes
//! ```
//!
//! `plan` describes what would be deleted and its consequences. `guard` checks the person's answer.
//! `execute` deletes the nodes that were seen and nothing else. `audit` keeps a log of intents and
//! outcomes.
//!
//! `notebook` keeps what a person noted about findings; it changes no ensemble.
//!
//! Architecture invariant: nothing else in the crate deletes a node that it did not create. Only
//! [`guard::confirm`] creates a [`Confirmed`], and only [`execute()`] accepts one, together with a
//! [`Permission`]. What it does after that is public too, but only the exploration of schedules calls
//! it, over a simulated ensemble.
//!
//! Architecture invariant: before a request that changes anything is sent, the intent is in the
//! audit log and synced.

pub mod audit;
pub mod empties;
pub mod examine;
mod execute;
pub mod guard;
pub mod notebook;
mod plan;
pub mod protection;

pub use audit::{Audit, Who};
pub use examine::find_guards;
pub use execute::{DeletionFacts, DeletionReport, Ending, Examine, NodeOutcome, execute};
pub use guard::{Confirmed, Permission, Refused, confirm};
pub use plan::{
    Action, Confirmation, DeletePlan, Emptiness, MAX_TARGETS, NextHolder, NoPlan, OwnerLiveness, Permitted,
    PlannedNode, ProductionMark, RecreationGuard, TargetKind,
};
pub use protection::{NotPermitted, ProtectedContext, Protection, ProtectionGuard, ProtectionSource};

#[doc(hidden)]
pub use execute::{DeletionSession, IntentLog, execute_over};
