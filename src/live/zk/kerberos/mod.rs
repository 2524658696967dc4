//! A login by Kerberos: SASL's mechanism GSSAPI, with the tickets or the keytab of whoever runs the program.
//!
//! The transport logs in on each connection to a member before the client library learns of it: each member has a principal of its
//! own, and only the transport knows which member it talks to. What Kerberos asks its KDC blocks, so that it runs on threads of
//! its own, with a bound on their number and on the time that is waited for one.
//!
//! Without the Cargo feature `gssapi` every login fails with a sentence that says so.

#[cfg(not(feature = "gssapi"))]
mod absent;
#[cfg(feature = "gssapi")]
mod context;
mod fault;
#[cfg(any(feature = "gssapi", test))]
mod frames;
#[cfg(feature = "gssapi")]
mod login;
mod principal;
#[cfg(feature = "gssapi")]
mod threads;

#[cfg(not(feature = "gssapi"))]
pub(super) use self::absent::{Login, check};
pub use self::fault::KerberosFault;
#[cfg(feature = "gssapi")]
pub(super) use self::login::{Login, check};
pub use self::principal::{BadPrincipal, ServerPrincipal};
