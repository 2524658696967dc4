//! Elections: who led, how each tenure ended, and which candidates have gone.
//!
//! The queue of an election shows the present leader and the candidates. What is missing there (a
//! leader, a candidate) shows only in comparison with what was there before, so each election has a
//! record of it. Records are bounded: see `MAX_ELECTIONS` and `MAX_DEPARTURES`.

mod record;
mod tracking;

pub use record::{ChangesOfLeader, Departure, DepartureEnd, ElectionRecord, Elections, Expectation, LedBefore};
pub use tracking::{ElectionKind, is_empty_election, is_likely as is_likely_election};

pub(crate) use tracking::{by_recipe, is_registry, leader_beside_latch};
