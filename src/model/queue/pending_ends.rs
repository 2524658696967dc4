//! The ends that may still be settled ([`settled_ends`](super::settled_ends)), and what settles them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ClientIdentity, ContenderId, LockName};
use crate::server_view::{EndLedger, ExpiredSession};
use lockscope_base::znode::{SessionId, Timestamp};

/// Maximum number of ends that wait for answers of the servers, and of sessions whose nodes are
/// waited for. Beyond it the oldest ends stay unknown.
const MAX_PENDING: usize = 10_000;

/// Maximum time for which they are kept: that of the ledger, and some rounds.
const MAX_AGE: Duration = Duration::from_secs(15);

/// What is known of the ends of sessions that may still be settled. Recordings store it beside the
/// table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PendingEnds {
    pub ledger: EndLedger,
    /// The sessions that expired lately, and when this was learned. The deletions of their nodes may
    /// be seen later.
    expired: BTreeMap<SessionId, (Timestamp, ExpiredSession)>,
    pub ends: VecDeque<PendingEnd>,
}

/// A node that went, though it is not known whether its session expired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PendingEnd {
    pub lock: LockName,
    pub contender: ContenderId,
    pub node: Arc<str>,
    pub session: SessionId,
    pub client: ClientIdentity,
    pub at: Timestamp,
    pub held: bool,
}

impl PendingEnds {
    /// Returns when a session expired, if it was one of the last.
    pub fn expired(&self, session: SessionId) -> Option<ExpiredSession> {
        self.expired.get(&session).map(|(_, expired)| *expired)
    }

    /// Remembers sessions that expired.
    pub fn learned(&mut self, expired: &[ExpiredSession], now: Timestamp) {
        self.expired.retain(|_, (at, _)| now.since(*at) <= MAX_AGE);
        let room = MAX_PENDING.saturating_sub(self.expired.len());
        self.expired.extend(expired.iter().take(room).map(|expired| (expired.session, (now, *expired))));
    }

    /// Adds an end.
    pub fn push(&mut self, end: PendingEnd) {
        if self.ends.len() == MAX_PENDING {
            self.ends.pop_front();
        }
        self.ends.push_back(end);
    }

    /// Takes the ends that satisfy `is_settled`, and drops those that are too old.
    pub fn take(&mut self, now: Timestamp, is_settled: impl Fn(&PendingEnd) -> bool) -> Vec<PendingEnd> {
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
