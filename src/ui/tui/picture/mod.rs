//! A queue as a picture: the holders, the waiters, what each watches, and the watch events on their
//! way to the woken clients. Pure: no ratatui, and time is an argument.
//!
//! ```text
//! FleetStatus --> TraceReplay --> QueuePicture --> Grid --> view
//!                 (trace,         (rows and        (columns, lines,
//!                  step by step)   what they watch) paths of events)
//! ```
//!
//! Architecture invariant: each moving event is an entry of the trace. This module never makes one
//! up.
//!
//! [`QueuePicture`] is the queue as rows: the contenders, their states, and what each watches.
//! `ShownFleet` makes it of test clients.

mod grid;
mod replay;
mod schedule;
mod turn;

use std::time::Duration;

use lockscope_base::znode::{Sequence, ZnodePath, Zxid};
use lockscope_lab::contend::{ClientId, ClientState, ClientStatus, FleetStatus, LinkState, RequestKind, WatchPlace};
use lockscope_lock::{Access, Algorithm};
use lockscope_model::diagnose::OwnerState;

pub use grid::{FlightDirection, FlightPlace, Grid, GridRow, LineCell};
pub use replay::{ReplayGap, TraceReplay, WakeCounts, WakeRates};
pub use schedule::{Flight, RequestFlight};
pub use turn::{CellSize, ClientCells, FADE_LEVELS, ShownTurn};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod clients_tests;

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
    Gone(NodeEnd),
    /// The state is unknown.
    Unknown,
}

/// Why a node is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeEnd {
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
    /// The label: the name of a client or of a node.
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

/// The last part of the path below which a semaphore's leases lie.
const LEASES: &str = "/leases";

/// Maximum names of clients outside of the queue.
const MAX_OUTSIDE_NAMES: usize = 16;

/// Facts that all clients of a fleet share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FleetFacts {
    /// The age of the fleet, on the same scale as a client's `since`.
    pub age: Duration,
    /// The session timeout.
    pub session_timeout: Duration,
    /// Whether at most one client may hold.
    pub is_exclusive: bool,
    /// Whether there are readers and writers.
    pub is_shared: bool,
    pub is_semaphore: bool,
}

impl FleetFacts {
    pub fn of(status: &FleetStatus) -> Self {
        let scenario = &status.scenario;
        Self {
            age: status.age,
            session_timeout: scenario.session_timeout,
            is_exclusive: scenario.places().is_some_and(|places| places.get() == 1),
            is_shared: scenario.algorithm.access().is_some(),
            is_semaphore: matches!(scenario.algorithm, Algorithm::Semaphore(_)),
        }
    }
}

/// A client at some point of the trace.
#[derive(Clone, Debug, PartialEq)]
struct ShownClient {
    pub id: ClientId,
    pub state: ClientState,
    pub frozen: bool,
    pub link: LinkState,
    pub since: Duration,
    pub access: Access,
    pub node: Option<ZnodePath>,
    pub token: Option<Zxid>,
    pub watches: Vec<WatchPlace>,
    /// The watches that have fired since the last step began.
    pub used: Vec<WatchPlace>,
    pub effect: Option<WakeEffect>,
    pub refused: bool,
    /// The client's former node, which was deleted without the client's knowledge.
    pub lost_node: Option<ZnodePath>,
}

impl ShownClient {
    pub fn of(status: &ClientStatus) -> Self {
        Self {
            id: status.id,
            state: status.state,
            frozen: status.frozen,
            link: status.link,
            since: status.since,
            access: status.access,
            node: status.node.clone(),
            token: status.token,
            watches: status.watches.clone(),
            used: Vec::new(),
            effect: None,
            refused: false,
            lost_node: None,
        }
    }

    /// Adopts the client's present state but keeps the effects since the last step began.
    pub fn follow(&mut self, status: &ClientStatus) {
        let before = std::mem::replace(self, Self::of(status));
        (self.used, self.effect, self.refused) = (before.used, before.effect, before.refused);
        if before.lost_node.is_some() && before.lost_node == self.node {
            self.lose_node();
        }
    }

    /// Removes the node and the watches, since the session has ended. The client does not know it
    /// yet.
    pub fn lose_node(&mut self) {
        self.watches.clear();
        self.lost_node = self.node.take();
    }

    /// Returns whether the session may end without a trace entry of the client.
    pub fn is_silent(&self) -> bool {
        self.frozen || self.link == LinkState::Cut || self.state == ClientState::Crashed
    }

    /// Returns the sequence number of the node.
    fn sequence(&self) -> Option<i32> {
        self.node.as_ref().and_then(|node| Sequence::split(node.name())).map(|(_, number)| number.0)
    }

    /// Returns whether this client's node must be gone, given that `holder` has just acquired the
    /// lock.
    pub fn must_be_gone_before(&self, holder: &Self, facts: &FleetFacts) -> bool {
        let (Some(own), Some(other)) = (&self.node, &holder.node) else { return false };
        if self.id == holder.id || facts.is_semaphore {
            return false;
        }
        let is_before = match (self.sequence(), holder.sequence()) {
            (Some(own), Some(other)) => own < other,
            _ => own == other,
        };
        let excludes = !facts.is_shared || self.access == Access::Write || holder.access == Access::Write;
        is_before && excludes
    }

    fn holds(&self) -> bool {
        self.state == ClientState::Holding
    }

    /// Returns whether the node is a semaphore's lease, which the client holds or is about to hold.
    fn has_lease(&self) -> bool {
        let parent = self.node.as_ref().and_then(ZnodePath::parent_str);
        parent.is_some_and(|parent| parent.ends_with(LEASES))
    }

    fn is_in_queue(&self) -> bool {
        self.node.is_some() || matches!(self.state, ClientState::Holding | ClientState::Waiting)
    }

    /// Returns the client's troubles, including those that will end its session.
    fn troubles(&self, facts: &FleetFacts) -> Vec<RowTrouble> {
        let mut troubles = Vec::new();
        if self.state == ClientState::Crashed {
            let passed = facts.age.saturating_sub(self.since);
            troubles.push(RowTrouble::Crashed { expires_in: facts.session_timeout.saturating_sub(passed) });
        }
        if self.frozen {
            troubles.push(RowTrouble::Frozen);
        }
        if self.link == LinkState::Cut && self.state != ClientState::Crashed {
            troubles.push(RowTrouble::Cut);
        }
        if self.refused {
            troubles.push(RowTrouble::WriteRefused);
        }
        if self.lost_node.is_some() && !self.holds() {
            troubles.push(RowTrouble::NodeGone);
        }
        troubles
    }
}

/// All clients, the nodes that were just deleted, and facts about the fleet.
struct ShownFleet<'a> {
    pub clients: Vec<&'a ShownClient>,
    pub gone: &'a [(ShownClient, NodeEnd)],
    /// Whether any client was woken since the last step began.
    pub somebody_woke: bool,
    pub facts: FleetFacts,
}

impl ShownFleet<'_> {
    /// Builds the rows.
    pub fn picture(&self) -> QueuePicture {
        let parents = self.parents();
        let mut standing: Vec<(&ShownClient, Option<NodeEnd>)> =
            self.gone.iter().map(|(client, departure)| (client, Some(*departure))).collect();
        standing.extend(self.clients.iter().filter(|client| client.is_in_queue()).map(|client| (*client, None)));
        standing.sort_by_cached_key(|(client, departure)| order(client, *departure, &self.facts));
        let outside: Vec<_> = self.clients.iter().filter(|client| !client.is_in_queue()).collect();
        let highest = self.clients.iter().filter(|client| client.holds()).filter_map(|client| client.token).max();
        let room = QueuePicture::MAX_ROWS - parents.len().min(QueuePicture::MAX_ROWS);
        let hidden = standing.len().saturating_sub(room);
        standing.truncate(room);
        let mut rows: Vec<PictureRow> = parents.iter().enumerate().map(|(at, path)| parent_row(at, path)).collect();
        let lines: Vec<_> =
            standing.iter().map(|(client, gone)| Self::lines(client, *gone, &parents, &standing)).collect();
        let made = standing.iter().zip(lines);
        rows.extend(made.map(|((client, gone), lines)| self.row(client, *gone, lines, highest)));
        QueuePicture {
            rows,
            hidden,
            outside: outside.iter().take(MAX_OUTSIDE_NAMES).map(|client| client.id.to_string()).collect(),
            outside_count: outside.len(),
        }
    }

    /// Returns the nodes whose children are watched, sorted by path.
    fn parents(&self) -> Vec<ZnodePath> {
        let watches = self.clients.iter().flat_map(|client| client.watches.iter().chain(&client.used));
        let mut parents: Vec<ZnodePath> = Vec::new();
        for place in watches {
            if let WatchPlace::Children(path) = place
                && !parents.contains(path)
            {
                parents.push(path.clone());
            }
        }
        parents.sort();
        parents
    }

    fn row(
        &self,
        client: &ShownClient,
        gone: Option<NodeEnd>,
        lines: Vec<WatchLine>,
        highest: Option<Zxid>,
    ) -> PictureRow {
        let number = u64::from(client.id.0);
        // If two clients think they hold an exclusive lock, the higher token is right.
        let outdated = self.facts.is_exclusive && client.token < highest || client.node.is_none();
        let state = match gone {
            Some(departure) => RowState::Gone(departure),
            None if client.holds() && outdated => RowState::ThinksItHolds,
            None if client.holds() => RowState::Holds,
            None => RowState::Waits,
        };
        let sleeps = || (self.somebody_woke && state == RowState::Waits).then_some(WakeEffect::SleepsOn);
        PictureRow {
            id: if gone.is_some() { RowId::Gone(number) } else { RowId::Client(number) },
            name: client.id.name(),
            state,
            access: self.facts.is_shared.then_some(client.access),
            lines,
            troubles: if gone.is_some() { Vec::new() } else { client.troubles(&self.facts) },
            effect: if gone.is_some() { None } else { client.effect.or_else(sleeps) },
            token: client.token.filter(|_| client.holds() && gone.is_none()),
        }
    }

    /// Returns what a client watches, as lines to other rows. A node that still exists takes
    /// precedence over a deleted node of the same name.
    fn lines(
        client: &ShownClient,
        gone: Option<NodeEnd>,
        parents: &[ZnodePath],
        standing: &[(&ShownClient, Option<NodeEnd>)],
    ) -> Vec<WatchLine> {
        if gone.is_some() {
            return Vec::new();
        }
        let line = |place: &WatchPlace, state: LineState| {
            let to = match place {
                WatchPlace::Children(path) => RowId::Parent(parents.binary_search(path).ok()?),
                WatchPlace::Node(path) => {
                    let owners = standing.iter().filter(|(other, _)| other.node.as_ref() == Some(path));
                    let known = owners.min_by_key(|(_, gone)| gone.is_some() == (state == LineState::Standing));
                    // Only the next client for a lease watches the leases, so it is known; the
                    // client behind it watches its node in the queue.
                    let next = || standing.iter().find(|(other, _)| !other.holds() && other.has_lease());
                    let (owner, gone) = known.or_else(next)?;
                    let number = u64::from(owner.id.0);
                    if gone.is_some() { RowId::Gone(number) } else { RowId::Client(number) }
                }
            };
            // A holder that watches its own node waits for nobody.
            (to != RowId::Client(u64::from(client.id.0))).then_some(WatchLine { to, state })
        };
        let used = client.used.iter().filter(|place| !client.watches.contains(place));
        let standing = client.watches.iter().filter_map(|place| line(place, LineState::Standing));
        standing.chain(used.filter_map(|place| line(place, LineState::Used))).collect()
    }
}

/// Sorts by the age of the nodes, oldest first. Holders whose node is gone come first, clients
/// without a node last. A semaphore's leases have numbers of their own and precede its queue.
fn order(client: &ShownClient, gone: Option<NodeEnd>, facts: &FleetFacts) -> (bool, u8, i32, ClientId) {
    let sequence = client.sequence();
    let held = client.holds() || gone.is_some();
    let is_first = held && sequence.is_none();
    let part = match client.has_lease() {
        _ if !facts.is_semaphore || held => 0,
        true => 1,
        false => 2,
    };
    (!is_first, part, sequence.unwrap_or(i32::MAX), client.id)
}

fn parent_row(at: usize, path: &ZnodePath) -> PictureRow {
    PictureRow {
        id: RowId::Parent(at),
        name: path.name().to_owned(),
        state: RowState::Parent,
        access: None,
        lines: Vec::new(),
        troubles: Vec::new(),
        effect: None,
        token: None,
    }
}
