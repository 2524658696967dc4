//! What must hold in every schedule.

mod deletion;
mod guarded;
mod limits;
mod observer;
mod outcomes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use crate::ensemble::{Author, Commit, Committed, LinkId, Request, SimulatedEnsemble, session_of};
use crate::program::{ClaimedHold, FENCE, GUARDED, HoldKind, LOCK, Patience, ProgramState, RESOURCE};
use deletion::DeletionRules;
use guarded::GuardedWrites;
use limits::{Awareness, NodeStanding, SimulatedTraces};
use observer::Observations;
use outcomes::Outcomes;

pub use limits::Limit;
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

/// Judges a run step by step.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    /// The highest token that has held each exclusive lock.
    tokens: BTreeMap<Arc<str>, i64>,
    /// The last token that was written to the resource.
    written: i64,
    traces: SimulatedTraces,
    awareness: Awareness,
    outcomes: Outcomes,
    /// The client and the path of each ephemeral node, by its creating transaction.
    created: BTreeMap<i64, (i64, Arc<str>)>,
    /// The clients whose messages were held up, or lost with a connection.
    cut: BTreeSet<usize>,
    deletions: DeletionRules,
    guarded: GuardedWrites,
    observations: Observations,
    /// The documented limit that explains why two hold after the last step.
    pub met: Option<Limit>,
}

impl Judge {
    /// Creates the judge of a run with these clients of other libraries. `numbers_end` tells whether
    /// the numbers of a parent can be used up, and `patience` which attempts must end in time.
    pub fn new(others: BTreeSet<usize>, numbers_end: bool, patience: BTreeMap<usize, Patience>) -> Self {
        let outcomes = Outcomes::new(numbers_end, patience);
        Self { awareness: Awareness::new(others), outcomes, ..Self::default() }
    }

    /// Records a request before it is carried out.
    pub fn carries_out(&mut self, ensemble: &SimulatedEnsemble, id: LinkId, request: &Request) {
        self.traces.carries_out(ensemble, id, request);
        self.deletions.carries_out(ensemble, id, request);
    }

    /// Records that the servers have ended the session of a client that they did not hear.
    pub fn ends_by_silence(&mut self, client: usize) {
        self.awareness.ends_by_silence(client);
    }

    /// Records that a process is stopped in this second.
    pub fn stops(&mut self, client: usize, second: u32) {
        self.awareness.stops(client, second);
        self.observations.stops(client);
    }

    /// Records that a process goes on. `lives` tells whether its session does.
    pub fn resumes(&mut self, client: usize, second: u32, lives: bool) {
        self.awareness.resumes(client, second, lives);
    }

    /// Records that a process has run for a second: whether its session lives, whether it had a
    /// connection, and whether it heard everything.
    pub fn runs(&mut self, client: usize, lives: bool, has_connection: bool, is_current: bool) {
        self.awareness.runs(client, !lives && !has_connection, is_current);
        self.outcomes.runs(client, has_connection);
        if is_current {
            self.outcomes.is_current(client);
        }
        self.observations.runs(client);
        self.deletions.runs(client);
    }

    /// Records that a client has a new connection.
    pub fn connects(&mut self, client: usize) {
        self.awareness.connects(client);
    }

    /// Records that no message of a client moves.
    pub fn stalls(&mut self, client: usize) {
        self.cut.insert(client);
    }

    /// Records that the connection of a client has ended.
    pub fn loses_connection(&mut self, client: usize) {
        self.cut.insert(client);
    }

    /// Records that the connection of a client has ended.
    pub fn breaks(&mut self, client: usize) {
        self.loses_connection(client);
        self.observations.loses_connection(client);
    }

    /// Returns whether a request of a client was refused, or a reply spoilt.
    pub fn is_refused(&self, client: usize) -> bool {
        self.outcomes.is_refused(client)
    }

    /// Records that a request of a client is refused, or its reply spoilt.
    pub fn refuses(&mut self, client: usize) {
        self.outcomes.refuses(client);
        self.observations.refuses(client);
        self.deletions.refuses(client);
    }

    /// Returns the limit that explains why a node of a living session still stands at the end.
    pub fn explain_blocked(&self, ensemble: &SimulatedEnsemble, clients: usize) -> Option<Limit> {
        let nodes = (0..clients).flat_map(|client| ensemble.tree().ephemerals_of(session_of(client)));
        let czxids = nodes.filter_map(|path| ensemble.tree().node(path).ok()).map(|node| node.czxid);
        czxids.into_iter().any(|czxid| self.traces.was_overwritten(czxid)).then_some(Limit::Overwritten)
    }

    /// Returns what does not hold after a step with these transactions. `by_event` is the client that
    /// has received an event in it. `reach` tells how far a client has been told of everything,
    /// and `is_over` whether its library has given its session up.
    pub fn check(
        &mut self,
        ensemble: &SimulatedEnsemble,
        fresh: &[Rc<Commit>],
        facts: &[&ProgramState],
        by_event: Option<usize>,
        reach: impl Fn(usize) -> Reach,
        is_over: impl Fn(usize) -> bool,
    ) -> Option<Violation> {
        for commit in fresh {
            self.observations.changed(commit, facts);
            if let Some(violation) = self.check_commit(commit, facts) {
                return Some(violation);
            }
            self.outcomes.changed(commit, ensemble, facts);
        }
        let is_disturbed = |client| {
            self.cut.contains(&client) || self.awareness.was_stopped(client) || self.outcomes.is_refused(client)
        };
        let violation = self.deletions.check(ensemble, facts, is_disturbed);
        let violation = violation.or_else(|| self.guarded.check(ensemble, facts, is_disturbed));
        let violation = violation.or_else(|| self.observations.check(ensemble, facts, reach));
        self.awareness.look(ensemble, facts, by_event);
        let violation = violation.or_else(|| self.check_holds(ensemble, facts));
        let is_cut = |client| self.cut.contains(&client);
        violation.or_else(|| {
            self.outcomes
                .check(ensemble, facts, &self.traces, &self.awareness, |client| (is_cut(client), is_over(client)))
        })
    }

    fn check_commit(&mut self, commit: &Commit, facts: &[&ProgramState]) -> Option<Violation> {
        for change in &commit.changes {
            if let Committed::Created { path, owner: Some(owner) } = change {
                self.created.insert(commit.zxid, (*owner, Arc::clone(path)));
            }
            let highest = self.tokens.get(LOCK).copied().unwrap_or_default();
            if let Some(what) = self.guarded.changed(change, &self.created, highest) {
                return Some(Violation { what, limit: None });
            }
            let by_deletion = self.deletions.changed(commit.by, commit.zxid, change);
            if let Some(leaves_other_data) = by_deletion {
                self.traces.changed_by_stranger(change, leaves_other_data);
            } else if let Author::Session(author) = commit.by {
                if let Some(what) = foreign_change(author, change, facts) {
                    let limit = self.traces.explain(author, change);
                    return Some(Violation { what, limit });
                }
                // An attempt can hit the node of another one of its session as it can hit a
                // stranger's.
                if matches!(change, Committed::Deleted { .. })
                    && self.traces.explain(author, change) == Some(Limit::ReplacedMeanwhile)
                {
                    self.traces.changed_by_stranger(change, false);
                }
                if let Committed::DataChanged { path, data, .. } = change
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

    /// Checks who holds. A client that need not know yet that it has lost its lock does not count.
    fn check_holds(&mut self, ensemble: &SimulatedEnsemble, facts: &[&ProgramState]) -> Option<Violation> {
        let holds =
            facts.iter().enumerate().flat_map(|(client, facts)| facts.holds.iter().map(move |hold| (client, hold)));
        let (mut counted, mut excused) = (Vec::new(), Vec::new());
        for (client, hold) in holds {
            match self.awareness.standing(ensemble, &self.traces, client, hold) {
                NodeStanding::Holds => counted.push((client, hold)),
                NodeStanding::Excused(limit) => excused.push((client, hold, limit)),
                NodeStanding::MustKnow(why) => {
                    let what = format!("client {client} takes {} for held, although {why}", hold.lock);
                    return Some(Violation { what, limit: None });
                }
            }
        }
        let conflict = |(client, hold, _): &&(usize, &ClaimedHold, Limit)| {
            let excused = excused.iter().map(|(other, hold, _)| (other, hold));
            let mut others = counted.iter().map(|(other, hold)| (other, hold)).chain(excused);
            others.any(|(other, of)| other != client && of.lock == hold.lock && excludes(hold.kind, of.kind))
        };
        self.met = excused.iter().find(conflict).map(|(_, _, limit)| *limit);
        counted.iter().enumerate().find_map(|(at, (client, hold))| self.check_hold(*client, hold, &counted[at + 1..]))
    }

    fn check_hold(&mut self, client: usize, hold: &ClaimedHold, others: &[(usize, &ClaimedHold)]) -> Option<Violation> {
        let fails = |what| Some(Violation { what, limit: None });
        let created = self.created.get(&hold.token);
        if !created
            .is_some_and(|(owner, path)| *owner == session_of(client) && (hold.is_downgraded || *path == hold.node))
        {
            return fails(format!(
                "client {client} holds with the token {}, which is not that of its node",
                hold.token
            ));
        }
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
        // `created` follows from the history.
        (&self.tokens, self.written, &self.traces, &self.awareness, &self.outcomes).hash(state);
        (&self.cut, &self.deletions, &self.guarded, &self.observations).hash(state);
    }
}

fn excludes(one: HoldKind, other: HoldKind) -> bool {
    one == HoldKind::Exclusive || other == HoldKind::Exclusive
}

/// Returns a sentence if a session has deleted or overwritten a node that is not its own, or that
/// its program takes for held.
fn foreign_change(author: i64, change: &Committed, facts: &[&ProgramState]) -> Option<String> {
    let (path, czxid, owner, done) = match change {
        Committed::Deleted { path, czxid, owner, .. } => (path, *czxid, *owner, "deletes"),
        Committed::DataChanged { path, czxid, owner, .. } => (path, *czxid, *owner, "overwrites"),
        Committed::Created { .. } => return None,
    };
    if [RESOURCE, GUARDED, FENCE].contains(&&**path) {
        return None;
    }
    let client = author - session_of(0);
    if owner != Some(author) {
        return Some(format!("client {client} {done} {path}, which is not its own"));
    }
    let holder = facts.iter().position(|facts| facts.holds.iter().any(|hold| hold.token == czxid))?;
    Some(format!("client {client} {done} {path}, with which client {holder} holds"))
}
