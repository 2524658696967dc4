//! What must hold in every schedule.

mod limits;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::Hash;
use std::rc::Rc;
use std::sync::Arc;

use crate::ensemble::{Author, Change, Commit, Ensemble, LinkId, Request, session_of};
use crate::program::{Facts, Hold, HoldKind, RESOURCE};

pub use limits::Limit;
use limits::Traces;

/// Something that must hold and does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// A sentence that says what happened.
    pub what: String,
    /// The documented limit that explains it, if any does.
    pub limit: Option<Limit>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.limit {
            Some(limit) => write!(f, "{} ({limit})", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// Judges a run step by step.
#[derive(Clone, Debug, Default, Hash)]
pub struct Judge {
    /// Whether a stranger may write.
    pub strangers: bool,
    /// The highest token that has held each exclusive lock.
    tokens: BTreeMap<Arc<str>, i64>,
    /// The last token that was written to the resource.
    written: i64,
    traces: Traces,
    /// The clients whose session has ended since the servers did not hear them.
    silent: BTreeSet<usize>,
    /// The clients that were stopped.
    stopped: BTreeSet<usize>,
}

impl Judge {
    /// Creates the judge of a run that begins.
    pub fn new(strangers: bool) -> Self {
        Self { strangers, ..Self::default() }
    }

    /// Records a request before it is carried out.
    pub fn carries_out(&mut self, ensemble: &Ensemble, id: LinkId, request: &Request) {
        self.traces.carries_out(ensemble, id, request);
    }

    /// Records that the servers have ended the session of a client that they did not hear.
    pub fn ends_by_silence(&mut self, client: usize) {
        self.silent.insert(client);
    }

    /// Records that a process is stopped.
    pub fn stops(&mut self, client: usize) {
        self.stopped.insert(client);
    }

    /// Returns whether a client must know what it holds: its session lives, or has ended in a silence
    /// that a running process notices in time.
    fn must_know(&self, ensemble: &Ensemble, client: usize) -> bool {
        ensemble.lives(session_of(client)) || self.silent.contains(&client) && !self.stopped.contains(&client)
    }

    /// Returns the limit that explains why a node of a living session still stands at the end.
    pub fn explain_blocked(&self, ensemble: &Ensemble, clients: usize) -> Option<Limit> {
        let nodes = (0..clients).flat_map(|client| ensemble.tree().ephemerals_of(session_of(client)));
        let czxids = nodes.filter_map(|path| ensemble.tree().node(path).ok()).map(|node| node.czxid);
        czxids.into_iter().any(|czxid| self.traces.was_overwritten(czxid)).then_some(Limit::Overwritten)
    }

    /// Returns what does not hold after a step with these transactions.
    pub fn check(&mut self, ensemble: &Ensemble, fresh: &[Rc<Commit>], facts: &[&Facts]) -> Option<Violation> {
        for commit in fresh {
            if let Some(violation) = self.check_commit(commit, facts) {
                return Some(violation);
            }
        }
        self.check_holds(ensemble, facts)
    }

    fn check_commit(&mut self, commit: &Commit, facts: &[&Facts]) -> Option<Violation> {
        for change in &commit.changes {
            if let Author::Session(author) = commit.by {
                if let Some(what) = foreign_change(author, change, facts) {
                    let limit = self.traces.explain(author, change);
                    return Some(Violation { what, limit });
                }
                if let Change::DataChanged { path, data, .. } = change
                    && &**path == RESOURCE
                {
                    let token = std::str::from_utf8(data).ok().and_then(|token| token.parse().ok()).unwrap_or(0);
                    if token < self.written {
                        let what = format!("the token {token} overwrites the token {}", self.written);
                        return Some(Violation { what, limit: None });
                    }
                    self.written = token;
                }
            }
            self.traces.changed(commit, change);
        }
        None
    }

    /// Checks who holds. A client whose session has ended, or whose node a stranger has deleted, does
    /// not count.
    fn check_holds(&mut self, ensemble: &Ensemble, facts: &[&Facts]) -> Option<Violation> {
        let mut holds: Vec<(usize, &Hold)> = Vec::new();
        for (client, facts) in facts.iter().enumerate().filter(|(client, _)| self.must_know(ensemble, *client)) {
            holds.extend(facts.holds.iter().map(|hold| (client, hold)));
        }
        holds.retain(|(_, hold)| !self.traces.was_deleted_by_stranger(hold));
        for (at, (client, hold)) in holds.iter().enumerate() {
            if hold.kind == HoldKind::Exclusive {
                let highest = self.tokens.entry(Arc::clone(&hold.lock)).or_default();
                if hold.token < *highest {
                    let what =
                        format!("client {client} holds with the token {}, after the token {highest}", hold.token);
                    return Some(Violation { what, limit: None });
                }
                *highest = hold.token;
            }
            let others = holds[at + 1..].iter().filter(|(_, other)| other.lock == hold.lock);
            if let Some((other, _)) = others.clone().find(|(_, other)| excludes(hold.kind, other.kind)) {
                let what = format!("clients {client} and {other} hold {}, and the sessions of both live", hold.lock);
                return Some(Violation { what, limit: None });
            }
            if let HoldKind::Lease(leases) = hold.kind
                && others.count() >= leases as usize
            {
                let what = format!("more than {leases} clients hold {}", hold.lock);
                return Some(Violation { what, limit: None });
            }
        }
        None
    }
}

fn excludes(one: HoldKind, other: HoldKind) -> bool {
    one == HoldKind::Exclusive || other == HoldKind::Exclusive
}

/// Returns a sentence if a session has deleted or overwritten a node that is not its own, or that
/// its program takes for held.
fn foreign_change(author: i64, change: &Change, facts: &[&Facts]) -> Option<String> {
    let (path, czxid, owner, done) = match change {
        Change::Deleted { path, czxid, owner } => (path, *czxid, *owner, "deletes"),
        Change::DataChanged { path, czxid, owner, .. } => (path, *czxid, *owner, "overwrites"),
        Change::Created { .. } => return None,
    };
    if &**path == RESOURCE {
        return None;
    }
    let client = author - session_of(0);
    if owner != Some(author) {
        return Some(format!("client {client} {done} {path}, which is not its own"));
    }
    let holder = facts.iter().position(|facts| facts.holds.iter().any(|hold| hold.token == czxid))?;
    Some(format!("client {client} {done} {path}, with which client {holder} holds"))
}
