//! What a client need not know yet, and until when. Each excuse has an end.

use std::collections::{BTreeMap, BTreeSet};

use lockscope_sandbox::parts::known;

use super::Limit;
use super::limits::Traces;
use crate::ensemble::{Ensemble, session_of};
use crate::program::{Facts, Hold};

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

/// Whether a client may take a lock for held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It holds.
    Holds,
    /// The lock is lost, and the client need not know yet.
    Excused(Limit),
    /// The lock is lost, and the client must know. The reason is a part of a sentence.
    MustKnow(&'static str),
}

/// A hold whose node is deleted while its session lives.
#[derive(Clone, Copy, Debug, Default, Hash)]
struct Gone {
    /// The seconds for which the client has heard everything since.
    seconds: u32,
    /// Whether an event gave the client its turn after that, or it has connected again since: then it
    /// checks its node.
    checks: bool,
}

/// What the clients of a run can know.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Awareness {
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
    gone: BTreeMap<(usize, i64), Gone>,
    /// The holds after the last step.
    held: BTreeSet<(usize, i64)>,
}

impl Awareness {
    pub(super) fn new(others: BTreeSet<usize>) -> Self {
        Self { others, ..Self::default() }
    }

    pub(super) fn is_foreign(&self, client: usize) -> bool {
        self.others.contains(&client)
    }

    pub(super) fn was_stopped(&self, client: usize) -> bool {
        self.stopped.contains_key(&client)
    }

    pub(super) fn ends_by_silence(&mut self, client: usize) {
        self.silent.insert(client);
    }

    pub(super) fn stops(&mut self, client: usize, second: u32) {
        self.stopped.insert(client, 0);
        self.stopped_at.insert(client, second);
    }

    pub(super) fn resumes(&mut self, client: usize, second: u32, lives: bool) {
        let stopped_at = self.stopped_at.remove(&client).unwrap_or(second);
        let stood = second - stopped_at;
        if !lives && stood >= NOTICES_STOP_OF {
            self.resumed.insert(client, KNOWS_WHEN_ALONE.saturating_sub(stood));
        }
    }

    pub(super) fn connects(&mut self, client: usize) {
        for (_, gone) in self.gone.range_mut((client, i64::MIN)..=(client, i64::MAX)) {
            *gone = Gone { seconds: 0, checks: true };
        }
    }

    /// Records that a process has run for a second.
    pub(super) fn runs(&mut self, client: usize, is_alone: bool, is_current: bool) {
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
        }
    }

    /// Records the holds after a step. `by_event` is the client that has received an event in it.
    pub(super) fn look(&mut self, ensemble: &Ensemble, facts: &[&Facts], by_event: Option<usize>) {
        if self.held.is_empty() && facts.iter().all(|facts| facts.holds.is_empty()) {
            return;
        }
        let mut held = BTreeSet::new();
        let holds =
            facts.iter().enumerate().flat_map(|(client, facts)| facts.holds.iter().map(move |hold| (client, hold)));
        for (client, hold) in holds {
            let key = (client, hold.token);
            held.insert(key);
            if ensemble.lives(session_of(client)) && !exists(ensemble, hold) {
                // A group shows its locks together, when the last one is granted.
                let is_turn = by_event == Some(client) && !self.held.contains(&key) && facts[client].holds.len() == 1;
                self.gone.entry(key).or_insert(Gone { seconds: 0, checks: is_turn });
            }
        }
        self.gone.retain(|key, _| held.contains(key));
        self.held = held;
    }

    /// Returns whether a client may take a lock for held.
    pub(super) fn standing(&self, ensemble: &Ensemble, traces: &Traces, client: usize, hold: &Hold) -> Standing {
        let is_foreign = self.is_foreign(client);
        if !ensemble.lives(session_of(client)) {
            return if self.stopped.get(&client).is_some_and(|seconds| *seconds < KNOWS_AFTER_STOP) {
                Standing::Excused(Limit::Stopped)
            } else if is_foreign {
                Standing::Excused(Limit::HeldByOthers)
            } else if self.silent.contains(&client) {
                Standing::MustKnow("the servers have ended its session, which they did not hear")
            } else if self.resumed.get(&client) == Some(&0) {
                Standing::MustKnow("its session had ended when its process went on")
            } else if self.alone.get(&client) == Some(&KNOWS_WHEN_ALONE) {
                Standing::MustKnow("its session has ended, and it has had no connection since for three tenths of it")
            } else {
                Standing::Excused(Limit::EndedEarly)
            };
        }
        if exists(ensemble, hold) {
            return Standing::Holds;
        }
        if !traces.was_deleted_by_stranger(hold) {
            return Standing::MustKnow("its own session has deleted the node");
        }
        let gone = self.gone.get(&(client, hold.token)).copied().unwrap_or_default();
        if hold.is_watched && gone.seconds >= KNOWS_BY_WATCH && !is_foreign {
            Standing::MustKnow("it watches its node, which is deleted")
        } else if gone.checks && gone.seconds >= KNOWS_BY_CHECK && !is_foreign {
            Standing::MustKnow("its node was deleted before its turn or its reconnect")
        } else {
            Standing::Excused(Limit::NodeDeleted)
        }
    }
}

/// Returns whether the leader has the node of a hold.
fn exists(ensemble: &Ensemble, hold: &Hold) -> bool {
    ensemble.tree().node(known(&hold.node)).is_ok_and(|node| hold.is_downgraded || node.czxid == hold.token)
}
