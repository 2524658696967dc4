//! Connecting to an ensemble: connect string, session, authentication, TLS.
//!
//! [`connect()`] makes one attempt of bounded length. When it fails, [`ConnectError`] says what is the matter with which
//! server (a short TCP probe finds out) and what to do about it. Whether and when to try again is the caller's
//! choice; [`ConnectError::is_permanent`] tells when it is useless.

pub mod admin;
mod call;
mod connect;
mod connect_string;
mod dial;
mod error;
mod login;
mod options;
mod probe;
mod stat;
pub mod survey;
mod tls;
pub mod words;

pub use connect::connect;
pub(crate) use connect::diagnose;
pub use connect_string::{BadConnectString, servers};
pub(crate) use dial::Dialer;
pub use error::{ConnectError, ServerFault, Unreachable};
pub use login::{until_unverified_login, unverified_login};
pub use options::{Auth, ConnectOptions, TlsFiles};
pub use stat::stat_of;
pub use words::watch_events;
