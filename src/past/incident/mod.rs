//! An incident report: the recorded events of a time range, as a page and as a trace. Pure.
//!
//! ```text
//! record::history::PastWindow --> Incident -+-> html()   paragraphs, holds and waits as bars,
//!                                           |            queue lengths, events
//!                                           +-> trace()  Chrome's trace events, for Perfetto
//! ```
//!
//! An `Incident` has the content of the time range by lock, with the locks that cost most first:
//! who waited, when nobody acquired, and how long the queue was.
//!
//! # What a standstill is, and what it costs
//!
//! A standstill of a lock is a longest time in which at least one contender waited and nobody
//! acquired it. A reader that joins other readers acquires nothing that others wait for. A
//! standstill costs as much as its waiters waited, summed up. Only certain times count: of a hold
//! or a wait whose beginning or end was not seen, the known part.
//!
//! # What is told
//!
//! Each standstill is charged to one cause, or in parts to several. Causes have a paragraph each,
//! those that cost most first. A cause covers most of what is charged to it; what covers less is
//! mentioned as something that stood meanwhile. Critical findings that no cause names follow.
//!
//! Architecture invariant: a page is self-contained. It has no script, and refers to no other file,
//! font or server, except that an overview links to the pages of its ensembles. Every text from a
//! znode goes through `words`, which escapes invisible characters and those that change the writing
//! direction, and is escaped by `maud`. Whatever is left out is mentioned with its number.

mod bars;
mod causes;
mod html;
mod paragraphs;
mod trace;
mod words;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::record::history::{LockCost, PastAttempts, PastContender, PastFinding, PastWindow};
use lockscope_base::znode::{SessionId, TimeBounds, TimeRange, Timestamp};

pub use html::{EnsembleHtmlRow, html, overview};
pub use trace::{IncidentTraces, trace};

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod standstill_tests;

#[cfg(test)]
mod waits_tests;

#[cfg(test)]
mod queue_lengths_tests;

/// The events of a time range, ordered by importance.
#[derive(Debug)]
pub struct Incident<'a> {
    window: &'a PastWindow,
    /// The locks, those with the most waiting first.
    locks: Vec<LockBars<'a>>,
}

#[derive(Debug)]
struct LockBars<'a> {
    pub path: &'a str,
    pub name: Option<&'a str>,
    /// The indexes of the lock's contenders, in the order in which they were first seen.
    pub contenders: Vec<usize>,
    pub waits: KnownWaits,
    /// What waiting cost; holders by their indexes.
    pub waiting: LockCost,
    /// The attempts in vain, in the order of time.
    pub attempts: Vec<&'a PastAttempts>,
    /// The standstills, those with the most waiting first.
    pub standstills: Vec<PastStandstill>,
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
        let counted = window.counted();
        let rows = |((path, name), contenders): ((&'a str, Option<&'a str>), Vec<usize>)| {
            // A queue that shares its parent with others is never a single node.
            let attempts = tried.get(path).filter(|_| name.is_none()).cloned().unwrap_or_default();
            let (waits, mut standstills) = standstills(&window.contenders, &contenders, &attempts, times);
            standstills.sort_by_key(|found| (Reverse(found.cost_ms), found.time));
            let is_here = |finding: &&PastFinding| finding.lock == path && finding.name.as_deref() == name;
            let findings = window.findings.iter().filter(is_here).collect();
            let waiting = window.cost(&counted, &contenders);
            LockBars { path, name, contenders, waits, waiting, attempts, standstills, findings }
        };
        let mut locks: Vec<LockBars<'a>> = by_lock.into_iter().map(rows).collect();
        locks.sort_by_cached_key(|lock| {
            (Reverse(lock.cost_ms()), Reverse(lock.findings.len()), Reverse(lock.contenders.len()))
        });
        Self { window, locks }
    }

    /// Returns the locks that were waited for, those with the most waiter-seconds first.
    fn waited_for(&self) -> Vec<&LockBars<'a>> {
        let mut locks: Vec<_> = self.locks.iter().filter(|lock| !lock.waiting.waited.0.is_zero()).collect();
        locks.sort_by_key(|lock| Reverse(lock.waiting.waited));
        locks
    }

    /// Returns the standstills of all locks with their locks, those with the most waiting first, up
    /// to `most`.
    fn costliest(&self, most: usize) -> Vec<(&LockBars<'a>, &PastStandstill)> {
        let of_lock = |lock| Self::standstills_of(lock).take(most);
        let mut all: Vec<(&LockBars<'a>, &PastStandstill)> = self.locks.iter().flat_map(of_lock).collect();
        all.sort_by_key(|(lock, found)| (Reverse(found.cost_ms), found.time, lock.path, lock.name));
        all.truncate(most);
        all
    }

    fn standstills_of<'b>(lock: &'b LockBars<'a>) -> impl Iterator<Item = (&'b LockBars<'a>, &'b PastStandstill)> {
        lock.standstills.iter().map(move |found| (lock, found))
    }

    /// Returns the length of the longest standstill.
    fn longest(&self) -> Option<Duration> {
        self.locks.iter().flat_map(|lock| &lock.standstills).map(|found| found.time.length()).max()
    }

    /// Returns how long all contenders waited, summed up, in milliseconds.
    fn cost_ms(&self) -> u64 {
        self.locks.iter().map(LockBars::cost_ms).fold(0, u64::saturating_add)
    }

    /// Returns a contender by its index.
    fn contender(&self, at: usize) -> Option<&'a PastContender> {
        self.window.contenders.get(at)
    }

    fn times(&self) -> TimeRange {
        TimeRange { from: self.window.from, to: self.window.to }
    }
}

impl LockBars<'_> {
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

/// A reader that waits for less beside another holder joins it: nobody was handed the lock.
const LONGEST_JOIN: Duration = Duration::from_millis(100);

/// The most holders that a standstill names.
const MAX_HOLDERS: usize = 8;

/// The most holders of one time that are compared: those that held first.
const MAX_COMPARED: usize = 64;

/// A longest time in which at least one contender waited for a lock and nobody acquired it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PastStandstill {
    pub time: TimeRange,
    /// Those that held during most of it, as indexes into the contenders of the incident, the longest
    /// first. Empty if no holder is known.
    pub holders: Vec<usize>,
    /// The number of holders that are not named.
    pub more_holders: usize,
    /// The number of waiting contenders, and of sessions that tried in vain.
    pub waiters: usize,
    /// How long all of them waited, summed up, in milliseconds.
    pub cost_ms: u64,
}

/// The known time of a hold.
#[derive(Clone, Copy, Debug)]
struct KnownHold {
    time: TimeRange,
    /// The holder, as an index into the contenders of the incident.
    at: usize,
}

/// The holds of a lock in the order of their beginnings.
#[derive(Debug)]
struct Holds {
    holds: Vec<KnownHold>,
    /// The latest end of the holds up to each of them.
    latest: Vec<Timestamp>,
}

impl Holds {
    fn of(contenders: &[PastContender], of: &[usize], window: TimeRange) -> Self {
        let hold = |at: &usize| Some(KnownHold { time: certain_hold(contenders.get(*at)?, window)?, at: *at });
        let mut holds: Vec<KnownHold> = of.iter().filter_map(hold).collect();
        holds.sort_unstable_by_key(|hold| (hold.time, hold.at));
        let later = |latest: &mut Timestamp, hold: &KnownHold| {
            *latest = hold.time.to.max(*latest);
            Some(*latest)
        };
        let latest = holds.iter().scan(Timestamp(i64::MIN), later).collect();
        Self { holds, latest }
    }

    /// Returns whether a contender acquired beside a holder as soon as it came.
    fn joined(&self, past: &PastContender) -> bool {
        let Some((acquired, came)) = past.acquired.zip(past.enqueued_at) else { return false };
        let earlier = self.holds.partition_point(|hold| hold.time.from < acquired.before);
        let is_held =
            earlier.checked_sub(1).and_then(|last| self.latest.get(last)).is_some_and(|to| *to > acquired.before);
        past.mode == "read" && is_held && acquired.before.since(came) < LONGEST_JOIN
    }
}

/// Returns the waits for one lock and its standstills, in the order of time. `of` holds the indexes
/// of its contenders, and `attempts` those in vain in the order of time.
fn standstills(
    contenders: &[PastContender],
    of: &[usize],
    attempts: &[&PastAttempts],
    window: TimeRange,
) -> (KnownWaits, Vec<PastStandstill>) {
    let holds = Holds::of(contenders, of, window);
    let queued = || of.iter().filter_map(|at| contenders.get(*at)).filter(|past| !holds.joined(past));
    let tries = tries(attempts, window).into_iter().map(|certain| KnownWait { certain, latest: certain.to });
    let waits = KnownWaits::of(queued().filter_map(|past| wait(past, window)).chain(tries).collect());
    let mut acquired: Vec<Timestamp> = queued().filter_map(|past| Some(past.acquired?.before)).collect();
    acquired.sort_unstable();
    let standstill = |time| PastStandstill {
        time,
        holders: Vec::new(),
        more_holders: 0,
        waiters: waits.count(time),
        cost_ms: waits.cost_ms(time),
    };
    let mut found: Vec<PastStandstill> = waits.cut_at(&acquired).into_iter().map(standstill).collect();
    add_holders(&mut found, &holds.holds);
    (waits, found)
}

/// Adds the holders to standstills in the order of time.
fn add_holders(found: &mut [PastStandstill], holds: &[KnownHold]) {
    let mut standing: BTreeSet<usize> = BTreeSet::new();
    let mut ends: BinaryHeap<Reverse<(Timestamp, usize)>> = BinaryHeap::new();
    let mut next = 0;
    for standstill in found {
        let TimeRange { from, to } = standstill.time;
        while let Some(hold) = holds.get(next).filter(|hold| hold.time.from < to) {
            standing.insert(next);
            ends.push(Reverse((hold.time.to, next)));
            next += 1;
        }
        while let Some(Reverse((_, ended))) = ends.peek().copied().filter(|Reverse((end, _))| *end <= from) {
            ends.pop();
            standing.remove(&ended);
        }
        let held = |at: &usize| Some((Reverse(holds[*at].time.within(standstill.time)?.length()), holds[*at].at));
        let mut held: Vec<_> = standing.iter().take(MAX_COMPARED).filter_map(held).collect();
        held.sort_unstable();
        // A holder that released just then held for a moment of it, and is no holder of that time.
        let longest = held.first().map_or(Duration::ZERO, |(Reverse(length), _)| *length);
        held.retain(|(Reverse(length), _)| *length >= longest / 10);
        let more = standing.len().saturating_sub(MAX_COMPARED);
        standstill.more_holders = held.len().saturating_sub(MAX_HOLDERS) + more;
        standstill.holders = held.into_iter().take(MAX_HOLDERS).map(|(_, at)| at).collect();
    }
}

/// A session that tries again within this time has wanted the lock all the time.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Returns the time in which a contender is known to have held, within the window.
fn certain_hold(past: &PastContender, window: TimeRange) -> Option<TimeRange> {
    let ended = past.ended.map_or(past.known_until, |ended| ended.after);
    TimeRange { from: past.acquired?.before, to: ended }.within(window)
}

/// A time in which a contender waited.
#[derive(Clone, Copy, Debug)]
struct KnownWait {
    pub certain: TimeRange,
    /// The latest end: what ended while nothing was seen is found afterwards.
    pub latest: Timestamp,
}

/// Returns the time in which a contender waited, within the window.
fn wait(past: &PastContender, window: TimeRange) -> Option<KnownWait> {
    let until = past.acquired.or(past.ended).unwrap_or(TimeBounds::exact(past.known_until));
    let certain = TimeRange { from: past.enqueued_at?, to: until.after }.within(window)?;
    Some(KnownWait { certain, latest: until.before.min(window.to).max(certain.to) })
}

/// Returns the time in which a contender is known to have waited, within the window.
fn certain_wait(past: &PastContender, window: TimeRange) -> Option<TimeRange> {
    wait(past, window).map(|wait| wait.certain)
}

/// Returns the times in which sessions tried again and again, each with a session.
fn tries(attempts: &[&PastAttempts], window: TimeRange) -> Vec<TimeRange> {
    let mut tries: Vec<TimeRange> = Vec::new();
    let mut last_of: FxHashMap<Option<SessionId>, usize> = FxHashMap::default();
    for attempts in attempts {
        let Some(time) = (TimeRange { from: attempts.from, to: attempts.to }).within(window) else { continue };
        match last_of.get(&attempts.session).and_then(|at| tries.get_mut(*at)) {
            Some(last) if time.from.since(last.to) <= LONGEST_PAUSE => last.to = last.to.max(time.to),
            _ => {
                last_of.insert(attempts.session, tries.len());
                tries.push(time);
            }
        }
    }
    tries
}

/// The times in which contenders waited for a lock.
#[derive(Debug, Default)]
struct KnownWaits {
    /// The longest times in which at least one waited at every moment, in order.
    merged: Vec<TimeRange>,
    starts: Moments,
    ends: Moments,
    latest_ends: Moments,
}

impl KnownWaits {
    pub fn of(mut waits: Vec<KnownWait>) -> Self {
        waits.sort_unstable_by_key(|wait| wait.certain);
        let mut merged: Vec<TimeRange> = Vec::new();
        for KnownWait { certain, .. } in &waits {
            match merged.last_mut() {
                Some(last) if certain.from <= last.to => last.to = last.to.max(certain.to),
                _ => merged.push(*certain),
            }
        }
        let starts = Moments::of(waits.iter().map(|wait| wait.certain.from).collect());
        let ends = Moments::of(waits.iter().map(|wait| wait.certain.to).collect());
        Self { merged, starts, ends, latest_ends: Moments::of(waits.iter().map(|wait| wait.latest).collect()) }
    }

    /// Returns the times in which at least one waited, cut at each of `cuts`, which are in order.
    pub fn cut_at(&self, cuts: &[Timestamp]) -> Vec<TimeRange> {
        let mut pieces = Vec::new();
        for waited in &self.merged {
            let mut from = waited.from;
            let first = cuts.partition_point(|cut| *cut <= waited.from);
            for cut in cuts[first..].iter().take_while(|cut| **cut < waited.to) {
                if *cut > from {
                    pieces.push(TimeRange { from, to: *cut });
                    from = *cut;
                }
            }
            pieces.push(TimeRange { from, to: waited.to });
        }
        pieces
    }

    /// Returns how many waited at any moment of a time.
    pub fn count(&self, time: TimeRange) -> usize {
        self.starts.number_before(time.to).saturating_sub(self.ends.number_up_to(time.from))
    }

    /// Returns how long all of them are known to have waited within a time, summed up, in milliseconds.
    pub fn cost_ms(&self, time: TimeRange) -> u64 {
        self.cost_until(&self.ends, time)
    }

    /// Returns the longest that all of them can have waited within a time, summed up, in milliseconds.
    pub fn most_cost_ms(&self, time: TimeRange) -> u64 {
        self.cost_until(&self.latest_ends, time)
    }

    fn cost_until(&self, ends: &Moments, time: TimeRange) -> u64 {
        let until = |at| self.starts.until(at) - ends.until(at);
        u64::try_from(until(time.to) - until(time.from)).unwrap_or(0)
    }
}

/// Moments in order.
#[derive(Debug, Default)]
struct Moments {
    at: Vec<Timestamp>,
    /// For each number of moments, the sum of the first ones.
    sums: Vec<i128>,
}

impl Moments {
    fn of(mut at: Vec<Timestamp>) -> Self {
        at.sort_unstable();
        let next = |sum: &mut i128, at: &Timestamp| {
            *sum += i128::from(at.0);
            Some(*sum)
        };
        let sums = std::iter::once(0).chain(at.iter().scan(0, next)).collect();
        Self { at, sums }
    }

    fn number_before(&self, time: Timestamp) -> usize {
        self.at.partition_point(|at| *at < time)
    }

    fn number_up_to(&self, time: Timestamp) -> usize {
        self.at.partition_point(|at| *at <= time)
    }

    /// Returns the time from each earlier moment to `time`, summed up, in milliseconds.
    fn until(&self, time: Timestamp) -> i128 {
        let before = self.number_before(time);
        let sum = self.sums.get(before).copied().unwrap_or(0);
        i128::from(time.0) * i128::try_from(before).unwrap_or(0) - sum
    }
}

/// Returns the longest queue within each of `parts` equal parts of the window.
fn queue_lengths(contenders: &[PastContender], of: &[usize], window: TimeRange, parts: usize) -> Vec<usize> {
    let waits = of.iter().filter_map(|at| certain_wait(contenders.get(*at)?, window));
    let mut changes: Vec<(i64, bool)> = waits.flat_map(|wait| [(wait.from.0, true), (wait.to.0, false)]).collect();
    // At equal times, departures are counted before arrivals.
    changes.sort_unstable();
    let (first, length) = (window.from.0, (window.to.0 - window.from.0).max(1));
    let mut most = vec![0; parts];
    let (mut waiting, mut part) = (0_usize, 0_usize);
    for (at, comes) in changes {
        let reached = i128::from(at - first) * i128::try_from(parts).unwrap_or(1) / i128::from(length);
        let reached = usize::try_from(reached).unwrap_or(0).min(parts.saturating_sub(1));
        while part < reached {
            part += 1;
            most[part] = waiting;
        }
        waiting = if comes { waiting + 1 } else { waiting.saturating_sub(1) };
        if let Some(most) = most.get_mut(part) {
            *most = waiting.max(*most);
        }
    }
    for most in most.iter_mut().skip(part + 1) {
        *most = waiting;
    }
    most
}
