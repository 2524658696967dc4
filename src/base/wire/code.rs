//! The protocol's error codes.

/// The server's reason for refusing a request, with the numbers of ZooKeeper's
/// `KeeperException.Code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum ErrorCode {
    /// Another operation of the same transaction failed.
    RuntimeInconsistency = -2,
    /// The request's body cannot be read.
    MarshallingError = -5,
    /// The server does not know the operation.
    Unimplemented = -6,
    /// An argument is invalid, most often the path.
    BadArguments = -8,
    /// The node or its parent does not exist.
    NoNode = -101,
    /// The node's ACL does not permit the operation to this connection.
    NoAuth = -102,
    /// The version does not match.
    BadVersion = -103,
    /// An ephemeral node cannot have children.
    NoChildrenForEphemerals = -108,
    /// The node exists already.
    NodeExists = -110,
    /// The node has children.
    NotEmpty = -111,
    /// The session is over.
    SessionExpired = -112,
    /// The ACL is empty, or names an invalid scheme or id.
    InvalidAcl = -114,
    /// The server rejected the credentials.
    AuthFailed = -115,
    /// The session is connected to another member.
    SessionMoved = -118,
    /// This connection has no such watch.
    NoWatcher = -121,
    /// The server does not support reconfiguration.
    ReconfigDisabled = -123,
    /// The server takes no session without a login.
    LoginRequired = -124,
    /// The server's memory is used up.
    QuotaExceeded = -125,
}

impl ErrorCode {
    /// Returns the number on the wire.
    pub const fn number(self) -> i32 {
        self as i32
    }
}
