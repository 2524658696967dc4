//! Keeps the session of the observer: connects, and begins new sessions.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};
use zookeeper_client::{Client, SessionState};

use super::outbox::{Gone, Outbox, UntakenChanges};
use super::session_observer::{STABLE_AFTER, SessionObserver, retry_backoff};
use super::{ObserveOptions, Observed, RetryPolicy};
use crate::zk::{ConnectOptions, TransportStatus, close_session, connect_and_gather};
use lockscope_base::time::{Backoff, now};
use lockscope_base::znode::ZnodePath;
use lockscope_model::follow::Follower;
use lockscope_model::queue::ConnectionState;
use lockscope_model::server_view::ServerView;

/// Tries in a row that find no server at all before a command that reads once gives up.
const MAX_TRIES_WITHOUT_SERVER: u32 = 3;

/// How long events may be gathered so that many are handled at once. It bounds how late a change is
/// seen, and it limits a busy ensemble to 200 wake-ups per second.
const GATHER: Duration = Duration::from_millis(5);

/// Connects, and observes on one session after the other.
pub(super) struct ObserverTask {
    connection: ConnectOptions,
    observer: SessionObserver,
    client: Option<Client>,
    retry: RetryPolicy,
}

impl ObserverTask {
    pub(super) fn new(
        options: ObserveOptions,
        retry: RetryPolicy,
        sender: mpsc::Sender<Vec<Observed>>,
        untaken: UntakenChanges,
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
    pub(super) async fn run(&mut self) -> Result<(), Gone> {
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
    pub(super) async fn close(self) {
        if let Some(client) = self.client {
            close_session(client).await;
        }
    }

    /// Connects, trying as often as needed. Returns `None` when the ensemble refuses us.
    async fn connect(
        &mut self,
        backoff: &mut Backoff,
        mut reason: Option<String>,
    ) -> Result<Option<(Client, TransportStatus)>, Gone> {
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
