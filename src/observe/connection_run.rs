//! What is under way on one connection of the observer's session.

use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, sleep, sleep_until};
use zookeeper_client::{Client, Error, SessionState, StateWatcher, WatchedEvent};

use super::follow::{Follower, WatchStyle};
use super::outbox::{Gone, Outbox};
use super::schedule::{ReadRequest, ReadScheduler};
use super::wire::{self, Answered, Armed, RecursiveWatches, WatchDelivery};
use crate::queue::{Change, ConnectionState};
use crate::time::Backoff;
use crate::znode::SessionId;

/// Reads asked for by events that may wait to be sent. With more, the server cannot keep up with the events, and a
/// fresh start costs less.
const MAX_QUEUED_READS: usize = 100_000;

/// What is said when more happens than can be taken in.
const OVERLOADED: &str = "events come faster than they can be taken in: what is shown is old until everything was read again; --root limits what \
     is watched";

/// More events than can be taken in within this time since the last time are one flood, and not two.
const OVERLOADED_AGAIN: Duration = Duration::from_secs(60);

/// Events that are handled before anything else gets its turn.
const MAX_EVENTS_IN_A_ROW: usize = 4096;

/// How a connection ended.
#[derive(Debug)]
pub(super) enum ConnectionEnd {
    /// The connection was cut.
    Cut(String),
    /// The session is over.
    Over(SessionState),
    /// The consumer has gone.
    Gone,
}

impl From<Gone> for ConnectionEnd {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

impl From<Error> for ConnectionEnd {
    fn from(error: Error) -> Self {
        match error {
            Error::SessionExpired | Error::SessionMoved => Self::Over(SessionState::Expired),
            Error::AuthFailed => Self::Over(SessionState::AuthFailed),
            Error::ClientClosed => Self::Over(SessionState::Closed),
            Error::ConnectionLoss => Self::Cut("the connection to the server was cut".to_owned()),
            Error::Throttled => Self::Cut("the server is overloaded and refuses to answer".to_owned()),
            error => Self::Cut(format!("the server's answer was not expected ({error})")),
        }
    }
}

/// What is under way on one connection of a session: from when it is there until it is cut.
///
/// Everything here is dropped at the cut: the library does not set recursive watches again after a reconnect, and what
/// happened meanwhile no watch reports.
pub(super) struct ConnectionRun<'a> {
    client: &'a Client,
    follower: &'a mut Follower,
    scheduler: &'a mut ReadScheduler,
    outbox: &'a mut Outbox,
    watching: WatchStyle,
    states: StateWatcher,
    watchers: RecursiveWatches,
    armed: FuturesUnordered<Armed>,
    reads: FuturesUnordered<BoxFuture<'a, Answered>>,
    began: Instant,
    /// When reads that wait may be sent; `None` while nothing waits for that.
    wakes_at: Option<Duration>,
    /// When more happened than could be taken in, the last time.
    overloaded_at: Option<Duration>,
    overload_backoff: Backoff,
}

impl<'a> ConnectionRun<'a> {
    /// Sets the watches. Returns an error of the server's as it is, so that the caller can see whether it knows such watches.
    pub(super) async fn begin(
        client: &'a Client,
        follower: &'a mut Follower,
        scheduler: &'a mut ReadScheduler,
        outbox: &'a mut Outbox,
        watching: WatchStyle,
    ) -> Result<Result<Self, Error>, Gone> {
        let mut states = client.state_watcher();
        let watchers = match watching {
            // Old servers close the connection at a request that they do not know: that for a recursive watch, and those by
            // which the library takes back the watches of the last connection, which it has just sent. One more answer
            // may come together with the end; the next one is given on a connection that lasts.
            WatchStyle::OneShot => {
                if scheduler.reads_together() {
                    tracing::info!(
                        "the server is older than 3.6: it knows no multiRead, and nodes are read one by one"
                    );
                    scheduler.read_one_by_one();
                }
                for _ in 0..2 {
                    match outbox.send_while(client.check_stat("/")).await? {
                        Ok(_) | Err(Error::NoAuth) => states = client.state_watcher(),
                        Err(error) => return Ok(Err(error)),
                    }
                }
                RecursiveWatches::default()
            }
            WatchStyle::Recursive => match outbox.send_while(RecursiveWatches::add(client, follower.roots())).await? {
                Ok(watchers) => watchers,
                Err(error) => return Ok(Err(error)),
            },
        };
        let (armed, reads) = (FuturesUnordered::new(), FuturesUnordered::new());
        Ok(Ok(Self {
            client,
            follower,
            scheduler,
            outbox,
            watching,
            states,
            watchers,
            armed,
            reads,
            began: Instant::now(),
            wakes_at: None,
            overloaded_at: None,
            overload_backoff: Backoff::new(Duration::from_secs(1), Duration::from_secs(20)),
        }))
    }

    /// Reads everything and follows what happens, until the connection is cut.
    pub(super) async fn run(mut self) -> ConnectionEnd {
        self.report_connected();
        self.follower.begin(self.watching);
        loop {
            if let Err(end) = self.step().await {
                return end;
            }
        }
    }

    fn report_connected(&mut self) {
        let session = SessionId(self.client.session_id().0);
        let recursive = self.watching == WatchStyle::Recursive;
        self.outbox.push(Change::Connection(ConnectionState::Connected { session, recursive }));
    }

    /// Waits for one thing to happen and deals with it. The order of the branches keeps the consumer served when events flood in,
    /// and events before answers: see [`Follower`].
    async fn step(&mut self) -> Result<(), ConnectionEnd> {
        self.issue();
        if self.outbox.is_overflown() || self.follower.waiting_for_events() > MAX_QUEUED_READS {
            return self.start_over().await;
        }
        let wakes_at = self.began + self.wakes_at.unwrap_or_default();
        tokio::select! {
            biased;
            sent = self.outbox.send(), if !self.outbox.is_empty() => Ok(sent?),
            event = self.watchers.next() => {
                self.handle(&event)?;
                self.handle_waiting()
            }
            Some(event) = self.armed.next(), if !self.armed.is_empty() => self.handle(&event),
            state = self.states.changed() => Err(end_of(state)),
            Some(answered) = self.reads.next(), if !self.reads.is_empty() => {
                self.handle_waiting()?;
                self.take(answered)
            }
            () = sleep_until(wakes_at), if self.wakes_at.is_some() => Ok(()),
        }
    }

    /// Sends the reads that may be sent, and hands on what was found.
    fn issue(&mut self) {
        self.wakes_at = None;
        while self.outbox.has_room() {
            let Some(request) = self.scheduler.next(self.follower, self.began.elapsed()) else {
                self.wakes_at = self.scheduler.wakes_at();
                break;
            };
            self.send(request);
        }
        if self.follower.waiting() != (0, 0) {
            self.follower.report_unread();
        }
        for change in self.follower.take_changes() {
            self.outbox.push(change);
        }
    }

    fn send(&mut self, request: ReadRequest) {
        let awaited = request.reads.iter().any(|read| self.follower.roots().contains(read.path()));
        self.reads.push(wire::send(self.client, request, self.watching, awaited));
    }

    fn take(&mut self, answered: Answered) -> Result<(), ConnectionEnd> {
        let Answered { request, answers, watcher } = answered;
        match answers {
            Ok(answers) => {
                self.scheduler.answered(&request, answers.iter());
                let was_synced = self.follower.is_synced();
                for (read, answer) in request.reads.iter().zip(answers) {
                    self.follower.answer(read, answer);
                }
                if self.follower.is_synced() && !was_synced {
                    self.scheduler.synced();
                }
            }
            Err(error) if request.is_multiple() && !wire::ends_connection(&error) => self.take_apart(request, &error),
            Err(error) => return Err(error.into()),
        }
        if let Some(watcher) = watcher {
            self.armed.push(Box::pin(watcher.changed()));
        }
        Ok(())
    }

    /// The server refused a request for several reads, or its reply cannot be read: each is sent by itself, so that an error falls
    /// on the node that has it.
    fn take_apart(&mut self, request: ReadRequest, error: &Error) {
        if *error == Error::Unimplemented {
            tracing::info!("the server does not know multiRead: nodes are read one by one");
            self.scheduler.read_one_by_one();
        } else {
            let error = error.to_string();
            tracing::info!(error, reads = request.reads.len(), "a multiRead failed: its nodes are read one by one");
        }
        for request in self.scheduler.refused(request) {
            self.send(request);
        }
    }

    /// Handles the events that are there. Each answer that is taken after this was sent by the server after all of them.
    fn handle_waiting(&mut self) -> Result<(), ConnectionEnd> {
        for _ in 0..MAX_EVENTS_IN_A_ROW {
            let Some(event) = self.watchers.next_now() else { return Ok(()) };
            self.handle(&event)?;
        }
        Ok(())
    }

    fn handle(&mut self, event: &WatchedEvent) -> Result<(), ConnectionEnd> {
        match wire::read_event(event) {
            Some(WatchDelivery::Node(event, path, zxid)) => self.follower.event(event, &path, zxid),
            Some(WatchDelivery::Session(state)) => return Err(end_of(state)),
            None => {}
        }
        for change in self.follower.take_changes() {
            self.outbox.push(change);
        }
        Ok(())
    }

    /// More happens than can be taken in: says so, drops all reads, waits until the consumer has caught up, and reads everything again.
    /// The recursive watches stay, and their events are thrown away meanwhile. When that comes again and again, the pauses
    /// before the next reading grow.
    async fn start_over(&mut self) -> Result<(), ConnectionEnd> {
        let now = self.began.elapsed();
        let again = self.overloaded_at.replace(now).is_some_and(|before| now < before + OVERLOADED_AGAIN);
        if !again {
            self.overload_backoff.reset();
        }
        let pause = if again { self.overload_backoff.next_pause() } else { Duration::ZERO };
        self.outbox.push(Change::Connection(ConnectionState::Overloaded { reason: OVERLOADED.to_owned() }));
        tracing::info!(?pause, "more events than can be taken in: everything is read again");
        self.reads.clear();
        self.scheduler.begin();
        self.armed.clear();
        {
            let outbox = &mut *self.outbox;
            let mut caught_up = std::pin::pin!(async move {
                outbox.caught_up().await?;
                sleep(pause).await;
                Ok::<(), Gone>(())
            });
            loop {
                tokio::select! {
                    biased;
                    caught_up = &mut caught_up => break caught_up?,
                    event = self.watchers.next() => {
                        if let Some(WatchDelivery::Session(state)) = wire::read_event(&event) {
                            return Err(end_of(state));
                        }
                    }
                    state = self.states.changed() => return Err(end_of(state)),
                }
            }
        }
        self.outbox.start_over();
        self.report_connected();
        self.follower.begin(self.watching);
        Ok(())
    }
}

/// What a new state of the session means while a connection lasts: even a connection is the end of it, since it is another one.
fn end_of(state: SessionState) -> ConnectionEnd {
    if state.is_terminated() { ConnectionEnd::Over(state) } else { Error::ConnectionLoss.into() }
}
