//! An incident report: the recorded events of a time range, as a page and as a trace. Pure.
//!
//! ```text
//! record::history::PastWindow --> Incident -+-> html()   paragraphs, holds and waits as bars,
//!                                           |            queue lengths, events
//!                                           +-> trace()  Chrome's trace events, for Perfetto
//! ```
//!
//! # What a standstill is, and what it costs
//!
//! A standstill of a lock is a longest time in which at least one contender waited and nobody
//! acquired it. A reader that joins other readers acquires nothing that others wait for. A standstill
//! costs as much as its waiters waited, summed up. Only certain times count: of a hold or a wait whose
//! beginning or end was not seen, the known part.
//!
//! # What is told
//!
//! Each standstill is charged to one cause, or in parts to several. Causes have a paragraph each,
//! those that cost most first. A cause covers most of what is charged to it; what covers less is
//! mentioned as something that stood meanwhile. Critical findings that no cause names follow.
//!
//! Architecture invariant: a page is self-contained. It has no script, and refers to no other file,
//! font or server, except that an overview links to the pages of its ensembles. Every text from a znode goes through `words`, which escapes invisible characters
//! and those that change the writing direction, and is escaped by `maud`. Whatever is left out is
//! mentioned with its number.

mod bars;
mod causes;
mod critical;
mod events;
mod facts;
mod html;
mod lanes;
mod lock_rows;
mod overview;
mod paragraphs;
mod queue_lengths;
mod scale;
mod sentences;
mod standstill;
mod stood;
mod style;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod trace;
mod waits;
mod words;

pub use html::html;
pub use lock_rows::Incident;
pub use overview::{EnsembleRow, overview};
pub use trace::{Traces, trace};
