//! Detects waiters that no watch event will wake.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::OwnerState;
use super::context::{LockContext, Unwatched};
use super::round_memory::{NodeKey, RoundMemory};
use crate::queue::{ContenderRow, ContenderState, is_registry};
use crate::server_view::Connection;
use lockscope_base::recipe::{LockKind, Recipe, Role};
use lockscope_base::znode::Timestamp;

/// Minimum age of a node when the watches are listed. The client may not have set its watch before.
const NEW: Duration = Duration::from_secs(1);

/// Memory about the waiters that do not watch what they wait for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct UnwatchedMemory {
    waiters: RoundMemory<NodeKey, Quiet>,
}

impl UnwatchedMemory {
    pub fn begin(&mut self) {
        self.waiters.begin();
    }
}

/// Since which look a client has sent no request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Quiet {
    cxid: Option<i64>,
    established: Option<Timestamp>,
    since: Timestamp,
}

/// Returns the waiters of a queue that no watch event will wake.
///
/// A sound waiter also looks like this between its creation and its watch, and between a deletion
/// and its next watch.
pub(super) fn unwatched(context: &LockContext<'_>, memory: &mut UnwatchedMemory) -> Vec<Unwatched> {
    let lock = context.lock;
    let listed = context.table_at.view().lists_watches();
    // Hive polls, and the contenders of an unknown recipe may not wait at all.
    let waits = !matches!(lock.recipe(), Recipe::Hive | Recipe::UnknownQueue) && lock.kind() != LockKind::SingleNode;
    if !listed || !waits || lock.waiting() == 0 || is_registry(lock) {
        return Vec::new();
    }
    let rows = lock.rows(lock.holding()..lock.len());
    rows.filter_map(|row| one(context, &row, &mut memory.waiters)).collect()
}

fn one(
    context: &LockContext<'_>,
    row: &ContenderRow<'_>,
    quiet: &mut RoundMemory<NodeKey, Quiet>,
) -> Option<Unwatched> {
    let (table_at, lock, contender) = (context.table_at, context.lock, row.contender);
    let session = contender.session().filter(|_| row.state == ContenderState::Waits)?;
    let alone = !context.repeated.contains_key(&session);
    if alone && context.watching.contains(&session) {
        return None;
    }
    // kazoo's `Lock` does not wait for readers, though both share one queue.
    if !alone && lock.recipe() == Recipe::KazooReadWrite {
        return None;
    }
    let behind = awaited(context, row)?;
    let gathered = table_at.view().watches_as_of(session)?;
    let since = contender.contends_since(table_at.table().clock_ahead_ms());
    let unseen = table_at.view().watches(session, &lock.path_of(behind.contender)) == Some(false);
    let connected = matches!(table_at.owner_of(contender).0, OwnerState::Live | OwnerState::Silent);
    if !unseen || gathered < since.plus(NEW) || !connected {
        return None;
    }
    let (member, connection) = table_at.view().connection_of(session)?;
    // A client that was never heard may not have got its wake-up yet.
    let heard = connection.last_heard?;
    let asked = member.connections.as_ref()?.at;
    let indifferent = is_indifferent(
        context,
        connection,
        asked,
        quiet.see((lock.id(), contender.czxid.0), || Quiet {
            cxid: connection.last_cxid,
            established: connection.established,
            since: context.now(),
        }),
    );
    // No list shows which sessions watch children, but the number of these watches may exclude this
    // session. The survey requests that number less often.
    let gathered = match table_at.child_watches_beside(session) {
        _ if indifferent => gathered,
        Some((0, counted)) if counted >= since.plus(NEW) => gathered.min(counted),
        _ => return None,
    };
    Some(Unwatched {
        position: row.position,
        session,
        behind: Arc::clone(&behind.contender.node),
        state: contender.czxid.0 ^ behind.contender.czxid.0.rotate_left(32),
        gathered,
        heard,
        cxid: connection.last_cxid,
    })
}

/// Returns whether an awake client sent no request after a contender came or left.
///
/// A client that watches children has to list them again after each event. So this client does not
/// watch them, even if others do.
fn is_indifferent(context: &LockContext<'_>, connection: &Connection, asked: Timestamp, quiet: &mut Quiet) -> bool {
    let same =
        quiet.cxid.is_some() && (quiet.cxid, quiet.established) == (connection.last_cxid, connection.established);
    if !same {
        *quiet = Quiet { cxid: connection.last_cxid, established: connection.established, since: context.now() };
        return false;
    }
    context.lock.woke_herd_at().is_some_and(|changed| {
        quiet.since <= changed
            && asked >= changed.plus(context.thresholds.settled_after)
            && connection.last_heard.is_some_and(|heard| heard >= changed.plus(NEW))
    })
}

/// Returns the single node that a waiter waits for. A waiter for a semaphore's leases waits for
/// many nodes, and watches children.
fn awaited<'a>(context: &LockContext<'a>, row: &ContenderRow<'_>) -> Option<ContenderRow<'a>> {
    let lock = context.lock;
    let names = lock.waits_for(row.position, 2);
    let [name] = names[..] else { return None };
    let position = match row.position.checked_sub(1).and_then(|before| lock.row(before)) {
        Some(before) if &*before.contender.node == name => before.position,
        _ => context.table_at.table().position(&lock.queue_path().child(name))?.1,
    };
    lock.row(position).filter(|awaited| awaited.contender.role != Role::Lease)
}
