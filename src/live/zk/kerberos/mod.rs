//! Login by Kerberos: the SASL mechanism GSSAPI, with the tickets or the keytab of the user who
//! runs the program.
//!
//! The transport logs in on each connection to a member before the client library learns of the
//! connection. Each member has a principal of its own, and only the transport knows the connected
//! member. Requests to the KDC block, so they run on separate threads, with a bound on their number
//! and on the time to wait for one.
//!
//! Without the Cargo feature `gssapi` every login fails with a sentence that says so.

#[cfg(not(feature = "gssapi"))]
mod absent;
mod fault;
#[cfg(any(feature = "gssapi", test))]
mod frames;
#[cfg(feature = "gssapi")]
mod login;

#[cfg(not(feature = "gssapi"))]
pub(super) use self::absent::{KerberosSession, check};

pub use self::fault::KerberosFault;
pub use fault::{BadPrincipal, ServerPrincipal};

#[cfg(feature = "gssapi")]
pub(super) use self::login::{KerberosSession, check};
