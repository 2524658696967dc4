//! Connecting to an ensemble: connect string, session, authentication, TLS.

mod options;

pub use options::{Auth, ConnectOptions, TlsFiles};
