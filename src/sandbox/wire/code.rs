//! The protocol's error codes.

/// Why the server refuses a request: the numbers of ZooKeeper's `KeeperException.Code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ErrorCode {
    /// Another operation of the same transaction failed.
    RuntimeInconsistency = -2,
    /// The request's body cannot be read.
    MarshallingError = -5,
    /// The server does not know the operation.
    Unimplemented = -6,
    /// An argument makes no sense, most often the path.
    BadArguments = -8,
    /// There is no such node, or no such parent.
    NoNode = -101,
    /// The node's ACL does not let this connection do that.
    NoAuth = -102,
    /// The version is not the one that was asked for.
    BadVersion = -103,
    /// An ephemeral node cannot have children.
    NoChildrenForEphemerals = -108,
    /// There is a node of that path.
    NodeExists = -110,
    /// The node has children.
    NotEmpty = -111,
    /// The ACL is empty, or names a scheme or an id that is none.
    InvalidAcl = -114,
    /// The credentials were not accepted.
    AuthFailed = -115,
    /// This connection has no such watch.
    NoWatcher = -121,
    /// The members cannot be changed: there is one.
    ReconfigDisabled = -123,
    /// The server's memory is used up.
    QuotaExceeded = -125,
}

impl ErrorCode {
    /// As on the wire.
    pub fn number(self) -> i32 {
        self as i32
    }
}
