//! The findings of an ensemble that the console knows: since when, and whether the person has seen
//! them.
//!
//! They outlast a reconnect, another ensemble being open, and, with the notes, a restart. So a
//! finding is new only to a person who has not seen it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_live::admin::notebook::{KnownFinding, MAX_KNOWN_FINDINGS};
use lockscope_model::diagnose::{Code, Finding, Severity};
use lockscope_model::queue::MutedFinding;
use lockscope_model::summary::MAX_FINDINGS;

/// How long a finding is remembered that was seen and is gone. One that comes back within that time
/// is no news.
const REMEMBERED: Duration = Duration::from_secs(10 * 60);

/// How long a finding is remembered that is gone and was never seen.
const REMEMBERED_UNSEEN: Duration = Duration::from_secs(24 * 60 * 60);

/// What tells a finding from others over restarts.
type FindingPlace = (ZnodePath, Option<Arc<str>>, Code, Option<Arc<str>>);

fn place(finding: &Finding) -> FindingPlace {
    (finding.lock.path.clone(), finding.lock.name.clone(), finding.code, finding.node.clone())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KnownState {
    since: Timestamp,
    severity: Severity,
    seen: bool,
    muted: bool,
    gone_at: Option<Timestamp>,
}

/// The known findings of one ensemble; at most 1,000.
#[derive(Clone, Debug, Default)]
pub struct KnownFindings {
    known: BTreeMap<FindingPlace, KnownState>,
    /// Whether there is something to keep.
    is_changed: bool,
}

impl KnownFindings {
    /// Adds what notes say. What is known already goes on.
    pub fn load(&mut self, noted: &[KnownFinding], now: Timestamp) {
        for KnownFinding { finding, since, seen } in noted {
            let Some(code) = Code::from_id(&finding.code) else { continue };
            let place = (finding.lock.clone(), finding.name.clone(), code, finding.node.clone());
            let severities = [Severity::Critical, Severity::Warning, Severity::Info];
            let severity = severities.into_iter().find(|severity| severity.id() == &*finding.severity);
            let noted = KnownState {
                since: *since,
                severity: severity.unwrap_or(Severity::Info),
                seen: *seen,
                muted: false,
                gone_at: Some(now),
            };
            let known = self.known.entry(place).or_insert(noted);
            known.since = known.since.min(*since);
            // Who has seen it as a warning has not seen that it is critical now.
            known.seen |= *seen && noted.severity >= known.severity;
        }
    }

    /// Takes the findings that stand, the most severe first. `is_live`: whether those that are
    /// missing are gone; `seen`: whether the person sees them.
    pub fn take<'a>(&mut self, findings: impl Iterator<Item = &'a Finding>, is_live: bool, seen: bool, now: Timestamp) {
        let findings: Vec<&Finding> = findings.take(MAX_FINDINGS).collect();
        let mut standing: Vec<FindingPlace> = findings.iter().map(|finding| place(finding)).collect();
        standing.sort();
        for finding in findings {
            let (place, severity, muted) = (place(finding), finding.severity, finding.muted.is_some());
            if !self.known.contains_key(&place) {
                let new = KnownState { since: now, severity, seen, muted, gone_at: None };
                let new = self.take_renamed(finding, &standing).map_or(new, |before| KnownState {
                    since: before.since,
                    seen: seen || before.seen,
                    ..new
                });
                self.known.insert(place.clone(), new);
                self.is_changed = true;
            }
            let Some(known) = self.known.get_mut(&place) else { continue };
            let is_worse = severity > known.severity;
            let next = KnownState { severity, seen: seen || (known.seen && !is_worse), muted, gone_at: None, ..*known };
            self.is_changed |= (next.seen, next.severity) != (known.seen, known.severity);
            *known = next;
        }
        // Of a shortened list, what is missing may still stand.
        if is_live && standing.len() < MAX_FINDINGS {
            for (place, known) in &mut self.known {
                if standing.binary_search(place).is_err() {
                    known.gone_at.get_or_insert(now);
                    known.seen |= seen;
                }
            }
            self.forget(now);
        }
    }

    /// Takes a finding of the same lock that stood before, was no less severe and does not stand now:
    /// the trouble has got another name.
    fn take_renamed(&mut self, finding: &Finding, standing: &[FindingPlace]) -> Option<KnownState> {
        let is_before = |(place, known): &(&FindingPlace, &KnownState)| {
            (&place.0, &place.1) == (&finding.lock.path, &finding.lock.name)
                && known.severity >= finding.severity
                && known.gone_at.is_none()
                && standing.binary_search(place).is_err()
        };
        let place = self.known.iter().find(is_before).map(|(place, _)| place.clone())?;
        self.known.remove(&place)
    }

    fn forget(&mut self, now: Timestamp) {
        let before = self.known.len();
        self.known.retain(|_, known| {
            let most = if known.seen { REMEMBERED } else { REMEMBERED_UNSEEN };
            known.gone_at.is_none_or(|gone_at| now.since(gone_at) < most)
        });
        let over = self.known.len().saturating_sub(MAX_KNOWN_FINDINGS);
        if over > 0 {
            let mut gone: Vec<_> = self.known.iter().map(|(place, known)| (known.gone_at, place.clone())).collect();
            // Those that stand come last.
            gone.sort_by_key(|(gone_at, _)| gone_at.unwrap_or(Timestamp(i64::MAX)));
            gone.into_iter().take(over).for_each(|(_, place)| _ = self.known.remove(&place));
        }
        self.is_changed |= self.known.len() != before;
    }

    /// Returns how many findings, which somebody should look at, the person has not seen.
    pub fn unseen(&self) -> usize {
        let is_news = |known: &&KnownState| !known.seen && !known.muted && known.severity >= Severity::Warning;
        self.known.values().filter(is_news).count()
    }

    /// Returns since when a finding is known.
    pub fn since(&self, finding: &Finding) -> Option<Timestamp> {
        self.known.get(&place(finding)).map(|known| known.since)
    }

    /// Counts all as seen.
    pub fn see(&mut self) {
        for known in self.known.values_mut().filter(|known| !known.seen) {
            (known.seen, self.is_changed) = (true, true);
        }
    }

    /// Returns the findings for the notes, if they have changed since the last call.
    pub fn take_changed(&mut self) -> Option<Vec<KnownFinding>> {
        let noted = |((lock, name, code, node), known): (&FindingPlace, &KnownState)| KnownFinding {
            finding: MutedFinding {
                lock: lock.clone(),
                name: name.clone(),
                code: code.id().into(),
                node: node.clone(),
                severity: known.severity.id().into(),
            },
            since: known.since,
            seen: known.seen,
        };
        std::mem::take(&mut self.is_changed).then(|| self.known.iter().map(noted).collect())
    }
}
