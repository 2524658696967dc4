//! An incident to hand over: what a recording says of a time, as a page and as a trace. Pure.
//!
//! ```text
//! record::history::PastWindow --> Incident -+-> html()   sentences, who held and waited as bars, queue lengths, events
//!                                           +-> trace()  Chrome's trace events, for Perfetto
//! ```
//!
//! # What a standstill is
//!
//! A hold during which others waited for the same lock; its length is the time within the hold in which anybody did. Only what is certain
//! counts: of a hold whose beginning or end was not seen, the part that is known.
//!
//! Architecture invariant: a page needs nothing but itself. It has no script, and it names no other file, no font and no server. Every text
//! that came from a znode goes through `words`, which escapes what cannot be seen or turns the direction of writing, and is escaped by
//! `maud`. Whatever is left out is said, with its number.

mod bars;
mod events;
mod html;
mod lanes;
mod lock_rows;
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
pub use standstill::Standstill;
pub use trace::trace;
