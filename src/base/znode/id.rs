//! Ids of sessions and transactions.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A ZooKeeper session's id: 64 bits, of which the top byte names the server that created it.
///
/// Displayed as unsigned hex (`0x10000a2b3c40001`), like ZooKeeper's four-letter words. AdminServer
/// and the names of Java's `WriteLock` print the same bits as a signed decimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionId(pub i64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The id of a ZooKeeper transaction. It only rises as long as an ensemble keeps its data. No two
/// nodes that ever had the same path have the same creation zxid (`czxid`), so it serves as a
/// lock's fencing token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Zxid(pub i64);

impl fmt::Display for Zxid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_with_a_high_server_id_is_shown_as_unsigned_hex() {
        assert_eq!(SessionId(-2).to_string(), "0xfffffffffffffffe");
        assert_eq!(SessionId(0x1_0000_a2b3_c400).to_string(), "0x10000a2b3c400");
    }
}
