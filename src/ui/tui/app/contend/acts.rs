//! What the user does with test clients: starting them, giving them orders, and the tour that does
//! both.
//!
//! New clients are a herd beside a chain, a chain beside one that looks ahead, or more contenders
//! in an existing queue. Clients in the queue of an application must use its algorithm and the
//! names of its nodes; [`Destination`] finds both, or says why it is not possible. Whoever joins a
//! queue is always asked first, so that the user sees whose lock it is.
//!
//! A scene of the tour starts test clients of its own. All other keys keep working during the tour.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::super::tour::{Tour, TourTurn};
use super::{FleetSide, FleetView, Phase};
use crate::tui::app::{App, Cursor, Effect, PromptPurpose, Screen, Update};
use crate::tui::keymap::Command;
use lockscope_base::recipe::Recipe;
use lockscope_base::znode::{Sequence, ZnodePath};
use lockscope_lab::contend::{FleetOutcome, FleetStatus, MAX_CLIENTS, Scenario};
use lockscope_lab::demo::SceneCommand;
use lockscope_lock::{Access, Algorithm, Naming};
use lockscope_model::queue::LockQueue;

/// The percentage of read requests that test clients make in a read-write lock.
const READ_PERCENT: u8 = 50;

/// The path, node names and algorithm that test clients use to join an existing queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub algorithm: Algorithm,
    pub path: ZnodePath,
    pub naming: Naming,
    /// The percentage of requests that are for reading.
    pub reads: u8,
    /// Whether the clients' node names belong to another library than the queue's. The console then
    /// lists the clients in a separate queue.
    pub in_own_queue: bool,
}

/// The reason why test clients cannot join a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotJoin {
    /// The queue is an election: a test client cannot do the work of a leader.
    #[error("Test clients cannot join here: the holder leads an application, and a test client cannot do its work.")]
    Election,
    /// The queue is kazoo's semaphore; the built-in semaphore uses Curator's node names.
    #[error("Test clients cannot join here: they know Curator's semaphore, and this one is kazoo's.")]
    KazooSemaphore,
    /// The lock is Hive's: its clients poll and do not queue in a fair order.
    #[error("Test clients cannot join here: Hive's locks depend on the locks above and below them.")]
    Hive,
    /// The built-in locks cannot create nodes with the names of this queue.
    #[error("Test clients cannot join here: they cannot create nodes with the names of this queue.")]
    Names,
    /// The queue has no known recipe.
    #[error("Test clients cannot join here: the recipe and the rules of this queue are not known.")]
    Unknown,
}

impl Destination {
    /// Returns how test clients join the queue of this lock.
    pub fn of(lock: &LockQueue) -> Result<Self, CannotJoin> {
        let (algorithm, naming) = match lock.recipe() {
            Recipe::CuratorMutex | Recipe::GoLock | Recipe::TextbookQueue => (Algorithm::Chain, Naming::Curator),
            Recipe::CuratorReadWrite => (Algorithm::SharedChain(Access::Write), Naming::Curator),
            Recipe::CuratorSemaphore => (Algorithm::Semaphore(leases(lock)), Naming::Curator),
            Recipe::KazooLock => (Algorithm::Chain, Naming::Kazoo),
            Recipe::KazooReadWrite => (Algorithm::SharedChain(Access::Write), Naming::Kazoo),
            Recipe::ZookeeperWriteLock => (Algorithm::Chain, Naming::WriteLock),
            Recipe::TextbookSessionQueue => (Algorithm::Chain, Naming::Session),
            Recipe::TextbookNamedQueue => (Algorithm::Chain, Naming::Named(own_name(lock).ok_or(CannotJoin::Names)?)),
            Recipe::TextbookShared if every_name(lock, &["-R-", "-r-", "-W-", "-w-"]) => {
                (Algorithm::SharedChain(Access::Write), Naming::Session)
            }
            Recipe::SingleNode => return Ok(Self::single(lock.path())),
            Recipe::TextbookShared
            | Recipe::AiozkLock
            | Recipe::AiozkReadWrite
            | Recipe::VitessLock
            | Recipe::TimedLock
            | Recipe::ZkRubyLock => return Err(CannotJoin::Names),
            Recipe::KazooSemaphore => return Err(CannotJoin::KazooSemaphore),
            Recipe::Hive => return Err(CannotJoin::Hive),
            Recipe::UnknownQueue | Recipe::RustLock | Recipe::Own(_) => return Err(CannotJoin::Unknown),
            Recipe::CuratorLatch
            | Recipe::ZookeeperElection
            | Recipe::SolrElection
            | Recipe::HadoopElector
            | Recipe::KafkaController
            | Recipe::AccumuloLock
            | Recipe::AiozkElection
            | Recipe::AuroraElection
            | Recipe::BookkeeperAuditor
            | Recipe::ElasticJob
            | Recipe::HelixController
            | Recipe::MarathonElection
            | Recipe::MesosElection
            | Recipe::PulsarLeader
            | Recipe::RustLatch
            | Recipe::ZkRubyElection => return Err(CannotJoin::Election),
        };
        let reads = if algorithm.access().is_some() { READ_PERCENT } else { 0 };
        let apart = matches!(lock.recipe(), Recipe::GoLock | Recipe::TextbookQueue);
        Ok(Self { algorithm, path: lock.path().clone(), naming, reads, in_own_queue: apart })
    }

    /// Returns the destination for a lock that is a single node: the node itself, or the parent of
    /// a node named `lock` below a parent other than the root.
    fn single(node: &ZnodePath) -> Self {
        let (algorithm, path) = match node.parent() {
            Some(parent) if node.name() == "lock" && !parent.is_root() => (Algorithm::MutexParent, parent),
            _ => (Algorithm::Mutex, node.clone()),
        };
        Self { algorithm, path, naming: Naming::default(), reads: 0, in_own_queue: false }
    }
}

/// Returns the number of current holders, at least 1. The semaphore's real limit is unknown, and
/// test clients must not exceed it.
fn leases(lock: &LockQueue) -> NonZeroU32 {
    u32::try_from(lock.holding()).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN)
}

/// Returns whether the queue has contenders and each name, without its sequence number, ends with
/// one of `ends`. Linear in the length of the queue.
fn every_name(lock: &LockQueue, ends: &[&str]) -> bool {
    let fits = |node: &str| Sequence::split(node).is_some_and(|(head, _)| ends.iter().any(|end| head.ends_with(end)));
    !lock.is_empty() && lock.rows(0..lock.len()).all(|row| fits(&row.contender.node))
}

/// Returns the name of a queue that may share its parent with other queues. Without a known name,
/// takes it from the first contender's node, `NAME_lock_` and a sequence number.
fn own_name(lock: &LockQueue) -> Option<String> {
    if let Some(name) = lock.name() {
        return Some(name.to_owned());
    }
    let row = lock.row(0)?;
    let (head, _) = Sequence::split(&row.contender.node)?;
    head.strip_suffix("_lock_").filter(|name| !name.is_empty()).map(str::to_owned)
}

/// The number of clients if the user gives none.
pub const DEFAULT_CLIENTS: u32 = 10;

/// The refusal of a console that was started without `--write`.
const READ_ONLY: &str = "Test clients need `lockscope --write` (or `lockscope contend` / `compare`).";

/// The last word of the input that makes chains look ahead.
const LOOKING_AHEAD: &str = "ahead";

/// The refusal of `ahead` for a queue that is not an exclusive chain.
const ONLY_A_CHAIN: &str = "Only the clients of an exclusive lock can look ahead: leave out `ahead`.";

/// The test clients that the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientsWanted {
    /// The number of clients; of a pair, on each side.
    pub clients: u32,
    pub hold: Duration,
    /// Whether a chain should look ahead.
    pub looks_ahead: bool,
}

impl ClientsWanted {
    /// Parses `[N [HOLD]] [ahead]`. Defaults to [`DEFAULT_CLIENTS`] and no hold time. The error is
    /// a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace().collect::<Vec<_>>();
        let looks_ahead = words.pop_if(|word| *word == LOOKING_AHEAD).is_some();
        let mut words = words.into_iter();
        let clients = words.next().map_or(Ok(DEFAULT_CLIENTS), |word| {
            let count = word.parse().ok().filter(|count| (1..=MAX_CLIENTS).contains(count));
            count.ok_or_else(|| {
                format!("`{word}` is not a number of clients: type 1 to {MAX_CLIENTS}, as in `20 50ms`.")
            })
        })?;
        let hold = words.next().map_or(Ok(Duration::ZERO), |word| {
            humantime::parse_duration(word)
                .map_err(|_| format!("`{word}` is not a hold time: type a number and its unit, as in 50ms."))
        })?;
        match words.next() {
            Some(more) => {
                Err(format!("`{more}` is one word too many: type a number of clients and how long each holds."))
            }
            None => Ok(Self { clients, hold, looks_ahead }),
        }
    }
}

impl App {
    /// Starts the test clients in `argument`, or asks how many to start. On Queue it always asks,
    /// with `argument` filled in, so that the user sees whose lock it is before clients join it.
    pub(in crate::tui::app) fn start(&mut self, argument: Option<&str>) -> Update {
        if let Some(why) = self.why_not() {
            self.show_failure(why);
            return Update::redraw();
        }
        match (self.navigation.screen, argument) {
            (Screen::Queue, _) => {
                self.footer.ask(PromptPurpose::ClientsIntoQueue, argument.unwrap_or_default());
            }
            (_, Some(text)) => return self.start_pair(text),
            (_, None) => self.footer.ask(PromptPurpose::Clients, ""),
        }
        Update::redraw()
    }

    /// Returns why this screen cannot start clients now; `None` if it can.
    fn why_not(&self) -> Option<String> {
        if !self.settings.write {
            return Some(READ_ONLY.to_owned());
        }
        if self.has_fleets() {
            return Some(
                self.settings.bindings.fill("Test clients already run: {stop} on Contend stops them, {join} adds one."),
            );
        }
        if self.navigation.screen != Screen::Queue {
            return None;
        }
        if !self.is_live() {
            return Some("The state of this queue is not known now: wait for the connection.".to_owned());
        }
        match self.destination() {
            None => Some("There is no lock here to join.".to_owned()),
            Some(Err(why)) => Some(why.to_string()),
            Some(Ok(_)) => None,
        }
    }

    /// Starts a herd beside a chain; with `ahead`, a chain beside one that looks ahead.
    pub(in crate::tui::app) fn start_pair(&mut self, text: &str) -> Update {
        let wanted = match ClientsWanted::parse(text) {
            Ok(wanted) => wanted,
            Err(why) => return self.refuse(why),
        };
        let parent = self.own_node();
        let scenario = |algorithm: Algorithm| {
            let plain = Scenario::new(algorithm, parent.child(algorithm.name()), wanted.clients);
            Scenario { hold: wanted.hold, ..plain }
        };
        let [left, right] = if wanted.looks_ahead {
            [Algorithm::Chain, Algorithm::ChainAhead]
        } else {
            [Algorithm::Herd, Algorithm::Chain]
        };
        self.launch(scenario(left), Some(scenario(right)))
    }

    /// Starts more contenders in the open queue.
    pub(in crate::tui::app) fn start_in_queue(&mut self, text: &str) -> Update {
        if let Some(why) = self.why_not() {
            return self.refuse(why);
        }
        let wanted = match ClientsWanted::parse(text) {
            Ok(wanted) => wanted,
            Err(why) => return self.refuse(why),
        };
        let Some(Ok(destination)) = self.destination() else { return Update::redraw() };
        let Destination { algorithm, path, naming, reads, .. } = destination;
        let algorithm = match algorithm {
            Algorithm::Chain if wanted.looks_ahead => Algorithm::ChainAhead,
            _ if wanted.looks_ahead => return self.refuse(ONLY_A_CHAIN.to_owned()),
            other => other,
        };
        let plain = Scenario::new(algorithm, path, wanted.clients);
        self.launch(Scenario { hold: wanted.hold, naming, reads, ..plain }, None)
    }

    fn launch(&mut self, left: Scenario, right: Option<Scenario>) -> Update {
        for scenario in [Some(&left), right.as_ref()].into_iter().flatten() {
            if let Err(error) = scenario.check() {
                return self.refuse(format!("{error}."));
            }
        }
        let effects = self.test_clients.start(left, right);
        self.cursors.clients = [Cursor::first(), Cursor::first()];
        self.go(Screen::Contend);
        Update { redraw: true, effects }
    }

    /// Applies a command to the fleet of the listed side.
    pub(in crate::tui::app) fn order(&mut self, command: Command, argument: Option<&str>) -> Update {
        let selected = self.selected_client().map(|client| client.id);
        match self.test_clients.order(command, argument, selected, &self.settings.bindings) {
            Ok(effect) => Update::effect(effect),
            Err(why) => self.refuse(why),
        }
    }

    pub(in crate::tui::app) fn select_holder(&mut self) {
        let Some((id, _)) = self.fleets().fleet(self.side()).and_then(FleetView::holder) else {
            return self.show_hint("Nobody holds the lock right now.".to_owned());
        };
        self.cursors.clients[self.test_clients.side() as usize] = Cursor::on(id);
    }

    pub(in crate::tui::app) fn stop_fleets(&mut self) -> Update {
        let effects = self.test_clients.stop();
        if effects.is_empty() {
            return self.refuse("No test clients run.".to_owned());
        }
        Update { redraw: true, effects }
    }

    /// Carries out a slow-motion command: slower, faster, stop or resume, or play one step.
    pub(in crate::tui::app) fn change_motion(&mut self, command: Command) -> Update {
        let (clients, now) = (&mut self.test_clients, self.wall);
        let effects = match command {
            Command::Slower => clients.go_slower(now),
            Command::Faster => clients.go_faster(now),
            Command::StopOrGo => clients.stop_or_go_on(now),
            Command::PlayStep => clients.play_one_step(now),
            _ => Vec::new(),
        };
        Update { redraw: true, effects }
    }

    pub(in crate::tui::app) fn fleet_reported(&mut self, side: FleetSide, status: Arc<FleetStatus>) -> Update {
        let before = self.living_clients();
        let effects = self.test_clients.report(side, status, self.wall);
        let shows = self.screen() == Screen::Contend && !self.shown.is_paused();
        Update { redraw: shows || self.living_clients() != before, effects }
    }

    pub(in crate::tui::app) fn fleet_failed(&mut self, side: FleetSide, why: String) -> Update {
        self.show_failure(format!("The test clients cannot run: {why}."));
        self.end_fleet(side, Phase::Failed(why))
    }

    pub(in crate::tui::app) fn fleet_ended(&mut self, side: FleetSide, outcome: FleetOutcome) -> Update {
        let path = &outcome.path;
        match outcome.left_behind {
            Some(0) => self.show_notice(format!("The test clients of {path} are gone, and their nodes with them.")),
            Some(1) => self.show_failure(format!("Test clients left 1 node in {path}: it goes with its session.")),
            Some(left) => {
                self.show_failure(format!("Test clients left {left} nodes in {path}: they go with their sessions."));
            }
            None => {
                self.show_failure(format!("Test clients may have left nodes in {path}: this could not be checked."));
            }
        }
        self.end_fleet(side, Phase::Ended(Box::new(outcome)))
    }

    fn end_fleet(&mut self, side: FleetSide, phase: Phase) -> Update {
        self.test_clients.end(side, phase);
        if !self.has_fleets() {
            // A paused screen still shows clients, but none is left to ask about before leaving.
            self.footer.leaving = None;
        }
        Update::redraw()
    }

    pub(in crate::tui::app) fn fleet_busy(&mut self, side: FleetSide) -> Update {
        let fleet = self.test_clients.fleets().fleet(side);
        let at = fleet.map_or_else(String::new, |fleet| format!(" of {}", fleet.scenario.path));
        self.refuse(format!("The test clients{at} are too busy: that was not done; try again."))
    }

    pub(in crate::tui::app) fn fleet_compared(&mut self, outcome: Result<Box<FleetOutcome>, String>) -> Update {
        let again = self.test_clients.comparison.store(outcome);
        Update { redraw: self.screen() == Screen::Comparison, effects: again.into_iter().collect() }
    }

    pub(in crate::tui::app) fn tour_begins(&mut self, mut tour: Box<Tour>) -> Update {
        tour.attend(self.wall);
        self.tour = Some(tour);
        self.set_scene(0)
    }

    /// Cancels the pending change of screen: the user pressed a key, or the screen is open.
    pub(in crate::tui::app) fn tour_yields(&mut self) {
        if let Some(tour) = &mut self.tour {
            tour.cancel_screen();
        }
    }

    /// Carries out a command of the tour.
    pub(in crate::tui::app) fn turn_tour(&mut self, command: Command, argument: Option<&str>) -> Update {
        let now = self.wall;
        let Some(tour) = &mut self.tour else {
            return self.refuse("There is no tour here: `lockscope demo` has one.".to_owned());
        };
        let turn = tour.run_command(command, argument, now);
        self.take_turn(turn)
    }

    /// Updates the screen after the tour moved.
    pub(in crate::tui::app) fn take_turn(&mut self, turn: TourTurn) -> Update {
        match turn {
            TourTurn::Step => self.begin_step(),
            TourTurn::StepBack => {
                let update = self.begin_step();
                if let Some(tour) = &mut self.tour {
                    tour.cancel_action();
                }
                Update { effects: Vec::new(), ..update }
            }
            TourTurn::Scene(scene) => self.set_scene(scene),
            TourTurn::Stays => Update::redraw(),
            TourTurn::End(notice) => {
                self.show_notice(self.settings.bindings.fill(notice));
                Update::redraw()
            }
            TourTurn::NoScene(why) => self.refuse(why),
        }
    }

    pub(in crate::tui::app) fn scene_failed(&mut self, why: String) -> Update {
        if let Some(tour) = &mut self.tour {
            tour.trouble = Some(why);
        }
        Update::redraw()
    }

    /// Ends the previous scene and sets up this one.
    fn set_scene(&mut self, scene: usize) -> Update {
        let Some(tour) = &mut self.tour else { return Update::default() };
        tour.begin_scene(scene, self.wall);
        let mut effects = vec![Effect::DismissFleets, Effect::DirectScene(tour.direction())];
        effects.extend(self.test_clients.begin_scene(tour.scenarios(), tour.comparison()));
        self.cursors.clients = [Cursor::first(), Cursor::first()];
        self.footer.leaving = None;
        let begun = self.begin_step();
        effects.extend(begun.effects);
        Update { redraw: true, effects }
    }

    fn begin_step(&mut self) -> Update {
        // While the tour advances by itself, a question of the previous step may still be open.
        (self.deletions.open, self.footer.prompt) = (None, None);
        let was_rewound = std::mem::take(&mut self.shown).is_past();
        let Some(tour) = &mut self.tour else { return Update::default() };
        let act = tour.begin_step(self.wall);
        let mut effects: Vec<Effect> = act.map(|act| Effect::DirectScene(SceneCommand::Act(act))).into_iter().collect();
        effects.extend(was_rewound.then_some(Effect::ForgetPast));
        // The step's speed comes first: a slow one shows the picture, which the step may hide.
        let step = tour.step();
        effects.extend(step.speed.into_iter().flat_map(|speed| self.test_clients.set_speed(speed, self.wall)));
        match step.picture {
            Some(true) => self.test_clients.motion_mut().show_picture(step.large),
            Some(false) => self.test_clients.motion_mut().hide_picture(),
            None => {}
        }
        Update { redraw: true, effects }
    }
}
