//! The programs that processes run: locks of the library, locks of other libraries, deletions, and
//! observers.
//!
//! Each program has a text, such as `chain`, `shared-chain:read`, `semaphore:2`, `chain+writes`,
//! `herd@kazoo`, `curator`, `delete` or `observe`. The locks of the library and the deletions have
//! files of their own.
//!
//! # Locks of other libraries
//!
//! They follow Curator's `InterProcessMutex` and kazoo's `Lock`: a sequential node whose name has
//! an id, a search for that id after a lost reply, a watch on the predecessor, and a new listing
//! after its event.
//!
//! # Observers
//!
//! They observe the locks as the console does.

mod deletion;
mod facts;
mod locks;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join};
use tokio::sync::mpsc;
use tokio::time::sleep;
use zookeeper_client::{Acls, CreateMode, Error, SessionState};

use crate::library::{SharedLibrary, shared};
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_live::observe::{MAX_BACKLOG, Observed, observe_over};
use lockscope_model::queue::{ConnectionState, Happening, LockQueue, LockTable};
use lockscope_requests::{NewNode, Requests};

pub use deletion::Deleting;
pub use facts::{
    Board, ClaimedHold, DeletionFact, DeletionOutcome, Doomed, Examination, ExaminationResult, FENCE, GUARDED,
    GuardedResult, GuardedWriteFact, HoldKind, LOCK, LockFailure, ObserverView, Patience, ProgramOutcome,
    ProgramReport, ProgramState, RESOURCE, ShownQueue, Stage,
};
pub use locks::{LockProgram, Use};

/// The program of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// Acquires and releases a lock of the library.
    Lock(LockProgram),
    /// Acquires and releases a lock as another library does.
    Foreign(ForeignNames),
    /// Deletes the nodes of other clients.
    Delete(Deleting),
    /// Observes the locks.
    Observe(Observation),
}

impl Program {
    /// Runs the program.
    pub fn run(&self, rounds: u32, library: SharedLibrary, board: Board) -> BoxFuture<'static, ()> {
        match self.clone() {
            Self::Lock(program) => program.run(rounds, library, board).boxed(),
            Self::Foreign(names) => run(names, rounds, library, board).boxed(),
            Self::Delete(deleting) => deletion::run(deleting, rounds, library, board).boxed(),
            Self::Observe(observation) => observe(observation, library, board).boxed(),
        }
    }

    /// Returns whether the program reads no more of a stat than the lock library does, and no zxid
    /// of an event.
    pub fn reads_little(&self) -> bool {
        matches!(self, Self::Lock(_) | Self::Foreign(_))
    }

    /// Returns whether the program leaves nothing when it is told to give up.
    pub fn may_give_up(&self) -> bool {
        matches!(self, Self::Lock(_))
    }

    /// Returns the time in which its attempts must end.
    pub fn patience(&self) -> Option<Patience> {
        match self {
            Self::Lock(program) => program.patience(),
            _ => None,
        }
    }

    /// Returns whether the lock's path is the parent of its nodes.
    pub fn has_parent(&self) -> bool {
        !matches!(self, Self::Lock(program) if program.algorithm == lockscope_lock::Algorithm::Mutex)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lock(program) => program.fmt(f),
            Self::Foreign(names) => names.fmt(f),
            Self::Delete(deleting) => f.write_str(deleting.name()),
            Self::Observe(observation) => f.write_str(observation.name()),
        }
    }
}

impl FromStr for Program {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "curator" => Ok(Self::Foreign(ForeignNames::Curator)),
            "kazoo" => Ok(Self::Foreign(ForeignNames::Kazoo)),
            _ => {
                let deleting = Deleting::ALL.iter().find(|deleting| deleting.name() == text);
                let observation = Observation::ALL.iter().find(|observation| observation.name() == text);
                match (deleting, observation) {
                    (Some(deleting), _) => Ok(Self::Delete(*deleting)),
                    (_, Some(observation)) => Ok(Self::Observe(*observation)),
                    _ => text.parse().map(Self::Lock),
                }
            }
        }
    }
}

/// The library whose names a foreign program uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignNames {
    /// `_c_<UUID>-lock-S`.
    Curator,
    /// `<32 hex digits>__lock__S`.
    Kazoo,
}

impl std::fmt::Display for ForeignNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Curator => "curator",
            Self::Kazoo => "kazoo",
        })
    }
}

/// Acquires and releases the lock `rounds` times.
async fn run(names: ForeignNames, rounds: u32, library: SharedLibrary, board: Board) {
    let client = shared(&library);
    let mut last = None;
    for _ in 0..rounds {
        board.show(Stage::Works);
        if let Err(error) = names.round(&client, &board).await {
            last = Some(error.to_string());
            break;
        }
    }
    board.show(Stage::Ended(last));
}

impl ForeignNames {
    async fn round(self, client: &Arc<dyn Requests>, board: &Board) -> Result<(), Error> {
        let id = client.attempt_id();
        let prefix = match self {
            Self::Curator => format!("_c_{id}-lock-"),
            Self::Kazoo => format!("{}__lock__", id.simple()),
        };
        let name = self.create(client, &prefix).await?;
        let node = format!("{LOCK}/{name}");
        if self.wait(client, &name).await? {
            let czxid = stat(client, &node).await?;
            if let Some(token) = czxid {
                let hold = ClaimedHold {
                    lock: LOCK.into(),
                    token,
                    kind: HoldKind::Exclusive,
                    node: node.as_str().into(),
                    is_downgraded: false,
                    is_watched: false,
                    yields: false,
                };
                let client = Arc::clone(client);
                // Both libraries tell their users to stop when the connection is lost, which comes before
                // the end of the session.
                board.show_held(hold, move || client.state() != SessionState::SyncConnected);
                board.hold().await;
            }
        }
        again(|| client.delete(&node, None)).await.or_else(none_is_fine)
    }

    async fn create(self, client: &Arc<dyn Requests>, prefix: &str) -> Result<String, Error> {
        let path = format!("{LOCK}/{prefix}");
        let node = NewNode { path: &path, data: b"", mode: CreateMode::EphemeralSequential, acls: Acls::anyone_all() };
        loop {
            match client.create(node.clone()).await {
                Ok(created) => return Ok(format!("{prefix}{}", created.number)),
                Err(Error::NoNode) => {
                    let parent =
                        NewNode { path: LOCK, data: b"", mode: CreateMode::Container, acls: Acls::anyone_all() };
                    again(|| client.create(parent.clone())).await.map(drop).or_else(none_is_fine)?;
                }
                Err(Error::ConnectionLoss | Error::SessionMoved) => {
                    let names = again(|| client.children(LOCK)).await;
                    let found =
                        names.ok().and_then(|(names, _)| names.into_iter().find(|name| name.starts_with(prefix)));
                    if let Some(name) = found {
                        return Ok(name);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for the turn of a node. Returns `false` if the node is gone.
    async fn wait(self, client: &Arc<dyn Requests>, own: &str) -> Result<bool, Error> {
        loop {
            let mut names = match again(|| client.children(LOCK)).await {
                Ok((names, _)) => names,
                Err(Error::NoNode) => return Ok(false),
                Err(error) => return Err(error),
            };
            names.sort_by(|a, b| number(a).cmp(number(b)));
            let Some(at) = names.iter().position(|name| name == own) else { return Ok(false) };
            let Some(before) = at.checked_sub(1) else { return Ok(true) };
            let before = format!("{}/{}", LOCK, names[before]);
            match again(|| client.watch_data(&before)).await {
                Ok((_, _, watch)) => {
                    watch.await;
                }
                Err(Error::NoNode) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn number(name: &str) -> &str {
    name.get(name.len().saturating_sub(10)..).unwrap_or_default()
}

async fn stat(client: &Arc<dyn Requests>, node: &str) -> Result<Option<i64>, Error> {
    Ok(again(|| client.stat(node)).await?.map(|stat| stat.czxid))
}

fn none_is_fine(error: Error) -> Result<(), Error> {
    if matches!(error, Error::NoNode | Error::NodeExists) { Ok(()) } else { Err(error) }
}

/// Sends a request again after each lost connection.
async fn again<T, F: Future<Output = Result<T, Error>>>(send: impl Fn() -> F) -> Result<T, Error> {
    loop {
        match send().await {
            Err(Error::ConnectionLoss | Error::SessionMoved) => {}
            answered => return answered,
        }
    }
}

/// The number of batches that wait for the table, as in the console.
const MAX_QUEUED_BATCHES: usize = 4;

/// The time of all changes. No queue depends on it.
const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// The backlog of an observer whose consumer does not keep up: about what one reading brings.
const SMALL_BACKLOG: usize = 10;

/// The time for which that consumer takes nothing now and then.
const PAUSE: Duration = Duration::from_secs(1);

/// How an observer is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// As the console starts it: of the whole tree.
    Whole,
    /// With room for hardly any change that nobody has taken.
    Small,
    /// It observes the lock's path alone.
    Root,
}

impl Observation {
    const ALL: [Self; 3] = [Self::Whole, Self::Small, Self::Root];

    fn name(self) -> &'static str {
        match self {
            Self::Whole => "observe",
            Self::Small => "observe+small",
            Self::Root => "observe+root",
        }
    }
}

/// Observes locks until the session ends.
async fn observe(observation: Observation, library: SharedLibrary, board: Board) {
    let root = match observation {
        Observation::Root => ZnodePath::new(LOCK).expect("the path is valid"),
        Observation::Whole | Observation::Small => ZnodePath::root(),
    };
    let may_overflow = observation == Observation::Small;
    let (sender, mut batches) = mpsc::channel::<Vec<Observed>>(if may_overflow { 1 } else { MAX_QUEUED_BATCHES });
    let backlog = if may_overflow { SMALL_BACKLOG } else { MAX_BACKLOG };
    let observer = observe_over(shared(&library), vec![root], backlog, sender);
    let shown = async {
        let mut table = LockTable::new([]);
        let mut view = ObserverView { may_overflow, ..ObserverView::default() };
        board.show_view(view.clone());
        while let Some(batch) = batches.recv().await {
            for Observed { change, .. } in batch {
                view.happenings.extend(table.apply(change, NOW).iter().map(told));
                if view.found.is_none() && table.is_in_step() {
                    view.found = Some((view.happenings.len(), Arc::new(queues(&table))));
                }
            }
            show(&table, &mut view);
            if may_overflow && fastrand::u8(..3) == 0 {
                board.show(Stage::Works);
                board.show_view(ObserverView { is_settled: false, ..view.clone() });
                sleep(PAUSE).await;
                view.batches += 1;
            }
            view.is_settled &= batches.is_empty();
            board.show(if view.is_settled { Stage::Idle } else { Stage::Works });
            board.show_view(view.clone());
        }
    };
    let (state, ()) = join(observer, shown).await;
    let ended = state.map_or_else(|| "nobody takes the changes".to_owned(), |state| format!("{state:?}"));
    board.show(Stage::Ended(Some(ended)));
}

/// Shows what the table shows now.
fn show(table: &LockTable, view: &mut ObserverView) {
    let all_read = table.locks().all(|lock| lock.rows(0..lock.len()).all(|row| row.contender.is_read()));
    view.batches += 1;
    view.is_settled = table.is_live() && all_read;
    view.is_recursive = matches!(table.connection(), ConnectionState::Connected { recursive: true, .. });
    view.queues = queues(table);
}

fn queues(table: &LockTable) -> Vec<ShownQueue> {
    table.locks().filter(|lock| !lock.is_empty()).map(queue).collect()
}

fn queue(lock: &LockQueue) -> ShownQueue {
    let path_of = |contender| Arc::from(lock.path_of(contender).as_str());
    let nodes = lock.rows(0..lock.len()).map(|row| {
        let contender = row.contender;
        (path_of(contender), contender.czxid.0, contender.session().map(|session| session.0))
    });
    let returned = lock.rows(0..lock.len()).filter(|row| row.contender.returned);
    ShownQueue {
        lock: lock.path().as_str().into(),
        nodes: nodes.collect(),
        holding: lock.holding(),
        returned: returned.map(|row| path_of(row.contender)).collect(),
    }
}

fn told(happening: &Happening) -> ProgramReport {
    let path = happening.lock.as_ref().zip(happening.node.as_ref()).map(|(lock, node)| {
        // The node of a single-node lock is the lock itself.
        if lock.path.name() == &**node { lock.path.clone() } else { lock.path.child(node) }
    });
    ProgramReport {
        event: happening.event,
        path: path.map_or_else(|| Arc::from(""), |path| path.as_str().into()),
        czxid: happening.contender.as_ref().map_or(0, |contender| contender.czxid.0),
        session: happening.session.map(|session| session.0),
        deleted_by: happening.deleted_by.map(|zxid| zxid.0),
        may_have_expired: happening.may_have_expired,
        queue: happening.queue,
    }
}
