//! Why locks stood still: each standstill is charged to one cause, or in parts to several.
//!
//! The ensemble is asked first: while nobody is served, every lock stands. What is left is charged
//! to what covers most of it: a finding, slow writes, a time in which nothing was seen, or the
//! timeout of a session that expired. If nothing does, the holder kept the lock, and why is not
//! known.
//!
//! Critical findings that no cause names are told by themselves, such as an election without a
//! leader for which nobody waits.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::{Incident, LockBars, PastStandstill};
use crate::record::history::{PastEnsembleEvent, PastFinding, PastGap};
use crate::record::tables::ContenderEnd;
use lockscope_base::znode::{SessionId, TimeBounds, TimeRange, Timestamp};
use lockscope_model::diagnose::{Code, Thresholds};
use lockscope_model::ensemble::{BEFORE_THE_FIRST_LOOK, EnsembleEventKind};

/// What is shorter is charged to its holder without a search: nobody reads of it.
pub const MIN_TOLD: Duration = Duration::from_secs(1);

/// A finding that stood for less is no cause. Looks are a second apart, so that it was seen once or
/// twice, and what lasts for a moment explains only a moment.
const MIN_CAUSE: Duration = Duration::from_secs(2);

/// Servers grant no longer session timeouts unless they are configured to: twenty ticks of two
/// seconds. Recordings do not have the timeouts.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(40);

/// A moment explains nothing if it is known only between bounds that are further apart: for most of
/// that time, clients may have been served.
const LONGEST_CHANGE: Duration = Duration::from_secs(10);

/// A cause, with the standstills or parts of them that are charged to it.
#[derive(Debug)]
pub struct Cause<'a> {
    pub kind: CauseKind<'a>,
    pub pieces: Vec<CausePiece>,
    /// How long all contenders are known to have waited within the pieces, summed up, in
    /// milliseconds.
    pub cost_ms: u64,
    /// The longest that they can have waited.
    pub most_cost_ms: u64,
    /// The holders, as indexes into the contenders of the incident.
    pub holders: Vec<usize>,
    /// The most holders at once that are not named.
    pub beside: usize,
    /// A finding that covers too little to be the cause.
    pub meanwhile: Option<&'a PastFinding>,
}

#[derive(Debug)]
pub enum CauseKind<'a> {
    Ensemble(&'a PastEnsembleEvent),
    /// Findings of one code about one client, or about one node.
    Findings(Vec<&'a PastFinding>),
    /// Nothing was seen for most of the time.
    NotSeen(&'a PastGap),
    /// The holder's session expired at the end.
    SessionEnd,
    /// The holder kept the lock.
    Kept,
    /// Nobody is known to have held.
    NobodyHeld,
}

/// A part of a standstill.
#[derive(Clone, Copy, Debug)]
pub struct CausePiece {
    /// The lock, as an index into those of the incident.
    pub lock: usize,
    pub time: TimeRange,
    pub cost_ms: u64,
}

/// What pieces of one cause have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum CauseKey<'a> {
    /// An event, as an index into those of the window.
    Ensemble(usize),
    Finding(&'a str, Whose<'a>),
    /// A gap, as an index into those of the window.
    NotSeen(usize),
    SessionEnd(Whose<'a>),
    /// A holder, as an index into the contenders of the incident.
    Kept(usize),
    /// The lock, as an index into those of the incident.
    NobodyHeld(usize),
}

/// Whom pieces of one cause are about.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Whose<'a> {
    /// Several locks show one fact.
    Ensemble,
    Session(SessionId),
    /// A holder, as an index into the contenders of the incident.
    Holder(usize),
    /// A node of a lock, which is an index into those of the incident.
    Node(usize, &'a str),
    Lock(usize),
}

/// What a standstill is charged to.
struct Charged<'a> {
    key: CauseKey<'a>,
    /// The holder, as an index into the contenders of the incident.
    holder: Option<usize>,
    finding: Option<&'a PastFinding>,
}

/// The causes of an incident.
struct Causes<'b, 'a> {
    incident: &'b Incident<'a>,
    /// The times in which nobody was served, the surest first, with their events.
    outages: Vec<(TimeRange, usize)>,
    found: Vec<Cause<'a>>,
    by_key: FxHashMap<CauseKey<'a>, usize>,
}

/// Charges every standstill to its causes. Returns them in the order of
/// what they can have cost, the most first.
pub fn causes<'a>(incident: &Incident<'a>) -> Vec<Cause<'a>> {
    let mut causes = Causes { incident, outages: outages(incident), found: Vec::new(), by_key: FxHashMap::default() };
    for (at, event) in incident.window.ensemble.iter().enumerate() {
        // It is told even if no lock stood.
        if event.what == EnsembleEventKind::NoMajority {
            let _ = causes.cause(CauseKey::Ensemble(at));
        }
    }
    for (at, lock) in incident.locks.iter().enumerate() {
        for found in &lock.standstills {
            causes.charge(at, lock, found);
        }
    }
    causes.bound_outages();
    let mut found = causes.found;
    found.sort_by_key(|cause| (std::cmp::Reverse(cause.most_cost_ms), cause.pieces.first().map(|piece| piece.time)));
    found
}

/// Returns the time of an event, as long as it may have been.
pub fn time_of(event: &PastEnsembleEvent, until: Timestamp) -> TimeRange {
    let TimeBounds { after, before } = event.began;
    let from = if after == BEFORE_THE_FIRST_LOOK { before } else { after };
    TimeRange { from, to: event.ended.map_or(until, |ended| ended.before) }
}

/// Returns whether an event happened in a moment, which its bounds enclose.
pub fn is_moment(event: &PastEnsembleEvent) -> bool {
    event.ended == Some(event.began)
}

fn outages(incident: &Incident<'_>) -> Vec<(TimeRange, usize)> {
    let rank = |event: &PastEnsembleEvent| match event.what {
        EnsembleEventKind::NoMajority => Some(0),
        EnsembleEventKind::LeaderChanged => Some(1),
        // A member that comes back elects while the leader serves.
        EnsembleEventKind::Election
        | EnsembleEventKind::MemberMissing
        | EnsembleEventKind::SlowWrites
        | EnsembleEventKind::NotSeen
        | EnsembleEventKind::ClockSetBack => None,
    };
    let outage = |(at, event): (usize, &PastEnsembleEvent)| {
        let time = time_of(event, incident.window.known_until);
        let is_known = !is_moment(event) || time.length() <= LONGEST_CHANGE;
        Some((rank(event).filter(|_| is_known)?, time, at))
    };
    let mut outages: Vec<_> = incident.window.ensemble.iter().enumerate().filter_map(outage).collect();
    outages.sort_unstable();
    outages.into_iter().map(|(_, time, at)| (time, at)).collect()
}

/// Returns the time in which a finding stood: it is raised only after its evidence has lasted.
fn evident(finding: &PastFinding, until: Timestamp) -> TimeRange {
    let code = Code::from_id(&finding.code);
    let found_after = code.map_or(Duration::ZERO, |code| Thresholds::default().least_time_to_find(code));
    TimeRange { from: finding.raised_at.minus(found_after), to: finding.cleared_at.unwrap_or(until) }
}

fn length(parts: &[TimeRange]) -> Duration {
    parts.iter().map(|part| part.length()).sum()
}

/// Returns how much of `parts` a time covers.
fn covered(time: TimeRange, parts: &[TimeRange]) -> Duration {
    parts.iter().filter_map(|part| time.within(*part)).map(TimeRange::length).sum()
}

/// Returns whether a time covers at least half of `parts`.
fn covers_most(time: TimeRange, parts: &[TimeRange]) -> bool {
    covered(time, parts) * 2 >= length(parts)
}

impl<'a> Causes<'_, 'a> {
    fn charge(&mut self, at: usize, lock: &LockBars<'a>, found: &PastStandstill) {
        let mut rest = vec![found.time];
        for outage in 0..self.outages.len() {
            let (time, event) = self.outages[outage];
            if time.within(found.time).is_none() {
                continue;
            }
            let within: Vec<TimeRange> = rest.iter().filter_map(|part| part.within(time)).collect();
            rest = rest.iter().flat_map(|part| outside(*part, time)).collect();
            self.cause(CauseKey::Ensemble(event)).add(at, lock, &within);
        }
        if rest.is_empty() {
            return;
        }
        let Charged { key, holder, finding } = self.charged(at, lock, found, &rest);
        let is_told = length(&rest) >= MIN_TOLD
            && matches!(key, CauseKey::SessionEnd(_) | CauseKey::Kept(_) | CauseKey::NobodyHeld(_));
        let meanwhile = if is_told { self.meanwhile(lock, found, &rest) } else { None };
        let cause = self.cause(key);
        cause.add(at, lock, &rest);
        cause.meanwhile = cause.meanwhile.or(meanwhile);
        if let Some(holder) = holder {
            cause.beside = cause.beside.max((found.holders.len() + found.more_holders).saturating_sub(1));
            if cause.holders.last() != Some(&holder) {
                cause.holders.push(holder);
            }
        }
        if let (CauseKind::Findings(findings), Some(new)) = (&mut cause.kind, finding)
            && !findings.iter().any(|known| std::ptr::eq(*known, new))
        {
            findings.push(new);
        }
    }

    /// Adds to the outages what they can have cost. The recorder is cut as the clients are, and finds
    /// afterwards which holders released at the end: an outage would cost next to nothing otherwise.
    fn bound_outages(&mut self) {
        let mut told: Vec<TimeRange> = Vec::new();
        for (time, event) in &self.outages {
            let rest = |parts: Vec<_>, told| parts.into_iter().flat_map(|part| outside(part, told)).collect();
            let parts = told.iter().copied().fold(vec![*time], rest);
            told.push(*time);
            let Some(at) = self.by_key.get(&CauseKey::Ensemble(*event)) else { continue };
            let stood: BTreeSet<usize> = self.found[*at].pieces.iter().map(|piece| piece.lock).collect();
            let most = |lock: &LockBars<'_>| parts.iter().map(|part| lock.waits.most_cost_ms(*part)).sum::<u64>();
            let most = stood.iter().map(|at| most(&self.incident.locks[*at])).fold(0, u64::saturating_add);
            let cause = &mut self.found[*at];
            cause.most_cost_ms = cause.most_cost_ms.max(most);
        }
    }

    /// Returns the cause of a key, which may have no pieces yet.
    fn cause(&mut self, key: CauseKey<'a>) -> &mut Cause<'a> {
        let at = *self.by_key.entry(key).or_insert_with(|| {
            let window = self.incident.window;
            let kind = match key {
                CauseKey::Ensemble(at) => CauseKind::Ensemble(&window.ensemble[at]),
                CauseKey::Finding(..) => CauseKind::Findings(Vec::new()),
                CauseKey::NotSeen(at) => CauseKind::NotSeen(&window.gaps[at]),
                CauseKey::SessionEnd(_) => CauseKind::SessionEnd,
                CauseKey::Kept(_) => CauseKind::Kept,
                CauseKey::NobodyHeld(_) => CauseKind::NobodyHeld,
            };
            let (pieces, holders) = (Vec::new(), Vec::new());
            self.found.push(Cause { kind, pieces, cost_ms: 0, most_cost_ms: 0, holders, beside: 0, meanwhile: None });
            self.found.len() - 1
        });
        &mut self.found[at]
    }

    /// Returns what a standstill is charged to, as far as the ensemble is not its cause.
    fn charged(&self, at: usize, lock: &LockBars<'a>, found: &PastStandstill, rest: &[TimeRange]) -> Charged<'a> {
        let window = self.incident.window;
        let first = found.holders.first().copied();
        let kept = first.map_or(CauseKey::NobodyHeld(at), CauseKey::Kept);
        if length(rest) < MIN_TOLD {
            return Charged { key: kept, holder: first, finding: None };
        }
        if let Some(finding) = self.finding(lock, found, rest) {
            let holder = self.holder_with(finding, found);
            let key = CauseKey::Finding(&finding.code, self.whose(at, holder, finding));
            return Charged { key, holder: holder.or(first), finding: Some(finding) };
        }
        let is_slow = |event: &PastEnsembleEvent| {
            event.what == EnsembleEventKind::SlowWrites && covers_most(time_of(event, window.known_until), rest)
        };
        let is_gap =
            |gap: &PastGap| covers_most(TimeRange { from: gap.from, to: gap.to.unwrap_or(window.known_until) }, rest);
        let expired = || found.holders.iter().find_map(|holder| Some((self.expiry(*holder, rest)?, *holder)));
        let (key, holder) = if let Some(event) = window.ensemble.iter().position(is_slow) {
            (CauseKey::Ensemble(event), None)
        } else if let Some(gap) = window.gaps.iter().position(is_gap) {
            (CauseKey::NotSeen(gap), None)
        } else if let Some((key, holder)) = expired() {
            (key, Some(holder))
        } else {
            (kept, first)
        };
        Charged { key, holder, finding: None }
    }

    /// Returns the finding that covers most of the rest, first among those about a holder.
    fn finding(&self, lock: &LockBars<'a>, found: &PastStandstill, rest: &[TimeRange]) -> Option<&'a PastFinding> {
        let until = self.incident.window.known_until;
        let explains = |finding: &&PastFinding| {
            let stood = finding.cleared_at.unwrap_or(until).since(finding.raised_at);
            severity(finding) > 0
                && stood >= MIN_CAUSE
                && Code::from_id(&finding.code).is_some_and(Code::explains_waits)
                && covers_most(evident(finding, until), rest)
        };
        let order = |finding: &&PastFinding| {
            (self.is_about(finding, found), covered(evident(finding, until), rest), severity(finding))
        };
        let about = lock
            .findings
            .iter()
            .copied()
            .filter(|finding| finding.node.is_none() || found.more_holders > 0 || self.is_about(finding, found));
        about.filter(explains).max_by_key(order)
    }

    /// Returns the finding that stood longest beside the rest. Critical ones are told by themselves.
    fn meanwhile(&self, lock: &LockBars<'a>, found: &PastStandstill, rest: &[TimeRange]) -> Option<&'a PastFinding> {
        let until = self.incident.window.known_until;
        let beside = |finding: &PastFinding| {
            let time = TimeRange { from: finding.raised_at, to: finding.cleared_at.unwrap_or(until) };
            covered(time, rest)
        };
        let is_told = |finding: &&PastFinding| {
            severity(finding) == 1
                && (finding.node.is_none() || self.is_about(finding, found))
                && !Code::from_id(&finding.code).is_some_and(Code::is_symptom)
                && !beside(finding).is_zero()
        };
        lock.findings.iter().copied().filter(is_told).max_by_key(|finding| beside(finding))
    }

    /// Returns whether a finding is about a holder.
    fn is_about(&self, finding: &PastFinding, found: &PastStandstill) -> bool {
        self.holder_with(finding, found).is_some()
    }

    fn holder_with(&self, finding: &PastFinding, found: &PastStandstill) -> Option<usize> {
        let node = finding.node.as_deref()?;
        found.holders.iter().copied().find(|at| self.incident.contender(*at).is_some_and(|past| past.node == node))
    }

    fn whose(&self, lock: usize, holder: Option<usize>, finding: &'a PastFinding) -> Whose<'a> {
        let session = holder.and_then(|holder| self.incident.contender(holder)?.session);
        match (Code::from_id(&finding.code), session, finding.node.as_deref()) {
            // One cycle, or one member, shows at several locks.
            (Some(Code::Deadlock | Code::MemberDisagrees), ..) => Whose::Ensemble,
            (_, Some(session), _) => Whose::Session(session),
            (_, None, Some(node)) => Whose::Node(lock, node),
            (_, None, None) => Whose::Lock(lock),
        }
    }

    /// Returns what to charge if the end of a holder's session explains most of the rest. A session
    /// expires when it was not heard for its timeout, so that it explains no more than that. After an
    /// outage it says nothing of its client, which nobody could hear.
    fn expiry(&self, holder: usize, rest: &[TimeRange]) -> Option<CauseKey<'a>> {
        let past = self.incident.contender(holder).filter(|past| past.end == ContenderEnd::Expired)?;
        let ended = past.ended?;
        let unheard = TimeRange { from: ended.after.minus(LONGEST_TIMEOUT), to: ended.before };
        if !covers_most(unheard, rest) {
            return None;
        }
        let mut outages = self.outages.iter().filter(|(time, event)| {
            let what = self.incident.window.ensemble[*event].what;
            what != EnsembleEventKind::LeaderChanged && time.within(unheard).is_some()
        });
        let outage = outages.next().map(|(_, event)| CauseKey::Ensemble(*event));
        Some(outage.unwrap_or(CauseKey::SessionEnd(past.session.map_or(Whose::Holder(holder), Whose::Session))))
    }
}

impl Cause<'_> {
    fn add(&mut self, at: usize, lock: &LockBars<'_>, parts: &[TimeRange]) {
        for part in parts {
            let piece = CausePiece { lock: at, time: *part, cost_ms: lock.waits.cost_ms(*part) };
            self.cost_ms = self.cost_ms.saturating_add(piece.cost_ms);
            self.most_cost_ms = self.most_cost_ms.saturating_add(piece.cost_ms);
            self.pieces.push(piece);
        }
    }
}

/// Returns the parts of a time outside of another.
fn outside(part: TimeRange, other: TimeRange) -> impl Iterator<Item = TimeRange> {
    let before = TimeRange { from: part.from, to: part.to.min(other.from) };
    let after = TimeRange { from: part.from.max(other.to), to: part.to };
    [before, after].into_iter().filter(|part| part.from < part.to)
}

/// Returns the rank of a severity: above zero from a warning on.
fn severity(finding: &PastFinding) -> u8 {
    match finding.severity.as_str() {
        "critical" => 2,
        "warning" => 1,
        _ => 0,
    }
}

/// The critical findings of one code at one lock.
#[derive(Debug)]
pub struct Critical<'a> {
    /// The lock, as an index into those of the incident.
    pub lock: usize,
    /// The one that stood longest.
    pub finding: &'a PastFinding,
    /// When that one stood.
    pub time: TimeRange,
    /// The number of others.
    pub more: usize,
    /// The last leader of an election without one, as an index into the contenders of the incident.
    pub last_leader: Option<usize>,
}

/// Returns the critical findings that `told` does not name, the longest first.
pub fn untold<'a>(incident: &Incident<'a>, told: &[Cause<'a>]) -> Vec<Critical<'a>> {
    let mut untold: BTreeMap<(usize, &str), Critical<'a>> = BTreeMap::new();
    for (at, lock) in incident.locks.iter().enumerate() {
        for finding in lock.findings.iter().copied().filter(|finding| severity(finding) > 1) {
            let (time, last_leader) = stood(incident, lock, finding);
            if is_named(finding, told) || is_explained(incident, finding, time, told) {
                continue;
            }
            let critical = Critical { lock: at, finding, time, more: 0, last_leader };
            match untold.get_mut(&(at, &*finding.code)) {
                Some(known) if known.time.length() >= time.length() => known.more += 1,
                Some(known) => *known = Critical { more: known.more + 1, ..critical },
                None => drop(untold.insert((at, &finding.code), critical)),
            }
        }
    }
    let mut untold: Vec<Critical<'a>> = untold.into_values().collect();
    untold.sort_by_key(|critical| (Reverse(critical.time.length()), critical.time.from));
    untold
}

fn is_named(finding: &PastFinding, told: &[Cause<'_>]) -> bool {
    told.iter().any(|cause| match &cause.kind {
        CauseKind::Findings(findings) => findings.iter().any(|named| std::ptr::eq(*named, finding)),
        _ => false,
    })
}

/// Returns whether an election had no leader because nobody was served.
fn is_explained(incident: &Incident<'_>, finding: &PastFinding, time: TimeRange, told: &[Cause<'_>]) -> bool {
    let served_nobody = told.iter().filter_map(|cause| match cause.kind {
        CauseKind::Ensemble(event) => time_of(event, incident.window.known_until).within(time),
        _ => None,
    });
    let code = Code::from_id(&finding.code);
    code == Some(Code::NobodyLeads) && served_nobody.map(TimeRange::length).any(|lasted| lasted * 2 >= time.length())
}

/// Returns when a finding stood. That nobody leads is found late: the time is that between two
/// leaders, with the earlier one.
fn stood(incident: &Incident<'_>, lock: &LockBars<'_>, finding: &PastFinding) -> (TimeRange, Option<usize>) {
    let raised = finding.raised_at;
    let mut time = TimeRange { from: raised, to: finding.cleared_at.unwrap_or(incident.window.known_until) };
    if Code::from_id(&finding.code) != Some(Code::NobodyLeads) {
        return (time, None);
    }
    let mut last_leader = None;
    let mut ended = None;
    for (at, past) in lock.contenders.iter().filter_map(|at| Some((*at, incident.contender(*at)?))) {
        let Some(acquired) = past.acquired else { continue };
        if acquired.after >= raised {
            time.to = time.to.min(acquired.after);
        } else if past.ended.is_none_or(|ended| ended.before > raised) {
            // Somebody held, but did not lead.
            return (TimeRange { from: raised, ..time }, None);
        } else if past.ended.map(|ended| ended.before) > ended {
            (ended, last_leader) = (past.ended.map(|ended| ended.before), Some(at));
        }
    }
    (TimeRange { from: ended.unwrap_or(raised), ..time }, last_leader)
}
