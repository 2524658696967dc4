//! The observable state of a program: its stage, what it holds, and what its rounds, its deletion
//! or its observation came to.
//!
//! A program shows its state on a `Board`, and is told there to go on or to give up. The rules
//! judge the `ProgramState` on it after each step.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use lockscope_model::queue::LockEvent;

/// The path of the lock.
pub const LOCK: &str = "/lock";

/// The path of the second lock of a program that takes two.
pub const SECOND_LOCK: &str = "/lock2";

/// The node that a holder writes its fencing token to.
pub const RESOURCE: &str = "/resource";

/// The node that a holder writes to with guarded writes.
pub const GUARDED: &str = "/guarded";

/// The fence of guarded writes, where a node's path can come back.
pub const FENCE: &str = "/fence";

/// The stage of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stage {
    /// It waits for the servers or for others.
    #[default]
    Works,
    /// It holds what it wants, and goes on when it is told to.
    Holds,
    /// It has nothing to do until something changes, and never ends by itself.
    Idle,
    /// It has ended: with an error, if that was its last round.
    Ended(Option<String>),
}

/// What excludes each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HoldKind {
    /// Nobody else.
    Exclusive,
    /// No writer.
    Read,
    /// No more than this number.
    Lease(u32),
}

/// A lock that a program takes for held.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClaimedHold {
    /// The path of the lock.
    pub lock: Arc<str>,
    /// The fencing token: the czxid of the node.
    pub token: i64,
    /// What it excludes.
    pub kind: HoldKind,
    /// The path of the node.
    pub node: Arc<str>,
    /// Whether that is another node than the token names: after a downgrade.
    pub is_downgraded: bool,
    /// Whether the program watches for the loss of the lock.
    pub is_watched: bool,
    /// Whether the program releases when it is asked to.
    pub yields: bool,
}

/// What a round of a lock program has come to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ProgramOutcome {
    /// It held these locks, and its release says that it held them until then.
    Released(Vec<ClaimedHold>),
    /// It did not wait, and the lock was not free.
    NotFree,
    /// It has failed.
    Failed {
        /// The error.
        error: LockFailure,
        /// Whether it held the lock before.
        held: bool,
    },
}

/// A guarded write, and what it is said to have come to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GuardedWriteFact {
    /// The data that it writes: the token of its hold, its number, and whether the lock is exclusive.
    pub data: Arc<str>,
    /// What it has come to.
    pub result: GuardedResult,
}

/// What a guarded write has come to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GuardedResult {
    /// It was carried out.
    Done,
    /// It was not: the node is gone.
    NodeGone,
    /// It was not: the session has ended, or may have.
    Expired,
    /// It was not: a later holder has raised the fence.
    Fenced,
    /// It may have been.
    Unknown,
    /// It was not, for a reason that no schedule without a refusal may meet.
    Other(String),
}

/// The seconds for which an attempt may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Patience {
    /// Without a connection.
    WithoutConnection(u32),
    /// In any case.
    Always(u32),
}

/// An error of the lock library.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LockFailure {
    /// The session has ended, or may have.
    Expired,
    /// Somebody else has deleted the node at this path.
    Deleted(Arc<str>),
    /// There is no connection.
    Disconnected,
    /// The time was over.
    TimedOut,
    /// The numbers of the parent are used up.
    NumbersUsedUp,
    /// Another one, which no schedule without a refusal may meet.
    Other(String),
}

impl fmt::Display for ProgramOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Released(_) => f.write_str("it says that it held the lock until its release"),
            Self::NotFree => f.write_str("it says that the lock is not free"),
            Self::Failed { error, held } => write!(f, "{error:?}{}", if *held { ", while it held" } else { "" }),
        }
    }
}

/// What a program has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProgramState {
    /// The stage.
    pub stage: Stage,
    /// The locks that it takes for held.
    pub holds: Vec<ClaimedHold>,
    /// What its rounds have come to, in order.
    pub outcomes: Vec<ProgramOutcome>,
    /// Its guarded writes that have ended, in order.
    pub writes: Vec<GuardedWriteFact>,
    /// The plan that it was told to carry out.
    pub deletion: Option<Arc<DeletionFact>>,
    /// What it shows to a person, if it observes.
    pub view: Option<Arc<ObserverView>>,
}

/// A plan that was confirmed, and what came of it. Times are numbers of requests: of those that the
/// client had made by then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact, and every combination occurs")]
pub struct DeletionFact {
    /// Whether the owners are asked to release their nodes.
    pub asks: bool,
    /// When the plan was confirmed.
    pub began: u32,
    /// The confirmed nodes, in the order of the plan.
    pub nodes: Vec<Doomed>,
    /// Whether the session was closed while a write was not answered.
    pub cut_off: bool,
    /// Whether an outcome was recorded while a write could still be sent.
    pub told_early: bool,
    /// Whether the results were returned.
    pub is_over: bool,
}

/// A confirmed node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Doomed {
    /// The path.
    pub path: Arc<str>,
    /// The transaction that created it.
    pub czxid: i64,
    /// The name of its guard.
    pub guard: &'static str,
    /// Its place in its queue.
    pub position: usize,
    /// When the intent was recorded.
    pub intended: Option<u32>,
    /// The examinations, in order.
    pub looks: Vec<Examination>,
    /// When the outcome was recorded, and that outcome.
    pub logged: Option<(u32, DeletionOutcome)>,
    /// The outcome that was returned.
    pub outcome: Option<DeletionOutcome>,
}

/// An examination: when it began and ended, and what it said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Examination {
    /// When it began.
    pub from: u32,
    /// When it ended.
    pub to: Option<u32>,
    /// What it said.
    pub verdict: ExaminationResult,
}

/// What an examination says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExaminationResult {
    /// The confirmed facts are true, or the deletion itself finds out that they are not.
    Same,
    /// They are not true any more.
    Changed,
    /// It is not known.
    Unknown,
}

/// What a deletion reports of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeletionOutcome {
    /// The name of the ending.
    pub ending: &'static str,
    /// Whether the ending says that another node may have been deleted.
    pub window: bool,
    /// The transaction that created the node that has the name now.
    pub other: Option<i64>,
    /// The node whose version was raised, or may have been.
    pub raised: Option<Arc<str>>,
    /// Whether another node's data were replaced, or may have been.
    pub overwritten: bool,
    /// Whether the log lacks the outcome.
    pub unaudited: bool,
    /// The outcome as a sentence.
    pub sentence: Arc<str>,
}

/// What an observer shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ObserverView {
    /// The number of batches of changes that it has taken.
    pub batches: u32,
    /// Whether the table is in step with the servers, which answer, and each contender is read.
    pub is_settled: bool,
    /// Whether it learns of changes by recursive watches, which lose none while the connection lasts.
    pub is_recursive: bool,
    /// Whether events may come faster than it takes them.
    pub may_overflow: bool,
    /// The queues that have contenders.
    pub queues: Vec<ShownQueue>,
    /// What the first complete reading found, and the number of reports before it.
    pub found: Option<(usize, Arc<Vec<ShownQueue>>)>,
    /// What has happened, in the order of the reports.
    pub happenings: Vec<ProgramReport>,
}

/// A queue of the table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShownQueue {
    /// The path of the lock.
    pub lock: Arc<str>,
    /// Path, czxid and owner of each node, in the order of the queue.
    pub nodes: Vec<(Arc<str>, i64, Option<i64>)>,
    /// The number of holders, which come first.
    pub holding: usize,
    /// The nodes that a lagging member shows although they were seen to be deleted.
    pub returned: Vec<Arc<str>>,
}

/// An event that was reported.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProgramReport {
    /// The kind.
    pub event: LockEvent,
    /// The path of the contender's node; empty for an event of a lock or of the connection.
    pub path: Arc<str>,
    /// The transaction that created the node; negative if the node was gone before it was read.
    pub czxid: i64,
    /// The session that owns the node, if that is known.
    pub session: Option<i64>,
    /// The transaction that deleted the node, if that is known.
    pub deleted_by: Option<i64>,
    /// Whether the session may have expired, as far as the report tells.
    pub may_have_expired: bool,
    /// The number of nodes in the queue after the event.
    pub queue: usize,
}

/// A held lock, and whether its guard says that it is lost.
struct Held {
    hold: ClaimedHold,
    is_lost: Box<dyn Fn() -> bool + Send>,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hold.fmt(f)
    }
}

/// What a program and the explorer tell each other.
#[derive(Clone, Debug, Default)]
pub struct Board {
    shown: Arc<Mutex<ObserverShown>>,
    proceed: Arc<Notify>,
    give_up: CancellationToken,
}

#[derive(Debug, Default)]
struct ObserverShown {
    stage: Stage,
    held: Vec<Held>,
    outcomes: Vec<ProgramOutcome>,
    writes: Vec<GuardedWriteFact>,
    deletion: Option<Arc<DeletionFact>>,
    view: Option<Arc<ObserverView>>,
}

impl Board {
    fn shown(&self) -> MutexGuard<'_, ObserverShown> {
        self.shown.lock().expect("no program panics while it shows something")
    }

    /// Returns what the program has come to.
    pub fn facts(&self) -> ProgramState {
        let shown = self.shown();
        let holds = shown.held.iter().filter(|held| !(held.is_lost)()).map(|held| held.hold.clone()).collect();
        ProgramState {
            stage: shown.stage.clone(),
            holds,
            outcomes: shown.outcomes.clone(),
            writes: shown.writes.clone(),
            deletion: shown.deletion.clone(),
            view: shown.view.clone(),
        }
    }

    /// Tells the program to go on.
    pub fn proceed(&self) {
        self.proceed.notify_one();
    }

    /// Tells the program to drop what it has.
    pub fn give_up(&self) {
        self.give_up.cancel();
    }

    /// Shows a stage without a held lock.
    pub(super) fn show(&self, stage: Stage) {
        let mut shown = self.shown();
        (shown.stage, shown.held) = (stage, Vec::new());
    }

    /// Shows what a round has come to.
    pub(super) fn show_outcome(&self, outcome: ProgramOutcome) {
        self.shown().outcomes.push(outcome);
    }

    /// Shows what a guarded write has come to.
    pub(super) fn show_write(&self, write: GuardedWriteFact) {
        self.shown().writes.push(write);
    }

    /// Shows what has become of a plan.
    pub(super) fn change_deletion(&self, change: impl FnOnce(&mut DeletionFact)) {
        change(Arc::make_mut(self.shown().deletion.get_or_insert_default()));
    }

    /// Shows what an observer shows.
    pub(super) fn show_view(&self, view: ObserverView) {
        self.shown().view = Some(Arc::new(view));
    }

    /// Shows a lock that is held until it is lost.
    pub(super) fn show_held(&self, hold: ClaimedHold, is_lost: impl Fn() -> bool + Send + 'static) {
        self.shown().held.push(Held { hold, is_lost: Box::new(is_lost) });
    }

    /// Shows that the program holds, and waits until it is told to go on.
    pub(super) async fn hold(&self) {
        self.shown().stage = Stage::Holds;
        self.proceed.notified().await;
        self.show(Stage::Works);
    }

    /// Waits until the program is told to give up. Cancel safe.
    pub(super) async fn given_up(&self) {
        self.give_up.cancelled().await;
    }
}
