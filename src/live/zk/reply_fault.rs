//! The defects of a server's reply, and the bounds on replies.

/// The largest reply accepted from a server, in bytes: 64 MiB. ZooKeeper's own clients default to 1
/// MiB.
pub const MAX_REPLY: u32 = 64 << 20;

/// The most names accepted in one reply.
pub const MAX_NAMES: u32 = 1 << 20;

/// The defect of bytes that a server sent. The text continues a sentence that starts with the
/// server's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyFault {
    /// A frame above [`MAX_REPLY`].
    #[error(
        "sent a reply of {0} bytes, more than the bound of 64 MiB: check that it is ZooKeeper's client port, and look for \
         a node with too many children or too much data"
    )]
    TooLarge(u32),
    /// A frame with a negative length.
    #[error("sent a reply of negative length ({0}): {ADVICE}")]
    NegativeLength(i32),
    /// More than [`MAX_NAMES`] names.
    #[error(
        "sent a list of {0} names, more than the bound of 1048576: look for a node with too many children, or choose \
         a root below it (--root)"
    )]
    TooMany(u32),
    /// A frame that ends before its content.
    #[error("cut a reply short: {ADVICE}")]
    Short,
    /// The connection ended within a frame.
    #[error(
        "sent only the beginning of a reply before the connection was cut: check that it runs, and look into its log"
    )]
    Unfinished,
    /// No bytes arrived for too long while a request was outstanding.
    #[error(
        "fell silent, so the connection to it was cut: check that it runs, and that the network lets its answers through"
    )]
    FellSilent,
    /// A frame that continues after its content.
    #[error("sent a reply with extra bytes at its end: {ADVICE}")]
    Trailing,
    /// An impossible length or number within a frame.
    #[error("sent a reply with an impossible value ({0}): {ADVICE}")]
    Impossible(i32),
    /// A name that is not UTF-8.
    #[error("sent a name that is not UTF-8: {ADVICE}")]
    NotText,
    /// A reply without a request.
    #[error("answered a request that was never sent: {ADVICE}")]
    NeverAsked,
    /// A reply to a later request.
    #[error("answered requests out of their order: {ADVICE}")]
    OutOfOrder,
    /// An unknown error code.
    #[error("answered with an error code that does not exist ({0}): {ADVICE}")]
    UnknownError(i32),
}

/// The advice for a server that breaks the protocol.
const ADVICE: &str = "check that it is ZooKeeper's client port and that nothing in between changes the data, and look into the server's log";
