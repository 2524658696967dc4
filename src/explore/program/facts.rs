//! What a program has come to.

use std::fmt;
use std::sync::Arc;

use lockscope_model::queue::LockEvent;

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
pub struct Hold {
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
}

/// What a round of a lock program has come to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It held these locks, and its release says that it held them until then.
    Released(Vec<Hold>),
    /// It did not wait, and the lock was not free.
    NotFree,
    /// It has failed.
    Failed {
        /// The error.
        error: Failure,
        /// Whether it held the lock before.
        held: bool,
    },
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
pub enum Failure {
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

impl fmt::Display for Outcome {
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
pub struct Facts {
    /// The stage.
    pub stage: Stage,
    /// The locks that it takes for held.
    pub holds: Vec<Hold>,
    /// What its rounds have come to, in order.
    pub outcomes: Vec<Outcome>,
    /// The plan that it was told to carry out.
    pub deletion: Option<Arc<Deletion>>,
    /// What it shows to a person, if it observes.
    pub view: Option<Arc<View>>,
}

/// A plan that was confirmed, and what came of it. Times are numbers of requests: of those that the
/// client had made by then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact, and every combination occurs")]
pub struct Deletion {
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
    pub looks: Vec<Look>,
    /// When the outcome was recorded, and that outcome.
    pub logged: Option<(u32, DeletionOutcome)>,
    /// The outcome that was returned.
    pub outcome: Option<DeletionOutcome>,
}

/// An examination: when it began and ended, and what it said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Look {
    /// When it began.
    pub from: u32,
    /// When it ended.
    pub to: Option<u32>,
    /// What it said.
    pub verdict: Verdict,
}

/// What an examination says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
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
pub struct View {
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
    pub happenings: Vec<Told>,
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
pub struct Told {
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
