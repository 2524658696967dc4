//! Follows the ensemble over one connection of the observer's session.
//!
//! The work rests on two things: that the server answers, and that it can be trusted. So events
//! that name a watched root are checked by a read, and a server that turns out to be wrong is
//! followed with one-shot watches.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};
use rustc_hash::FxHashSet;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use zookeeper_client::{Error, Stat, WatchedEvent};

use super::outbox::{ConsumerGone, Outbox};
use super::overload::{OverloadedConnection, Overloads, discarding};
use super::schedule::{ReadRequest, ReadScheduler};
use super::server_checks::{Beat, Distrust, Heartbeat, MemberWatch, RootClaim, SILENT_AFTER, ServerTrust};
use super::wire;
use super::wire::{Answered, ConnectionEnd, RecursiveWatches, WatchDelivery, end_of};
use lockscope_base::znode::ZnodePath;
use lockscope_model::follow::{Follower, NodeEvent, WatchStyle};
use lockscope_model::queue::{Change, ConnectionState};
use lockscope_model::server_view::Lag;
use lockscope_requests::{Requests, SessionStates, Watch};

/// The most events that are handled before other work gets its turn.
const MAX_EVENTS_IN_A_ROW: usize = 4096;

/// The most time that the connection may take to end after it was asked to.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(2);

/// An event of a root, and the root's stat after it.
type RootRead = (RootClaim, Result<Option<Stat>, Error>);

/// The parts that outlive a connection.
pub struct ConnectionParts<'a> {
    pub follower: &'a mut Follower,
    pub scheduler: &'a mut ReadScheduler,
    pub outbox: &'a mut Outbox,
    /// The parent of the open queue.
    pub open_queue: &'a mut watch::Receiver<Option<ZnodePath>>,
    pub member: MemberWatch<'a>,
    pub trust: &'a mut ServerTrust,
}

/// The work on one connection of a session, from its start until it is cut.
///
/// All of this is dropped at the cut: the library does not set recursive watches again after a
/// reconnect, and no watch reports the events in between.
pub struct ConnectionRun<'a> {
    client: &'a dyn Requests,
    follower: &'a mut Follower,
    scheduler: &'a mut ReadScheduler,
    outbox: &'a mut Outbox,
    open_queue: &'a mut watch::Receiver<Option<ZnodePath>>,
    member: MemberWatch<'a>,
    trust: &'a mut ServerTrust,
    states: Box<dyn SessionStates>,
    watchers: RecursiveWatches,
    armed: FuturesUnordered<Watch>,
    reads: FuturesUnordered<BoxFuture<'a, Answered>>,
    /// The checks of events that name roots.
    claims: FuturesUnordered<BoxFuture<'a, RootRead>>,
    /// The roots in `claims`. Each is there once.
    claimed: FxHashSet<ZnodePath>,
    began: Instant,
    /// When waiting reads may be sent; `None` while no read waits for its time.
    wakes_at: Option<Duration>,
    overloads: Overloads,
    heartbeat: Heartbeat<'a>,
}

impl<'a> ConnectionRun<'a> {
    /// Sets the watches. An error of the server is returned as it is, so that the caller can see
    /// whether the server knows such watches.
    pub async fn begin(
        client: &'a dyn Requests,
        parts: ConnectionParts<'a>,
    ) -> Result<Result<Self, Error>, ConsumerGone> {
        let ConnectionParts { follower, scheduler, outbox, open_queue, member, trust } = parts;
        let mut states = client.states();
        let watchers = match trust.watching {
            // Old servers close the connection at requests that they do not know: at the request
            // for a recursive watch, and at the requests by which the library removes the watches
            // of the last connection, which it has just sent. One more reply may arrive together
            // with the end of the connection; the reply after that proves that the connection
            // lasts.
            WatchStyle::OneShot => {
                if scheduler.reads_together() {
                    tracing::info!(
                        "the server is older than 3.6: it knows no multiRead, and nodes are read one by one"
                    );
                    scheduler.read_one_by_one();
                }
                for _ in 0..2 {
                    match outbox.send_while(client.stat("/")).await? {
                        Ok(_) | Err(Error::NoAuth) => states = client.states(),
                        Err(error) => return Ok(Err(error)),
                    }
                }
                RecursiveWatches::default()
            }
            WatchStyle::Recursive => {
                let adding = RecursiveWatches::add(client, follower.roots(), member.consume_events());
                match outbox.send_while(adding).await? {
                    Ok(watchers) => watchers,
                    Err(error) => return Ok(Err(error)),
                }
            }
        };
        let (armed, reads, claims) = (FuturesUnordered::new(), FuturesUnordered::new(), FuturesUnordered::new());
        Ok(Ok(Self {
            client,
            follower,
            scheduler,
            outbox,
            open_queue,
            member,
            trust,
            states,
            watchers,
            armed,
            reads,
            claims,
            claimed: FxHashSet::default(),
            began: Instant::now(),
            wakes_at: None,
            overloads: Overloads::default(),
            heartbeat: Heartbeat::new(client),
        }))
    }

    /// Reads everything and follows the events until the connection is cut.
    pub async fn run(mut self) -> ConnectionEnd {
        self.begin_reading();
        loop {
            if let Err(end) = self.step().await {
                return end;
            }
        }
    }

    /// Waits for the next event of any kind and handles it. The order of the branches serves the
    /// consumer while events flood in, and puts events before answers: see [`Follower`]. Silence
    /// comes last, since what has arrived disproves it.
    async fn step(&mut self) -> Result<(), ConnectionEnd> {
        self.issue();
        if self.outbox.is_overflown() || self.follower.waiting_for_events() > self.outbox.max_held() {
            return self.start_over().await;
        }
        let wakes_at = self.began + self.wakes_at.unwrap_or_default();
        tokio::select! {
            biased;
            sent = self.outbox.send(), if !self.outbox.is_empty() => Ok(sent?),
            event = self.watchers.next() => {
                self.heard();
                self.handle(&event).await?;
                self.handle_waiting().await
            }
            Some(event) = self.armed.next(), if !self.armed.is_empty() => {
                self.heard();
                self.handle(&event).await
            }
            state = self.states.changed() => Err(end_of(state)),
            Some(answered) = self.reads.next(), if !self.reads.is_empty() => {
                self.heard();
                self.handle_waiting().await?;
                self.handle_answer(answered)
            }
            Some((claim, now)) = self.claims.next(), if !self.claims.is_empty() => {
                self.claimed.remove(&claim.root);
                self.judge(&claim, now)
            }
            () = sleep_until(wakes_at), if self.wakes_at.is_some() => Ok(()),
            lag = self.member.lags() => self.leave_or_wait(lag).await,
            beat = self.heartbeat.next() => self.beat(beat),
        }
    }

    /// Handles a lagging member: tries another one, or waits until this one has caught up. Drops
    /// whatever the member sends meanwhile.
    async fn leave_or_wait(&mut self, lag: Lag) -> Result<(), ConnectionEnd> {
        self.drop_reads();
        let leaves = self.member.leaves(&lag);
        for change in self.member.report(lag, leaves) {
            self.outbox.push(change);
        }
        if leaves {
            // The library notices at once that its connection is gone.
            let gone = self.outbox.send_while(sleep(LEAVE_TIMEOUT));
            return match discarding(&mut self.watchers, &mut *self.states, gone).await {
                Err(ConnectionEnd::Cut(_)) => Err(ConnectionEnd::Left),
                Err(end) => Err(end),
                Ok(slept) => Err(slept.map_or_else(ConnectionEnd::from, |()| Error::ConnectionLoss.into())),
            };
        }
        let current = self.outbox.send_while(self.member.has_caught_up());
        discarding(&mut self.watchers, &mut *self.states, current).await??;
        self.begin_reading();
        Ok(())
    }

    /// Sends the reads that may be sent, and passes on the changes found.
    fn issue(&mut self) {
        self.wakes_at = None;
        if self.open_queue.has_changed().unwrap_or_default() {
            self.follower.set_open_queue(self.open_queue.borrow_and_update().clone());
        }
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
        self.reads.push(wire::send(self.client, request, self.trust.watching, awaited));
    }

    fn handle_answer(&mut self, answered: Answered) -> Result<(), ConnectionEnd> {
        let Answered { request, answers, watch } = answered;
        match answers {
            Ok(answers) => {
                self.scheduler.answered(&request, answers.iter());
                self.outbox.count_reads(answers.len());
                let was_synced = self.follower.is_synced();
                for (read, answer) in request.reads.iter().zip(answers) {
                    let is_root = self.follower.roots().contains(read.path());
                    if self.trust.is_keepers(read, &answer, is_root) && self.trust.is_whole() {
                        self.lose_trust(Distrust::Keeper);
                        return Ok(());
                    }
                    self.follower.answer(read, self.trust.trusted(answer));
                }
                if self.follower.is_synced() && !was_synced {
                    self.scheduler.synced();
                }
            }
            Err(error) if request.is_multiple() && !wire::ends_connection(&error) => self.take_apart(request, &error),
            Err(error) => return Err(error.into()),
        }
        self.armed.extend(watch);
        Ok(())
    }

    /// Splits a request for several reads that the server refused or whose reply cannot be read.
    /// Each read is sent alone, so that an error hits only the node that causes it.
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

    /// Handles the events that have arrived. The server sent each answer that is taken later after
    /// all of these events.
    async fn handle_waiting(&mut self) -> Result<(), ConnectionEnd> {
        for _ in 0..MAX_EVENTS_IN_A_ROW {
            let Some(event) = self.watchers.next_now() else { return Ok(()) };
            self.handle(&event).await?;
        }
        Ok(())
    }

    async fn handle(&mut self, event: &WatchedEvent) -> Result<(), ConnectionEnd> {
        match wire::read_event(event) {
            Some(WatchDelivery::Node(event, path, zxid)) => {
                if self.trust.watching == WatchStyle::Recursive && self.follower.roots().contains(&path) {
                    self.check(event, &path).await?;
                    if !self.trust.is_whole() {
                        return Ok(());
                    }
                }
                self.follower.event(event, &path, zxid);
            }
            Some(WatchDelivery::Session(state)) => return Err(end_of(state)),
            None => {}
        }
        for change in self.follower.take_changes() {
            self.outbox.push(change);
        }
        Ok(())
    }

    /// Handles an overload: drops the reads under way and reads everything again, after a pause
    /// when overloads repeat. The recursive watches stay, and their events are dropped meanwhile.
    async fn start_over(&mut self) -> Result<(), ConnectionEnd> {
        self.drop_reads();
        let pause = self.overloads.next_pause(self.began.elapsed());
        let connection = OverloadedConnection {
            client: self.client,
            follower: self.follower,
            scheduler: self.scheduler,
            outbox: self.outbox,
            states: &mut *self.states,
            watchers: &mut self.watchers,
            trust: self.trust,
        };
        self.overloads.sit_out(pause, connection).await?;
        self.begin_reading();
        Ok(())
    }
}

impl ConnectionRun<'_> {
    fn begin_reading(&mut self) {
        self.heartbeat.heard();
        self.report_connected();
        self.follower.begin(self.trust.watching);
    }

    fn report_connected(&mut self) {
        let session = self.client.session();
        let recursive = self.trust.watching == WatchStyle::Recursive;
        self.outbox.push(Change::Connection(ConnectionState::Connected { session, recursive }));
    }

    fn beat(&mut self, beat: Beat) -> Result<(), ConnectionEnd> {
        match beat {
            Beat::Answered(Err(error)) if wire::ends_connection(&error) => return Err(error.into()),
            Beat::Answered(_) => self.heard(),
            // A large reply on a slow link takes longer, and the question waits behind it.
            Beat::Silent if !self.reads.is_empty() && self.member.has_sent_within(SILENT_AFTER) => self.heard(),
            Beat::Silent => {
                let since = self.heartbeat.heard_at();
                tracing::info!("the ensemble does not answer");
                self.outbox.push(Change::Heard { at: since });
                self.outbox.push(Change::Connection(ConnectionState::Silent { since }));
            }
        }
        Ok(())
    }

    /// Notes that something came from the ensemble. After a silence everything is as before: the
    /// connection has lasted, so no event is missed.
    fn heard(&mut self) {
        if self.heartbeat.heard() {
            self.report_connected();
        }
    }

    /// Goes on with one-shot watches, and reads everything again.
    fn lose_trust(&mut self, why: Distrust) {
        self.trust.lose(why);
        self.watchers = RecursiveWatches::default();
        self.claims.clear();
        self.claimed.clear();
        // Only a listing of its own sets a watch.
        self.scheduler.read_one_by_one();
        self.drop_reads();
        self.begin_reading();
    }

    fn drop_reads(&mut self) {
        self.reads.clear();
        self.scheduler.begin();
        self.armed.clear();
    }

    /// Checks an event of a recursive watch that names the watched root, by one read: all others
    /// name what no server would make up. A root that is written to often must not delay the events
    /// behind, so one check stands for all events of its time. Only the deletion of a root, which
    /// would take all of its locks away, waits for its check.
    async fn check(&mut self, event: NodeEvent, root: &ZnodePath) -> Result<(), ConnectionEnd> {
        if event != NodeEvent::Deleted && !self.claimed.insert(root.clone()) {
            return Ok(());
        }
        let (client, claim) = (self.client, self.trust.claim(event, root));
        let check = async move {
            let now = client.stat(claim.root.as_str()).await;
            (claim, now)
        };
        if event == NodeEvent::Deleted {
            let (claim, now) = self.answered(check).await?;
            return self.judge(&claim, now);
        }
        self.claims.push(check.boxed());
        Ok(())
    }

    /// Waits for an answer before anything else is handled, and notices a silence meanwhile.
    async fn answered<T>(&mut self, answer: impl Future<Output = T>) -> Result<T, ConnectionEnd> {
        let mut answer = pin!(answer);
        loop {
            let beat = tokio::select! {
                biased;
                answer = self.outbox.send_while(&mut answer) => {
                    self.heard();
                    return Ok(answer?);
                }
                beat = self.heartbeat.next() => beat,
            };
            self.beat(beat)?;
        }
    }

    fn judge(&mut self, claim: &RootClaim, now: Result<Option<Stat>, Error>) -> Result<(), ConnectionEnd> {
        match now {
            Ok(now) if claim.is_true(now.as_ref()) => {}
            Ok(_) => self.lose_trust(Distrust::WrongEvent),
            Err(error) if wire::ends_connection(&error) => return Err(error.into()),
            Err(_) => {}
        }
        Ok(())
    }
}
