//! What the servers answer about themselves, as types: each member's connections, sessions and watches, and the watch events
//! that it sent. Read from the answers to the four-letter words ([`four_letter`]) and from AdminServer's JSON ([`admin`]).
//!
//! Pure: bytes in, facts out; nothing here asks a server, and every answer may be cut off, hostile or empty.
//!
//! Architecture invariant: what is not known is never taken for what is not so. A [`Listing`] says whether it is whole, a
//! [`MemberView`] keeps `None` for what its server did not answer, and the answers of [`ServerView`] that would need a missing
//! member say so. What came in plain text beside a session over TLS proves nothing ([`Provenance`]).

pub mod admin;
mod anchor;
mod answers;
mod clock;
mod config;
mod connection;
mod expiry_clock;
pub mod four_letter;
mod lag;
mod listing;
mod member;
mod monitor;
mod provenance;
mod session;
mod session_timing;
mod silence;
mod sync_settings;
mod view;
mod watch_event_rates;
mod watches;

pub use anchor::Anchor;
pub use answers::{Liveness, Watchers};
pub use clock::ServerClock;
pub use config::{ConfiguredServer, EnsembleConfig, MAX_MEMBERS};
pub use connection::Connection;
pub use expiry_clock::{ExpiryBounds, ExpiryClock};
pub use lag::{Lag, LagEvidence, LagWatch, Standing};
pub use listing::{Keyed, Listing};
pub use member::{AskedBy, MemberProgress, MemberView, ServerMode};
pub use monitor::{Monitor, WatchEventTotals};
pub use provenance::{Provenance, Transport};
pub use session::{Expiry, ListedSession};
pub use session_timing::{ServerSettings, SessionTiming};
pub use silence::Silence;
pub use sync_settings::SyncSettings;
pub use view::{Load, ServerView};
pub use watch_event_rates::WatchEventRates;
pub use watches::{WatchTotals, WatchedPath, WatchingSessions};

#[cfg(test)]
mod tests;
