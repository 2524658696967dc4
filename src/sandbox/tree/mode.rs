//! The create modes of the protocol.

use lockscope_base::wire::ErrorCode;

/// A create mode, decoded from the numbers of ZooKeeper's `CreateMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeMode {
    pub ephemeral: bool,
    pub sequential: bool,
    pub ttl: bool,
}

impl TreeMode {
    pub fn of(flags: i32) -> Result<Self, ErrorCode> {
        let mode = |ephemeral, sequential, ttl| Ok(Self { ephemeral, sequential, ttl });
        match flags {
            // The operation makes a container; the mode 4 alone makes a persistent node.
            0 | 4 => mode(false, false, false),
            1 => mode(true, false, false),
            2 => mode(false, true, false),
            3 => mode(true, true, false),
            5 => mode(false, false, true),
            6 => mode(false, true, true),
            _ => Err(ErrorCode::BadArguments),
        }
    }
}
