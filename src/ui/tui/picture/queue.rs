//! A queue as rows: the contenders, their states, and what each watches. Data only.

use std::time::Duration;

use lockscope_base::znode::Zxid;
use lockscope_lab::contend::RequestKind;
use lockscope_lock::Access;
use lockscope_model::diagnose::OwnerState;

/// Identifies a row of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowId {
    /// A node whose children are watched, by its index among those nodes.
    Parent(usize),
    /// The test client or contender with this number.
    Client(u64),
    /// The former node of the client with this number, just deleted.
    Gone(u64),
    /// All rows that do not fit.
    More,
    /// All clients that are not in the queue.
    Outside,
}

/// The state of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowState {
    /// A node whose children are watched.
    Parent,
    Holds,
    /// The client thinks that it holds, but its node is gone.
    ThinksItHolds,
    Waits,
    /// The node was just deleted.
    Gone(Departure),
    /// The state is unknown.
    Unknown,
}

/// Why a node is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The client deleted the node.
    Released,
    /// The session ended.
    SessionEnded,
}

/// The effect on a client of the watches that fired since the last step began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeEffect {
    /// A watch event is on its way to the client.
    IsWoken,
    /// A watch event has reached the client.
    Woken,
    /// The client was woken and sends requests.
    Asks(RequestKind),
    /// The client was woken and acquired the lock.
    GetsIt,
    /// The client was woken and waits again.
    InVain,
    /// Other clients were woken; this one was not.
    SleepsOn,
}

/// A trouble of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowTrouble {
    /// The client's process is stopped.
    Frozen,
    /// The client's process is dead; the session expires in about this time.
    Crashed { expires_in: Duration },
    /// The connection to the servers is cut.
    Cut,
    /// The node is gone, and the client does not know it.
    NodeGone,
    /// The resource refused the client's last write.
    WriteRefused,
    /// The session is about to end or has ended.
    Owner { state: OwnerState, expires_in: Option<Duration> },
    /// The client waits, but nothing will wake it.
    WatchesNothing,
}

/// How certain a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineState {
    /// Whether there is a watch is unknown.
    Unknown,
    /// The watch has just fired and is used up.
    Used,
    /// The watch is set.
    Standing,
}

/// A line from a row to what the row watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchLine {
    /// The row at the other end.
    pub to: RowId,
    pub state: LineState,
}

/// A row of the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureRow {
    pub id: RowId,
    /// The label: a number, or a node's name.
    pub name: String,
    pub state: RowState,
    /// The access requested from a shared lock; `None` where all clients request the same.
    pub access: Option<Access>,
    /// The lines to what the row watches.
    pub lines: Vec<WatchLine>,
    /// The troubles, the worst first.
    pub troubles: Vec<RowTrouble>,
    pub effect: Option<WakeEffect>,
    /// The fencing token while the client holds.
    pub token: Option<Zxid>,
}

/// A queue: the nodes whose children are watched, then the holders, then the waiters in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueuePicture {
    /// The first rows, at most [`MAX_ROWS`](Self::MAX_ROWS).
    pub rows: Vec<PictureRow>,
    /// The number of further rows.
    pub hidden: usize,
    /// The names of the first clients that are not in the queue.
    pub outside: Vec<String>,
    /// The number of clients that are not in the queue.
    pub outside_count: usize,
}

impl QueuePicture {
    /// The most rows that any terminal shows.
    pub const MAX_ROWS: usize = 128;

    /// Returns whether the picture has a row.
    pub fn has(&self, id: RowId) -> bool {
        self.rows.iter().any(|row| row.id == id)
    }
}
