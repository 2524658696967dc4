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
mod children;
mod connect;
mod dial;
mod fault;
pub mod four_letter;
pub mod identity;
mod kerberos;
mod member_comparer;
mod node;
mod options;
mod stream;
pub mod survey;
mod transport;

pub(crate) use connect::connect_and_gather;

pub use children::{ChildrenReader, PacedReader};
pub use connect::{close_session, connect, connect_through, ended, until_unverified_login, unverified_login};
pub use dial::Dialer;
pub use fault::{ConnectError, MAX_NAMES, MAX_REPLY, ReplyFault, ServerFault, Unreachable};
pub use four_letter::{local_data_folders, watch_events};
pub use kerberos::{BadPrincipal, KerberosFault, ServerPrincipal};
pub use member_comparer::{READS_PER_REQUEST, compare_members};
pub use node::{MAX_ACL_ENTRIES, MAX_READ_DATA, NodeReading, ShownAclEntry, create_containers, read_node, stat_of};
pub use options::{
    Auth, BadConnectString, ConnectOptions, EnsembleAddress, KerberosLogin, SessionRole, TlsFiles, plain_servers,
    servers, without_identity,
};
pub(crate) use transport::EventConsumer;
pub use transport::{Flow, Passed, Transport, TransportStatus};
