//! Ends of which nobody could tell whether the session had expired: they are settled when the servers say that it lives.

use std::collections::VecDeque;
use std::time::Duration;

use super::contender::{ContenderEnd, ContenderRecord};
use crate::server_view::{ServerMode, ServerView};
use crate::znode::{SessionId, Timestamp};

/// More are not kept; the oldest stay unknown.
const MAX_UNSETTLED: usize = 10_000;

/// A server may list a session, or its connection, for so long after it ended; its clock may be wrong by as much.
const TOLERANCE: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
struct UnsettledEnd {
    /// The contender's row.
    id: i64,
    session: SessionId,
    at: Timestamp,
    /// What it was if the session lives.
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
    /// What is to be written.
    pub settled: Vec<SettledEnd>,
    /// When the servers were last heard.
    heard_at: Timestamp,
}

impl UnsettledEnds {
    /// It ended just now: with `end`, unless its session expired.
    pub fn add(&mut self, record: &ContenderRecord, end: ContenderEnd, at: Timestamp) {
        let Some(session) = record.session else { return };
        if self.ends.len() >= MAX_UNSETTLED {
            self.ends.pop_front();
        }
        self.ends.push_back(UnsettledEnd { id: record.id, session, at, end });
    }

    /// To be called whenever the servers may have answered. A session that they list some time after an end did not expire at it.
    pub fn heard(&mut self, view: &ServerView) {
        if view.at == self.heard_at || self.ends.is_empty() {
            return;
        }
        self.heard_at = view.at;
        let all_as_of = view.sessions_as_of();
        let settled = &mut self.settled;
        self.ends.retain(|unsettled| {
            let after = unsettled.at.plus(TOLERANCE);
            let lives = lists_after(view, unsettled.session, after);
            if lives && settled.len() < MAX_UNSETTLED {
                settled.push(SettledEnd { id: unsettled.id, end: unsettled.end });
            }
            let is_gone = all_as_of.is_some_and(|at| at >= after);
            !lives && !is_gone
        });
    }
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
