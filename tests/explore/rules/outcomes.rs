//! What the rounds of a program may come to: an error is an end only where the documentation allows
//! it in this schedule.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::limits::{Awareness, SimulatedTraces};
use crate::ensemble::{Author, Commit, Committed, SimulatedEnsemble, session_of};
use crate::program::{LockFailure, Patience, ProgramOutcome, ProgramState, Stage};
use lockscope_base::znode::Sequence;
use lockscope_sandbox::parts::{known, name};

/// The seconds after which a waiter that hears everything knows that its node is deleted: five until
/// its next look, and two to spare.
const WAITER_KNOWS_AFTER: u32 = 7;

/// A waiter without a node: the number of its rounds that had ended, and the seconds since.
type Orphan = (usize, u32);

/// An attempt that must end in time, and what has become of it.
#[derive(Clone, Copy, Debug, Hash)]
struct Impatient {
    patience: Patience,
    /// The rounds that had ended when it began.
    rounds: usize,
    /// The seconds that count, while it does not hold yet.
    seconds: u32,
    /// Whether it has held: its release may take any time.
    has_held: bool,
}

/// The judge of the rounds of all programs.
#[derive(Clone, Debug, Default, Hash)]
pub struct Outcomes {
    /// The number of rounds of each client that are judged.
    judged: BTreeMap<usize, usize>,
    /// The clients beside which others had a node since their last round ended.
    contended: BTreeSet<usize>,
    /// The clients of which a request was refused, or a reply was spoilt.
    refused: BTreeSet<usize>,
    orphans: BTreeMap<usize, Orphan>,
    impatient: BTreeMap<usize, Impatient>,
    /// Whether the numbers of a parent can be used up.
    numbers_end: bool,
}

impl Outcomes {
    pub fn new(numbers_end: bool, patience: BTreeMap<usize, Patience>) -> Self {
        let impatient = |patience| Impatient { patience, rounds: 0, seconds: 0, has_held: false };
        let impatient = patience.into_iter().map(|(client, patience)| (client, impatient(patience))).collect();
        Self { impatient, numbers_end, ..Self::default() }
    }

    /// Records that a process has run for a second.
    pub fn runs(&mut self, client: usize, has_connection: bool) {
        if let Some(attempt) = self.impatient.get_mut(&client) {
            match attempt.patience {
                Patience::WithoutConnection(_) if has_connection => attempt.seconds = 0,
                _ => attempt.seconds += 1,
            }
        }
    }

    /// Returns the client whose attempt goes on for too long.
    fn overdue(&mut self, facts: &[&ProgramState]) -> Option<usize> {
        self.impatient.iter_mut().find_map(|(client, attempt)| {
            let facts = facts[*client];
            let is_new = facts.outcomes.len() > attempt.rounds;
            if is_new || facts.stage != Stage::Works {
                attempt.has_held = !is_new && facts.stage == Stage::Holds;
                (attempt.rounds, attempt.seconds) = (facts.outcomes.len(), 0);
            }
            let (Patience::WithoutConnection(limit) | Patience::Always(limit)) = attempt.patience;
            (!attempt.has_held && attempt.seconds > limit).then_some(*client)
        })
    }

    pub fn is_refused(&self, client: usize) -> bool {
        self.refused.contains(&client)
    }

    pub fn refuses(&mut self, client: usize) {
        self.refused.insert(client);
    }

    /// Records a transaction.
    pub fn changed(&mut self, commit: &Commit, ensemble: &SimulatedEnsemble, facts: &[&ProgramState]) {
        for change in &commit.changes {
            match change {
                Committed::Created { owner: Some(owner), .. } => {
                    self.contended.extend((0..facts.len()).filter(|client| session_of(*client) != *owner));
                }
                // The attempt of a mutex goes on without its node: it creates one again.
                Committed::Deleted { path, owner: Some(owner), .. }
                    if commit.by != Author::Session(*owner) && Sequence::split(name(path)).is_some() =>
                {
                    let client = (0..facts.len()).find(|client| session_of(*client) == *owner);
                    if let Some(client) = client.filter(|client| has_no_node(ensemble, *client)) {
                        self.orphans.insert(client, (facts[client].outcomes.len(), 0));
                    }
                }
                _ => {}
            }
        }
    }

    /// Records that a client has heard everything for a second.
    pub fn is_current(&mut self, client: usize) {
        if let Some((_, seconds)) = self.orphans.get_mut(&client) {
            *seconds += 1;
        }
    }

    /// Judges the rounds that have ended in the last step. `lost` tells whether a client has lost a
    /// connection, and whether its library has given its session up.
    pub fn check(
        &mut self,
        ensemble: &SimulatedEnsemble,
        facts: &[&ProgramState],
        traces: &SimulatedTraces,
        awareness: &Awareness,
        lost: impl Fn(usize) -> (bool, bool),
    ) -> Option<Violation> {
        for (client, facts) in facts.iter().enumerate() {
            let judged = self.judged.get(&client).copied().unwrap_or(0);
            for outcome in &facts.outcomes[judged..] {
                let (is_cut, is_over) = lost(client);
                let is_disturbed = is_cut || awareness.was_stopped(client) || self.is_refused(client);
                if let Some(what) = self.wrong(ensemble, traces, client, outcome, (is_disturbed, is_over)) {
                    return Some(Violation { what: format!("client {client} {what}"), limit: None });
                }
            }
            if facts.outcomes.len() > judged {
                self.judged.insert(client, facts.outcomes.len());
                let is_contended = ensemble.tree().owners().any(|(owner, _)| owner != session_of(client));
                if is_contended {
                    self.contended.insert(client)
                } else {
                    self.contended.remove(&client)
                };
            }
        }
        if let Some(client) = self.overdue(facts) {
            return Some(Violation {
                what: format!("client {client} waits for longer than it was told to"),
                limit: None,
            });
        }
        self.orphans.retain(|client, (rounds, _)| {
            let facts = facts[*client];
            facts.outcomes.len() == *rounds && facts.stage == Stage::Works && has_no_node(ensemble, *client)
        });
        let late = self.orphans.iter().find(|(client, (_, seconds))| {
            *seconds >= WAITER_KNOWS_AFTER && ensemble.lives(session_of(**client)) && !awareness.is_foreign(**client)
        });
        let what = |(client, _)| format!("client {client} waits on, although its node is deleted");
        late.map(|late| Violation { what: what(late), limit: None })
    }

    /// Returns what is wrong with the end of a round, as a part of a sentence.
    fn wrong(
        &self,
        ensemble: &SimulatedEnsemble,
        traces: &SimulatedTraces,
        client: usize,
        outcome: &ProgramOutcome,
        (is_disturbed, is_over): (bool, bool),
    ) -> Option<String> {
        let lives = ensemble.lives(session_of(client));
        let is_fine = match outcome {
            ProgramOutcome::Released(holds) => {
                let stands = holds.iter().find(|hold| {
                    let node = ensemble.tree().node(known(&hold.node));
                    node.is_ok_and(|node| hold.is_downgraded || node.czxid == hold.token)
                });
                if let Some(hold) = stands {
                    return Some(format!("has released {}, and its node still stands", hold.lock));
                }
                is_disturbed || !holds.iter().any(|hold| traces.was_deleted_by_stranger(hold))
            }
            ProgramOutcome::NotFree | ProgramOutcome::Failed { error: LockFailure::TimedOut, .. } => {
                is_disturbed || self.contended.contains(&client)
            }
            ProgramOutcome::Failed { error: LockFailure::Expired, held } => !lives || is_over || *held && is_disturbed,
            ProgramOutcome::Failed { error: LockFailure::Deleted(node), .. } => {
                // After a lost reply to a downgrade, either of two nodes may be the deleted one.
                !lives || traces.was_deleted(node) || is_disturbed && traces.has_deletions()
            }
            ProgramOutcome::Failed { error: LockFailure::Disconnected, .. } => is_disturbed,
            ProgramOutcome::Failed { error: LockFailure::NumbersUsedUp, .. } => self.numbers_end,
            ProgramOutcome::Failed { error: LockFailure::Other(_), .. } => self.refused.contains(&client),
        };
        (!is_fine).then(|| format!("ends a round without a reason: {outcome}"))
    }
}

fn has_no_node(ensemble: &SimulatedEnsemble, client: usize) -> bool {
    ensemble.tree().ephemerals_of(session_of(client)).next().is_none()
}
