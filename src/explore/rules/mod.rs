//! What must hold in every schedule.

mod deletion;
mod limits;
mod observer;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use crate::ensemble::{Author, Change, Commit, Ensemble, LinkId, Request, session_of};
use crate::program::{Facts, Hold, HoldKind, RESOURCE};

use deletion::Deletions;
pub use limits::Limit;
use limits::Traces;
use observer::Observations;
pub use observer::Reach;

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

/// The seconds after which a process that was stopped must know that its lock is lost.
const KNOWS_AFTER: u32 = 2;

/// Judges a run step by step.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    /// The highest token that has held each exclusive lock.
    tokens: BTreeMap<Arc<str>, i64>,
    /// The last token that was written to the resource.
    written: i64,
    traces: Traces,
    /// The clients whose session has ended since the servers did not hear them.
    silent: BTreeSet<usize>,
    /// The clients that are stopped or were, and the seconds for which each has run since.
    stopped: BTreeMap<usize, u32>,
    /// The clients that have lost a connection.
    cut: BTreeSet<usize>,
    /// The clients of other libraries, which prove nothing before they take their turn.
    others: BTreeSet<usize>,
    deletions: Deletions,
    observations: Observations,
    /// The documented limit that explains why two hold after the last step.
    pub met: Option<Limit>,
}

impl Judge {
    /// Creates the judge of a run with these clients of other libraries.
    pub fn new(others: BTreeSet<usize>) -> Self {
        Self { others, ..Self::default() }
    }

    /// Returns the highest token that has held each exclusive lock.
    pub fn tokens(&self) -> &BTreeMap<Arc<str>, i64> {
        &self.tokens
    }

    /// Records a request before it is carried out.
    pub fn carries_out(&mut self, ensemble: &Ensemble, id: LinkId, request: &Request) {
        self.traces.carries_out(ensemble, id, request);
        self.deletions.carries_out(ensemble, id, request);
    }

    /// Records that the servers have ended the session of a client that they did not hear.
    pub fn ends_by_silence(&mut self, client: usize) {
        self.silent.insert(client);
    }

    /// Records that a process is stopped.
    pub fn stops(&mut self, client: usize) {
        self.stopped.insert(client, 0);
        self.observations.stops(client);
    }

    /// Records that a process has run for a second. One that was stopped must know of its loss a
    /// twentieth of the session timeout after it runs again, which is a second, and a part of one.
    pub fn runs(&mut self, client: usize) {
        if let Some(seconds) = self.stopped.get_mut(&client) {
            *seconds = (*seconds + 1).min(KNOWS_AFTER);
        }
        self.observations.runs(client);
        self.deletions.runs(client);
    }

    /// Records that the connection of a client has ended.
    pub fn loses_connection(&mut self, client: usize) {
        self.cut.insert(client);
        self.observations.loses_connection(client);
    }

    /// Returns the limit that explains why a client may take a lock for held that it has lost; `None`
    /// if it must know: its session lives, or has ended in a silence that a running process notices
    /// in time.
    fn excuse(&self, ensemble: &Ensemble, client: usize, hold: &Hold) -> Option<Limit> {
        if self.traces.was_deleted_by_stranger(hold) {
            Some(Limit::NodeDeleted)
        } else if ensemble.lives(session_of(client)) {
            None
        } else if self.stopped.get(&client).is_some_and(|seconds| *seconds < KNOWS_AFTER) {
            Some(Limit::Stopped)
        } else if self.others.contains(&client) {
            Some(Limit::HeldByOthers)
        } else {
            (!self.silent.contains(&client)).then_some(Limit::EndedEarly)
        }
    }

    /// Returns the limit that explains why a node of a living session still stands at the end.
    pub fn explain_blocked(&self, ensemble: &Ensemble, clients: usize) -> Option<Limit> {
        let nodes = (0..clients).flat_map(|client| ensemble.tree().ephemerals_of(session_of(client)));
        let czxids = nodes.filter_map(|path| ensemble.tree().node(path).ok()).map(|node| node.czxid);
        czxids.into_iter().any(|czxid| self.traces.was_overwritten(czxid)).then_some(Limit::Overwritten)
    }

    /// Returns what does not hold after a step with these transactions. `reach` tells how far a client
    /// has been told of everything.
    pub fn check(
        &mut self,
        ensemble: &Ensemble,
        fresh: &[Rc<Commit>],
        facts: &[&Facts],
        reach: impl Fn(usize) -> Reach,
    ) -> Option<Violation> {
        for commit in fresh {
            self.observations.changed(commit, facts);
            if let Some(violation) = self.check_commit(commit, facts) {
                return Some(violation);
            }
        }
        let is_disturbed = |client| self.cut.contains(&client) || self.stopped.contains_key(&client);
        let violation = self.deletions.check(ensemble, facts, is_disturbed);
        let violation = violation.or_else(|| self.observations.check(ensemble, facts, reach));
        violation.or_else(|| self.check_holds(ensemble, facts))
    }

    fn check_commit(&mut self, commit: &Commit, facts: &[&Facts]) -> Option<Violation> {
        for change in &commit.changes {
            let by_deletion = self.deletions.changed(commit.by, commit.zxid, change);
            if let Some(leaves_other_data) = by_deletion {
                self.traces.changed_by_stranger(change, leaves_other_data);
            } else if let Author::Session(author) = commit.by {
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
            if commit.by == Author::Stranger {
                self.traces.changed_by_stranger(change, true);
            }
        }
        None
    }

    /// Checks who holds. A client that may take a lock for held which it has lost does not count.
    fn check_holds(&mut self, ensemble: &Ensemble, facts: &[&Facts]) -> Option<Violation> {
        let holds =
            facts.iter().enumerate().flat_map(|(client, facts)| facts.holds.iter().map(move |hold| (client, hold)));
        let (counted, excused): (Vec<_>, Vec<_>) =
            holds.partition(|(client, hold)| self.excuse(ensemble, *client, hold).is_none());
        let conflict = |(client, hold): &(usize, &Hold)| {
            let others = counted.iter().chain(&excused).filter(|(other, _)| other != client);
            others.clone().any(|(_, other)| other.lock == hold.lock && excludes(hold.kind, other.kind))
        };
        self.met =
            excused.iter().find(|held| conflict(held)).and_then(|(client, hold)| self.excuse(ensemble, *client, hold));
        counted.iter().enumerate().find_map(|(at, (client, hold))| self.check_hold(*client, hold, &counted[at + 1..]))
    }

    fn check_hold(&mut self, client: usize, hold: &Hold, others: &[(usize, &Hold)]) -> Option<Violation> {
        let fails = |what| Some(Violation { what, limit: None });
        if hold.kind == HoldKind::Exclusive {
            let highest = self.tokens.entry(Arc::clone(&hold.lock)).or_default();
            if hold.token < *highest {
                return fails(format!(
                    "client {client} holds with the token {}, after the token {highest}",
                    hold.token
                ));
            }
            *highest = hold.token;
        }
        let others = others.iter().filter(|(_, other)| other.lock == hold.lock);
        if let Some((other, _)) = others.clone().find(|(_, other)| excludes(hold.kind, other.kind)) {
            return fails(format!("clients {client} and {other} hold {}, and the sessions of both live", hold.lock));
        }
        match hold.kind {
            HoldKind::Lease(leases) if others.count() >= leases as usize => {
                fails(format!("more than {leases} clients hold {}", hold.lock))
            }
            _ => None,
        }
    }
}

impl Hash for Judge {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.tokens, self.written, &self.traces, &self.silent, &self.stopped).hash(state);
        (&self.cut, &self.deletions, &self.observations).hash(state);
    }
}

fn excludes(one: HoldKind, other: HoldKind) -> bool {
    one == HoldKind::Exclusive || other == HoldKind::Exclusive
}

/// Returns a sentence if a session has deleted or overwritten a node that is not its own, or that
/// its program takes for held.
fn foreign_change(author: i64, change: &Change, facts: &[&Facts]) -> Option<String> {
    let (path, czxid, owner, done) = match change {
        Change::Deleted { path, czxid, owner, .. } => (path, *czxid, *owner, "deletes"),
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
