//! Settles ends later: a node went, and the servers tell afterwards that its session expired.
//!
//! At the deletion of a node it is often unknown whether its session expired
//! ([`session_expired`](super::session_expired)). When the server that ends sessions no longer lists
//! the session, its count of expired sessions may prove it ([`EndLedger`]). The node went at that
//! expiry if it went no earlier: one that went before was deleted by somebody else.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::session_expired::{EXPIRY_PART, MAX_EXPIRY_ERROR};
use super::{
    ClientIdentity, Contender, ContenderId, Happening, LockEvent, LockId, LockName, LockQueue, LockTable,
    SessionExpired,
};
use crate::server_view::{EndLedger, ExpiredSession, ServerView};
use lockscope_base::znode::{SessionId, Timestamp};

/// Maximum number of ends that wait for answers of the servers, and of sessions whose nodes are
/// waited for. Beyond it the oldest ends stay unknown.
const MAX_PENDING: usize = 10_000;

/// Maximum delay between an expiry and our seeing the deletion of a node, where the count alone does
/// not tell which sessions expired.
const MAX_DELAY: Duration = Duration::from_secs(1);

/// Maximum time for which they are kept: that of the ledger, and some rounds.
const MAX_AGE: Duration = Duration::from_secs(15);

/// What is known of the ends of sessions that may still be settled. Recordings store it beside the
/// table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PendingEnds {
    ledger: EndLedger,
    /// The sessions that expired lately, and when this was learned. The deletions of their nodes may
    /// be seen later.
    expired: VecDeque<(Timestamp, ExpiredSession)>,
    ends: VecDeque<PendingEnd>,
}

/// A node that went, though it is not known whether its session expired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PendingEnd {
    lock: LockName,
    contender: ContenderId,
    node: Arc<str>,
    session: SessionId,
    client: ClientIdentity,
    at: Timestamp,
    held: bool,
}

impl PendingEnds {
    fn expired(&self, session: SessionId) -> Option<ExpiredSession> {
        self.expired.iter().rev().map(|(_, expired)| *expired).find(|expired| expired.session == session)
    }

    fn learned(&mut self, expired: &[ExpiredSession], now: Timestamp) {
        self.expired.extend(expired.iter().map(|expired| (now, *expired)));
        while self.expired.len() > MAX_PENDING || self.expired.front().is_some_and(|(at, _)| now.since(*at) > MAX_AGE) {
            self.expired.pop_front();
        }
    }

    fn push(&mut self, end: PendingEnd) {
        if self.ends.len() == MAX_PENDING {
            self.ends.pop_front();
        }
        self.ends.push_back(end);
    }

    /// Takes the ends that satisfy `is_settled`, and drops those that are too old.
    fn take(&mut self, now: Timestamp, is_settled: impl Fn(&PendingEnd) -> bool) -> Vec<PendingEnd> {
        let (settled, ends) = std::mem::take(&mut self.ends).into_iter().partition(is_settled);
        self.ends = ends;
        self.ends.retain(|end| now.since(end.at) <= MAX_AGE);
        Vec::from(settled)
    }

    /// Keeps only the ends of sessions that satisfy `stays`.
    pub fn retain(&mut self, stays: impl Fn(SessionId) -> bool) {
        self.ends.retain(|end| stays(end.session));
    }

    pub fn forget_names(&mut self) {
        self.ends.iter_mut().for_each(|end| end.client.name = None);
    }
}

impl LockTable {
    /// Returns whether the session of a node that goes now expired, by the servers' count.
    pub(super) fn was_counted_as_expired(&self, session: SessionId, now: Timestamp) -> bool {
        let expired = self.pending_ends.expired(session);
        expired.is_some_and(|expired| self.is_end_of_node(expired, now))
    }

    /// Returns whether the expiry of a session deleted its node, which went at a time.
    ///
    /// Before the expiry, another client may have deleted the node of a client that was gone.
    fn is_end_of_node(&self, expired: ExpiredSession, went_at: Timestamp) -> bool {
        let Some(timeout) = self.timeout_of(expired.session) else { return false };
        let error = expired.at.latest.since(expired.at.earliest);
        error <= MAX_EXPIRY_ERROR.min(timeout / EXPIRY_PART) && went_at >= expired.at.earliest
    }

    /// Remembers the end of a contender that may have expired.
    pub(super) fn end_is_pending(&mut self, lock: LockId, contender: &Contender, held: bool, now: Timestamp) {
        let (Some(session), Some(lock)) = (contender.session(), self.lock(lock)) else { return };
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
