//! Observes on one session, over all its connections.

use std::sync::Arc;
use std::time::Duration;

use lockscope_requests::Requests;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use zookeeper_client::{Error, SessionState};

use super::connection_end::ConnectionEnd;
use super::connection_run::{ConnectionParts, ConnectionRun};
use super::member_watch::MemberWatch;
use super::outbox::{Gone, Outbox};
use super::schedule::ReadScheduler;
use super::server_trust::{Distrust, ServerTrust};
use crate::zk::TransportStatus;
use lockscope_base::time::{Backoff, now};
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::follow::{Follower, WatchStyle};
use lockscope_model::queue::{Change, ConnectionState};
use lockscope_model::server_view::{LagWatch, ServerView};

/// Connections that may be cut in a row while a request is under way, before the request counts as
/// unknown to the server: a server that does not know a request may close the connection instead of
/// answering.
const CUTS_BEFORE_FALLBACK: u32 = 3;

/// A connection that lasted this long was stable. A reconnect within this time is not explained to
/// the user.
pub(super) const STABLE_AFTER: Duration = Duration::from_secs(1);

/// Returns the pauses between tries: from 250 ms to 10 s.
pub(super) fn retry_backoff() -> Backoff {
    Backoff::new(Duration::from_millis(250), Duration::from_secs(10))
}

/// Runs a [`ConnectionRun`] on each connection of a session, and keeps what outlives the session.
pub(super) struct SessionObserver {
    pub(super) follower: Follower,
    pub(super) outbox: Outbox,
    pub(super) open_queue: watch::Receiver<Option<ZnodePath>>,
    pub(super) views: watch::Receiver<Arc<ServerView>>,
}

/// State kept across the connections of one session.
struct SessionRun {
    trust: ServerTrust,
    scheduler: ReadScheduler,
    cuts_at_watch: u32,
    cuts_at_count: u32,
    backoff: Backoff,
    lag: LagWatch,
    /// The member that was left last because it lagged.
    left: Option<String>,
}

impl SessionObserver {
    /// Observes on one session, over all its connections. Returns the final state of the session.
    pub(super) async fn session(
        &mut self,
        client: &dyn Requests,
        servers: &TransportStatus,
    ) -> Result<SessionState, Gone> {
        let mut session = SessionRun {
            trust: ServerTrust::new(),
            scheduler: ReadScheduler::default(),
            cuts_at_watch: 0,
            cuts_at_count: 0,
            backoff: retry_backoff(),
            lag: LagWatch::default(),
            left: None,
        };
        loop {
            let began = Instant::now();
            match self.connection(client, servers, &mut session).await {
                ConnectionEnd::Gone => return Err(Gone),
                ConnectionEnd::Over(state) => return Ok(state),
                ConnectionEnd::Left => {}
                // A server that breaks the protocol is cut off before the library sees its bytes.
                ConnectionEnd::Cut(reason) => self.report_lost(servers.broken().unwrap_or(reason), servers),
            }
            if let Some(state) = self.reconnected(client, servers.clone()).await? {
                return Ok(state);
            }
            // After a useful connection the reconnect is immediate; a server that fails right after
            // the start is retried with backoff.
            if self.follower.is_synced() && began.elapsed() > STABLE_AFTER {
                session.backoff.reset();
            } else {
                self.outbox.send_while(sleep(session.backoff.next_pause())).await?;
            }
        }
    }

    /// Observes on one connection.
    async fn connection(
        &mut self,
        client: &dyn Requests,
        servers: &TransportStatus,
        session: &mut SessionRun,
    ) -> ConnectionEnd {
        if session.cuts_at_watch >= CUTS_BEFORE_FALLBACK {
            session.trust.watching = WatchStyle::OneShot;
        }
        if session.trust.is_whole() && self.views.borrow().runs_keeper() {
            session.trust.lose(Distrust::Keeper);
        }
        let mut followed = self.follow(client, servers, session).await;
        if followed.as_ref().is_err_and(|error| *error == Error::Unimplemented) {
            session.trust.watching = WatchStyle::OneShot;
            followed = self.follow(client, servers, session).await;
        }
        let end = match followed {
            Ok(end) => end,
            Err(error) => {
                session.cuts_at_watch += 1;
                return error.into();
            }
        };
        let read_together = session.scheduler.reads_together();
        session.scheduler.cut();
        if read_together && !session.scheduler.reads_together() {
            tracing::info!("the server cuts the connection at multiRead: nodes are read one by one");
        }
        if self.follower.is_counting() {
            session.cuts_at_count += 1;
            if session.cuts_at_count >= CUTS_BEFORE_FALLBACK {
                self.follower.stop_counting();
            }
        }
        end
    }

    /// Sets the watches and follows the events. The error is the server's answer to the watches.
    async fn follow(
        &mut self,
        client: &dyn Requests,
        servers: &TransportStatus,
        session: &mut SessionRun,
    ) -> Result<ConnectionEnd, Error> {
        let parts = ConnectionParts {
            member: MemberWatch::begin(client, servers, &mut self.views, &mut session.lag, &mut session.left),
            follower: &mut self.follower,
            scheduler: &mut session.scheduler,
            outbox: &mut self.outbox,
            open_queue: &mut self.open_queue,
            trust: &mut session.trust,
        };
        match ConnectionRun::begin(client, parts).await {
            Err(gone) => Ok(gone.into()),
            Ok(Err(error)) => Err(error),
            Ok(Ok(connection)) => {
                session.cuts_at_watch = 0;
                Ok(connection.run().await)
            }
        }
    }

    /// Waits until there is a connection again. Returns the state of the session if the session
    /// ends first. Reports the reason when the reconnect takes long.
    async fn reconnected(
        &mut self,
        client: &dyn Requests,
        mut servers: TransportStatus,
    ) -> Result<Option<SessionState>, Gone> {
        let (mut states, lost) = (client.states(), Instant::now());
        let (mut rounds, mut said) = (servers.rounds(), String::new());
        loop {
            if servers.library_ended() {
                return Ok(Some(SessionState::Closed));
            }
            match states.peek() {
                SessionState::SyncConnected => return Ok(None),
                state if state.is_terminated() => return Ok(Some(state)),
                _ => {}
            }
            let waiting = async {
                tokio::select! {
                    // The state comes first: after a reconnect no server is at fault.
                    biased;
                    _ = states.changed() => None,
                    found = servers.exhausted(rounds) => Some(found),
                }
            };
            let Some(found) = self.outbox.send_while(waiting).await? else { continue };
            rounds = servers.rounds();
            let reason = format!("the connection was cut: {found}");
            if lost.elapsed() >= STABLE_AFTER && reason != said {
                said.clone_from(&reason);
                self.report(ConnectionState::Lost { reason });
            }
        }
    }

    fn report_lost(&mut self, reason: String, servers: &TransportStatus) {
        tracing::info!(reason, "connection lost");
        self.report_last_heard(servers);
        self.report(ConnectionState::Lost { reason });
    }

    /// Reports when the server was last heard from: silence is noticed later than it began.
    pub(super) fn report_last_heard(&mut self, servers: &TransportStatus) {
        let Some(ago) = servers.last_heard().and_then(|ago| i64::try_from(ago.as_millis()).ok()) else { return };
        self.outbox.push(Change::Heard { at: Timestamp(now().0.saturating_sub(ago)) });
    }

    pub(super) fn report(&mut self, state: ConnectionState) {
        self.outbox.push(Change::Connection(state));
    }
}
