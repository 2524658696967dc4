//! Suspicions of checks, and the memory that turns lasting ones into findings.
//!
//! A suspicion that has not lasted long enough is an [`OpenCheck`]: the [`LastLook`] lists it, so
//! that an absence of findings is never taken for health. [`RoundMemory`] is what a check itself
//! remembers from one look to the next, for as long as each look confirms it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::facts::IN_PLAIN_TEXT;
use super::finding::Evidence;
use super::{Code, Finding, Severity};
use crate::queue::{ClientIdentity, LockId, LockName, LockQueue};
use lockscope_base::znode::Timestamp;

/// What a check sees at one moment. It becomes a finding once it was seen for long enough.
#[derive(Clone, Debug)]
pub struct Suspicion {
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
pub fn finding(code: Code, severity: Severity, lock: &LockQueue, node: Option<&Arc<str>>) -> Finding {
    let (summary, remedy) = (String::new(), Cow::Borrowed(""));
    Finding { code, severity, lock: lock.lock_name(), node: node.cloned(), client: None, summary, remedy, muted: None }
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
pub struct SuspicionHistory {
    seen: FxHashMap<SuspicionKey, SuspicionAge>,
    round: u32,
}

/// A suspicion that stands as a finding.
#[derive(Clone, Debug)]
pub struct StandingFinding {
    pub finding: Finding,
    /// Whether the finding is new, or more severe than before.
    pub is_raised: bool,
    state: i64,
}

/// What comes of a suspicion.
#[derive(Debug)]
pub enum Judged {
    Stands(StandingFinding),
    Open(OpenCheck),
    Nothing,
}

/// The shown findings that a look did not see, in no particular order.
#[derive(Debug, Default)]
pub struct Unseen {
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

/// Maximum number of open checks that are kept. The others are only counted.
const MAX_OPEN: usize = 1_000;

/// A check of a lock that the looks so far could not decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCheck {
    /// The lock.
    pub lock: LockName,
    /// The finding that it would be.
    pub check: Code,
    /// The severity that the finding would have.
    pub severity: Severity,
    /// Why it is not decided.
    pub why: WhyOpen,
    /// How much longer to look; `None` where that is not known.
    pub known_in: Option<Duration>,
}

/// Why a check is not decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyOpen {
    /// The state was seen twice, and is a finding only if it lasts for longer.
    Lasts,
    /// A server that showed the finding does not answer any more.
    NoAnswer,
}

impl WhyOpen {
    /// Returns the name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Lasts => "lasts",
            Self::NoAnswer => "no-answer",
        }
    }
}

/// The last look of a [`Diagnosis`](super::Diagnosis), and the looks before it.
///
/// It exists only after a look at a table that was live. An absence of findings means something
/// together with it, never alone.
#[derive(Clone, Debug)]
pub struct LastLook {
    /// The time of the first look since the findings were last forgotten.
    pub since: Timestamp,
    /// The time of the last look.
    pub at: Timestamp,
    /// The number of looks.
    pub rounds: u64,
    open: OpenChecks,
}

impl LastLook {
    /// Creates the result of a look that follows `before`.
    pub(super) fn after(before: Option<&Self>, at: Timestamp, open: OpenChecks) -> Self {
        let (since, rounds) = before.map_or((at, 0), |before| (before.since, before.rounds));
        Self { since, at, rounds: rounds.saturating_add(1), open }
    }

    /// Returns how long the looks have lasted.
    pub fn lasted(&self) -> Duration {
        self.at.since(self.since)
    }

    /// Returns the checks that are not decided, up to a thousand of them.
    pub fn open(&self) -> &[OpenCheck] {
        &self.open.some
    }

    /// Returns how many checks are not decided whose finding would have at least this severity.
    pub fn open_count(&self, least: Severity) -> usize {
        self.open_by_check(least).map(|(_, count)| count).sum()
    }

    /// Returns the kinds of those checks, each with their number.
    pub fn open_by_check(&self, least: Severity) -> impl Iterator<Item = (Code, usize)> {
        self.open
            .counts
            .iter()
            .filter(move |((_, severity), _)| *severity >= least)
            .map(|((code, _), count)| (*code, *count))
    }
}

/// The checks that one look could not decide.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenChecks {
    some: Vec<OpenCheck>,
    counts: BTreeMap<(Code, Severity), usize>,
}

impl OpenChecks {
    /// Adds a check. Several nodes of one lock are one check, which is decided with the first.
    pub fn add(&mut self, open: OpenCheck) {
        if let Some(last) = self.some.last_mut()
            && (last.lock.id, last.check, last.severity) == (open.lock.id, open.check, open.severity)
        {
            last.known_in = last.known_in.into_iter().chain(open.known_in).min();
            return;
        }
        *self.counts.entry((open.check, open.severity)).or_default() += 1;
        if self.some.len() < MAX_OPEN {
            self.some.push(open);
        }
    }
}

/// Values that a check remembers by key. A value is dropped if a look does not confirm it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "K: Eq + std::hash::Hash + Deserialize<'de>, V: Deserialize<'de>"))]
pub struct RoundMemory<K, V> {
    kept: FxHashMap<K, (u64, V)>,
    round: u64,
}

impl<K, V> Default for RoundMemory<K, V> {
    fn default() -> Self {
        Self { kept: FxHashMap::default(), round: 0 }
    }
}

impl<K: std::hash::Hash + Eq, V> RoundMemory<K, V> {
    /// Begins a look. Forgets the values that the last look did not confirm.
    pub fn begin(&mut self) {
        let round = self.round;
        self.kept.retain(|_, (seen, _)| *seen == round);
        self.round += 1;
    }

    /// Returns whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns and confirms the value of a key, creating it if needed.
    pub fn see(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let (seen, value) = self.kept.entry(key).or_insert_with(|| (0, make()));
        *seen = self.round;
        value
    }

    /// Returns and confirms the value of a key.
    pub fn recall(&mut self, key: &K) -> Option<&mut V> {
        let round = self.round;
        self.kept.get_mut(key).map(|(seen, value)| {
            *seen = round;
            value
        })
    }
}

/// Identifies a node of a lock: the lock, and the transaction that created the node.
pub type NodeKey = (LockId, i64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::LockId;
    use lockscope_base::znode::ZnodePath;

    fn open(lock: u64, check: Code, seconds: u64) -> OpenCheck {
        OpenCheck {
            lock: LockName { id: LockId(lock), path: ZnodePath::root(), name: None },
            check,
            severity: Severity::Warning,
            why: WhyOpen::Lasts,
            known_in: Some(Duration::from_secs(seconds)),
        }
    }

    #[test]
    fn the_nodes_of_a_lock_are_one_check_and_all_locks_are_counted() {
        let mut checks = OpenChecks::default();
        checks.add(open(1, Code::Ghost, 7));
        checks.add(open(1, Code::Ghost, 3));
        for lock in 0..2_000 {
            checks.add(open(lock, Code::LostWakeUp, 2));
        }
        let look = LastLook::after(None, Timestamp(5), checks);
        assert_eq!(look.open()[0].known_in, Some(Duration::from_secs(3)));
        assert_eq!((look.open().len(), look.open_count(Severity::Warning)), (MAX_OPEN, 2_001));
        assert_eq!(look.open_count(Severity::Critical), 0);
        let kinds: Vec<_> = look.open_by_check(Severity::Info).collect();
        assert_eq!(kinds, [(Code::Ghost, 1), (Code::LostWakeUp, 2_000)]);
        let next = LastLook::after(Some(&look), Timestamp(3_005), OpenChecks::default());
        assert_eq!((next.rounds, next.lasted(), next.open_count(Severity::Info)), (2, Duration::from_secs(3), 0));
    }
}
