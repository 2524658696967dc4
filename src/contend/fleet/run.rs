use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use zookeeper_client::Client as Session;

use super::super::client::FleetShared;
use super::super::coordinator::Coordinator;
use super::super::outcome::Remains;
use super::super::roster::Roster;
use super::super::tally::{Deletions, Tally};
use super::super::{Doing, Order, Outcome, Scenario, ServerEvents, Status};
use super::{ContendError, FleetOptions};
use crate::zk::{self, ConnectOptions, Dialer};
use crate::znode::ZnodePath;

/// How often the status is told.
const TELLING: Duration = Duration::from_millis(100);

/// How often the servers are asked.
const ASKING: Duration = Duration::from_secs(1);

/// How long the clients may take to leave.
const LEAVING: Duration = Duration::from_secs(5);

/// Between two tries to get a session in place of one that has ended.
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);

/// How many sessions are made at a time: a server that gets all at once answers none in time.
const CONNECTING: usize = 32;

/// Open files of one client: its own end of the connection, both of the link's, and the link's listener.
const FILES: u64 = 4;

/// What the world may know of a fleet.
#[derive(Clone, Debug)]
pub(super) struct Published {
    pub(super) status: Arc<Status>,
    pub(super) error: Option<ContendError>,
}

/// A fleet's own task.
#[derive(Debug)]
pub(super) struct Runner {
    options: FleetOptions,
    fleet: Arc<FleetShared>,
    publish: watch::Sender<Published>,
    chief: Option<Coordinator>,
    roster: Option<Roster>,
    begun: Option<Duration>,
    ended: Option<Duration>,
    server: Option<ServerEvents>,
    silence: Option<String>,
    /// Since when the coordinator's session has had no connection.
    lost_since: Option<Duration>,
    /// A session in place of the coordinator's, which has ended.
    reconnecting: Option<JoinHandle<Option<Session>>>,
}

impl Runner {
    pub(super) fn new(
        options: FleetOptions,
        scenario: Arc<Scenario>,
        deletions: Deletions,
        publish: watch::Sender<Published>,
    ) -> Self {
        let tally = Mutex::new(Tally::new(scenario.algorithm, deletions));
        let fleet = Arc::new(FleetShared {
            connection: options.connection.clone(),
            tally,
            started: Instant::now(),
            begun: watch::Sender::new(false),
            connecting: Semaphore::new(CONNECTING),
            scenario,
        });
        Self {
            options,
            fleet,
            publish,
            chief: None,
            roster: None,
            begun: None,
            ended: None,
            server: None,
            silence: None,
            lost_since: None,
            reconnecting: None,
        }
    }

    /// Runs until it is cancelled, and then sees everything off.
    pub(super) async fn run(mut self, mut orders: mpsc::Receiver<Order>, cancel: CancellationToken) -> Outcome {
        let ran = cancel.run_until_cancelled(self.live(&mut orders)).await;
        if let Some(Err(error)) = ran {
            self.publish.send_modify(|published| published.error = Some(error));
            cancel.cancelled().await;
        }
        self.end().await
    }

    async fn live(&mut self, orders: &mut mpsc::Receiver<Order>) -> Result<(), ContendError> {
        self.prepare().await?;
        let mut telling = interval(TELLING);
        telling.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut asked = Instant::now();
        loop {
            let Some(roster) = &mut self.roster else { return Ok(()) };
            tokio::select! {
                biased;
                Some(order) = orders.recv() => match order {
                    Order::Join(clients) => {
                        roster.join(clients).await.map_err(|error| ContendError::Sockets(error.to_string()))?;
                    }
                    order => roster.order(order),
                },
                () = roster.ended() => {}
                _ = telling.tick() => {
                    self.begin()?;
                    self.look_for_servers().await;
                    let ends = self.ends();
                    if ends || asked.elapsed() >= ASKING {
                        self.ask().await;
                        asked = Instant::now();
                    }
                    self.tell();
                }
            }
        }
    }

    async fn prepare(&mut self) -> Result<(), ContendError> {
        let dialer = Arc::new(Dialer::new(&self.options.connection).await.map_err(ContendError::connect)?);
        let chief = self.chief.insert(Coordinator::connect(&self.options, Arc::clone(&dialer)).await?);
        chief.prepare(&self.fleet.scenario).await?;
        self.silence = chief.count().await.err();
        let clients = self.fleet.scenario.clients;
        make_room_for(u64::from(clients) * FILES);
        let roster = self.roster.insert(Roster::new(Arc::clone(&self.fleet), dialer));
        roster.join(clients).await.map_err(|error| ContendError::Sockets(error.to_string()))
    }

    /// Lets the clients contend when all have a session.
    fn begin(&mut self) -> Result<(), ContendError> {
        let mut tally = self.fleet.tally();
        if self.begun.is_some() || !tally.is_doing(&[Doing::Ready, Doing::Failed, Doing::Crashed]) {
            return Ok(());
        }
        let failed: Vec<String> = tally
            .cards()
            .filter(|(_, card)| card.doing == Doing::Failed)
            .map(|(_, card)| card.trouble.clone().unwrap_or_default())
            .collect();
        if let Some(why) = failed.first() {
            let failed = u32::try_from(failed.len()).unwrap_or(u32::MAX);
            return Err(ContendError::Clients { failed, asked: self.fleet.scenario.clients, why: why.clone() });
        }
        self.begun = Some(self.fleet.now());
        self.fleet.begun.send_replace(true);
        Ok(())
    }

    /// Whether the last round was made just now.
    fn ends(&mut self) -> bool {
        let tally = self.fleet.tally();
        let over = self.begun.is_some()
            && self.fleet.scenario.rounds.is_some()
            && tally.is_doing(&[Doing::Done, Doing::Failed, Doing::Crashed]);
        let ends = over && self.ended.is_none();
        // Clients may join one that was over.
        self.ended = over.then(|| self.ended.unwrap_or(tally.last_release()));
        ends
    }

    async fn ask(&mut self) {
        let Some(chief) = self.chief.as_ref().filter(|_| self.silence.is_none()) else { return };
        let deletions = self.fleet.tally().deletions();
        match chief.counted(deletions).await {
            Ok(events) => self.server = Some(events),
            Err(why) => (self.server, self.silence) = (None, Some(why)),
        }
    }

    /// Notes since when there is no connection, and gets another session where the coordinator's has ended.
    async fn look_for_servers(&mut self) {
        let now = self.fleet.now();
        let Some(chief) = &mut self.chief else { return };
        if let Some(task) = self.reconnecting.take_if(|task| task.is_finished())
            && let Ok(Some(session)) = task.await
        {
            chief.resume(session);
        }
        if chief.is_connected() {
            self.lost_since = None;
            return;
        }
        self.lost_since.get_or_insert(now);
        if chief.is_over() && self.reconnecting.is_none() {
            self.reconnecting = Some(tokio::spawn(reconnect(self.options.connection.clone())));
        }
    }

    fn tell(&mut self) {
        let status = Arc::new(self.status());
        self.publish.send_modify(|published| published.status = status);
    }

    fn status(&mut self) -> Status {
        let age = self.fleet.now();
        let clients = self.roster.as_mut().map(Roster::statuses).unwrap_or_default();
        let (cost, passed) = self.roster.as_ref().map(Roster::cost).unwrap_or_default();
        let tally = self.fleet.tally();
        let has_session = |doing| !matches!(doing, Doing::Connecting | Doing::Failed | Doing::Crashed);
        let connected = clients.iter().filter(|client| has_session(client.doing)).count();
        Status {
            scenario: Arc::clone(&self.fleet.scenario),
            elapsed: self.begun.map_or(Duration::ZERO, |begun| self.ended.unwrap_or(age).saturating_sub(begun)),
            age,
            connected: u32::try_from(connected).unwrap_or(u32::MAX),
            finished: self.ended.is_some(),
            clients,
            totals: tally.totals(cost, passed),
            overlaps: tally.overlaps(),
            server: self.server,
            server_silence: self.silence.clone(),
            servers_lost_for: self.lost_since.map(|since| age.saturating_sub(since)),
        }
    }

    /// Sees the clients off, takes away what was made, and looks back.
    async fn end(mut self) -> Outcome {
        if self.begun.is_some() && self.ended.is_none() {
            self.ask().await;
        }
        let mut status = self.status();
        if let Some(roster) = &mut self.roster {
            roster.disband(LEAVING).await;
            let (cost, passed) = roster.cost();
            status.totals = self.fleet.tally().totals(cost, passed);
        }
        let remains = self.look_back().await;
        Outcome::of(&status, remains)
    }

    /// What is left behind, after the clients have left. Takes the parents away and closes the coordinator's session.
    async fn look_back(&mut self) -> Remains {
        let Some(mut chief) = self.chief.take() else { return Remains::default() };
        let deadline = Instant::now() + LEAVING;
        let found = timeout_at(deadline, self.find_nodes(&mut chief)).await.ok().flatten();
        let is_lost = found.is_none() && !chief.is_connected();
        if !is_lost {
            let _ = timeout_at(deadline, chief.clear()).await;
        }
        if let Some(task) = self.reconnecting.take() {
            task.abort();
        }
        let lost = if is_lost { Some(self.why_lost().await) } else { None };
        let count = found.as_ref().and_then(|nodes| u64::try_from(nodes.len()).ok());
        let nodes = found.unwrap_or_else(|| self.roster.as_ref().map(Roster::nodes).unwrap_or_default());
        Remains { count, nodes, lost }
    }

    async fn find_nodes(&mut self, chief: &mut Coordinator) -> Option<Vec<ZnodePath>> {
        if chief.is_over() {
            let task =
                self.reconnecting.get_or_insert_with(|| tokio::spawn(reconnect(self.options.connection.clone())));
            let session = task.await.ok().flatten();
            self.reconnecting = None;
            chief.resume(session?);
        }
        let roster = self.roster.as_ref()?;
        chief.left_behind(&self.fleet.scenario, roster.sessions()).await
    }

    async fn why_lost(&self) -> String {
        match zk::connect(&self.options.connection).await {
            Err(error) => error.to_string(),
            Ok(_) => "the connection was lost, and no other one came about in time".to_owned(),
        }
    }
}

/// Another session, if one can be had, after a pause.
async fn reconnect(connection: ConnectOptions) -> Option<Session> {
    sleep(RECONNECT_PAUSE).await;
    zk::connect(&connection).await.ok()
}

/// Lets the program open so many files more, as far as the system's hard limit goes.
fn make_room_for(files: u64) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = files.saturating_add(256);
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(limit.maximum.map_or(wanted, |maximum| wanted.min(maximum)));
        // Where it is not allowed, opening the sockets will say so.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
