//! Notices that the connected member of the ensemble lags behind the others.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use lockscope_requests::Requests;
use tokio::sync::watch;

use crate::zk::TransportStatus;
use lockscope_base::time::now;
use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_model::queue::{Change, ConnectionState};
use lockscope_model::server_view::{Lag, LagWatch, ServerView, Standing};

/// The end of the report: other members named in the connect string, or none.
const GOES_ON: &str = "continuing with another member";
const WAITS: &str =
    "what it showed is kept until it has caught up; name other members in --connect to continue with one of them";

/// Compares the connected member with the others.
pub(super) struct MemberWatch<'a> {
    servers: &'a TransportStatus,
    views: &'a mut watch::Receiver<Arc<ServerView>>,
    lag: &'a mut LagWatch,
    /// The member that was left last because it lagged.
    left: &'a mut Option<String>,
    session: SessionId,
    /// When the connection was established, by the local clock.
    since: Timestamp,
}

impl<'a> MemberWatch<'a> {
    /// Starts with a new connection of the session.
    pub(super) fn begin(
        client: &dyn Requests,
        servers: &'a TransportStatus,
        views: &'a mut watch::Receiver<Arc<ServerView>>,
        lag: &'a mut LagWatch,
        left: &'a mut Option<String>,
    ) -> Self {
        Self { servers, views, lag, left, session: client.session(), since: now() }
    }

    /// Waits until the member lags. Cancel safe.
    pub(super) async fn lags(&mut self) -> Lag {
        loop {
            if let Standing::Lags(lag) = self.next_standing().await {
                return lag;
            }
        }
    }

    /// Waits until the member is known not to lag any more. Cancel safe.
    pub(super) async fn has_caught_up(&mut self) {
        while self.next_standing().await != Standing::Current {}
    }

    /// Waits for the next server view and returns how the member compares with the others. Pending
    /// forever when no server view arrives any more.
    async fn next_standing(&mut self) -> Standing {
        if self.views.changed().await.is_err() {
            pending::<()>().await;
        }
        let view = Arc::clone(&self.views.borrow_and_update());
        let Some(member) = self.servers.member() else { return Standing::Unknown };
        self.lag.check(&view, &member, self.session, self.since)
    }

    /// Returns whether a byte came from the member within this time.
    pub(super) fn has_sent_within(&self, time: Duration) -> bool {
        self.servers.last_heard().is_some_and(|ago| ago < time)
    }

    /// Leaves the member for another one. Returns `false` when the connect string names no other
    /// member, or when the session came back to this member because no other member accepted it.
    pub(super) fn leaves(&mut self, lag: &Lag) -> bool {
        let leaves = self.servers.has_other_members() && self.left.as_ref() != Some(&lag.member);
        if leaves {
            *self.left = Some(lag.member.clone());
            self.servers.want_another_member();
        }
        leaves
    }

    /// Returns the changes that report the lag.
    pub(super) fn report(&self, lag: Lag, leaves: bool) -> impl Iterator<Item = Change> + use<> {
        let next = match (leaves, self.servers.has_other_members()) {
            (true, _) => format!(": {GOES_ON}"),
            (false, false) => format!(": {WAITS}"),
            (false, true) => ", and no other member takes the session".to_owned(),
        };
        let reason = lag.sentence() + &next;
        tracing::info!(reason, "the member lags");
        let heard = lag.current_until.map(|at| Change::Heard { at });
        let lagging = Change::Connection(ConnectionState::Lagging { member: lag.member, reason });
        heard.into_iter().chain([lagging])
    }
}
