//! An ensemble in a few figures, for a list of many ensembles.
//!
//! ```text
//! LockTable, Diagnosis, ChangeRate --> EnsembleSummary
//! ```

mod change_rate;
mod facts;
mod state;

use std::sync::Arc;
use std::time::Duration;

pub use self::change_rate::ChangeRate;
pub use self::facts::EnsembleFacts;
pub use self::state::{EnsembleState, StateKind};
use crate::diagnose::{Diagnosis, Finding, Severity};
use crate::queue::LockTable;
use crate::verdict::{ServerTrouble, Verdict, VerdictKind};
use lockscope_base::znode::Timestamp;

/// The most findings that a summary holds, the most severe first.
pub const MAX_FINDINGS: usize = 100;

/// The number of findings of each severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FindingCounts {
    /// Locks that will not be granted again by themselves.
    pub critical: usize,
    /// What somebody should look at.
    pub warning: usize,
    /// What may be good to know.
    pub info: usize,
}

/// An ensemble in a few figures, as of one time.
#[derive(Clone, Debug, PartialEq)]
pub struct EnsembleSummary {
    /// The time of the summary, by this machine's clock.
    pub at: Timestamp,
    /// The state of the connection.
    pub state: EnsembleState,
    /// When the figures were true for the last time; `None` while nothing was read.
    pub last_true: Option<Timestamp>,
    /// How many servers answer questions about themselves, and how many are known.
    pub servers: (usize, usize),
    /// What is wrong with the servers.
    pub servers_trouble: Option<ServerTrouble>,
    /// The number of locks.
    pub locks: usize,
    /// The number of holders and waiters.
    pub contenders: usize,
    /// The longest that a first waiter of a lock has waited.
    pub longest_wait: Option<Duration>,
    /// The number of findings.
    pub counts: FindingCounts,
    /// What is known of the locks.
    pub verdict: VerdictKind,
    /// The number of checks that are not decided whose findings somebody should look at.
    pub open_checks: usize,
    /// Changes of nodes a second, over about the last ten seconds.
    pub changes_per_second: f64,
    /// The findings, the most severe first; at most [`MAX_FINDINGS`].
    pub findings: Vec<Arc<Finding>>,
}

impl EnsembleSummary {
    /// Summarizes an ensemble. Linear in the number of locks.
    ///
    /// `before` is an earlier summary of the ensemble: findings that still stand share its memory.
    pub fn new(
        table: &LockTable,
        diagnosis: &Diagnosis,
        changes: &ChangeRate,
        before: Option<&Self>,
        now: Timestamp,
    ) -> Self {
        let view = table.view();
        let all = view.members.len();
        let oldest = table.locks().filter_map(|lock| lock.first_waiter()).map(|waiter| waiter.created_at).min();
        // Ages stop when the connection is lost.
        let until = if table.is_live() { now } else { table.last_true().unwrap_or(now) };
        let mut counts = FindingCounts::default();
        for finding in diagnosis.findings() {
            match finding.severity {
                Severity::Critical => counts.critical += 1,
                Severity::Warning => counts.warning += 1,
                Severity::Info => counts.info += 1,
            }
        }
        let known = before.map_or(&[][..], |before| &before.findings);
        let shared = |finding: &Finding| {
            let same = known.iter().find(|known| ***known == *finding);
            same.map_or_else(|| Arc::new(finding.clone()), Arc::clone)
        };
        Self {
            at: now,
            state: EnsembleState::of(table),
            last_true: table.last_true(),
            servers: (all - view.silent().count(), all),
            servers_trouble: ServerTrouble::of(view),
            locks: table.lock_count(),
            contenders: table.contender_count(),
            longest_wait: oldest.map(|oldest| table.server_time(until).since(oldest)),
            counts,
            verdict: Verdict::of_now(table, diagnosis).kind(),
            open_checks: diagnosis.last_look().map_or(0, |look| look.open_count(Severity::Warning)),
            changes_per_second: changes.per_second(now),
            findings: diagnosis.findings().take(MAX_FINDINGS).map(shared).collect(),
        }
    }

    /// Returns how bad the state is: the greater, the worse. An ensemble that cannot be seen comes
    /// after one with locks that will never be granted again, and before one with warnings. One
    /// that is not known to be well comes after those.
    pub fn badness(&self) -> (u8, usize, usize, Option<Duration>) {
        let servers = self.servers_trouble.as_ref().map(ServerTrouble::severity);
        let rank = match (self.counts, self.state.kind()) {
            (FindingCounts { critical: 1.., .. }, _) => 5,
            _ if servers == Some(Severity::Critical) => 5,
            (_, kind) if kind.is_broken() => 4,
            (FindingCounts { warning: 1.., .. }, _) => 3,
            _ if servers.is_some() => 3,
            (_, kind) if kind != StateKind::Live || self.verdict == VerdictKind::Unknown => 2,
            (FindingCounts { info: 1.., .. }, _) => 1,
            _ => 0,
        };
        (rank, self.counts.critical, self.counts.warning, self.longest_wait)
    }
}

/// Returns whether two findings are the same to a reader, even if the sentence has changed since.
pub fn is_same(one: &Finding, other: &Finding) -> bool {
    (one.code, &one.node, &one.lock.path, &one.lock.name)
        == (other.code, &other.node, &other.lock.path, &other.lock.name)
}

#[cfg(test)]
mod tests;
