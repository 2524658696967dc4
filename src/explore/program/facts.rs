//! What a program has come to.

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
    /// The path of the node, if that is another one than the token names: after a downgrade.
    pub node: Option<Arc<str>>,
}

/// What a program has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Facts {
    /// The stage.
    pub stage: Stage,
    /// The locks that it takes for held.
    pub holds: Vec<Hold>,
    /// The deletion that it was told to carry out.
    pub deletion: Option<Deletion>,
    /// What it shows to a person, if it observes.
    pub view: Option<Arc<View>>,
}

/// A deletion that was confirmed, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Deletion {
    /// The path of the confirmed node.
    pub path: Arc<str>,
    /// The transaction that created the confirmed node.
    pub czxid: i64,
    /// The outcome, once there is one.
    pub outcome: Option<DeletionOutcome>,
}

/// What a deletion reports.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeletionOutcome {
    /// The name of the ending.
    pub ending: &'static str,
    /// Whether the ending says that another node may have been deleted.
    pub window: bool,
    /// The node whose version was raised, or may have been.
    pub raised: Option<Arc<str>>,
    /// Whether another node's data were replaced, or may have been.
    pub overwritten: bool,
    /// Whether the work ended within its time.
    pub in_time: bool,
}

/// What an observer shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct View {
    /// Whether the table is in step with the servers, and each contender is read.
    pub is_settled: bool,
    /// The queues that have contenders.
    pub queues: Vec<ShownQueue>,
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
    /// The transaction that deleted the node, if that is known.
    pub deleted_by: Option<i64>,
}
