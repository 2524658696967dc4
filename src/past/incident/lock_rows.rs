//! The content of an incident by lock, with the longest standstills first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::standstill::{Standstill, standstills};
use crate::record::history::{PastAttempts, PastContender, PastFinding, PastWindow};
use lockscope_base::znode::TimeRange;

/// The events of a time range, ordered by importance.
#[derive(Debug)]
pub struct Incident<'a> {
    pub(super) window: &'a PastWindow,
    /// The locks, with the longest standstills first.
    pub(super) locks: Vec<LockRows<'a>>,
}

#[derive(Debug)]
pub(super) struct LockRows<'a> {
    pub path: &'a str,
    pub name: Option<&'a str>,
    /// The indexes of the lock's contenders, in the order in which they were first seen.
    pub contenders: Vec<usize>,
    /// The standstills, the longest first.
    pub standstills: Vec<Standstill>,
    pub findings: Vec<&'a PastFinding>,
}

impl<'a> Incident<'a> {
    /// Groups the window by lock. Takes as long as sorting does.
    pub fn new(window: &'a PastWindow) -> Self {
        let mut by_lock: BTreeMap<(&str, Option<&str>), Vec<usize>> = BTreeMap::new();
        for (at, past) in window.contenders.iter().enumerate() {
            by_lock.entry((&past.lock, past.name.as_deref())).or_default().push(at);
        }
        let mut tried: BTreeMap<&str, Vec<&PastAttempts>> = BTreeMap::new();
        for attempts in &window.attempts {
            if let Some(lock) = &attempts.lock {
                tried.entry(lock).or_default().push(attempts);
            }
        }
        for finding in &window.findings {
            by_lock.entry((&finding.lock, finding.name.as_deref())).or_default();
        }
        let times = TimeRange { from: window.from, to: window.to };
        // A queue that shares its parent with others is never a single node.
        let tried_at =
            |path, name: Option<&str>| name.map_or_else(|| tried.get(path), |_| None).map_or(&[][..], Vec::as_slice);
        let rows = |((path, name), contenders): ((&'a str, Option<&'a str>), Vec<usize>)| LockRows {
            standstills: standstills(&window.contenders, &contenders, tried_at(path, name), times),
            findings: window
                .findings
                .iter()
                .filter(|finding| finding.lock == path && finding.name.as_deref() == name)
                .collect(),
            path,
            name,
            contenders,
        };
        let mut locks: Vec<LockRows<'a>> = by_lock.into_iter().map(rows).collect();
        locks.sort_by_key(|lock| {
            (Reverse(lock.longest_ms()), Reverse(lock.findings.len()), Reverse(lock.contenders.len()))
        });
        Self { window, locks }
    }

    /// Returns the standstills of all locks, the longest first, up to `most`.
    pub fn longest(&self, most: usize) -> Vec<Standstill> {
        let mut all: Vec<Standstill> =
            self.locks.iter().flat_map(|lock| lock.standstills.iter().take(most).copied()).collect();
        all.sort_by_key(|found| (Reverse(found.ms), found.from, found.holder));
        all.truncate(most);
        all
    }

    /// Returns a contender by its index.
    pub(super) fn contender(&self, at: usize) -> Option<&'a PastContender> {
        self.window.contenders.get(at)
    }

    pub(super) fn times(&self) -> TimeRange {
        TimeRange { from: self.window.from, to: self.window.to }
    }

    /// Returns the finding that best explains a hold: findings about its node first, then the most
    /// severe.
    pub(super) fn cause(&self, past: &PastContender, found: &Standstill) -> Option<&'a PastFinding> {
        let lock = self.locks.iter().find(|lock| lock.path == past.lock && lock.name == past.name.as_deref())?;
        let stood = lock.findings.iter().filter(|finding| {
            finding.raised_at <= found.to && finding.cleared_at.is_none_or(|cleared| cleared >= found.from)
        });
        let severity = |finding: &PastFinding| match finding.severity.as_str() {
            "critical" => 2,
            "warning" => 1,
            _ => 0,
        };
        let about_it = |finding: &PastFinding| finding.node.as_deref() == Some(&*past.node);
        // Informational findings and those about another node explain nothing.
        let causes =
            stood.copied().filter(|finding| severity(finding) > 0 && (about_it(finding) || finding.node.is_none()));
        causes.max_by_key(|finding| (about_it(finding), severity(finding), Reverse(finding.raised_at)))
    }
}

impl LockRows<'_> {
    fn longest_ms(&self) -> u64 {
        self.standstills.first().map_or(0, |found| found.ms)
    }
}
