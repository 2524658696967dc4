//! The findings of this moment: every check looks, and what lasts stands.

use std::cmp::Reverse;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use serde::{Deserialize, Serialize};

use super::checks::Checks;
use super::code::Explains;
use super::suspicion::{StandingFindings, Suspicion, SuspicionHistory};
use super::{Code, Finding, Severity, TableAt, Thresholds};
use crate::queue::{LockId, LockTable};
use crate::znode::Timestamp;

/// What one look changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FindingChanges {
    /// Findings that are new, or more severe than they were.
    pub raised: Vec<Finding>,
    /// Findings that no longer stand.
    pub cleared: Vec<Finding>,
}

/// Why locks are stuck: the findings of this moment, and what must be remembered to be sure of them.
///
/// What a sound hand-over also shows for a moment is a finding only when it lasts: see [`Thresholds`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Diagnosis {
    thresholds: Thresholds,
    checks: Checks,
    ledger: SuspicionHistory,
    findings: Vec<Arc<Finding>>,
    by_lock: FxHashMap<LockId, Vec<Arc<Finding>>>,
}

impl Diagnosis {
    /// Nothing was looked at yet.
    pub fn new(thresholds: Thresholds) -> Self {
        Self {
            thresholds,
            checks: Checks::default(),
            ledger: SuspicionHistory::default(),
            findings: Vec::new(),
            by_lock: FxHashMap::default(),
        }
    }

    /// From when on something is a finding.
    pub fn thresholds(&self) -> &Thresholds {
        &self.thresholds
    }

    /// Looks at the table and what its servers told. To be called about once a second and after each new view: one that comes
    /// more often costs without telling more. Linear in the number of contenders.
    ///
    /// A table that is not live has no findings: all that stood are cleared.
    pub fn examine(&mut self, table: &LockTable, now: Timestamp) -> FindingChanges {
        if !table.is_live() {
            self.checks = Checks::default();
            self.ledger.forget_all();
            return self.replace(StandingFindings::default());
        }
        let table_at = TableAt::new(table, now);
        let mut suspicions: Vec<Suspicion> = self.checks.look(table_at, &self.thresholds);
        if !table_at.view().provenance().can_prove() {
            suspicions = suspicions.into_iter().map(Suspicion::doubted).collect();
        }
        let standing_now = self.ledger.judge(suspicions, now);
        self.replace(explained(standing_now))
    }

    /// Forgets every finding and every suspicion: nobody knows how long something has been wrong that was not looked at.
    pub fn start_over(&mut self) {
        self.checks = Checks::default();
        self.ledger.forget_all();
        self.replace(StandingFindings::default());
    }

    /// All findings, the most severe first.
    pub fn findings(&self) -> impl ExactSizeIterator<Item = &Finding> {
        self.findings.iter().map(|finding| &**finding)
    }

    /// The findings of a lock, the most severe first.
    pub fn of(&self, lock: LockId) -> impl ExactSizeIterator<Item = &Finding> {
        self.by_lock.get(&lock).map_or(&[][..], Vec::as_slice).iter().map(|finding| &**finding)
    }

    /// The most severe finding of a lock.
    pub fn worst(&self, lock: LockId) -> Option<&Finding> {
        self.of(lock).next()
    }

    fn replace(&mut self, standing_now: StandingFindings) -> FindingChanges {
        let StandingFindings { mut standing, raised } = standing_now;
        standing.sort_by(|a, b| order(a).cmp(&order(b)));
        let stands: FxHashSet<Identity> = standing.iter().map(|finding| identity(finding)).collect();
        let before = std::mem::take(&mut self.findings);
        let gone = before.iter().filter(|finding| !stands.contains(&identity(finding)));
        let cleared = gone.map(|finding| Finding::clone(finding)).collect();
        self.by_lock.clear();
        for finding in &standing {
            self.by_lock.entry(finding.lock.id).or_default().push(Arc::clone(finding));
        }
        self.findings = standing;
        FindingChanges { raised, cleared }
    }
}

/// Leaves out that a lock is stuck where it is known why.
fn explained(mut standing_now: StandingFindings) -> StandingFindings {
    let is = |finding: &Finding, explains| finding.code.traits().explains == explains;
    let causes = standing_now
        .standing
        .iter()
        .filter(|finding| finding.severity > Severity::Info && is(finding, Explains::Cause));
    let known: FxHashSet<LockId> = causes.map(|finding| finding.lock.id).collect();
    let is_new = |finding: &Finding| !is(finding, Explains::Symptom) || !known.contains(&finding.lock.id);
    standing_now.standing.retain(|finding| is_new(finding));
    standing_now.raised.retain(is_new);
    standing_now
}

type Identity = (LockId, Code, Option<Arc<str>>);

fn identity(finding: &Finding) -> Identity {
    (finding.lock.id, finding.code, finding.node.clone())
}

fn order(finding: &Finding) -> impl Ord + '_ {
    (Reverse(finding.severity), finding.code, &finding.lock.path, &finding.lock.name, &finding.node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, curator};
    use crate::queue::{Change, ConnectionState};
    use crate::server_view::Provenance;

    fn troubled() -> DiagnosisFixture {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/b", 1), 0);
        world.create(&curator("/a", 2), 2);
        world.create(&curator("/a", 2), 2);
        world.pass(10);
        world
    }

    #[test]
    fn findings_stand_with_the_worst_first_and_at_their_locks() {
        let world = troubled();
        let codes: Vec<Code> = world.diagnosis.findings().map(|finding| finding.code).collect();
        assert_eq!(codes, [Code::Orphan, Code::PersistentContender, Code::SelfBlocked]);
        let at = |lock| world.diagnosis.worst(world.id(lock)).map(|finding| finding.code);
        assert_eq!((at("/a"), at("/b")), (Some(Code::Orphan), Some(Code::PersistentContender)));
        assert_eq!(world.diagnosis.of(world.id("/a")).len(), 2);
        assert_eq!(world.diagnosis.of(LockId(99)).len(), 0);
    }

    #[test]
    fn a_table_that_is_not_live_has_no_findings_and_begins_anew() {
        let mut world = troubled();
        world.apply(Change::Connection(ConnectionState::Lost { reason: "cut".to_owned() }));
        assert_eq!(world.pass(1), (vec![], vec![Code::Orphan, Code::PersistentContender, Code::SelfBlocked]));
        assert_eq!(world.pass(5), (vec![], vec![]));
    }

    #[test]
    fn beside_tls_plain_text_makes_no_ghost_and_what_builds_on_it_says_so() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        world.create(&curator("/l", 3), 3);
        world.provenance = Provenance::PlainBesideTls;
        let hidden = world.client(1);
        (hidden.connected, hidden.listed) = (false, false);
        world.client(3).sound = false;
        world.pass(30);
        assert!(world.found(Code::Ghost).is_none() && world.found(Code::ExpiringHolder).is_none());
        let finding = world.found(Code::LostWakeUp).expect("it stands");
        assert!(
            finding.summary.ends_with("(told in plain text, which proves nothing beside TLS)"),
            "{}",
            finding.summary
        );
        assert!(finding.severity <= Severity::Warning);

        world.provenance = Provenance::AsSession;
        world.pass(30);
        assert!(world.found(Code::Ghost).is_some());
    }

    #[test]
    fn a_finding_that_gets_worse_is_raised_again() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 1);
        let (raised, cleared) = world.pass(70);
        assert_eq!(raised.iter().filter(|code| **code == Code::SelfBlocked).count(), 2, "{raised:?}");
        assert!(!cleared.contains(&Code::SelfBlocked));
    }
}
