//! What the tree cannot show about the time before the first look: how the previous holder ended. A
//! session that expired and a release leave the same tree behind.

use lockscope_base::recipe::LockKind;
use lockscope_model::diagnose::TableAt;
use lockscope_model::queue::{Contender, HoldBounds, LockQueue};
use lockscope_model::text::human::duration;

/// What cannot be known about the predecessor of a holder that already held when first seen.
pub const NOT_KNOWN: &str = "whether the holder before it released or expired cannot be seen afterwards";

/// Returns this sentence, and how long before the first look the holder acquired the lock. Returns
/// `None` for a holder that was seen to acquire, and for leases, whose order says nothing.
pub fn sentence(table_at: TableAt<'_>, lock: &LockQueue, holder: &Contender) -> Option<String> {
    let is_lease = lock.kind() == LockKind::Semaphore;
    let held = table_at.table().held_before_seen(lock, holder, table_at.now()).filter(|_| !is_lease);
    let (HoldBounds { at_least, at_most }, who) = (held?, table_at.who(holder));
    let began = match at_least {
        exact if exact == at_most => {
            format!("{who} got the lock {} before it was first seen here", duration(exact))
        }
        least if least.is_zero() => format!("{who} held the lock already when it was first seen here"),
        least => format!("{who} got the lock at least {} before it was first seen here", duration(least)),
    };
    Some(format!("{began}: {NOT_KNOWN}."))
}
