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
mod anchor;
mod answers;
mod clock;
mod config;
mod connection;
mod ephemerals;
mod expiry_clock;
mod figure;
mod first_listed;
pub mod four_letter;
mod health;
mod lag;
mod listing;
mod member;
mod member_comparison;
mod member_extras;
mod monitor;
mod provenance;
mod session;
mod session_ends;
mod session_timing;
mod silence;
mod software;
mod sync_settings;
mod view;
mod watch_event_rates;
mod watches;

pub use anchor::Anchor;
pub use answers::{Liveness, Watchers};
pub use clock::ServerClock;
pub use config::{ConfiguredServer, EnsembleConfig, MAX_MEMBERS};
pub use connection::Connection;
pub use ephemerals::{Ephemerals, SessionEphemerals};
pub use expiry_clock::{ExpiryBounds, ExpiryClock};
pub use first_listed::FirstListed;
pub use health::{Health, SLOW_WRITES, ServerLimits};
pub use lag::{Lag, LagEvidence, LagWatch, Standing};
pub use listing::{Keyed, Listing};
pub use member::{AskedBy, MemberView, ServerMode};
pub use member_comparison::{ComparedMember, Difference, MemberComparison};
pub use member_extras::{Absence, AbsenceReason, MemberExtras, MemberProgress, ViewExtras};
pub use monitor::{Monitor, WatchEventTotals};
pub use provenance::{Provenance, Transport};
pub use session::{Expiry, ListedSession};
pub use session_ends::{EndLedger, ExpiredSession};
pub use session_timing::{ServerSettings, SessionTiming};
pub use silence::Silence;
pub use software::Software;
pub use sync_settings::SyncSettings;
pub use view::{Load, MAX_ANSWER_AGE, ServerView};
pub use watch_event_rates::WatchEventRates;
pub use watches::{WatchTotals, WatchedPath, WatchingSessions};

#[cfg(test)]
mod tests;
