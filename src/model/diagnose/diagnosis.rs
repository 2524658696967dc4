//! The current findings: runs all checks and keeps the suspicions that last.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::checks::Checks;
use super::finding::{Evidence, Explains};
use super::suspicion::{
    Judged, LastLook, OpenCheck, OpenChecks, StandingFinding, Suspicion, SuspicionHistory, Unseen, WhyOpen,
};
use super::{Code, Finding, Severity, TableAt, Thresholds, not_seen};
use crate::queue::{ClientIdentity, LockId, LockTable, Mute, MuteScope, Mutes};
use crate::server_view::ServerView;
use lockscope_base::znode::Timestamp;

#[cfg(test)]
mod tests;

/// How long a finding is kept while a server does not answer that showed it. Then the servers' words
/// are too old to rest on.
const MAX_KEPT_UNSEEN: Duration = Duration::from_secs(10);

/// How long looks must last before the absence of a finding ends a mute: longer than all servers and
/// other ensembles take to answer.
const SURELY_SEEN: Duration = Duration::from_secs(30);

/// The changes by one look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindingChanges {
    /// Findings that are new, or more severe than before.
    pub raised: Vec<Arc<Finding>>,
    /// Findings that no longer stand.
    pub cleared: Vec<Arc<Finding>>,
    /// Findings that stand and were muted, or are not muted any more.
    pub muted: Vec<Arc<Finding>>,
}

/// The current findings about all locks, with the memory that they need.
///
/// A state that also occurs for a moment in a sound hand-over becomes a finding only if it lasts.
/// See [`Thresholds`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "StoredDiagnosis")]
pub struct Diagnosis {
    thresholds: Thresholds,
    checks: Checks,
    ledger: SuspicionHistory,
    /// The current findings, the most severe first. Each is shared with the ledger.
    #[serde(skip_serializing)]
    findings: Vec<Arc<Finding>>,
    /// Indexes into `findings`, sorted by lock.
    #[serde(skip_serializing)]
    by_lock: Vec<(LockId, u32)>,
    /// The last look, if it was at a live table.
    #[serde(skip_serializing)]
    last_look: Option<LastLook>,
    /// The findings that were muted at the last look.
    #[serde(skip_serializing)]
    muted: FxHashMap<FindingKey, Arc<Mute>>,
}

/// Tells a finding from the others that stand.
type FindingKey = (LockId, Code, Option<Arc<str>>);

/// The fields of a diagnosis that a file contains. The others follow from them.
#[derive(Deserialize)]
struct StoredDiagnosis {
    thresholds: Thresholds,
    checks: Checks,
    ledger: SuspicionHistory,
}

impl From<StoredDiagnosis> for Diagnosis {
    fn from(stored: StoredDiagnosis) -> Self {
        let StoredDiagnosis { thresholds, checks, ledger } = stored;
        let mut diagnosis = Self { checks, ledger, ..Self::new(thresholds) };
        diagnosis.set_findings(diagnosis.ledger.shown().cloned().collect());
        diagnosis
    }
}

/// The results of one look so far.
#[derive(Debug, Default)]
struct Look {
    standing: Vec<Arc<Finding>>,
    raised: Vec<Arc<Finding>>,
    /// Findings that were shown before and still stand, but are no longer shown.
    hidden: Vec<Arc<Finding>>,
    open: OpenChecks,
    /// The clients of the findings, each once: few clients may own very many nodes.
    clients: FxHashSet<Arc<ClientIdentity>>,
}

impl Diagnosis {
    /// Creates a diagnosis before its first look.
    pub fn new(thresholds: Thresholds) -> Self {
        Self {
            thresholds,
            checks: Checks::default(),
            ledger: SuspicionHistory::default(),
            findings: Vec::new(),
            by_lock: Vec::new(),
            last_look: None,
            muted: FxHashMap::default(),
        }
    }

    /// Returns the thresholds.
    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    /// Returns the diagnosis with other thresholds.
    #[must_use]
    pub fn with_thresholds(self, thresholds: Thresholds) -> Self {
        Self { thresholds, ..self }
    }

    /// Looks at the table and at the servers' answers; while the ensemble is silent, as of its last
    /// message. Nearly linear in the number of contenders.
    ///
    /// Call this about once a second and after each new view. A table that is not in step has no
    /// findings: all current ones are cleared.
    pub fn examine(&mut self, table: &LockTable, now: Timestamp) -> FindingChanges {
        self.findings.clear();
        if !table.is_in_step() {
            (self.checks, self.last_look) = (Checks::default(), None);
            let gone = self.ledger.forget_all();
            return self.replace(Look::default(), gone, table.mutes(), now);
        }
        let now = if table.is_live() { now } else { table.last_true().unwrap_or(now) };
        let is_missed = misses_an_answer(table.view(), now);
        self.ledger.begin();
        // While an answer is missing, the checks' memory of what servers said must not expire
        // either.
        if !is_missed {
            self.checks.begin();
        }
        let mut look = self.run_checks(TableAt::new(table, now));
        // A finding that only the missing server can show is kept, and not cleared.
        let Unseen { gone, kept } =
            self.ledger.end(|finding| !is_missed || can_be_cleared_by_nodes_alone(table, finding));
        look.keep(kept);
        self.last_look = Some(LastLook::after(self.last_look.as_ref(), now, std::mem::take(&mut look.open)));
        self.replace(look, gone, table.mutes(), now)
    }

    /// Returns the last look; `None` before the first one since the table is in step.
    pub fn last_look(&self) -> Option<&LastLook> {
        self.last_look.as_ref()
    }

    /// Runs all checks. Handles one lock at a time, so that only standing findings stay in memory.
    fn run_checks(&mut self, table_at: TableAt<'_>) -> Look {
        let Self { thresholds, checks, ledger, .. } = self;
        let mut look = Look::default();
        let mut found = Vec::new();
        checks.check_all(table_at, thresholds, &mut found);
        let across_locks = judge(&mut found, table_at, ledger, &mut look.open);
        let mut explained: FxHashSet<LockId> = locks_with_cause(&across_locks).collect();
        for lock in table_at.table().locks() {
            checks.check_lock(table_at, thresholds, lock, &mut found);
            if !found.is_empty() {
                let of_lock = judge(&mut found, table_at, ledger, &mut look.open);
                explained.extend(locks_with_cause(&of_lock));
                look.show(of_lock, &explained, ledger);
            }
        }
        look.show(across_locks, &explained, ledger);
        look
    }

    /// Forgets all findings and suspicions, and returns the findings that stood. Used after a time
    /// without looks, since nobody knows what lasted meanwhile.
    pub fn start_over(&mut self) -> Vec<Arc<Finding>> {
        std::mem::replace(self, Self::new(self.thresholds)).findings
    }

    /// Returns all findings, the most severe first, and those that are muted last.
    pub fn findings(&self) -> impl ExactSizeIterator<Item = &Finding> {
        self.findings.iter().map(|finding| &**finding)
    }

    /// Returns the findings that nobody muted, the most severe first.
    pub fn unmuted(&self) -> impl Iterator<Item = &Finding> {
        self.findings().take_while(|finding| finding.muted.is_none())
    }

    /// Returns the number of muted findings.
    pub fn muted_count(&self) -> usize {
        self.findings.len() - self.findings.partition_point(|finding| finding.muted.is_none())
    }

    /// Returns the findings of a lock, in the same order.
    pub fn of(&self, lock: LockId) -> impl ExactSizeIterator<Item = &Finding> {
        let first = self.by_lock.partition_point(|(other, _)| *other < lock);
        let count = self.by_lock[first..].partition_point(|(other, _)| *other == lock);
        self.by_lock[first..first + count].iter().map(|(_, at)| &*self.findings[*at as usize])
    }

    /// Returns the most severe finding of a lock; a muted one where all are.
    pub fn worst(&self, lock: LockId) -> Option<&Finding> {
        self.of(lock).next()
    }

    /// Replaces the shown findings by those of a look. `gone` are former findings that were not
    /// seen.
    fn replace(&mut self, look: Look, mut gone: Vec<Arc<Finding>>, mutes: &Mutes, now: Timestamp) -> FindingChanges {
        let Look { standing, mut raised, hidden, .. } = look;
        self.set_findings(standing);
        self.mute(mutes, now);
        mark_muted(&mut raised, mutes, now);
        let remuted = self.take_muted();
        gone.extend(hidden);
        // A finding with another state is the same to its readers.
        gone.retain(|gone| {
            !self.of(gone.lock.id).any(|finding| (finding.code, &finding.node) == (gone.code, &gone.node))
        });
        gone.sort_by(|a, b| order(a).cmp(&order(b)));
        FindingChanges { raised, cleared: gone, muted: remuted }
    }

    /// Marks the findings that are muted now. Each look does; call this after a change of the mutes.
    pub fn mute(&mut self, mutes: &Mutes, now: Timestamp) {
        let mut findings = std::mem::take(&mut self.findings);
        mark_muted(&mut findings, mutes, now);
        self.set_findings(findings);
    }

    /// Returns the findings whose mute is another than at the last look.
    fn take_muted(&mut self) -> Vec<Arc<Finding>> {
        if self.muted.is_empty() && self.muted_count() == 0 {
            return Vec::new();
        }
        let key = |finding: &Finding| (finding.lock.id, finding.code, finding.node.clone());
        let is_changed = |finding: &&Arc<Finding>| finding.muted.as_ref() != self.muted.get(&key(finding));
        let changed = self.findings.iter().filter(is_changed).cloned().collect();
        let muted = self.findings.iter().filter_map(|finding| Some((key(finding), finding.muted.clone()?)));
        self.muted = muted.collect();
        changed
    }

    /// Returns the mutes until their finding is cleared whose finding is cleared, as far as looks
    /// can tell. Linear in the number of findings.
    pub fn cleared_mutes(&self, table: &LockTable) -> Vec<Arc<Mute>> {
        let waiting = table.mutes().all().iter().filter(|mute| mute.until.is_none());
        let Some(look) = self.last_look.as_ref().filter(|look| table.is_live() && look.lasted() >= SURELY_SEEN) else {
            return Vec::new();
        };
        // Checks beyond those listed may be of any lock.
        if waiting.clone().next().is_none() || look.open_count(Severity::Info) > look.open().len() {
            return Vec::new();
        }
        let (view, needs) = (table.view(), not_seen(&self.thresholds, look.lasted()));
        let servers_tell = view.provenance().can_prove() && view.every_member_answered();
        let standing: FxHashSet<_> = self
            .findings()
            .map(|finding| (&finding.lock.path, &finding.lock.name, finding.code, &finding.node))
            .collect();
        let is_cleared = |mute: &&Arc<Mute>| {
            let MuteScope::Finding(muted) = &mute.scope else { return false };
            let Some(code) = Code::from_id(&muted.code) else { return false };
            (servers_tell || !code.needs_servers())
                && !needs.iter().any(|needs| needs.code == code)
                && !table.unreadable().keys().any(|place| muted.lock.is_within(place))
                && !look.open().iter().any(|open| (open.check, &open.lock.path) == (code, &muted.lock))
                && !standing.contains(&(&muted.lock, &muted.name, code, &muted.node))
        };
        waiting.filter(is_cleared).cloned().collect()
    }

    fn set_findings(&mut self, mut findings: Vec<Arc<Finding>>) {
        findings.sort_by(|a, b| order(a).cmp(&order(b)));
        self.by_lock = (0..).zip(&findings).map(|(at, finding)| (finding.lock.id, at)).collect();
        self.by_lock.sort();
        self.findings = findings;
    }
}

impl Look {
    /// Keeps findings that this look could not have shown.
    fn keep(&mut self, kept: Vec<Arc<Finding>>) {
        for finding in &kept {
            let (lock, check, severity) = (finding.lock.clone(), finding.code, finding.severity);
            self.open.add(OpenCheck { lock, check, severity, why: WhyOpen::NoAnswer, known_in: None });
        }
        self.standing.extend(kept);
    }

    /// Shows the standing findings. A symptom is hidden if a cause is known for its lock.
    fn show(&mut self, standing: Vec<StandingFinding>, explained: &FxHashSet<LockId>, ledger: &mut SuspicionHistory) {
        for mut standing in standing {
            let finding = &mut standing.finding;
            if finding.code.traits().explains == Explains::Symptom && explained.contains(&finding.lock.id) {
                self.hidden.extend(ledger.hide(&standing));
                continue;
            }
            if let Some(client) = &mut finding.client {
                match self.clients.get(client) {
                    Some(known) => *client = Arc::clone(known),
                    None => _ = self.clients.insert(Arc::clone(client)),
                }
            }
            let is_raised = standing.is_raised;
            let finding = ledger.show(standing);
            self.raised.extend(is_raised.then(|| Arc::clone(&finding)));
            self.standing.push(finding);
        }
    }
}

/// Returns whether a server does not answer that answered shortly before. Its clients are unknown
/// then.
fn misses_an_answer(view: &ServerView, now: Timestamp) -> bool {
    let is_recent = |at: Timestamp| now.since(at) < MAX_KEPT_UNSEEN;
    view.members.iter().any(|member| member.mode.is_none() && member.answered_at.is_some_and(is_recent))
}

/// Returns whether the nodes tell that a finding no longer stands, without the servers' answers.
fn can_be_cleared_by_nodes_alone(table: &LockTable, finding: &Finding) -> bool {
    let is_gone = |node: &Arc<str>| !table.stands(finding.lock.id, node);
    finding.code.traits().evidence == Evidence::Znodes
        || table.lock(finding.lock.id).is_none()
        || finding.node.as_ref().is_some_and(is_gone)
}

/// Returns the findings that stand among the suspicions.
fn judge(
    found: &mut Vec<Suspicion>,
    table_at: TableAt<'_>,
    ledger: &mut SuspicionHistory,
    open: &mut OpenChecks,
) -> Vec<StandingFinding> {
    let can_prove = table_at.view().provenance().can_prove();
    let suspicions = found.drain(..).map(|suspicion| if can_prove { suspicion } else { suspicion.doubted() });
    let suspicions =
        suspicions.map(|suspicion| if is_settled(&suspicion, table_at) { suspicion } else { suspicion.keeping() });
    let mut standing = Vec::new();
    for suspicion in suspicions {
        match ledger.judge(suspicion, table_at.now()) {
            Judged::Stands(finding) => standing.push(finding),
            Judged::Open(check) => open.add(check),
            Judged::Nothing => {}
        }
    }
    standing
}

/// Returns whether the evidence is newer than the ensemble's last upheaval, in which sessions move.
fn is_settled(suspicion: &Suspicion, table_at: TableAt<'_>) -> bool {
    suspicion.finding.code.traits().evidence != Evidence::Liveness
        || table_at.is_settled() && table_at.table().upheaval_at().is_none_or(|at| suspicion.gathered > at)
}

/// Returns the locks for which these findings are a cause.
fn locks_with_cause(standing: &[StandingFinding]) -> impl Iterator<Item = LockId> {
    let findings = standing.iter().map(|standing| &standing.finding);
    let causes = findings
        .filter(|finding| finding.severity > Severity::Info && finding.code.traits().explains == Explains::Cause);
    causes.map(|finding| finding.lock.id)
}

/// Marks the findings that are muted. The suspicions keep theirs as they are.
fn mark_muted(findings: &mut [Arc<Finding>], mutes: &Mutes, now: Timestamp) {
    for finding in findings {
        let mute = if mutes.is_empty() { None } else { mutes.of(&finding.to_mute(), now) };
        if finding.muted.as_ref() != mute {
            Arc::make_mut(finding).muted = mute.cloned();
        }
    }
}

fn order(finding: &Finding) -> impl Ord + '_ {
    (
        finding.muted.is_some(),
        Reverse(finding.severity),
        finding.code,
        &finding.lock.path,
        &finding.lock.name,
        &finding.node,
    )
}
