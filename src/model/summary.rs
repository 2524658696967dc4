//! An ensemble in a few figures, for a list of many ensembles.
//!
//! ```text
//! LockTable, Diagnosis, ChangeRate --> EnsembleSummary --> EnsembleFacts (JSON)
//! ```

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::diagnose::{Diagnosis, Finding, Severity};
use crate::queue::{ConnectionState, LockTable, Mute, NO_ANSWER, WaitedFor, WaiterTime};
use crate::report::{MuteFacts, rfc3339};
use crate::verdict::{ServerTrouble, Verdict, VerdictKind};
use lockscope_base::znode::Timestamp;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod change_rate_tests;

/// The most findings that a summary holds, the most severe first.
pub const MAX_FINDINGS: usize = 100;

/// The most holders that a summary names because others waited for them.
pub const MAX_WAITED_FOR: usize = 3;

/// The number of findings of each severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FindingCounts {
    /// Locks that will not be granted again by themselves.
    pub critical: usize,
    /// What somebody should look at.
    pub warning: usize,
    /// What may be good to know.
    pub info: usize,
    /// Those that somebody muted, of whatever severity. They are in no other count.
    pub muted: usize,
}

impl FindingCounts {
    /// Returns the number of all findings, those that are muted among them.
    pub fn all(self) -> usize {
        self.critical + self.warning + self.info + self.muted
    }
}

/// An ensemble in a few figures, as of one time.
#[derive(Clone, Debug, PartialEq)]
pub struct EnsembleSummary {
    /// The time of the summary, by this machine's clock.
    pub at: Timestamp,
    /// The state of the connection.
    pub state: EnsembleCondition,
    /// When the figures were true for the last time; `None` while nothing was read.
    pub last_true: Option<Timestamp>,
    /// How many servers answer questions about themselves, and how many are known.
    pub servers: (usize, usize),
    /// What is wrong with the servers.
    pub servers_trouble: Option<ServerTrouble>,
    /// The maintenance of the servers that goes on.
    pub maintenance: Option<Arc<Mute>>,
    /// The number of locks.
    pub locks: usize,
    /// The number of holders and waiters.
    pub contenders: usize,
    /// The longest that a first waiter of a lock has waited.
    pub longest_wait: Option<Duration>,
    /// How long all waiters waited within the last ten minutes, summed up, and how much of them was
    /// seen.
    pub waited: (WaiterTime, Duration),
    /// The holders that made others wait most then; at most [`MAX_WAITED_FOR`].
    pub most_waited_for: Vec<WaitedFor>,
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
        let mut counts = FindingCounts { muted: diagnosis.muted_count(), ..FindingCounts::default() };
        for finding in diagnosis.unmuted() {
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
            state: EnsembleCondition::of(table),
            last_true: table.last_true(),
            servers: (all - view.silent().count(), all),
            servers_trouble: ServerTrouble::that_counts(table, now),
            maintenance: table.mutes().maintenance(now).cloned(),
            locks: table.lock_count(),
            contenders: table.contender_count(),
            longest_wait: oldest.map(|oldest| table.clock().server_time(until).since(oldest)),
            waited: (table.waits().of_all(now), table.waits().seen(now)),
            most_waited_for: table.most_waited_for(MAX_WAITED_FOR, now),
            counts,
            verdict: Verdict::of_now(table, diagnosis, now).kind(),
            open_checks: diagnosis.last_look().map_or(0, |look| look.open_count(Severity::Warning)),
            changes_per_second: changes.per_second(now),
            findings: diagnosis.findings().take(MAX_FINDINGS).map(shared).collect(),
        }
    }

    /// Returns how bad the state is: the greater, the worse. An ensemble that cannot be seen comes
    /// after one with locks that will never be granted again, and before one with warnings. One
    /// that is not known to be well comes after those. Of equal findings, what waiting cost decides.
    pub fn badness(&self) -> (u8, usize, usize, WaiterTime, Option<Duration>) {
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
        (rank, self.counts.critical, self.counts.warning, self.waited.0, self.longest_wait)
    }
}

/// Returns whether two findings are the same to a reader, even if the sentence has changed since.
pub fn is_same(one: &Finding, other: &Finding) -> bool {
    (one.code, &one.node, &one.lock.path, &one.lock.name)
        == (other.code, &other.node, &other.lock.path, &other.lock.name)
}

/// The kind of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StateKind {
    /// The locks are in step with the ensemble.
    Live,
    /// The locks are read.
    Reading,
    /// The first connection is made.
    Connecting,
    /// Events come faster than they can be read.
    Overloaded,
    /// The ensemble does not answer.
    Silent,
    /// The connected member is behind the others.
    Lagging,
    /// The connection was lost.
    CutOff,
    /// No connection can be made.
    NoConnection,
    /// The ensemble refuses the session, and there is no further attempt.
    Refused,
}

impl StateKind {
    /// Returns the words for the screen and for JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Reading => "reading",
            Self::Connecting => "connecting",
            Self::Overloaded => "overloaded",
            Self::Silent => "no answer",
            Self::Lagging => "lags",
            Self::CutOff => "cut off",
            Self::NoConnection => "no connection",
            Self::Refused => "refused",
        }
    }

    /// Returns whether the locks cannot be seen, and that is no matter of a moment.
    pub fn is_broken(self) -> bool {
        self >= Self::Overloaded
    }
}

/// The state of an ensemble's connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnsembleCondition {
    kind: StateKind,
    reason: Option<String>,
}

impl EnsembleCondition {
    /// Returns a state with its reason.
    pub fn new(kind: StateKind, reason: Option<String>) -> Self {
        Self { kind, reason }
    }

    /// Returns the state of a table's connection.
    pub fn of(table: &LockTable) -> Self {
        let (kind, reason) = match table.connection() {
            _ if table.is_live() => (StateKind::Live, None),
            ConnectionState::Connected { .. } => (StateKind::Reading, None),
            ConnectionState::Connecting { reason: None, .. } => (StateKind::Connecting, None),
            ConnectionState::Connecting { reason, .. } => (StateKind::NoConnection, reason.clone()),
            ConnectionState::Overloaded { reason } => (StateKind::Overloaded, Some(reason.clone())),
            ConnectionState::Lost { reason } => (StateKind::CutOff, Some(reason.clone())),
            ConnectionState::Silent { .. } => (StateKind::Silent, Some(NO_ANSWER.to_owned())),
            ConnectionState::Refused { reason } => (StateKind::Refused, Some(reason.clone())),
            ConnectionState::Lagging { reason, .. } => (StateKind::Lagging, Some(reason.clone())),
        };
        Self { kind, reason }
    }

    /// Returns the kind.
    pub fn kind(&self) -> StateKind {
        self.kind
    }

    /// Returns why the locks cannot be seen.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

/// The window of the rate, in seconds.
const WINDOW: u8 = 10;

/// Counts changes over a sliding window of ten seconds.
#[derive(Clone, Debug, Default)]
pub struct ChangeRate {
    /// The changes of each second of the window; the second modulo the window is the position.
    seconds: [u32; WINDOW as usize],
    /// The second of the last count.
    last: i64,
}

impl ChangeRate {
    /// Counts changes.
    pub fn add(&mut self, changes: usize, now: Timestamp) {
        let second = now.0.div_euclid(1_000);
        // A clock that goes back starts over.
        let window = i64::from(WINDOW);
        let passed = if second < self.last { window } else { (second - self.last).min(window) };
        for before in 0..passed {
            self.seconds[place_of_second(second - before)] = 0;
        }
        self.last = second;
        let count = &mut self.seconds[place_of_second(second)];
        *count = count.saturating_add(u32::try_from(changes).unwrap_or(u32::MAX));
    }

    /// Returns the changes a second, over the last ten complete or running seconds.
    pub fn per_second(&self, now: Timestamp) -> f64 {
        let second = now.0.div_euclid(1_000);
        let window = i64::from(WINDOW);
        let counted = (0..window).filter(|before| (self.last - window + 1..=self.last).contains(&(second - before)));
        let changes: u64 = counted.map(|before| u64::from(self.seconds[place_of_second(second - before)])).sum();
        // Ten seconds of `u32` fit a float exactly.
        #[expect(clippy::cast_precision_loss, reason = "at most ten times `u32::MAX`")]
        let rate = changes as f64 / f64::from(WINDOW);
        rate
    }
}

/// Returns the position of a second.
fn place_of_second(second: i64) -> usize {
    usize::try_from(second.rem_euclid(i64::from(WINDOW))).unwrap_or_default()
}

/// One of several ensembles, as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct EnsembleFacts<'a> {
    context: &'a str,
    connect: &'a str,
    production: bool,
    state: &'static str,
    reason: Option<&'a str>,
    #[serde(flatten)]
    figures: Option<SummaryFigures<'a>>,
}

/// The figures of an ensemble of which something is known.
#[derive(Clone, Debug, Serialize)]
struct SummaryFigures<'a> {
    taken_at: Option<String>,
    last_true: Option<String>,
    servers: usize,
    servers_answering: usize,
    locks: usize,
    contenders: usize,
    longest_wait_ms: Option<u64>,
    waiter_seconds: WaiterTime,
    findings: Counts,
    verdict: &'static str,
    trouble_because: Option<String>,
    open_checks: usize,
    changes_per_second: f64,
    maintenance: Option<MuteFacts<'a>>,
    worst: Option<Worst<'a>>,
}

#[derive(Clone, Debug, Serialize)]
struct Counts {
    critical: usize,
    warning: usize,
    info: usize,
    muted: usize,
}

/// The worst finding.
#[derive(Clone, Debug, Serialize)]
struct Worst<'a> {
    lock: String,
    code: &'static str,
    severity: &'static str,
    summary: &'a str,
    remedy: &'a str,
}

impl<'a> EnsembleFacts<'a> {
    /// Collects what is known of an ensemble.
    pub fn new(
        context: &'a str,
        connect: &'a str,
        production: bool,
        state: StateKind,
        reason: Option<&'a str>,
        summary: Option<&'a EnsembleSummary>,
    ) -> Self {
        Self { context, connect, production, state: state.id(), reason, figures: summary.map(SummaryFigures::new) }
    }
}

impl<'a> SummaryFigures<'a> {
    fn new(summary: &'a EnsembleSummary) -> Self {
        let counts = summary.counts;
        Self {
            taken_at: rfc3339(summary.at),
            last_true: summary.last_true.and_then(rfc3339),
            servers: summary.servers.1,
            servers_answering: summary.servers.0,
            locks: summary.locks,
            contenders: summary.contenders,
            longest_wait_ms: summary.longest_wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            waiter_seconds: summary.waited.0,
            findings: Counts {
                critical: counts.critical,
                warning: counts.warning,
                info: counts.info,
                muted: counts.muted,
            },
            verdict: summary.verdict.id(),
            trouble_because: summary.servers_trouble.as_ref().map(ToString::to_string),
            open_checks: summary.open_checks,
            changes_per_second: summary.changes_per_second,
            maintenance: summary.maintenance.as_deref().map(MuteFacts::from),
            worst: summary
                .findings
                .first()
                .filter(|finding| finding.muted.is_none())
                .map(|finding| Worst::new(finding)),
        }
    }
}

impl<'a> Worst<'a> {
    fn new(finding: &'a Finding) -> Self {
        Self {
            lock: finding.lock.to_string(),
            code: finding.code.id(),
            severity: finding.severity.id(),
            summary: &finding.summary,
            remedy: &finding.remedy,
        }
    }
}
