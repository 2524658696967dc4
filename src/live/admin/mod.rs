//! What changes other people's nodes: the plan of a deletion, the guard, the execution, and the audit log.
//!
//! ```text
//! TableAt, paths --> DeletePlan --answer--> guard::confirm --> Confirmed<DeletePlan> --> execute --> Outcomes
//!                                                                                 |
//!                                                         audit log: intent, synced | outcome
//! ```
//!
//! `plan` says what would be deleted and what that means, `guard` checks the answer of the person who was asked, `execute` deletes
//! the nodes that were seen and nothing else, and `audit` keeps a log of what was intended and what came of it.
//!
//! Architecture invariant: nothing else in the crate deletes a node that it did not create. Only [`guard::confirm`] makes a
//! [`Confirmed`], only [`execute()`] takes one, and it wants a [`Permission`] too.
//!
//! Architecture invariant: before a request that changes anything is sent, the intent is in the audit log and synced.

pub mod audit;
pub mod examine;
mod execute;
mod facts;
pub mod guard;
mod permitted;
mod plan;
mod who;

pub use audit::Audit;
pub use execute::{Ending, Examine, NodeOutcome, execute};
pub use facts::{DeletionFacts, DeletionReport};
pub use guard::{Confirmed, Permission, Refused, confirm};
pub use permitted::find_guards;
pub use plan::{
    Action, Confirmation, DeletePlan, MAX_TARGETS, NextHolder, NoPlan, OwnerLiveness, Permitted, PlannedNode,
    RecreationGuard, TargetKind,
};
pub use who::Who;
