//! A fleet's task: starts the clients, runs commands, and publishes statuses until the last client
//! is gone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use zookeeper_client::Client as Session;

use super::super::client::FleetShared;
use super::super::coordinator::Coordinator;
use super::super::deletions::Deletions;
use super::super::outcome::Remains;
use super::super::roster::{Roster, RosterStatus};
use super::super::tally::Tally;
use super::super::{
    ClientState, ContendError, FleetCommand, FleetOptions, FleetOutcome, FleetStatus, Scenario, ServerEvents,
};
use super::published::Published;
use super::status_pacing::StatusPacing;
use lockscope_base::znode::ZnodePath;
use lockscope_live::deadline::until;
use lockscope_live::zk::{self, ConnectOptions, Dialer};

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
pub(super) struct Runner {
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
    pub(super) fn new(
        options: FleetOptions,
        scenario: Arc<Scenario>,
        deletions: Deletions,
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
    pub(super) async fn run(
        mut self,
        mut commands: mpsc::Receiver<FleetCommand>,
        cancel: CancellationToken,
    ) -> FleetOutcome {
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
        let RosterStatus { clients, totals, overlaps, stepped, next_step, trace, trace_missed, resource } =
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
