//! A waiter that nothing will wake: how that is seen.

use std::sync::Arc;
use std::time::Duration;

use super::Life;
use super::checks::Look;
use crate::queue::{Row, State};
use crate::recipe::{Kind, Recipe, Role};
use crate::znode::{SessionId, Timestamp};

/// A node that was made just before the watches were listed may not be waited with yet.
const NEW: Duration = Duration::from_secs(1);

/// A waiter whose client lives and watches neither what it waits for nor, since nobody does there, any children.
#[derive(Clone, Debug)]
pub(super) struct Unwatched {
    pub session: SessionId,
    /// What it waits for.
    pub behind: Arc<str>,
    /// As long as this is the same it waits for the same node.
    pub state: i64,
    /// When its server was asked who watches what.
    pub gathered: Timestamp,
    /// When its client was last heard of.
    pub heard: Option<Timestamp>,
    /// The number of its client's last request.
    pub cxid: Option<i64>,
}

/// A sound waiter looks so between its creation and its watch, and between the deletion of what it watched and its next watch.
pub(super) fn unwatched(look: &Look<'_>, row: &Row<'_>) -> Option<Unwatched> {
    let (sight, lock, contender) = (look.sight, look.lock, row.contender);
    let session = contender.session?;
    // Hive polls.
    if row.state != State::Waits || lock.recipe() == Recipe::Hive || lock.kind() == Kind::SingleNode {
        return None;
    }
    let alone = !look.repeated.contains_key(&session);
    if alone && look.watching.contains(&session) {
        return None;
    }
    let behind = awaited(look, row)?;
    // kazoo's `Lock` does not wait for readers, though its names stand in one queue with theirs.
    if !alone && lock.recipe() == Recipe::KazooReadWrite {
        return None;
    }
    let gathered = sight.view().watches_as_of(session)?;
    let since = contender.contends_since(sight.table().clock_ahead_ms());
    let unseen = sight.view().watches(session, &lock.path_of(behind.contender)) == Some(false);
    if !unseen || gathered < since.plus(NEW) || sight.child_watches_beside(session) != Some(0) {
        return None;
    }
    let facts = sight.facts(lock, row);
    (facts.life == Life::Live).then(|| Unwatched {
        session,
        behind: Arc::clone(&behind.contender.node),
        state: contender.czxid.0 ^ behind.contender.czxid.0.rotate_left(32),
        gathered,
        heard: facts.connection.and_then(|connection| connection.last_heard),
        cxid: facts.connection.and_then(|connection| connection.last_cxid),
    })
}

/// The one node that a waiter waits for. Who waits for a semaphore's leases waits for many, and watches children.
fn awaited<'a>(look: &Look<'a>, row: &Row<'_>) -> Option<Row<'a>> {
    let lock = look.lock;
    let names = lock.waits_for(row.position, 2);
    let [name] = names[..] else { return None };
    let position = match row.position.checked_sub(1).and_then(|before| lock.row(before)) {
        Some(before) if &*before.contender.node == name => before.position,
        _ => look.sight.table().position(&lock.queue_path().child(name))?.1,
    };
    lock.row(position).filter(|awaited| awaited.contender.role != Role::Lease)
}
