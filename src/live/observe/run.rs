//! Keeps the session of the observer: connects, observes over all connections of a session, and
//! begins new sessions.
//!
//! The exploration of schedules observes over a client that somebody else has connected, such as
//! that of a simulated ensemble.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};
use zookeeper_client::{Client, Error, SessionState};

use super::connection_run::{ConnectionParts, ConnectionRun};
use super::outbox::{ConsumerGone, ObserverProgress, Outbox};
use super::schedule::ReadScheduler;
use super::server_checks::{Distrust, MemberWatch, ServerTrust};
use super::wire::ConnectionEnd;
use super::{ObserveOptions, Observed, RetryPolicy};
use crate::zk::{ConnectOptions, TransportStatus, close_session, connect_and_gather};
use lockscope_base::time::{Backoff, now};
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::follow::{Follower, WatchStyle};
use lockscope_model::queue::{Change, ConnectionState};
use lockscope_model::server_view::{LagWatch, ServerView};
use lockscope_requests::Requests;

/// Tries in a row that find no server at all before a command that reads once gives up.
const MAX_TRIES_WITHOUT_SERVER: u32 = 3;

/// How long events may be gathered so that many are handled at once. It bounds how late a change is
/// seen, and it limits a busy ensemble to 200 wake-ups per second.
const GATHER: Duration = Duration::from_millis(5);

/// Connects, and observes on one session after the other.
pub struct ObserverTask {
    connection: ConnectOptions,
    observer: SessionObserver,
    client: Option<Client>,
    retry: RetryPolicy,
}

impl ObserverTask {
    pub fn new(
        options: ObserveOptions,
        retry: RetryPolicy,
        sender: mpsc::Sender<Vec<Observed>>,
        untaken: ObserverProgress,
        open_queue: watch::Receiver<Option<ZnodePath>>,
        views: watch::Receiver<Arc<ServerView>>,
    ) -> Self {
        let roots = if options.roots.is_empty() { vec![ZnodePath::root()] } else { options.roots };
        Self {
            connection: options.connection,
            observer: SessionObserver {
                follower: Follower::new(&roots, &options.named)
                    .with_recipes(options.recipes)
                    .with_expectations(options.expected),
                outbox: Outbox::new(sender, options.max_backlog, untaken),
                open_queue,
                views,
            },
            client: None,
            retry,
        }
    }

    /// Observes until the ensemble refuses us or the consumer has gone. Dropping the future stops
    /// the observation.
    pub async fn run(&mut self) -> Result<(), ConsumerGone> {
        let mut backoff = retry_backoff();
        let mut reason = None;
        while let Some((client, servers)) = self.connect(&mut backoff, reason).await? {
            self.client = Some(client.clone());
            let began = Instant::now();
            let state = self.observer.session(&client, &servers).await?;
            self.client = None;
            self.observer.report_last_heard(&servers);
            if state == SessionState::AuthFailed {
                let reason = "the ensemble no longer accepts our credentials: check them and start again".to_owned();
                self.observer.report(ConnectionState::Refused { reason });
                break;
            }
            if began.elapsed() > STABLE_AFTER {
                backoff.reset();
            } else {
                self.observer.outbox.send_while(sleep(backoff.next_pause())).await?;
            }
            let expired = || "the session expired while there was no connection".to_owned();
            reason = Some(servers.broken().filter(|_| servers.library_ended()).unwrap_or_else(expired));
        }
        self.observer.outbox.send_all().await
    }

    /// Closes the session, if there is one, and waits briefly for it.
    pub async fn close(self) {
        if let Some(client) = self.client {
            close_session(client).await;
        }
    }

    /// Connects, trying as often as needed. Returns `None` when the ensemble refuses us.
    async fn connect(
        &mut self,
        backoff: &mut Backoff,
        mut reason: Option<String>,
    ) -> Result<Option<(Client, TransportStatus)>, ConsumerGone> {
        let mut tries_without_server = 0;
        for attempt in 1_u32.. {
            self.observer.report(ConnectionState::Connecting { attempt, reason: reason.take(), next_try: None });
            let error = match self.observer.outbox.send_while(connect_and_gather(&self.connection, GATHER)).await? {
                Ok(connected) => {
                    // Once the ensemble has answered, it is waited for indefinitely.
                    self.retry = RetryPolicy::UntilStopped;
                    return Ok(Some(connected));
                }
                Err(error) => error,
            };
            tracing::info!(attempt, error = error.to_string(), "no session");
            let is_command = self.retry != RetryPolicy::UntilStopped;
            if error.is_permanent() || is_command && error.ends_a_command() {
                self.observer.report(ConnectionState::Refused { reason: error.to_string() });
                break;
            }
            tries_without_server = if error.nobody_listens() { tries_without_server + 1 } else { 0 };
            if self.retry == RetryPolicy::ForOneReading && tries_without_server == MAX_TRIES_WITHOUT_SERVER {
                self.observer.report(ConnectionState::Refused { reason: error.after_tries(tries_without_server) });
                break;
            }
            // A command ends with the reason and does not wait.
            let waits = self.retry == RetryPolicy::UntilStopped;
            reason = Some(if waits { error.while_waiting() } else { error.to_string() });
            let delay = backoff.next_pause();
            self.observer.report(ConnectionState::Connecting {
                attempt,
                reason: reason.clone(),
                next_try: Some(now().plus(delay)),
            });
            self.observer.outbox.send_while(sleep(delay)).await?;
        }
        Ok(None)
    }
}

/// Connections that may be cut in a row while a request is under way, before the request counts as
/// unknown to the server: a server that does not know a request may close the connection instead of
/// answering.
const CUTS_BEFORE_FALLBACK: u32 = 3;

/// A connection that lasted this long was stable. A reconnect within this time is not explained to
/// the user.
const STABLE_AFTER: Duration = Duration::from_secs(1);

/// Returns the pauses between tries: from 250 ms to 10 s.
fn retry_backoff() -> Backoff {
    Backoff::new(Duration::from_millis(250), Duration::from_secs(10))
}

/// Runs a [`ConnectionRun`] on each connection of a session, and keeps what outlives the session.
struct SessionObserver {
    follower: Follower,
    outbox: Outbox,
    open_queue: watch::Receiver<Option<ZnodePath>>,
    views: watch::Receiver<Arc<ServerView>>,
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
    async fn session(
        &mut self,
        client: &dyn Requests,
        servers: &TransportStatus,
    ) -> Result<SessionState, ConsumerGone> {
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
                ConnectionEnd::Gone => return Err(ConsumerGone),
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
    ) -> Result<Option<SessionState>, ConsumerGone> {
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
    fn report_last_heard(&mut self, servers: &TransportStatus) {
        let Some(ago) = servers.last_heard().and_then(|ago| i64::try_from(ago.as_millis()).ok()) else { return };
        self.outbox.push(Change::Heard { at: Timestamp(now().0.saturating_sub(ago)) });
    }

    fn report(&mut self, state: ConnectionState) {
        self.outbox.push(Change::Connection(state));
    }
}

/// Observes what is below the roots, at least one, on one session over all its connections. Sends
/// the changes in batches. Holds at most `max_backlog` changes that the consumer has not taken, as
/// [`ObserveOptions::max_backlog`](super::ObserveOptions::max_backlog).
///
/// Returns the final state of the session, or `None` when the consumer has gone. This is what an
/// [`Observer`](super::Observer) does between connecting and the end of its session.
#[doc(hidden)]
pub async fn observe_over(
    client: Arc<dyn Requests>,
    roots: Vec<ZnodePath>,
    max_backlog: usize,
    sender: mpsc::Sender<Vec<Observed>>,
) -> Option<SessionState> {
    // No queue is open, and nobody compares the members.
    let (_, open_queue) = watch::channel(None);
    let (_, views) = watch::channel(Arc::default());
    let mut observer = SessionObserver {
        follower: Follower::new(&roots, &[]),
        outbox: Outbox::new(sender, max_backlog, ObserverProgress::default()),
        open_queue,
        views,
    };
    let state = observer.session(&*client, &TransportStatus::of_no_transport()).await.ok()?;
    observer.outbox.send_all().await.ok()?;
    Some(state)
}
