//! The documented limits of the locks: which of them explains a violation, and what a client need
//! not know yet.
//!
//! Each excuse has an end: a client that has lost its lock may take it for held only for as long as
//! the documentation says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::ensemble::{Committed, LinkId, ReadOp, Request, SimulatedEnsemble, WriteOp, session_of};
use crate::program::{ClaimedHold, ProgramState};
use lockscope_sandbox::parts::known;

/// A limit that the documentation of the lock library, or that of the deletion, names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Somebody else deletes the own node, and another client gets its path, between the look at
    /// the node and its deletion.
    ReplacedMeanwhile,
    /// A deletion arrives late, after the session was moved back to a server that hung.
    LateDeletion,
    /// Somebody else deletes the node of a holder, or of a waiter right before its turn, which then
    /// takes the lock for held until it looks.
    NodeDeleted,
    /// A process is stopped for so long that its session ends, and takes its lock for held until it
    /// has run again.
    Stopped,
    /// The servers end a session of which they hear, and its client takes its lock for held until it
    /// learns of that.
    EndedEarly,
    /// Somebody else overwrites the data of a node whose create is not answered. The attempt does
    /// not know its node any more. Or the data become those of an earlier node of the same client,
    /// which then takes the node for one that a lost create left behind.
    Overwritten,
    /// A client of another library leaves a node whose create was not answered: it has searched on a
    /// server that lags.
    LeftByOthers,
    /// A client of another library takes its turn by what a server shows that has not learned of the end
    /// of its session.
    HeldByOthers,
    /// A confirmed deletion hits another node, which was created and written to between two of its
    /// requests as often as the confirmed one, or nothing guards it. Its outcome says so.
    DeletedOther,
}

impl Limit {
    /// All limits.
    pub const ALL: [Self; 9] = [
        Self::ReplacedMeanwhile,
        Self::LateDeletion,
        Self::NodeDeleted,
        Self::Stopped,
        Self::EndedEarly,
        Self::Overwritten,
        Self::LeftByOthers,
        Self::HeldByOthers,
        Self::DeletedOther,
    ];
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReplacedMeanwhile => "replaced-meanwhile",
            Self::LateDeletion => "late-deletion",
            Self::NodeDeleted => "node-deleted",
            Self::Stopped => "stopped",
            Self::EndedEarly => "ended-early",
            Self::Overwritten => "overwritten",
            Self::LeftByOthers => "left-by-others",
            Self::HeldByOthers => "held-by-others",
            Self::DeletedOther => "deleted-other",
        })
    }
}

/// The kind of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum ReadKind {
    Stat,
    Data,
}

/// A node that a session has seen: path, czxid and version.
type SeenNode = (Arc<str>, i64, i32);

/// What a run leaves behind that tells one limit from another.
#[derive(Clone, Debug, Default, Hash)]
pub struct SimulatedTraces {
    /// The nodes that a stranger has deleted.
    deleted_by_stranger: BTreeSet<(i64, Arc<str>)>,
    /// The nodes that a stranger has overwritten, by czxid.
    overwritten: BTreeSet<i64>,
    /// The own node that each session has seen at its last read of a stat, and at its last read of
    /// data. None if the server showed another node, or none. A read of one kind can be on its way
    /// while the deletion follows one of the other.
    looks: BTreeMap<(i64, ReadKind), Option<SeenNode>>,
    /// Whether the last request was a deletion over a connection that is given up.
    is_late: bool,
}

impl SimulatedTraces {
    pub fn carries_out(&mut self, ensemble: &SimulatedEnsemble, id: LinkId, request: &Request) {
        let given_up = ensemble.link(id).is_some_and(|link| link.broken);
        self.is_late = given_up && matches!(request, Request::Write(WriteOp::Delete { .. }));
        let (path, kind) = match request {
            Request::Read { read: ReadOp::Stat(path), .. } if !given_up => (path, ReadKind::Stat),
            Request::Read { read: ReadOp::Data(path), .. } if !given_up => (path, ReadKind::Data),
            _ => return,
        };
        let own = ensemble.own_node(id, path).map(|(czxid, version)| (Arc::clone(path), czxid, version));
        self.looks.insert((session_of(id.client), kind), own);
    }

    /// Records a change that a stranger or an operator has made.
    pub fn changed_by_stranger(&mut self, change: &Committed, leaves_other_data: bool) {
        match change {
            Committed::Deleted { czxid, path, .. } => {
                self.deleted_by_stranger.insert((*czxid, Arc::clone(path)));
            }
            Committed::DataChanged { czxid, .. } if leaves_other_data => drop(self.overwritten.insert(*czxid)),
            _ => {}
        }
    }

    pub fn was_overwritten(&self, czxid: i64) -> bool {
        self.overwritten.contains(&czxid)
    }

    pub fn was_deleted_by_stranger(&self, hold: &ClaimedHold) -> bool {
        let mut deleted = self.deleted_by_stranger.iter();
        deleted.any(|(czxid, path)| hold.node == *path && (hold.is_downgraded || hold.token == *czxid))
    }

    /// Returns whether a stranger has deleted a node with this path.
    pub fn was_deleted(&self, node: &str) -> bool {
        self.deleted_by_stranger.iter().any(|(_, path)| &**path == node)
    }

    /// Returns whether a stranger has deleted any node.
    pub fn has_deletions(&self) -> bool {
        !self.deleted_by_stranger.is_empty()
    }

    /// Returns the limit that explains why a session has deleted or overwritten that node.
    pub fn explain(&self, author: i64, change: &Committed) -> Option<Limit> {
        if self.is_late {
            return Some(Limit::LateDeletion);
        }
        if let Committed::Deleted { czxid, owner, .. } = change
            && *owner == Some(author)
            && self.was_overwritten(*czxid)
        {
            return Some(Limit::Overwritten);
        }
        let has_lost_what_it_hits = [ReadKind::Stat, ReadKind::Data].into_iter().any(|kind| {
            let Some(Some((path, czxid, version))) = self.looks.get(&(author, kind)) else { return false };
            let has_lost_it = self.deleted_by_stranger.contains(&(*czxid, Arc::clone(path)));
            // The version that it saw guards the deletion: a node with another version is spared.
            let hits = matches!(change, Committed::Deleted { path: hit, version: of_hit, .. } if hit == path && of_hit == version);
            has_lost_it && hits
        });
        has_lost_what_it_hits.then_some(Limit::ReplacedMeanwhile)
    }
}

/// The seconds after which a process that was stopped must know that its lock is lost: a twentieth of
/// the session timeout, which is a second, and a part of one.
const KNOWS_AFTER_STOP: u32 = 2;

/// The seconds of a stop that a process notices: more than one and a half.
const NOTICES_STOP_OF: u32 = 2;

/// The seconds without a connection after which a holder must know that its lock may be lost: three
/// tenths of the session timeout, and a part of a second.
const KNOWS_WHEN_ALONE: u32 = 7;

/// The seconds after which a holder knows of the deletion of its node, while it hears everything: at
/// once if it watches the node, else a second and a part of one after its turn or a reconnect.
const KNOWS_BY_WATCH: u32 = 1;

const KNOWS_BY_CHECK: u32 = 2;

/// The data of a node whose owner is asked to release it.
pub const REVOKE: &[u8] = b"__REVOKE__";

/// Whether a client may take a lock for held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStanding {
    /// It holds.
    Holds,
    /// The lock is lost, and the client need not know yet.
    Excused(Limit),
    /// The lock is lost, and the client must know. The reason is a part of a sentence.
    MustKnow(&'static str),
}

/// A hold whose node is deleted while its session lives.
#[derive(Clone, Copy, Debug, Default, Hash)]
struct GoneNode {
    /// The seconds for which the client has heard everything since.
    seconds: u32,
    /// Whether an event gave the client its turn after that, or it has connected again since: then it
    /// checks its node.
    checks: bool,
}

/// What the clients of a run can know.
#[derive(Clone, Debug, Default, Hash)]
pub struct Awareness {
    /// The clients of other libraries, which prove nothing before they take their turn.
    others: BTreeSet<usize>,
    /// The clients whose session has ended since the servers did not hear them.
    silent: BTreeSet<usize>,
    /// The clients that are stopped or were, and the seconds for which each has run since.
    stopped: BTreeMap<usize, u32>,
    /// The second in which each of them was stopped last.
    stopped_at: BTreeMap<usize, u32>,
    /// The clients that have noticed their stop after the end of their session, and the seconds until
    /// each must know of it.
    resumed: BTreeMap<usize, u32>,
    /// The seconds for which a client has run without a connection since the end of its session.
    alone: BTreeMap<usize, u32>,
    gone: BTreeMap<(usize, i64), GoneNode>,
    /// The holds that somebody has asked to release, and the seconds for which each client has heard
    /// everything since.
    asked: BTreeMap<(usize, i64), u32>,
    /// The holds after the last step.
    held: BTreeSet<(usize, i64)>,
}

impl Awareness {
    pub fn new(others: BTreeSet<usize>) -> Self {
        Self { others, ..Self::default() }
    }

    pub fn is_foreign(&self, client: usize) -> bool {
        self.others.contains(&client)
    }

    pub fn was_stopped(&self, client: usize) -> bool {
        self.stopped.contains_key(&client)
    }

    pub fn ends_by_silence(&mut self, client: usize) {
        self.silent.insert(client);
    }

    pub fn stops(&mut self, client: usize, second: u32) {
        self.stopped.insert(client, 0);
        self.stopped_at.insert(client, second);
    }

    pub fn resumes(&mut self, client: usize, second: u32, lives: bool) {
        let stopped_at = self.stopped_at.remove(&client).unwrap_or(second);
        let stood = second - stopped_at;
        if !lives && stood >= NOTICES_STOP_OF {
            self.resumed.insert(client, KNOWS_WHEN_ALONE.saturating_sub(stood));
        }
    }

    pub fn connects(&mut self, client: usize) {
        for (_, gone) in self.gone.range_mut((client, i64::MIN)..=(client, i64::MAX)) {
            *gone = GoneNode { seconds: 0, checks: true };
        }
    }

    /// Records that a process has run for a second.
    pub fn runs(&mut self, client: usize, is_alone: bool, is_current: bool) {
        if let Some(seconds) = self.stopped.get_mut(&client) {
            *seconds = (*seconds + 1).min(KNOWS_AFTER_STOP);
        }
        if let Some(seconds) = self.resumed.get_mut(&client) {
            *seconds = seconds.saturating_sub(1);
        }
        if is_alone {
            let seconds = self.alone.entry(client).or_default();
            *seconds = (*seconds + 1).min(KNOWS_WHEN_ALONE);
        }
        if is_current {
            for (_, gone) in self.gone.range_mut((client, i64::MIN)..=(client, i64::MAX)) {
                gone.seconds = (gone.seconds + 1).min(KNOWS_BY_CHECK);
            }
            for (_, seconds) in self.asked.range_mut((client, i64::MIN)..=(client, i64::MAX)) {
                *seconds = (*seconds + 1).min(KNOWS_BY_WATCH);
            }
        }
    }

    /// Records the holds after a step. `by_event` is the client that has received an event in it.
    pub fn look(&mut self, ensemble: &SimulatedEnsemble, facts: &[&ProgramState], by_event: Option<usize>) {
        if self.held.is_empty() && facts.iter().all(|facts| facts.holds.is_empty()) {
            return;
        }
        let (mut held, mut asked) = (BTreeSet::new(), BTreeMap::new());
        let holds =
            facts.iter().enumerate().flat_map(|(client, facts)| facts.holds.iter().map(move |hold| (client, hold)));
        for (client, hold) in holds {
            let key = (client, hold.token);
            held.insert(key);
            if hold.yields && is_asked(ensemble, hold) {
                asked.insert(key, self.asked.get(&key).copied().unwrap_or_default());
            }
            if ensemble.lives(session_of(client)) && !exists(ensemble, hold) {
                // A group shows its locks together, when the last one is granted.
                let is_turn = by_event == Some(client) && !self.held.contains(&key) && facts[client].holds.len() == 1;
                self.gone.entry(key).or_insert(GoneNode { seconds: 0, checks: is_turn });
            }
        }
        self.gone.retain(|key, _| held.contains(key));
        (self.held, self.asked) = (held, asked);
    }

    /// Returns whether a client may take a lock for held.
    pub fn standing(
        &self,
        ensemble: &SimulatedEnsemble,
        traces: &SimulatedTraces,
        client: usize,
        hold: &ClaimedHold,
    ) -> NodeStanding {
        let is_foreign = self.is_foreign(client);
        if !ensemble.lives(session_of(client)) {
            return if self.stopped.get(&client).is_some_and(|seconds| *seconds < KNOWS_AFTER_STOP) {
                NodeStanding::Excused(Limit::Stopped)
            } else if is_foreign {
                NodeStanding::Excused(Limit::HeldByOthers)
            } else if self.silent.contains(&client) {
                NodeStanding::MustKnow("the servers have ended its session, which they did not hear")
            } else if self.resumed.get(&client) == Some(&0) {
                NodeStanding::MustKnow("its session had ended when its process went on")
            } else if self.alone.get(&client) == Some(&KNOWS_WHEN_ALONE) {
                NodeStanding::MustKnow(
                    "its session has ended, and it has had no connection since for three tenths of it",
                )
            } else {
                NodeStanding::Excused(Limit::EndedEarly)
            };
        }
        if exists(ensemble, hold) {
            return if self.asked.get(&(client, hold.token)) == Some(&KNOWS_BY_WATCH) {
                NodeStanding::MustKnow("it is asked to release, and listens")
            } else {
                NodeStanding::Holds
            };
        }
        if !traces.was_deleted_by_stranger(hold) {
            return NodeStanding::MustKnow("its own session has deleted the node");
        }
        let gone = self.gone.get(&(client, hold.token)).copied().unwrap_or_default();
        if hold.is_watched && gone.seconds >= KNOWS_BY_WATCH && !is_foreign {
            NodeStanding::MustKnow("it watches its node, which is deleted")
        } else if gone.checks && gone.seconds >= KNOWS_BY_CHECK && !is_foreign {
            NodeStanding::MustKnow("its node was deleted before its turn or its reconnect")
        } else {
            NodeStanding::Excused(Limit::NodeDeleted)
        }
    }
}

/// Returns whether the data of a hold's node ask to release it.
fn is_asked(ensemble: &SimulatedEnsemble, hold: &ClaimedHold) -> bool {
    exists(ensemble, hold)
        && ensemble.tree().node(known(&hold.node)).is_ok_and(|node| node.data.as_deref() == Some(REVOKE))
}

/// Returns whether the leader has the node of a hold.
fn exists(ensemble: &SimulatedEnsemble, hold: &ClaimedHold) -> bool {
    ensemble.tree().node(known(&hold.node)).is_ok_and(|node| hold.is_downgraded || node.czxid == hold.token)
}
