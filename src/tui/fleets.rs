//! The test clients of the screen: one task for each fleet, which ends with it.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::app::{Event, Side};
use super::run::Crews;
use crate::contend::{ContendError, Deletions, Fleet, FleetOptions, Order, Scenario};
use crate::zk::ConnectOptions;
use crate::znode::ZnodePath;

/// Statuses that wait for the screen: a slow one gets fewer.
const WAITING: usize = 4;
/// Orders that wait for a fleet.
const ORDERS: usize = 64;
/// How long the end of the program waits for all fleets: somewhat longer than a fleet takes at most to stop.
const ENDING: Duration = Duration::from_secs(12);

/// All fleets, and what they tell.
///
/// Dropped, the fleets stop in the background; [`around`](Self::around) waits for that.
#[derive(Debug)]
pub struct Fleets {
    connection: ConnectOptions,
    roots: Vec<ZnodePath>,
    deletions: Deletions,
    tell: mpsc::Sender<Event>,
    told: mpsc::Receiver<Event>,
    running: [Option<Running>; 2],
}

/// A fleet's task, and the way to it.
#[derive(Debug)]
struct Running {
    orders: mpsc::Sender<Order>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Fleets {
    /// No fleet yet. `roots` are those of the observer, whose watches are not counted among what fleets cost.
    pub fn new(connection: ConnectOptions, roots: Vec<ZnodePath>) -> Self {
        let (tell, told) = mpsc::channel(WAITING);
        Self { connection, roots, deletions: Deletions::default(), tell, told, running: [None, None] }
    }

    /// Does some work that may start fleets, and ends them all when it is done, before anything of it comes out: also when
    /// it panics, and then lets the panic go on.
    pub async fn around<T>(mut self, work: impl AsyncFnOnce(&mut Self) -> T) -> T {
        let done = AssertUnwindSafe(work(&mut self)).catch_unwind().await;
        self.end().await;
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Stops all fleets and waits until their clients and nodes are gone, a few seconds at most.
    async fn end(mut self) {
        let tasks: Vec<_> = self.running.iter_mut().filter_map(Option::take).map(Running::stop).collect();
        // Nobody takes what they tell any more.
        self.told.close();
        let _ = timeout(ENDING, futures::future::join_all(tasks)).await;
    }

    /// Whether any fleet runs or is being stopped.
    pub fn are_running(&self) -> bool {
        self.running.iter().flatten().any(|running| !running.task.is_finished())
    }

    fn own_watches(&self, path: &ZnodePath) -> u32 {
        // Of roots that lie within each other the observer watches only the highest.
        u32::from(self.roots.is_empty() || self.roots.iter().any(|root| path.is_within(root)))
    }
}

impl Running {
    async fn stop(mut self) {
        self.stop.cancel();
        let _ = (&mut self.task).await;
    }
}

impl Crews for Fleets {
    async fn next(&mut self) -> Event {
        match self.told.recv().await {
            Some(event) => event,
            // It is never closed while this is used: `tell` is held here too.
            None => std::future::pending().await,
        }
    }

    fn start(&mut self, side: Side, scenario: Scenario) {
        let options =
            FleetOptions { connection: self.connection.clone(), own_watches: self.own_watches(&scenario.path) };
        let (orders, ordered) = mpsc::channel(ORDERS);
        let stop = CancellationToken::new();
        let play = Play { side, tell: self.tell.clone(), ordered, stop: stop.clone() };
        let task = tokio::spawn(play.run(options, scenario, self.deletions.clone()));
        self.running[side as usize] = Some(Running { orders, stop, task });
    }

    fn order(&mut self, side: Side, order: Order) {
        let sent = self.running[side as usize].as_ref().map(|running| running.orders.try_send(order));
        if sent.is_some_and(|sent| sent.is_err()) {
            // With the screen behind as well, this is one report among many.
            let _ = self.tell.try_send(Event::FleetBusy(side));
        }
    }

    fn stop(&mut self, side: Side) {
        if let Some(running) = &self.running[side as usize] {
            running.stop.cancel();
        }
    }
}

/// What a fleet's task has in hand.
struct Play {
    side: Side,
    tell: mpsc::Sender<Event>,
    ordered: mpsc::Receiver<Order>,
    stop: CancellationToken,
}

impl Play {
    async fn run(mut self, options: FleetOptions, scenario: Scenario, deletions: Deletions) {
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
        // At the end of the program nobody listens.
        let _ = self.tell.send(last).await;
    }

    /// Forwards statuses and orders until it is stopped or the fleet cannot run.
    async fn play(&mut self, fleet: &mut Fleet) -> Result<(), ContendError> {
        let stop = self.stop.clone();
        let forward = async {
            loop {
                tokio::select! {
                    biased;
                    Some(order) = self.ordered.recv() => {
                        if !fleet.order(order) {
                            let _ = self.tell.try_send(Event::FleetBusy(self.side));
                        }
                    }
                    status = fleet.changed() => {
                        let told = Event::Fleet { side: self.side, status: status? };
                        if self.tell.send(told).await.is_err() {
                            return Ok(());
                        }
                    }
                }
            }
        };
        stop.run_until_cancelled(forward).await.unwrap_or(Ok(()))
    }
}
