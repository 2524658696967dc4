//! The content of an incident by lock, with the locks that cost most first.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use super::standstill::{Standstill, standstills};
use super::waits::Waits;
use crate::record::history::{PastAttempts, PastContender, PastFinding, PastWindow};
use lockscope_base::znode::TimeRange;

/// The events of a time range, ordered by importance.
#[derive(Debug)]
pub struct Incident<'a> {
    pub(super) window: &'a PastWindow,
    /// The locks, those with the most waiting first.
    pub(super) locks: Vec<LockRows<'a>>,
}

#[derive(Debug)]
pub(super) struct LockRows<'a> {
    pub path: &'a str,
    pub name: Option<&'a str>,
    /// The indexes of the lock's contenders, in the order in which they were first seen.
    pub contenders: Vec<usize>,
    pub waits: Waits,
    /// The attempts in vain, in the order of time.
    pub attempts: Vec<&'a PastAttempts>,
    /// The standstills, those with the most waiting first.
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
        let rows = |((path, name), contenders): ((&'a str, Option<&'a str>), Vec<usize>)| {
            // A queue that shares its parent with others is never a single node.
            let attempts = tried.get(path).filter(|_| name.is_none()).cloned().unwrap_or_default();
            let (waits, mut standstills) = standstills(&window.contenders, &contenders, &attempts, times);
            standstills.sort_by_key(|found| (Reverse(found.cost_ms), found.time));
            let is_here = |finding: &&PastFinding| finding.lock == path && finding.name.as_deref() == name;
            let findings = window.findings.iter().filter(is_here).collect();
            LockRows { path, name, contenders, waits, attempts, standstills, findings }
        };
        let mut locks: Vec<LockRows<'a>> = by_lock.into_iter().map(rows).collect();
        locks.sort_by_cached_key(|lock| {
            (Reverse(lock.cost_ms()), Reverse(lock.findings.len()), Reverse(lock.contenders.len()))
        });
        Self { window, locks }
    }

    /// Returns the standstills of all locks with their locks, those with the most waiting first, up
    /// to `most`.
    pub(super) fn costliest(&self, most: usize) -> Vec<(&LockRows<'a>, &Standstill)> {
        let of_lock = |lock| Self::standstills_of(lock).take(most);
        let mut all: Vec<(&LockRows<'a>, &Standstill)> = self.locks.iter().flat_map(of_lock).collect();
        all.sort_by_key(|(lock, found)| (Reverse(found.cost_ms), found.time, lock.path, lock.name));
        all.truncate(most);
        all
    }

    fn standstills_of<'b>(lock: &'b LockRows<'a>) -> impl Iterator<Item = (&'b LockRows<'a>, &'b Standstill)> {
        lock.standstills.iter().map(move |found| (lock, found))
    }

    /// Returns the length of the longest standstill.
    pub(super) fn longest(&self) -> Option<Duration> {
        self.locks.iter().flat_map(|lock| &lock.standstills).map(|found| found.time.length()).max()
    }

    /// Returns how long all contenders waited, summed up, in milliseconds.
    pub(super) fn cost_ms(&self) -> u64 {
        self.locks.iter().map(LockRows::cost_ms).fold(0, u64::saturating_add)
    }

    /// Returns a contender by its index.
    pub(super) fn contender(&self, at: usize) -> Option<&'a PastContender> {
        self.window.contenders.get(at)
    }

    pub(super) fn times(&self) -> TimeRange {
        TimeRange { from: self.window.from, to: self.window.to }
    }
}

impl LockRows<'_> {
    /// Returns how long all contenders waited, summed up, in milliseconds.
    pub fn cost_ms(&self) -> u64 {
        self.standstills.iter().map(|found| found.cost_ms).fold(0, u64::saturating_add)
    }

    /// Returns the number of attempts in vain within a time.
    pub fn tried(&self, time: TimeRange) -> u64 {
        let first = self.attempts.partition_point(|attempts| attempts.to < time.from);
        let within = self.attempts[first..].iter().take_while(|attempts| attempts.from <= time.to);
        within.fold(0, |all, attempts| all.saturating_add(attempts.count))
    }
}
