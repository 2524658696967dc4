//! Settles ends later: a node went, and the servers tell afterwards that its session expired.
//!
//! At the deletion of a node it is often unknown whether its session expired
//! ([`session_expired`](super::session_expired)). When the server that ends sessions no longer lists
//! the session, its count of expired sessions may prove it ([`EndLedger`](crate::server_view::EndLedger)). The node went at that
//! expiry if it went no earlier: one that went before was deleted by somebody else.

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::pending_ends::PendingEnd;
use super::{Contender, Happening, LockEvent, LockId, LockQueue, LockTable, SessionExpired};
use crate::server_view::ServerView;
use lockscope_base::znode::Timestamp;

/// Maximum delay between an expiry and our seeing the deletion of a node, where the count alone does
/// not tell which sessions expired.
const MAX_DELAY: Duration = Duration::from_secs(1);

impl LockTable {
    /// Remembers the end of a contender that may have expired, if a server's count can settle it.
    pub(super) fn end_is_pending(&mut self, lock: LockId, contender: &Contender, held: bool, now: Timestamp) {
        let counts = self.pending_ends.ledger.is_counting();
        let (Some(session), Some(lock), true) = (contender.session(), self.lock(lock), counts) else { return };
        let end = PendingEnd {
            lock: lock.lock_name(),
            contender: contender.id(),
            node: Arc::clone(&contender.node),
            session,
            client: self.identity_of(contender),
            at: now,
            held,
        };
        self.pending_ends.push(end);
    }

    /// Settles ends by the servers' new answers, which the table has taken over.
    pub(super) fn settle_ends(&mut self, before: &ServerView, now: Timestamp, out: &mut Vec<Happening>) {
        let mut pending = std::mem::take(&mut self.pending_ends);
        let mut expired = pending.ledger.look(before, &self.view);
        let went = pending.ends.iter().map(|end| (end.session, end.at)).collect::<FxHashMap<_, _>>();
        expired.extend(pending.ledger.settle(|expired| {
            let went_at = went.get(&expired.session);
            went_at.is_some_and(|at| self.is_end_of_node(*expired, *at) && *at <= expired.at.latest.plus(MAX_DELAY))
        }));
        pending.learned(&expired, now);
        let expired: FxHashMap<_, _> = expired.into_iter().map(|expired| (expired.session, expired)).collect();
        let settled = pending
            .take(now, |end| expired.get(&end.session).is_some_and(|expired| self.is_end_of_node(*expired, end.at)));
        self.pending_ends = pending;
        self.settle(settled, now, out);
    }

    /// Reports the settled ends.
    fn settle(&mut self, settled: Vec<PendingEnd>, now: Timestamp, out: &mut Vec<Happening>) {
        let mut last_holds: FxHashMap<LockId, SessionExpired> = FxHashMap::default();
        for PendingEnd { lock, contender, node, session, client, at, held } in settled {
            if held {
                let expired = SessionExpired { at, node: Arc::clone(&node), session, client: client.clone() };
                last_holds.insert(lock.id, expired);
            }
            let queue = self.lock(lock.id).map_or(0, LockQueue::len);
            out.push(Happening {
                lock: Some(lock),
                contender: Some(contender),
                node: Some(node),
                session: Some(session),
                client,
                queue,
                ..Happening::of_connection(LockEvent::Settled, now)
            });
        }
        for (id, expired) in last_holds {
            self.touched.insert(id);
            if let Some(lock) = self.locks.get_mut(&id) {
                lock.settle_expiry(expired);
            }
        }
    }
}
