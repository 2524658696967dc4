//! Finds the contenders that acquire when some of a queue's nodes are gone.

use std::collections::HashSet;

use super::NextHolder;
use lockscope_base::recipe::{LockKind, RequestMode};
use lockscope_model::queue::{ContenderRow, ContenderState, LockId, LockQueue};

/// The maximum number of next holders that are named.
const MAX_NAMED: usize = 10;

/// The maximum number of waiters that are read to count the readers that acquire together.
const MAX_READERS: usize = 1_000;

/// The holders of a lock after some of its nodes are deleted.
pub(super) struct Outlook {
    /// The contenders that acquire, at most [`MAX_NAMED`].
    pub(super) acquires: Vec<NextHolder>,
    /// The number of further ones that acquire with them, at most about [`MAX_READERS`].
    pub(super) more: usize,
    /// A holder whose node is not deleted.
    pub(super) keeps: Option<NextHolder>,
}

/// Returns the holders after these positions are gone from the queue.
pub(super) fn outlook(lock: &LockQueue, to_delete: &HashSet<(LockId, usize)>) -> Outlook {
    let is_deleted = |row: &ContenderRow<'_>| to_delete.contains(&(lock.id(), row.position));
    let freed = lock.rows(0..lock.holding()).filter(is_deleted).count();
    // Few nodes are to be deleted, and contenders behind the next holders make no difference.
    let window = lock.holding() + to_delete.len() + MAX_READERS;
    let mut left = lock.rows(0..window).filter(|row| !is_deleted(row));
    let holders: Vec<ContenderRow<'_>> = match lock.kind() {
        LockKind::SingleNode => Vec::new(),
        LockKind::Semaphore => left.filter(|row| row.position >= lock.holding()).take(freed).collect(),
        LockKind::ReadWrite => match left.next() {
            Some(first) if first.mode == RequestMode::Read => {
                std::iter::once(first).chain(left.take_while(|row| row.mode == RequestMode::Read)).collect()
            }
            first => first.into_iter().collect(),
        },
        LockKind::Exclusive | LockKind::Election => left.next().into_iter().collect(),
    };
    let acquire: Vec<&ContenderRow<'_>> = holders.iter().filter(|row| row.state != ContenderState::Holds).collect();
    Outlook {
        acquires: acquire.iter().take(MAX_NAMED).map(|row| next(row)).collect(),
        more: acquire.len().saturating_sub(MAX_NAMED),
        keeps: lock.rows(0..lock.holding()).find(|row| !is_deleted(row)).map(|row| next(&row)),
    }
}

fn next(row: &ContenderRow<'_>) -> NextHolder {
    NextHolder { node: row.contender.node.clone(), session: row.contender.session() }
}
