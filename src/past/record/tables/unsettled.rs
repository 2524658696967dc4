//! Ends that are settled later: the servers report that the session lives, that it expired, or that
//! its client deleted the node itself.
//!
//! # What proves a release
//!
//! ZooKeeper does not report who deletes a node. But a server lists the last request of each
//! connection, and the zxid of its last reply. If the request is a deletion and the zxid is that of
//! the deletion of the node, the client itself deleted it: a server answers a changing request with
//! the zxid of that very change.
//!
//! Servers before 3.9 do not report which transaction deleted a node, and a client that has sent
//! another request since cannot be told from others. In both cases the end stays `gone`.

use std::collections::VecDeque;
use std::time::Duration;

use super::contender::{ContenderEnd, ContenderRecord};
use lockscope_base::znode::{SessionId, Timestamp, Zxid};
use lockscope_model::queue::{ContenderId, Happening, LockEvent};
use lockscope_model::server_view::{ServerMode, ServerView};

/// The most unsettled ends; beyond it the oldest stay unsettled.
const MAX_UNSETTLED: usize = 10_000;

/// How long a server may still list an ended session or its connection; also the largest error of
/// the server's clock.
const TOLERANCE: Duration = Duration::from_secs(1);

/// How long an end may still be settled after the servers no longer list its session: the table then
/// learns by their count whether it expired.
const SETTLES_WITHIN: Duration = Duration::from_secs(15);

/// The name of a deletion in a server's list.
const DELETE: &str = "DELE";

/// An end for which it is not known whether the session had expired.
#[derive(Clone, Debug)]
struct UnsettledEnd {
    /// The id of the contender's row.
    id: i64,
    contender: ContenderId,
    session: SessionId,
    at: Timestamp,
    /// Whether the servers no longer list the session.
    is_unlisted: bool,
}

/// A node whose deleting transaction is known.
#[derive(Clone, Debug)]
struct UnsettledNode {
    /// The id of the contender's row.
    id: i64,
    session: SessionId,
    at: Timestamp,
    by: Zxid,
    /// The ending if the client deleted the node itself.
    end: ContenderEnd,
}

/// The settled ending of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SettledEnd {
    pub id: i64,
    pub end: ContenderEnd,
}

/// The ends that wait for answers of the servers. Bounded.
#[derive(Clone, Debug, Default)]
pub struct UnsettledEnds {
    ends: VecDeque<UnsettledEnd>,
    deleted: VecDeque<UnsettledNode>,
    /// The settled endings to be written.
    pub settled: Vec<SettledEnd>,
    /// The time of the servers' last answers.
    heard_at: Timestamp,
}

impl UnsettledEnds {
    /// Records that a node was seen to vanish. Returns the ending known now.
    pub fn gone(&mut self, record: &ContenderRecord, happening: &Happening) -> ContenderEnd {
        let (id, at) = (record.id, happening.at);
        if let (Some(session), Some(by)) = (record.session, happening.deleted_by) {
            let end = if happening.event == LockEvent::Left { ContenderEnd::Left } else { ContenderEnd::Released };
            push(&mut self.deleted, UnsettledNode { id, session, at, by, end });
        }
        if !happening.may_have_expired {
            return ContenderEnd::Gone;
        }
        if let (Some(session), Some(contender)) = (record.session, happening.contender.clone()) {
            push(&mut self.ends, UnsettledEnd { id, contender, session, at, is_unlisted: false });
        }
        ContenderEnd::Unknown
    }

    /// Settles the end of a contender whose session expired.
    pub fn expired(&mut self, contender: &ContenderId) {
        let Some(place) = self.ends.iter().position(|unsettled| unsettled.contender == *contender) else { return };
        if let Some(unsettled) = self.ends.remove(place).filter(|_| self.settled.len() < MAX_UNSETTLED) {
            self.settled.push(SettledEnd { id: unsettled.id, end: ContenderEnd::Expired });
        }
    }

    /// Settles ends. Must be called whenever the servers may have answered.
    pub fn heard(&mut self, view: &ServerView) {
        if view.at == self.heard_at || self.ends.is_empty() && self.deleted.is_empty() {
            return;
        }
        self.heard_at = view.at;
        self.settle_living(view);
        self.settle_own(view);
    }

    /// Settles ends of sessions that live: a session listed some time after the end did not expire
    /// at it.
    fn settle_living(&mut self, view: &ServerView) {
        let all_as_of = view.sessions_as_of();
        let settled = &mut self.settled;
        self.ends.retain_mut(|unsettled| {
            let after = unsettled.at.plus(TOLERANCE);
            let lives = !unsettled.is_unlisted && lists_after(view, unsettled.session, after);
            if lives && settled.len() < MAX_UNSETTLED {
                settled.push(SettledEnd { id: unsettled.id, end: ContenderEnd::Gone });
            }
            unsettled.is_unlisted |= all_as_of.is_some_and(|at| at >= after);
            !lives && all_as_of.is_none_or(|at| at < unsettled.at.plus(SETTLES_WITHIN))
        });
    }

    /// Settles deletions by the client itself: its last request was that deletion. After the next
    /// request the list no longer shows it.
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

/// Appends an item; drops the oldest if there are too many.
fn push<T>(waiting: &mut VecDeque<T>, one: T) {
    if waiting.len() >= MAX_UNSETTLED {
        waiting.pop_front();
    }
    waiting.push_back(one);
}

fn is_own_deletion(view: &ServerView, deleted: &UnsettledNode) -> bool {
    view.connection_of(deleted.session).is_some_and(|(member, connection)| {
        member.provenance.can_prove()
            && connection.last_operation.as_deref() == Some(DELETE)
            && connection.last_zxid == Some(deleted.by)
    })
}

/// Returns whether a server that ends sessions listed this session, or a connection of it, at
/// `after` or later. A follower without a leader keeps connections of expired sessions, so it does
/// not count.
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
