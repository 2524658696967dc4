//! Suspicions of checks, and the memory that turns lasting ones into findings.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use serde::{Deserialize, Serialize};

use super::code::Evidence;
use super::facts::IN_PLAIN_TEXT;
use super::last_look::{OpenCheck, WhyOpen};
use super::{Code, Finding, Severity};
use crate::queue::{ClientIdentity, LockId, LockQueue};
use lockscope_base::znode::Timestamp;

/// What a check sees at one moment. It becomes a finding once it was seen for long enough.
#[derive(Clone, Debug)]
pub(super) struct Suspicion {
    pub finding: Finding,
    /// Identifies the state, in addition to the lock, the code and the node.
    pub state: i64,
    /// When the evidence was gathered. Evidence from one time counts as one view, even in several
    /// looks.
    pub gathered: Timestamp,
    /// The minimum time between the first and the last view.
    pub lasts: Duration,
    /// Whether one look is enough, either by its nature or because the check remembers earlier
    /// looks.
    pub proved: bool,
    /// When the client was last heard, if only evidence about an awake client counts.
    pub heard: Option<Timestamp>,
    /// Whether the suspicion only keeps a standing finding. It is too weak to raise one.
    pub keeps: bool,
}

impl Suspicion {
    /// Creates a suspicion with evidence of time `gathered`, to be seen in two views `lasts` apart.
    pub fn new(finding: Finding, gathered: Timestamp, lasts: Duration) -> Self {
        Self { finding, state: 0, gathered, lasts, proved: false, heard: None, keeps: false }
    }

    /// Creates a suspicion that one look proves.
    pub fn proved(finding: Finding, now: Timestamp) -> Self {
        Self { proved: true, ..Self::new(finding, now, Duration::ZERO) }
    }

    /// Marks the suspicion as proved if it has lasted long enough already by the nodes' own times.
    pub fn proved_by(self, lasted: Duration) -> Self {
        Self { proved: self.proved || lasted >= self.lasts, ..self }
    }

    /// Sets the state. A different number is a different state.
    pub fn of_state(self, state: i64) -> Self {
        Self { state, ..self }
    }

    /// Counts the suspicion only if the client was heard after the first view.
    pub fn of_client_heard(self, heard: Timestamp) -> Self {
        Self { heard: Some(heard), ..self }
    }

    /// Weakens a suspicion that rests on plain-text answers beside a session over TLS: it is at
    /// most a warning, and its summary says so. Suspicions that rest on znodes stay as they are.
    pub fn doubted(mut self) -> Self {
        if self.finding.code.traits().evidence != Evidence::Znodes {
            self.finding.severity = self.finding.severity.min(Severity::Warning);
            self.finding.summary.push_str(IN_PLAIN_TEXT);
        }
        self
    }

    /// Makes the suspicion keep a standing finding, and raise none.
    pub fn keeping(self) -> Self {
        Self { keeps: true, ..self }
    }

    fn key(&self) -> SuspicionKey {
        key(&self.finding, self.state)
    }
}

/// The number of the first look.
const FIRST_ROUND: u32 = 1;

/// Identifies a suspicion: the lock, the code, the node and the [state](Suspicion::state).
type SuspicionKey = (LockId, Code, Option<Arc<str>>, i64);

fn key(finding: &Finding, state: i64) -> SuspicionKey {
    (finding.lock.id, finding.code, finding.node.clone(), state)
}

/// Begins a finding about a lock.
pub(super) fn finding(code: Code, severity: Severity, lock: &LockQueue, node: Option<&Arc<str>>) -> Finding {
    let (summary, remedy) = (String::new(), Cow::Borrowed(""));
    Finding { code, severity, lock: lock.lock_name(), node: node.cloned(), client: None, summary, remedy }
}

impl Finding {
    pub(super) fn because(self, summary: String, remedy: impl Into<Cow<'static, str>>) -> Self {
        Self { summary, remedy: remedy.into(), ..self }
    }

    /// Sets the client of the finding's node.
    pub(super) fn of_client(self, client: ClientIdentity) -> Self {
        Self { client: Some(Arc::new(client)), ..self }
    }
}

/// Since when something is suspected, and the finding that is shown for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SuspicionAge {
    first: Timestamp,
    last: Timestamp,
    round: u32,
    raised: Option<Severity>,
    /// The finding as last shown; `None` when it does not stand or is hidden.
    shown: Option<Arc<Finding>>,
}

/// All current suspicions with their ages.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct SuspicionHistory {
    seen: FxHashMap<SuspicionKey, SuspicionAge>,
    round: u32,
}

/// A suspicion that stands as a finding.
#[derive(Clone, Debug)]
pub(super) struct StandingFinding {
    pub finding: Finding,
    /// Whether the finding is new, or more severe than before.
    pub is_raised: bool,
    state: i64,
}

/// What comes of a suspicion.
#[derive(Debug)]
pub(super) enum Judged {
    Stands(StandingFinding),
    Open(OpenCheck),
    Nothing,
}

/// The shown findings that a look did not see, in no particular order.
#[derive(Debug, Default)]
pub(super) struct Unseen {
    /// They no longer stand.
    pub gone: Vec<Arc<Finding>>,
    /// The look could not have shown them.
    pub kept: Vec<Arc<Finding>>,
}

impl SuspicionHistory {
    /// Begins a look.
    pub fn begin(&mut self) {
        self.round = self.round.wrapping_add(1);
    }

    /// Takes a suspicion, and returns it as a finding if it stands, or as an open check if it was
    /// seen twice but not for long enough. One view alone is a normal moment of a sound hand-over,
    /// except in the first look, before which nothing is known. The caller must [show](Self::show) or [hide](Self::hide) a finding.
    ///
    /// Servers are asked one after the other, so a view may combine answers of different ages.
    /// Evidence counts as a second view only if all of it is newer than the first look.
    pub fn judge(&mut self, suspicion: Suspicion, now: Timestamp) -> Judged {
        let round = self.round;
        if suspicion.keeps && self.seen.get(&suspicion.key()).is_none_or(|seen| seen.raised.is_none()) {
            return Judged::Nothing;
        }
        let fresh = SuspicionAge { first: now, last: suspicion.gathered, round, raised: None, shown: None };
        let seen = self.seen.entry(suspicion.key()).or_insert(fresh);
        seen.round = round;
        seen.last = seen.last.max(suspicion.gathered);
        let awake = suspicion.heard.is_none_or(|heard| heard > seen.first);
        let lasted = seen.last > seen.first && seen.last.since(seen.first) >= suspicion.lasts && awake;
        let severity = suspicion.finding.severity;
        if seen.raised.is_none() && !lasted && !suspicion.proved {
            if seen.last <= seen.first && round > FIRST_ROUND {
                return Judged::Nothing;
            }
            let known_in = Some(suspicion.lasts.saturating_sub(seen.last.since(seen.first)));
            let Finding { code: check, lock, .. } = suspicion.finding;
            return Judged::Open(OpenCheck { lock, check, severity, why: WhyOpen::Lasts, known_in });
        }
        let is_raised = seen.raised.is_none_or(|before| severity > before);
        seen.raised = Some(severity);
        Judged::Stands(StandingFinding { finding: suspicion.finding, is_raised, state: suspicion.state })
    }

    /// Shows a standing finding. Drops its earlier version, since very many findings must not be in
    /// memory twice.
    pub fn show(&mut self, standing: StandingFinding) -> Arc<Finding> {
        let key = key(&standing.finding, standing.state);
        let finding = Arc::new(standing.finding);
        if let Some(seen) = self.seen.get_mut(&key) {
            seen.shown = Some(Arc::clone(&finding));
        }
        finding
    }

    /// Hides a standing finding. Returns its last shown version.
    pub fn hide(&mut self, standing: &StandingFinding) -> Option<Arc<Finding>> {
        self.seen.get_mut(&key(&standing.finding, standing.state))?.shown.take()
    }

    /// Returns all shown findings, in no particular order.
    pub fn shown(&self) -> impl Iterator<Item = &Arc<Finding>> {
        self.seen.values().filter_map(|seen| seen.shown.as_ref())
    }

    /// Ends a look and forgets what it did not see, except findings that it could not have shown.
    pub fn end(&mut self, could_show: impl Fn(&Finding) -> bool) -> Unseen {
        let round = self.round;
        let mut unseen = Unseen::default();
        self.seen.retain(|_, seen| {
            if seen.round == round {
                return true;
            }
            let Some(shown) = seen.shown.take() else { return false };
            if could_show(&shown) {
                unseen.gone.push(shown);
                return false;
            }
            unseen.kept.push(Arc::clone(&shown));
            seen.shown = Some(shown);
            true
        });
        unseen
    }

    /// Forgets everything. Returns the shown findings, in no particular order.
    pub fn forget_all(&mut self) -> Vec<Arc<Finding>> {
        std::mem::take(&mut self.seen).into_values().filter_map(|seen| seen.shown).collect()
    }
}
