//! The critical findings that no told cause names, such as an election without a leader for which
//! nobody waits.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::causes::{Cause, CauseKind, severity, time_of};
use super::lock_rows::{Incident, LockRows};
use crate::record::history::PastFinding;
use lockscope_base::znode::TimeRange;
use lockscope_model::diagnose::Code;

/// The critical findings of one code at one lock.
#[derive(Debug)]
pub(super) struct Critical<'a> {
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
pub(super) fn untold<'a>(incident: &Incident<'a>, told: &[Cause<'a>]) -> Vec<Critical<'a>> {
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
fn stood(incident: &Incident<'_>, lock: &LockRows<'_>, finding: &PastFinding) -> (TimeRange, Option<usize>) {
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
