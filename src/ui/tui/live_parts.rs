//! The parts of the live console that its loop drives: the sources of changes, which are the nodes
//! of the ensemble and the servers' reports about themselves, and the test clients of the screen.
//!
//! Each fleet runs in a task that ends with the fleet.

use std::future::pending;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::app::{Event, FleetSide};
use super::run::{ChangeSource, FleetControl};
use lockscope_base::znode::ZnodePath;
use lockscope_lab::contend::{ContendError, Fleet, FleetCommand, FleetOptions, FleetOutcome, OwnDeletions, Scenario};
use lockscope_lab::demo::{SceneCommand, SceneRunner};
use lockscope_live::observe::{Observed, Observer};
use lockscope_live::zk::survey::{Surveyor, WatchersWanted};
use lockscope_live::zk::{BadConnectString, ConnectOptions, compare_members};
use lockscope_model::members::ComparedNodes;
use lockscope_model::queue::Change;
use lockscope_model::server_view::{MemberComparison, ServerView};

/// The requests a second to each member that is compared.
const REQUESTS_PER_SECOND: u32 = 2;

/// The observer, the survey of the servers unless it is off, and the comparison of the members.
#[derive(Debug)]
pub struct Sources {
    /// `None` while no ensemble is open.
    observer: Option<Observer>,
    surveyor: Option<Surveyor>,
    connection: ConnectOptions,
    /// The comparison of the members that is under way; at most one.
    comparing: JoinSet<Result<MemberComparison, BadConnectString>>,
}

impl Sources {
    pub fn new(observer: Option<Observer>, surveyor: Option<Surveyor>, connection: ConnectOptions) -> Self {
        Self { observer, surveyor, connection, comparing: JoinSet::new() }
    }

    /// Stops both; takes at most two seconds.
    pub async fn stop(self) {
        if let Some(observer) = self.stop_asking().await {
            observer.stop().await;
        }
    }

    /// Stops to ask the servers. Returns the observer, which goes on.
    pub async fn stop_asking(self) -> Option<Observer> {
        if let Some(surveyor) = self.surveyor {
            surveyor.stop().await;
        }
        self.observer
    }
}

impl ChangeSource for Sources {
    async fn next(&mut self) -> Option<Vec<Observed>> {
        tokio::select! {
            batch = observed(self.observer.as_mut()) => batch,
            Some(view) = viewed(self.surveyor.as_mut()) => {
                if let Some(observer) = &self.observer {
                    observer.compare_members(&view);
                }
                Some(vec![Observed { at: view.at, change: Change::Surveyed { view } }])
            }
            Some(Ok(Ok(comparison))) = self.comparing.join_next() => {
                let (at, comparison) = (comparison.at, Arc::new(comparison));
                Some(vec![Observed { at, change: Change::Compared { comparison } }])
            }
        }
    }

    fn set_watchers_wanted(&mut self, wanted: WatchersWanted) {
        if let Some(surveyor) = &self.surveyor {
            surveyor.ask_for_watchers(wanted);
        }
    }

    fn set_open_queue(&mut self, parent: Option<ZnodePath>) {
        if let Some(observer) = &self.observer {
            observer.set_open_queue(parent);
        }
    }

    fn compare_members(&mut self, nodes: ComparedNodes) {
        if self.comparing.is_empty() {
            let connection = self.connection.clone();
            self.comparing.spawn(async move { compare_members(&connection, &nodes, REQUESTS_PER_SECOND).await });
        }
    }
}

/// Waits for the next changes; forever without an observer.
async fn observed(observer: Option<&mut Observer>) -> Option<Vec<Observed>> {
    match observer {
        Some(observer) => observer.next().await,
        None => pending().await,
    }
}

/// Waits for the next view; forever without a surveyor.
async fn viewed(surveyor: Option<&mut Surveyor>) -> Option<Arc<ServerView>> {
    match surveyor {
        Some(surveyor) => surveyor.next().await,
        None => pending().await,
    }
}

/// Capacity of the queue of statuses. A slow screen gets fewer statuses.
const MAX_QUEUED_EVENTS: usize = 4;

/// Capacity of a fleet's queue of commands.
const MAX_QUEUED_ORDERS: usize = 64;

/// How long the end of the program waits for all fleets: a little longer than a fleet needs to
/// stop.
const MAX_WAIT_FOR_FLEETS: Duration = Duration::from_secs(12);

/// All fleets, the sessions of the tour's scene, and the events from both.
///
/// When dropped, the fleets stop in the background; [`around`](Self::around) waits until they have.
#[derive(Debug)]
pub struct FleetTasks {
    connection: ConnectOptions,
    roots: Vec<ZnodePath>,
    asks_servers: bool,
    deletions: OwnDeletions,
    sender: mpsc::Sender<FleetEvent>,
    events: mpsc::Receiver<FleetEvent>,
    running: [Option<Running>; 2],
    comparing: Option<Running>,
    /// Counts dismissals. Events of an earlier generation are dropped.
    generation: u64,
    leaving: Vec<JoinHandle<()>>,
    scenes: SceneRunner,
}

/// An event and the generation of its fleet.
type FleetEvent = (u64, Event);

#[derive(Debug)]
struct Running {
    orders: mpsc::Sender<FleetCommand>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl FleetTasks {
    /// Creates the tasks' owner without fleets. `roots` are the observer's roots: its watches are
    /// not counted as a cost of the fleets. `asks_servers` says whether the servers may be asked
    /// for their counts.
    pub fn new(connection: ConnectOptions, roots: Vec<ZnodePath>, asks_servers: bool) -> Self {
        let (sender, events) = mpsc::channel(MAX_QUEUED_EVENTS);
        let scenes = SceneRunner::new(connection.clone());
        let (running, comparing, generation, leaving) = ([None, None], None, 0, Vec::new());
        Self {
            connection,
            roots,
            asks_servers,
            deletions: OwnDeletions::default(),
            sender,
            events,
            running,
            comparing,
            generation,
            leaving,
            scenes,
        }
    }

    /// Does work that may start fleets, and ends all fleets before the result is returned. If the
    /// work panics, the fleets are ended too, and then the panic goes on.
    pub async fn around<T>(mut self, work: impl AsyncFnOnce(&mut Self) -> T) -> T {
        let done = AssertUnwindSafe(work(&mut self)).catch_unwind().await;
        self.end().await;
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Stops all fleets and waits until their clients and nodes are gone, at most for
    /// [`MAX_WAIT_FOR_FLEETS`].
    async fn end(mut self) {
        self.dismiss();
        // Nobody receives the fleets' events any more.
        self.events.close();
        let all =
            futures::future::join(futures::future::join_all(std::mem::take(&mut self.leaving)), self.scenes.end());
        let _ = timeout(MAX_WAIT_FOR_FLEETS, all).await;
    }

    /// Returns whether any fleet runs or is being stopped.
    pub fn are_running(&self) -> bool {
        self.running.iter().chain([&self.comparing]).flatten().any(|running| !running.task.is_finished())
    }

    fn options(&self, scenario: &Scenario) -> FleetOptions {
        FleetOptions {
            connection: self.connection.clone(),
            own_watches: self.own_watches(&scenario.path),
            asks_servers: self.asks_servers,
        }
    }

    fn own_watches(&self, path: &ZnodePath) -> u32 {
        // The observer watches only the topmost of nested roots.
        u32::from(self.roots.is_empty() || self.roots.iter().any(|root| path.is_within(root)))
    }
}

impl FleetControl for FleetTasks {
    async fn next(&mut self) -> Event {
        loop {
            let event = tokio::select! {
                event = self.events.recv() => event,
                why = self.scenes.failure() => return Event::SceneFailed(why),
            };
            match event {
                Some((generation, event)) if generation == self.generation => return event,
                Some(_) => {}
                // The channel never closes: `self` holds a sender too.
                None => std::future::pending().await,
            }
        }
    }

    fn start(&mut self, side: FleetSide, scenario: Scenario) {
        let options = self.options(&scenario);
        let (orders, ordered) = mpsc::channel(MAX_QUEUED_ORDERS);
        let stop = CancellationToken::new();
        let events = EventSender { sender: self.sender.clone(), generation: self.generation };
        let task = FleetTask { side, events, ordered, stop: stop.clone() };
        let task = tokio::spawn(task.run(options, scenario, self.deletions.clone()));
        if let Some(before) = self.running[side as usize].replace(Running { orders, stop, task }) {
            before.stop.cancel();
            self.leaving.push(before.task);
        }
    }

    fn order(&mut self, side: FleetSide, order: FleetCommand) {
        let sent = self.running[side as usize].as_ref().map(|running| running.orders.try_send(order));
        if sent.is_some_and(|sent| sent.is_err()) {
            // A failure to send means that the screen is busy too; this report is then dispensable.
            let _ = self.sender.try_send((self.generation, Event::FleetBusy(side)));
        }
    }

    fn stop(&mut self, side: FleetSide) {
        if let Some(running) = &self.running[side as usize] {
            running.stop.cancel();
        }
    }

    fn dismiss(&mut self) {
        self.generation += 1;
        self.leaving.retain(|task| !task.is_finished());
        for running in self.running.iter_mut().chain([&mut self.comparing]).filter_map(Option::take) {
            running.stop.cancel();
            self.leaving.push(running.task);
        }
    }

    fn direct(&mut self, direction: SceneCommand) {
        self.scenes.send(direction);
    }

    fn compare(&mut self, scenarios: Vec<Scenario>) {
        // Nobody sends commands to these fleets.
        let (orders, _) = mpsc::channel(1);
        let stop = CancellationToken::new();
        let events = EventSender { sender: self.sender.clone(), generation: self.generation };
        let fleets: Vec<_> = scenarios.into_iter().map(|scenario| (self.options(&scenario), scenario)).collect();
        let task = tokio::spawn(compare(fleets, events, stop.clone()));
        if let Some(before) = self.comparing.replace(Running { orders, stop, task }) {
            before.stop.cancel();
            self.leaving.push(before.task);
        }
    }
}

impl Drop for FleetTasks {
    fn drop(&mut self) {
        self.dismiss();
    }
}

struct EventSender {
    sender: mpsc::Sender<FleetEvent>,
    generation: u64,
}

impl EventSender {
    /// Sends an event. Returns whether anybody still receives.
    async fn send(&self, event: Event) -> bool {
        self.sender.send((self.generation, event)).await.is_ok()
    }
}

struct FleetTask {
    side: FleetSide,
    events: EventSender,
    ordered: mpsc::Receiver<FleetCommand>,
    stop: CancellationToken,
}

impl FleetTask {
    async fn run(mut self, options: FleetOptions, scenario: Scenario, deletions: OwnDeletions) {
        let side = self.side;
        let last = match Fleet::start_beside(options, scenario, &deletions) {
            Err(error) => Event::FleetFailed { side, why: error.to_string() },
            Ok(mut fleet) => {
                let played = self.play(&mut fleet).await;
                let outcome = Box::new(fleet.stop().await);
                match played {
                    Ok(()) => Event::FleetEnded { side, outcome },
                    Err(error) => Event::FleetFailed { side, why: error.to_string() },
                }
            }
        };
        // At the end of the program nobody receives.
        self.events.send(last).await;
    }

    /// Forwards statuses and commands until the fleet is stopped or cannot run.
    async fn play(&mut self, fleet: &mut Fleet) -> Result<(), ContendError> {
        let stop = self.stop.clone();
        let forward = async {
            loop {
                tokio::select! {
                    biased;
                    Some(order) = self.ordered.recv() => {
                        if !fleet.command(order) {
                            let _ = self.events.sender.try_send((self.events.generation, Event::FleetBusy(self.side)));
                        }
                    }
                    status = fleet.changed() => {
                        let event = Event::Fleet { side: self.side, status: status? };
                        if !self.events.send(event).await {
                            return Ok(());
                        }
                    }
                }
            }
        };
        stop.run_until_cancelled(forward).await.unwrap_or(Ok(()))
    }
}

/// Runs the fleets one after the other to their end, until one cannot run.
async fn compare(fleets: Vec<(FleetOptions, Scenario)>, events: EventSender, stop: CancellationToken) {
    for (options, scenario) in fleets {
        let outcome = run_to_end(options, scenario, &stop).await.map(Box::new).map_err(|error| error.to_string());
        let ends = outcome.is_err() || stop.is_cancelled();
        if !events.send(Event::FleetCompared(outcome)).await || ends {
            return;
        }
    }
}

/// Returns the figures after all rounds, or up to the time at which the fleet was stopped.
async fn run_to_end(
    options: FleetOptions,
    scenario: Scenario,
    stop: &CancellationToken,
) -> Result<FleetOutcome, ContendError> {
    let mut fleet = Fleet::start(options, scenario)?;
    let finished = async {
        loop {
            match fleet.changed().await {
                Ok(status) if status.finished => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
    };
    let ran = stop.run_until_cancelled(finished).await.unwrap_or(Ok(()));
    let outcome = fleet.stop().await;
    ran.map(|()| outcome)
}
