//! A queue as rows: who stands in it, in which state, and what each watches. Data only.

use std::time::Duration;

use lockscope_base::znode::Zxid;
use lockscope_lab::contend::RequestKind;
use lockscope_lock::Access;
use lockscope_model::diagnose::OwnerState;

/// Which row of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowId {
    /// A node whose children are watched, by its number among those.
    Parent(usize),
    /// Whoever has this number: a test client, or a contender of a queue.
    Client(u64),
    /// The node that it had, which was just deleted.
    Gone(u64),
    /// All those for whom there is no room.
    More,
    /// All those that are not in the queue.
    Outside,
}

/// The state of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowState {
    /// A node whose children are watched.
    Parent,
    Holds,
    /// It thinks that it holds, and its node is gone.
    ThinksItHolds,
    Waits,
    /// Its node was just deleted.
    Gone(Departure),
    /// Nobody knows.
    Unknown,
}

/// Why a node is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// Its client deleted it.
    Released,
    /// Its session ended.
    SessionEnded,
}

/// What a client's watch has done for it since the last step began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeEffect {
    /// A watch event is on its way to it.
    IsWoken,
    /// A watch event has reached it.
    Woken,
    /// It was woken and sends requests.
    Asks(RequestKind),
    /// It was woken and got the lock.
    GetsIt,
    /// It was woken and waits again.
    InVain,
    /// Others were woken; it was not.
    SleepsOn,
}

/// What is wrong with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowTrouble {
    /// Its process is stopped.
    Frozen,
    /// Its process is dead; in about that time its session expires.
    Crashed { expires_in: Duration },
    /// Nothing passes between it and the servers.
    Cut,
    /// Its node is gone, and it does not know.
    NodeGone,
    /// The resource refused its last write.
    WriteRefused,
    /// Its session is about to end, or has ended.
    Owner { state: OwnerState, expires_in: Option<Duration> },
    /// It waits, and nothing will wake it.
    WatchesNothing,
}

/// How well a line is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineState {
    /// Nobody knows whether there is a watch.
    Unknown,
    /// The watch has just fired and is used up.
    Used,
    /// The watch is set.
    Standing,
}

/// From a row to what it watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchLine {
    /// Where it leads.
    pub to: RowId,
    pub state: LineState,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureRow {
    pub id: RowId,
    /// What it is called: a number, or a node's name.
    pub name: String,
    pub state: RowState,
    /// What it asks of a shared lock; `None` where all ask for the same.
    pub access: Option<Access>,
    /// What it watches.
    pub lines: Vec<WatchLine>,
    /// What is wrong with it, the worst first.
    pub troubles: Vec<RowTrouble>,
    pub effect: Option<WakeEffect>,
    /// Its fencing token, while it holds.
    pub token: Option<Zxid>,
}

/// A queue: the nodes whose children are watched, then the holders, then the waiters in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueuePicture {
    /// The first rows, at most [`MAX_ROWS`](Self::MAX_ROWS).
    pub rows: Vec<PictureRow>,
    /// How many more there are.
    pub hidden: usize,
    /// The names of those that are not in the queue, the first ones.
    pub outside: Vec<String>,
    /// How many are not in the queue.
    pub outside_count: usize,
}

impl QueuePicture {
    /// The most rows that a terminal shows.
    pub const MAX_ROWS: usize = 128;

    /// Whether the picture has this row.
    pub fn has(&self, id: RowId) -> bool {
        self.rows.iter().any(|row| row.id == id)
    }
}
