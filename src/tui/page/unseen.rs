//! What the tree does not tell of the time before the first look: how the holder before this one ended. A session that expired and a
//! release leave the same tree behind.

use crate::queue::{Contender, HoldBounds, LockQueue, LockTable};
use crate::text::human::duration;
use crate::znode::Timestamp;

/// What cannot be known of who held before a holder that held already when it was first seen.
pub const NOT_KNOWN: &str = "whether the holder before it released or expired cannot be seen afterwards";

/// Says so, and how long before the first look the holder got the lock; `None` for a holder that was seen to acquire.
pub fn sentence(table: &LockTable, lock: &LockQueue, holder: &Contender, now: Timestamp) -> Option<String> {
    let HoldBounds { at_least, at_most } = table.held_before_seen(lock, holder, now)?;
    let began = match at_least {
        exact if exact == at_most => {
            format!("This client got the lock {} before it was first seen here", duration(exact))
        }
        least if least.is_zero() => "This client held the lock already when it was first seen here".to_owned(),
        least => format!("This client got the lock at least {} before it was first seen here", duration(least)),
    };
    Some(format!("{began}: {NOT_KNOWN}."))
}
