//! What a check sees at one moment, and the memory that makes a finding of what lasts.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use serde::{Deserialize, Serialize};

use super::code::Evidence;
use super::facts::IN_PLAIN_TEXT;
use super::{Code, Finding, Severity};
use crate::queue::{ClientIdentity, LockId, LockQueue};
use lockscope_base::znode::Timestamp;

/// What a check sees at one moment. It becomes a finding when it was seen often and long enough.
#[derive(Clone, Debug)]
pub(super) struct Suspicion {
    pub finding: Finding,
    /// What must stay the same for it to be the same state, besides lock, code and node.
    pub state: i64,
    /// When the evidence was gathered: what was gathered at one time is one view, however often it is looked at.
    pub gathered: Timestamp,
    /// How far apart the first and the last view of it must be.
    pub lasts: Duration,
    /// Whether one look proves it: by its nature, or because the check itself remembers earlier ones.
    pub proved: bool,
    /// When its client was last heard of, where only the word of a client that is awake counts.
    pub heard: Option<Timestamp>,
    /// Whether it only lets a finding stand that stands already: the evidence is too weak to raise
    /// one.
    pub keeps: bool,
}

impl Suspicion {
    /// What was gathered at that time, and must be seen in two views so far apart.
    pub fn new(finding: Finding, gathered: Timestamp, lasts: Duration) -> Self {
        Self { finding, state: 0, gathered, lasts, proved: false, heard: None, keeps: false }
    }

    /// What one look proves.
    pub fn proved(finding: Finding, now: Timestamp) -> Self {
        Self { proved: true, ..Self::new(finding, now, Duration::ZERO) }
    }

    /// What is seen has lasted for so long already, as the nodes' own times prove: if that is long enough, one look proves it.
    pub fn proved_by(self, lasted: Duration) -> Self {
        Self { proved: self.proved || lasted >= self.lasts, ..self }
    }

    /// It is about the same state only as long as this number is the same.
    pub fn of_state(self, state: i64) -> Self {
        Self { state, ..self }
    }

    /// It counts only when the client was heard of after the first view of it.
    pub fn of_client_heard(self, heard: Option<Timestamp>) -> Self {
        Self { heard, ..self }
    }

    /// The same when what the servers told came in plain text beside a session over TLS: what builds on it is no more than a
    /// warning and says so. What the znodes show by themselves stays as it is.
    pub fn doubted(mut self) -> Self {
        if self.finding.code.traits().evidence == Evidence::Servers {
            self.finding.severity = self.finding.severity.min(Severity::Warning);
            self.finding.summary.push_str(IN_PLAIN_TEXT);
        }
        self
    }

    /// The same suspicion, which lets a finding stand that stands already, and raises none.
    pub fn keeping(self) -> Self {
        Self { keeps: true, ..self }
    }

    fn key(&self) -> SuspicionKey {
        key(&self.finding, self.state)
    }
}

/// What tells a suspicion from all others: the lock, the code, the node, and the [state](Suspicion::state).
type SuspicionKey = (LockId, Code, Option<Arc<str>>, i64);

fn key(finding: &Finding, state: i64) -> SuspicionKey {
    (finding.lock.id, finding.code, finding.node.clone(), state)
}

/// How a finding about a lock is begun.
pub(super) fn finding(code: Code, severity: Severity, lock: &LockQueue, node: Option<&Arc<str>>) -> Finding {
    let (summary, remedy) = (String::new(), Cow::Borrowed(""));
    Finding { code, severity, lock: lock.lock_name(), node: node.cloned(), client: None, summary, remedy }
}

impl Finding {
    pub(super) fn because(self, summary: String, remedy: impl Into<Cow<'static, str>>) -> Self {
        Self { summary, remedy: remedy.into(), ..self }
    }

    /// It is about a node of this client.
    pub(super) fn of_client(self, client: ClientIdentity) -> Self {
        Self { client: Some(Arc::new(client)), ..self }
    }
}

/// Since when something is suspected, and what is shown of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SuspicionAge {
    first: Timestamp,
    last: Timestamp,
    round: u32,
    raised: Option<Severity>,
    /// As it was last shown; `None` when it does not stand, or stands and is not shown.
    shown: Option<Arc<Finding>>,
}

/// What is under suspicion, since when.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SuspicionHistory {
    seen: FxHashMap<SuspicionKey, SuspicionAge>,
    round: u32,
}

/// What came of a suspicion that stands.
#[derive(Clone, Debug)]
pub(super) struct StandingFinding {
    pub finding: Finding,
    /// Whether it is new, or worse than before.
    pub is_raised: bool,
    state: i64,
}

impl SuspicionHistory {
    /// A look begins.
    pub fn begin(&mut self) {
        self.round = self.round.wrapping_add(1);
    }

    /// Takes what is seen at this moment; gives the finding that it is, when it stands. That is to be [shown](Self::show) or
    /// [hidden](Self::hide).
    ///
    /// Servers are asked one after the other, and a view may be put together from answers of which some are older than others:
    /// what was gathered counts as a second view only when all of it is newer than the first look.
    pub fn judge(&mut self, suspicion: Suspicion, now: Timestamp) -> Option<StandingFinding> {
        let round = self.round;
        if suspicion.keeps && self.seen.get(&suspicion.key()).is_none_or(|seen| seen.raised.is_none()) {
            return None;
        }
        let fresh = SuspicionAge { first: now, last: suspicion.gathered, round, raised: None, shown: None };
        let seen = self.seen.entry(suspicion.key()).or_insert(fresh);
        seen.round = round;
        seen.last = seen.last.max(suspicion.gathered);
        let awake = suspicion.heard.is_none_or(|heard| heard > seen.first);
        let lasted = seen.last > seen.first && seen.last.since(seen.first) >= suspicion.lasts && awake;
        if seen.raised.is_none() && !lasted && !suspicion.proved {
            return None;
        }
        let severity = suspicion.finding.severity;
        let is_raised = seen.raised.is_none_or(|before| severity > before);
        seen.raised = Some(severity);
        Some(StandingFinding { finding: suspicion.finding, is_raised, state: suspicion.state })
    }

    /// Shows what stands in place of how it was shown before, which is dropped: with very many findings it matters that they are not
    /// there twice.
    pub fn show(&mut self, standing: StandingFinding) -> Arc<Finding> {
        let key = key(&standing.finding, standing.state);
        let finding = Arc::new(standing.finding);
        if let Some(seen) = self.seen.get_mut(&key) {
            seen.shown = Some(Arc::clone(&finding));
        }
        finding
    }

    /// Does not show what stands. Gives what was shown of it before.
    pub fn hide(&mut self, standing: &StandingFinding) -> Option<Arc<Finding>> {
        self.seen.get_mut(&key(&standing.finding, standing.state))?.shown.take()
    }

    /// All that is shown, in any order.
    pub fn shown(&self) -> impl Iterator<Item = &Arc<Finding>> {
        self.seen.values().filter_map(|seen| seen.shown.as_ref())
    }

    /// A look ends: what was not seen is forgotten. Gives what was shown of that, in any order.
    pub fn end(&mut self) -> Vec<Arc<Finding>> {
        let round = self.round;
        let mut gone = Vec::new();
        self.seen.retain(|_, seen| {
            let is_seen = seen.round == round;
            gone.extend(seen.shown.take_if(|_| !is_seen));
            is_seen
        });
        gone
    }

    /// Forgets everything. Gives what was shown, in any order.
    pub fn forget_all(&mut self) -> Vec<Arc<Finding>> {
        std::mem::take(&mut self.seen).into_values().filter_map(|seen| seen.shown).collect()
    }
}
