//! Elections: who led, how each tenure ended, and which candidates have gone.
//!
//! The queue of an election shows the present leader and the candidates. What is missing there (a
//! leader, a candidate) shows only in comparison with what was there before, so each election has a
//! record of it. Records are bounded: see `MAX_ELECTIONS` and `MAX_DEPARTURES`.

mod changes;
mod departure;
mod elections;
mod emptiness;
mod expectation;
mod found_empty;
mod kind;
mod lately;
mod led_before;
mod note;
mod record;
mod records;
mod take_over;
mod without_parent;

pub use departure::{Departure, DepartureEnd};
pub use elections::Elections;
pub use expectation::Expectation;
pub use found_empty::is_empty_election;
pub use kind::{ElectionKind, is_likely as is_likely_election};
pub(crate) use kind::{by_recipe, is_registry, leader_beside_latch};
pub use led_before::LedBefore;
pub use record::{ChangesOfLeader, ElectionRecord};
