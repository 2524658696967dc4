//! Connecting to an ensemble: connect string, session, authentication, TLS.
//!
//! [`connect()`] makes one attempt of bounded length. When it fails, [`ConnectError`] names the
//! fault of each server and what to do about it. The caller decides whether and when to try again:
//! [`ConnectError::is_permanent`] tells when a retry is useless, and
//! [`ConnectError::ends_a_command`] when a command should end.
//!
//! Every session goes through a transport of its own (`transport`): a loopback port that serves
//! only this process. The transport opens the connections to the servers, and blocks data that the
//! client library could not handle.

pub mod admin;
mod call;
mod connect;
mod connect_string;
mod containers;
mod data_folders;
mod dial;
mod ensemble_address;
mod error;
mod fault;
pub mod four_letter;
mod kerberos;
mod login;
mod member_comparer;
mod member_trees;
mod node;
mod options;
mod probe;
mod quiet_stream;
mod reply_fault;
mod session;
mod stat;
mod stream;
pub mod survey;
mod tls;
mod transport;

pub(crate) use connect::connect_and_gather;
pub use connect::{connect, connect_through};
pub use connect_string::{BadConnectString, servers};
pub use containers::create_containers;
pub use data_folders::local_data_folders;
pub use dial::Dialer;
pub use ensemble_address::EnsembleAddress;
pub use error::ConnectError;
pub use fault::{ServerFault, Unreachable};
pub use four_letter::watch_events;
pub use kerberos::{BadPrincipal, KerberosFault, ServerPrincipal};
pub use login::{until_unverified_login, unverified_login};
pub use member_comparer::compare_members;
pub use member_trees::READS_PER_REQUEST;
pub use node::{AclEntry, MAX_ACL_ENTRIES, MAX_READ_DATA, NodeReading, read_node};
pub use options::{Auth, ConnectOptions, KerberosLogin, SessionRole, TlsFiles};
pub use reply_fault::{MAX_NAMES, MAX_REPLY, ReplyFault};
pub use session::close_session;
pub use session::ended;
pub use stat::stat_of;
pub use transport::{Flow, Passed, Transport, TransportStatus};
