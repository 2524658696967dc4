//! An incident report: the recorded events of a time range, as a page and as a trace. Pure.
//!
//! ```text
//! record::history::PastWindow --> Incident -+-> html()   sentences, holds and waits as bars,
//!                                           |            queue lengths, events
//!                                           +-> trace()  Chrome's trace events, for Perfetto
//! ```
//!
//! # What a standstill is
//!
//! A standstill is a hold during which others waited for the same lock. Its length is the time
//! within the hold in which at least one contender waited. Only certain times count: of a hold
//! whose beginning or end was not seen, the known part.
//!
//! Architecture invariant: a page is self-contained. It has no script, and refers to no other file,
//! font or server, except that an overview links to the pages of its ensembles. Every text from a znode goes through `words`, which escapes invisible characters
//! and those that change the writing direction, and is escaped by `maud`. Whatever is left out is
//! mentioned with its number.

mod bars;
mod events;
mod html;
mod lanes;
mod lock_rows;
mod overview;
mod queue_lengths;
mod scale;
mod sentences;
mod standstill;
mod style;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod trace;
mod words;

pub use html::html;
pub use lock_rows::Incident;
pub use overview::{EnsembleRow, overview};
pub use standstill::Standstill;
pub use trace::{Traces, trace};
