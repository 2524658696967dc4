//! The servers' answers about themselves, as types: each member's connections, sessions, watches
//! and sent watch events. [`four_letter`] reads answers to four-letter words, [`admin`] reads
//! AdminServer's JSON.
//!
//! The module is pure: it turns bytes into facts and asks no server. Every answer may be truncated,
//! hostile or empty.
//!
//! Architecture invariant: a missing answer never counts as a negative one. A [`Listing`] tells
//! whether it is whole, a [`MemberView`] has `None` for each missing answer, and [`ServerView`]
//! tells when a conclusion needs a member that did not answer. Plain-text answers beside a session
//! over TLS prove nothing ([`Provenance`]).

pub mod admin;
mod clock;
mod comparison;
mod expiry;
pub mod four_letter;
mod listing;
mod member;
mod monitor;
mod session_ends;
mod settings;
mod view;

pub use clock::{ClockAnchor, FirstListed, ServerClock};
pub use comparison::{ComparedMember, Difference, Lag, LagEvidence, LagWatch, MemberComparison, MemberStanding};
pub use expiry::{Expiry, ExpiryBounds, ExpiryClock, ListedSession, ServerSettings, SessionTiming};
pub use listing::{
    Connection, Ephemerals, Keyed, Listing, SessionEphemerals, WatchTotals, WatchedPath, WatchingSessions,
};
pub use member::{
    Absence, AbsenceReason, AskedBy, MemberExtras, MemberProgress, MemberView, Provenance, ServerMode, ViewExtras,
    WireSecurity,
};
pub use monitor::{Health, Monitor, SLOW_WRITES, ServerLimits, WatchEventTotals};
pub use session_ends::{EndLedger, ExpiredSession, WatchEventRates};
pub use settings::{ConfiguredServer, EnsembleConfig, MAX_MEMBERS, SyncSettings};
pub use view::{Liveness, Load, MAX_ANSWER_AGE, ServerView, Silence, Software, Watchers};

#[cfg(test)]
mod tests;
