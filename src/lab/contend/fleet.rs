//! A running fleet: starts, controls and stops all clients of a scenario.
//!
//! [`Fleet`] is the handle. Its task (`Runner`) starts the clients, runs commands, and publishes
//! statuses until the last client is gone. News in quick succession share one status, and no trace
//! is lost when a status is replaced.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};
use zookeeper_client::Client as Session;

use super::client::FleetShared;
use super::coordinator::Coordinator;
use super::outcome::Remains;
use super::roster::{Roster, RosterStatus};
use super::stepping::joined;
use super::tally::Tally;
use super::{
    ClientState, ContendError, FleetCommand, FleetOptions, FleetOutcome, FleetStatus, FleetTotals, OwnDeletions,
    ResourceStatus, Scenario, ServerEvents,
};
use lockscope_base::znode::ZnodePath;
use lockscope_live::deadline::until;
use lockscope_live::zk;
use lockscope_live::zk::{ConnectOptions, Dialer};

/// The maximum number of queued commands.
pub const MAX_QUEUED_COMMANDS: usize = 1024;

/// A running fleet. Dropping it ends its clients in the background; [`stop`](Self::stop) also waits
/// for the end.
#[derive(Debug)]
pub struct Fleet {
    published: watch::Receiver<Published>,
    commands: mpsc::Sender<FleetCommand>,
    task: JoinHandle<FleetOutcome>,
    cancel: DropGuard,
    scenario: Arc<Scenario>,
}

impl Fleet {
    /// Starts to connect the clients, in spawned tasks. Once all have a session, they begin to
    /// contend together.
    ///
    /// The fleet's own session creates the missing parents of the path and deletes them at the end.
    /// The servers are asked for their counters (`mntr`) once a second.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn start(options: FleetOptions, scenario: Scenario) -> Result<Self, ContendError> {
        Self::start_beside(options, scenario, &OwnDeletions::default())
    }

    /// Starts a fleet beside other fleets of this program on this ensemble that share `deletions`.
    /// Otherwise like [`start`](Self::start).
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn start_beside(
        options: FleetOptions,
        scenario: Scenario,
        deletions: &OwnDeletions,
    ) -> Result<Self, ContendError> {
        scenario.check()?;
        let scenario = Arc::new(scenario);
        let (publish, published) = watch::channel(Published::new(FleetStatus::new(&scenario)));
        let (commands, receiver) = mpsc::channel(MAX_QUEUED_COMMANDS);
        let cancel = CancellationToken::new();
        let runner = Runner::new(options, Arc::clone(&scenario), deletions.clone(), publish);
        let task = tokio::spawn(runner.run(receiver, cancel.clone()));
        Ok(Self { published, commands, task, cancel: cancel.drop_guard(), scenario })
    }

    /// Returns the last status, at most 100 ms old while the fleet runs.
    pub fn status(&self) -> Arc<FleetStatus> {
        Arc::clone(&self.published.borrow().status)
    }

    /// Waits for the next status: ten a second, or up to 60 while the fleet is stepped through.
    /// After the last status, waits for ever. The traces of statuses that the caller missed are
    /// part of the next one. Cancel safe.
    ///
    /// # Errors
    ///
    /// The reason why the fleet cannot run.
    pub async fn changed(&mut self) -> Result<Arc<FleetStatus>, ContendError> {
        if self.published.changed().await.is_err() {
            // The fleet's task has ended, which happens only when this value is dropped or the task
            // panics.
            return std::future::pending().await;
        }
        let published = self.published.borrow_and_update();
        match &published.error {
            Some(error) => Err(error.clone()),
            None => Ok(published.take()),
        }
    }

    /// Sends a command to the fleet. A command for an unknown client does nothing. Returns `false`,
    /// and drops the command, if [`MAX_QUEUED_COMMANDS`] are queued already.
    pub fn command(&self, command: FleetCommand) -> bool {
        self.commands.try_send(command).is_ok()
    }

    /// Ends all clients and waits until their sessions are closed and their nodes are gone, a few
    /// seconds at most. The links of crashed and cut clients are restored, so that they can close
    /// their sessions.
    pub async fn stop(self) -> FleetOutcome {
        let Self { task, cancel, scenario, published, .. } = self;
        drop(cancel);
        let Ok(outcome) = task.await else {
            // The task panicked or the runtime is shutting down: only the last status is known.
            let status = Arc::clone(&published.borrow().status);
            return FleetOutcome::of(&FleetStatus { scenario, ..(*status).clone() }, Remains::default());
        };
        outcome
    }
}

impl FleetStatus {
    /// Creates the status of a fleet that has just started.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        Self {
            scenario: Arc::clone(scenario),
            elapsed: Duration::ZERO,
            age: Duration::ZERO,
            connected: 0,
            finished: false,
            clients: Vec::new(),
            totals: FleetTotals::default(),
            overlaps: Vec::new(),
            server: None,
            server_silence: None,
            servers_lost_for: None,
            stepped: false,
            next_step: None,
            trace: Arc::default(),
            trace_missed: 0,
            turn: None,
            resource: ResourceStatus::default(),
        }
    }
}

/// The published state of a fleet.
#[derive(Debug)]
struct Published {
    status: Arc<FleetStatus>,
    error: Option<ContendError>,
    /// Whether the status was taken. Looking at a status does not take it.
    taken: AtomicBool,
}

impl Published {
    fn new(status: FleetStatus) -> Self {
        Self { status: Arc::new(status), error: None, taken: AtomicBool::new(false) }
    }

    /// Replaces the status. If the previous one was not taken, its trace is prepended to the new
    /// one's.
    fn replace(&mut self, mut status: FleetStatus) {
        let before = &self.status;
        let is_lost = !*self.taken.get_mut() && (before.trace_missed > 0 || !before.trace.is_empty());
        if is_lost {
            (status.trace, status.trace_missed) =
                joined(&before.trace, before.trace_missed, &status.trace, status.trace_missed);
        }
        *self.taken.get_mut() = false;
        self.status = Arc::new(status);
    }

    /// Takes the status. The next status will not repeat its trace.
    fn take(&self) -> Arc<FleetStatus> {
        self.taken.store(true, Ordering::Relaxed);
        Arc::clone(&self.status)
    }
}

/// The interval between published statuses.
const STATUS_INTERVAL: Duration = Duration::from_millis(100);

/// The interval between queries of the servers' counters.
const SERVER_COUNT_INTERVAL: Duration = Duration::from_secs(1);

/// The time in which the clients must leave.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);

/// The pause before a new session replaces one that has ended.
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);

/// The number of sessions that are opened at a time. A server that gets all at once answers none in
/// time.
const MAX_CONCURRENT_CONNECTS: usize = 32;

/// The open files of one client: its end of the connection, both ends of its link, and the link's
/// listener.
const OPEN_FILES_PER_CLIENT: u64 = 4;

/// The state of a fleet's task.
#[derive(Debug)]
struct Runner {
    options: FleetOptions,
    fleet: Arc<FleetShared>,
    publish: watch::Sender<Published>,
    pacing: StatusPacing,
    coordinator: Option<Coordinator>,
    roster: Option<Roster>,
    contending_since: Option<Duration>,
    finished_at: Option<Duration>,
    server: Option<ServerEvents>,
    server_silence: Option<String>,
    /// The running query of the servers' counters. A slow server must not delay commands.
    counting: Option<JoinHandle<Result<ServerEvents, String>>>,
    /// The time since which the coordinator's session has had no connection.
    lost_since: Option<Duration>,
    /// The running attempt to open a session in place of the coordinator's, which has ended.
    reconnecting: Option<JoinHandle<Option<Session>>>,
}

impl Runner {
    fn new(
        options: FleetOptions,
        scenario: Arc<Scenario>,
        deletions: OwnDeletions,
        publish: watch::Sender<Published>,
    ) -> Self {
        let planned = scenario.rounds.map(|rounds| u64::from(rounds) * u64::from(scenario.clients));
        let tally = Mutex::new(Tally::new(scenario.algorithm, planned, deletions));
        let fleet = Arc::new(FleetShared {
            connection: options.connection.clone(),
            tally,
            started: Instant::now(),
            contending: watch::Sender::new(false),
            connecting: Semaphore::new(MAX_CONCURRENT_CONNECTS),
            stepped: watch::Sender::new(false),
            scenario,
        });
        Self {
            options,
            fleet,
            publish,
            pacing: StatusPacing::new(Instant::now()),
            coordinator: None,
            roster: None,
            contending_since: None,
            finished_at: None,
            server: None,
            server_silence: None,
            counting: None,
            lost_since: None,
            reconnecting: None,
        }
    }

    /// Runs until cancelled, then ends all clients.
    async fn run(mut self, mut commands: mpsc::Receiver<FleetCommand>, cancel: CancellationToken) -> FleetOutcome {
        let ran = cancel.run_until_cancelled(self.serve(&mut commands)).await;
        if let Some(Err(error)) = ran {
            self.publish.send_modify(|published| published.error = Some(error));
            cancel.cancelled().await;
        }
        self.end().await
    }

    async fn serve(&mut self, commands: &mut mpsc::Receiver<FleetCommand>) -> Result<(), ContendError> {
        self.prepare().await?;
        let mut status_ticks = interval(STATUS_INTERVAL);
        status_ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last_count = Instant::now();
        let news = self.fleet.tally().trace.news();
        loop {
            let Some(roster) = &mut self.roster else { return Ok(()) };
            tokio::select! {
                biased;
                Some(command) = commands.recv() => match command {
                    FleetCommand::Join(clients) => {
                        roster.join(clients).await.map_err(|error| ContendError::Sockets(error.to_string()))?;
                    }
                    command => roster.command(command),
                },
                () = roster.ended() => {}
                _ = status_ticks.tick() => {
                    self.begin()?;
                    self.check_connection().await;
                    self.take_server_events().await;
                    if self.ends() {
                        self.count_server_events().await;
                    } else if self.counting.is_none() && last_count.elapsed() >= SERVER_COUNT_INTERVAL {
                        self.start_to_count();
                        last_count = Instant::now();
                    }
                    self.publish_status();
                }
                () = until(self.pacing.due()) => {
                    self.pacing.forget_news();
                    if self.fleet.tally().trace.is_new() {
                        self.publish_status();
                    }
                }
                () = news.notified(), if self.pacing.due().is_none() => self.pacing.has_news(),
            }
        }
    }

    async fn prepare(&mut self) -> Result<(), ContendError> {
        let dialer = Arc::new(Dialer::new(&self.options.connection).await.map_err(ContendError::connect)?);
        let coordinator = self.coordinator.insert(Coordinator::connect(&self.options, Arc::clone(&dialer)).await?);
        coordinator.prepare(&self.fleet.scenario).await?;
        self.server_silence = coordinator.start_counting().await.err();
        let clients = self.fleet.scenario.clients;
        raise_open_file_limit(u64::from(clients) * OPEN_FILES_PER_CLIENT);
        let roster = self.roster.insert(Roster::new(Arc::clone(&self.fleet), dialer));
        roster.join(clients).await.map_err(|error| ContendError::Sockets(error.to_string()))
    }

    /// Lets the clients contend once all have a session.
    fn begin(&mut self) -> Result<(), ContendError> {
        let mut tally = self.fleet.tally();
        if self.contending_since.is_some()
            || !tally.are_all_in(&[ClientState::Ready, ClientState::Failed, ClientState::Crashed])
        {
            return Ok(());
        }
        let failed: Vec<String> = tally
            .clients_mut()
            .filter(|(_, stats)| stats.state == ClientState::Failed)
            .map(|(_, stats)| stats.trouble.clone().unwrap_or_default())
            .collect();
        if let Some(why) = failed.first() {
            let failed = u32::try_from(failed.len()).unwrap_or(u32::MAX);
            return Err(ContendError::Clients { failed, asked: self.fleet.scenario.clients, why: why.clone() });
        }
        self.contending_since = Some(self.fleet.now());
        self.fleet.contending.send_replace(true);
        Ok(())
    }

    /// Returns whether the last round has ended since the previous call.
    fn ends(&mut self) -> bool {
        let tally = self.fleet.tally();
        let over: &[ClientState] = match self.fleet.scenario.rounds {
            Some(_) => &[ClientState::Done, ClientState::Failed, ClientState::Crashed],
            None => &[ClientState::Failed],
        };
        let is_over = self.contending_since.is_some() && tally.are_all_in(over);
        let ends_now = is_over && self.finished_at.is_none();
        // Clients may join a fleet that was finished.
        self.finished_at = is_over.then(|| self.finished_at.unwrap_or(tally.last_release()));
        ends_now
    }

    /// Starts to query the servers' counters in the background, unless they are known not to
    /// answer.
    fn start_to_count(&mut self) {
        self.counting = None;
        let Some(coordinator) = self.coordinator.as_ref().filter(|_| self.server_silence.is_none()) else { return };
        let (counter, deletions) = (coordinator.counter().clone(), self.fleet.tally().deletions());
        self.counting = Some(tokio::spawn(async move { counter.counted_since_start(deletions).await }));
    }

    /// Takes the servers' answers if they have arrived.
    async fn take_server_events(&mut self) {
        if self.counting.as_ref().is_some_and(JoinHandle::is_finished) {
            self.wait_for_server_events().await;
        }
    }

    async fn wait_for_server_events(&mut self) {
        let Some(counting) = self.counting.take() else { return };
        match counting.await {
            Ok(Ok(events)) => self.server = Some(events),
            Ok(Err(why)) => (self.server, self.server_silence) = (None, Some(why)),
            // The runtime is shutting down.
            Err(_) => {}
        }
    }

    /// Queries the servers' counters and waits for the answers.
    async fn count_server_events(&mut self) {
        self.start_to_count();
        self.wait_for_server_events().await;
    }

    /// Records since when there is no connection. Opens another session if the coordinator's has
    /// ended.
    async fn check_connection(&mut self) {
        let now = self.fleet.now();
        let Some(coordinator) = &mut self.coordinator else { return };
        if let Some(task) = self.reconnecting.take_if(|task| task.is_finished())
            && let Ok(Some(session)) = task.await
        {
            coordinator.resume(session);
        }
        if coordinator.is_connected() {
            self.lost_since = None;
            return;
        }
        self.lost_since.get_or_insert(now);
        if coordinator.is_over() && self.reconnecting.is_none() {
            self.reconnecting = Some(tokio::spawn(reconnect(self.options.connection.clone())));
        }
    }

    fn publish_status(&mut self) {
        let status = self.status();
        self.publish.send_modify(|published| published.replace(status));
        self.pacing.published(Instant::now());
    }

    fn status(&mut self) -> FleetStatus {
        let age = self.fleet.now();
        let RosterStatus { clients, totals, overlaps, stepped, next_step, trace, trace_missed, turn, resource } =
            self.roster.as_mut().map(Roster::status).unwrap_or_default();
        let has_session =
            |doing| !matches!(doing, ClientState::Connecting | ClientState::Failed | ClientState::Crashed);
        let connected = clients.iter().filter(|client| has_session(client.state)).count();
        FleetStatus {
            scenario: Arc::clone(&self.fleet.scenario),
            elapsed: self
                .contending_since
                .map_or(Duration::ZERO, |begun| self.finished_at.unwrap_or(age).saturating_sub(begun)),
            age,
            connected: u32::try_from(connected).unwrap_or(u32::MAX),
            finished: self.finished_at.is_some(),
            clients,
            totals,
            overlaps,
            server: self.server,
            server_silence: self.server_silence.clone(),
            servers_lost_for: self.lost_since.map(|since| age.saturating_sub(since)),
            stepped,
            next_step,
            trace,
            trace_missed,
            turn,
            resource,
        }
    }

    /// Ends all clients, deletes the created parents, and looks for leftovers.
    async fn end(mut self) -> FleetOutcome {
        if self.contending_since.is_some() && self.finished_at.is_none() {
            self.count_server_events().await;
        }
        let mut status = self.status();
        if let Some(roster) = &mut self.roster {
            roster.leave_all(LEAVE_TIMEOUT).await;
            status.totals = roster.totals();
        }
        let remains = self.find_remains().await;
        FleetOutcome::of(&status, remains)
    }

    /// Finds the nodes that are left after the clients have gone. Deletes the parents and closes
    /// the coordinator's session.
    async fn find_remains(&mut self) -> Remains {
        let Some(mut coordinator) = self.coordinator.take() else { return Remains::default() };
        let deadline = Instant::now() + LEAVE_TIMEOUT;
        let found = timeout_at(deadline, self.find_nodes(&mut coordinator)).await.ok().flatten();
        let is_lost = found.is_none() && !coordinator.is_connected();
        if !is_lost {
            let _ = timeout_at(deadline, coordinator.delete_parents()).await;
        }
        if let Some(task) = self.reconnecting.take() {
            task.abort();
        }
        let lost = if is_lost { Some(self.why_lost().await) } else { None };
        let count = found.as_ref().and_then(|nodes| u64::try_from(nodes.len()).ok());
        let nodes = found.unwrap_or_else(|| self.roster.as_ref().map(Roster::nodes).unwrap_or_default());
        Remains { count, nodes, lost }
    }

    async fn find_nodes(&mut self, coordinator: &mut Coordinator) -> Option<Vec<ZnodePath>> {
        if coordinator.is_over() {
            let task =
                self.reconnecting.get_or_insert_with(|| tokio::spawn(reconnect(self.options.connection.clone())));
            let session = task.await.ok().flatten();
            self.reconnecting = None;
            coordinator.resume(session?);
        }
        let roster = self.roster.as_ref()?;
        coordinator.left_behind(&self.fleet.scenario, roster.sessions()).await
    }

    async fn why_lost(&self) -> String {
        match zk::connect(&self.options.connection).await {
            Err(error) => error.to_string(),
            Ok(_) => "the connection was lost, and no new one could be made in time".to_owned(),
        }
    }
}

/// Opens another session after a pause. Returns `None` if there is no connection.
async fn reconnect(connection: ConnectOptions) -> Option<Session> {
    sleep(RECONNECT_PAUSE).await;
    zk::connect(&connection).await.ok()
}

/// Raises the program's limit of open files by `files`, at most to the hard limit.
fn raise_open_file_limit(files: u64) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = files.saturating_add(256);
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(limit.maximum.map_or(wanted, |maximum| wanted.min(maximum)));
        // If this fails, opening the sockets reports the error.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// The shortest time between a status caused by news and the one before it. Together with the
/// periodic statuses there are at most 60 a second.
const MIN_STATUS_PAUSE: Duration = Duration::from_millis(20);

/// The pacing of the statuses that news cause. Without news there are none.
#[derive(Clone, Copy, Debug)]
struct StatusPacing {
    last: Instant,
    due: Option<Instant>,
}

impl StatusPacing {
    fn new(now: Instant) -> Self {
        Self { last: now, due: None }
    }

    /// Records that there is news.
    fn has_news(&mut self) {
        self.due = self.due.or(Some(self.last + MIN_STATUS_PAUSE));
    }

    /// Returns when a status is due because of news, or `None` without news. The time may be in the
    /// past.
    fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Drops the news: they are known already.
    fn forget_news(&mut self) {
        self.due = None;
    }

    /// Records that a status with all news up to now was published.
    fn published(&mut self, now: Instant) {
        (self.last, self.due) = (now, None);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::super::{ClientId, Scenario, TraceEntry, TraceStep};
    use super::*;
    use lockscope_base::znode::ZnodePath;
    use lockscope_lock::Algorithm;

    /// Returns a status with one trace entry of that millisecond.
    fn status(millis: u64) -> FleetStatus {
        let path = ZnodePath::new("/lock").expect("a valid path");
        let at = Duration::from_millis(millis);
        let entry = TraceEntry { at, client: ClientId(1), step: TraceStep::Releases };
        FleetStatus {
            trace: Arc::new([entry]),
            ..FleetStatus::new(&Arc::new(Scenario::new(Algorithm::Chain, path, 1)))
        }
    }

    fn times(status: &FleetStatus) -> Vec<u128> {
        status.trace.iter().map(|entry| entry.at.as_millis()).collect()
    }

    #[test]
    fn each_trace_entry_is_taken_once_even_if_statuses_were_missed() {
        let mut published = Published::new(status(1));
        published.replace(status(2));
        published.replace(status(3));
        assert_eq!(times(&published.take()), [1, 2, 3]);
        published.replace(status(4));
        assert_eq!(times(&published.status), [4], "looked at, not taken");
        published.replace(status(5));
        assert_eq!(times(&published.take()), [4, 5]);
    }

    #[test]
    fn the_first_news_after_a_pause_are_due_at_once_and_later_ones_share_a_status() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut pacing = StatusPacing::new(start);
        assert_eq!(pacing.due(), None, "without news there is no status");
        pacing.has_news();
        assert_eq!(pacing.due(), Some(at(20)), "due, and that at 100 ms is in the past");
        pacing.published(at(100));
        assert_eq!(pacing.due(), None);
        pacing.has_news();
        pacing.has_news();
        assert_eq!(pacing.due(), Some(at(120)));
        pacing.forget_news();
        assert_eq!(pacing.due(), None);
    }

    proptest! {
        #[test]
        fn however_news_come_two_statuses_by_news_are_twenty_ms_apart_and_no_news_wait_longer(
            pauses in prop::collection::vec(0..60_u64, 1..200),
        ) {
            let start = Instant::now();
            let mut pacing = StatusPacing::new(start);
            let (mut now, mut published) = (start, vec![start]);
            for pause in pauses {
                let next = now + Duration::from_millis(pause);
                if let Some(due) = pacing.due().filter(|due| *due <= next) {
                    let at = due.max(now);
                    prop_assert!(at - *published.last().unwrap() >= MIN_STATUS_PAUSE);
                    pacing.published(at);
                    published.push(at);
                }
                now = next;
                pacing.has_news();
                let due = pacing.due().unwrap();
                prop_assert!(due.saturating_duration_since(now) <= MIN_STATUS_PAUSE, "news wait no longer");
            }
            let in_a_second = |from: &Instant| published.iter().filter(|at| *at >= from && **at - *from < Duration::from_secs(1)).count();
            prop_assert!(published.iter().map(in_a_second).all(|statuses| statuses <= 50));
        }
    }
}
