//! Ends of which more is known later: the servers say that the session lives, or that its client
//! deleted the node itself.
//!
//! # What proves a release
//!
//! ZooKeeper does not say who deletes a node. A server lists the last request of each connection,
//! and the transaction up to which it had answered by then. Where that request is a deletion, and
//! that transaction is the one that deleted the node, it was the client's own: a server answers a
//! request that changes something with the transaction of this very change. Servers before 3.9 do
//! not say which transaction deleted a node, and a client that has asked something else since
//! cannot be told from others: there the end stays `gone`.

use std::collections::VecDeque;
use std::time::Duration;

use super::contender::{ContenderEnd, ContenderRecord};
use lockscope_base::znode::{SessionId, Timestamp, Zxid};
use lockscope_model::queue::{Happening, LockEvent};
use lockscope_model::server_view::{ServerMode, ServerView};

/// More are not kept; the oldest stay as they are.
const MAX_UNSETTLED: usize = 10_000;

/// A server may list a session, or its connection, for so long after it ended; its clock may be wrong by as much.
const TOLERANCE: Duration = Duration::from_secs(1);

/// What a server calls a deletion.
const DELETE: &str = "DELE";

/// An end of which nobody could tell whether the session had expired.
#[derive(Clone, Debug)]
struct UnsettledEnd {
    /// The contender's row.
    id: i64,
    session: SessionId,
    at: Timestamp,
}

/// A node that is gone by a transaction that is known.
#[derive(Clone, Debug)]
struct DeletedNode {
    /// The contender's row.
    id: i64,
    session: SessionId,
    at: Timestamp,
    by: Zxid,
    /// What it was if its client deleted it.
    end: ContenderEnd,
}

/// A row whose ending is known by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SettledEnd {
    pub id: i64,
    pub end: ContenderEnd,
}

/// What waits for the servers. Bounded.
#[derive(Clone, Debug, Default)]
pub(super) struct UnsettledEnds {
    ends: VecDeque<UnsettledEnd>,
    deleted: VecDeque<DeletedNode>,
    /// What is to be written.
    pub settled: Vec<SettledEnd>,
    /// When the servers were last heard.
    heard_at: Timestamp,
}

impl UnsettledEnds {
    /// A node is gone, as was seen; answers what is known of that now.
    pub fn gone(&mut self, record: &ContenderRecord, happening: &Happening) -> ContenderEnd {
        let (id, at) = (record.id, happening.at);
        if let (Some(session), Some(by)) = (record.session, happening.deleted_by) {
            let end = if happening.event == LockEvent::Left { ContenderEnd::Left } else { ContenderEnd::Released };
            push(&mut self.deleted, DeletedNode { id, session, at, by, end });
        }
        if !happening.may_have_expired {
            return ContenderEnd::Gone;
        }
        if let Some(session) = record.session {
            push(&mut self.ends, UnsettledEnd { id, session, at });
        }
        ContenderEnd::Unknown
    }

    /// To be called whenever the servers may have answered.
    pub fn heard(&mut self, view: &ServerView) {
        if view.at == self.heard_at || self.ends.is_empty() && self.deleted.is_empty() {
            return;
        }
        self.heard_at = view.at;
        self.settle_living(view);
        self.settle_own(view);
    }

    /// A session that the servers list some time after an end did not expire at it.
    fn settle_living(&mut self, view: &ServerView) {
        let all_as_of = view.sessions_as_of();
        let settled = &mut self.settled;
        self.ends.retain(|unsettled| {
            let after = unsettled.at.plus(TOLERANCE);
            let lives = lists_after(view, unsettled.session, after);
            if lives && settled.len() < MAX_UNSETTLED {
                settled.push(SettledEnd { id: unsettled.id, end: ContenderEnd::Gone });
            }
            let is_gone = all_as_of.is_some_and(|at| at >= after);
            !lives && !is_gone
        });
    }

    /// A client whose last request was that deletion made it. What a server says after the next
    /// request is of another one.
    fn settle_own(&mut self, view: &ServerView) {
        let settled = &mut self.settled;
        self.deleted.retain(|deleted| {
            let is_own = is_own_deletion(view, deleted);
            if is_own && settled.len() < MAX_UNSETTLED {
                settled.push(SettledEnd { id: deleted.id, end: deleted.end });
            }
            !is_own && view.at < deleted.at.plus(TOLERANCE)
        });
    }
}

/// Puts one behind the others, in place of the oldest where there are too many.
fn push<T>(waiting: &mut VecDeque<T>, one: T) {
    if waiting.len() >= MAX_UNSETTLED {
        waiting.pop_front();
    }
    waiting.push_back(one);
}

fn is_own_deletion(view: &ServerView, deleted: &DeletedNode) -> bool {
    view.connection_of(deleted.session).is_some_and(|(member, connection)| {
        member.provenance.can_prove()
            && connection.last_operation.as_deref() == Some(DELETE)
            && connection.last_zxid == Some(deleted.by)
    })
}

/// Whether a server that ends sessions listed this one, or a connection of it, at that time or later. A follower that lost its leader
/// keeps connections whose sessions have expired.
fn lists_after(view: &ServerView, session: SessionId, after: Timestamp) -> bool {
    let mut keepers = view.members.iter().filter(|member| member.mode.is_some_and(ServerMode::keeps_sessions));
    keepers.any(|member| {
        let is_connected = member.connections.as_ref().is_some_and(|listing| listing.at >= after)
            && !member.connections_of(session).is_empty();
        let is_listed = member
            .sessions
            .as_ref()
            .is_some_and(|listing| listing.at >= after && !listing.with_key(&session).is_empty());
        is_connected || is_listed
    })
}
