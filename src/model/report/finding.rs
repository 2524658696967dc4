//! Findings, the verdict on all locks, and the nodes that could not be read, as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde::ser::Serializer;

use super::contender::{ClientFacts, millis};
use super::{ReportedEnsemble, SCHEMA, rfc3339};
use crate::diagnose::{Code, Diagnosis, Finding, LastLook, OpenCheck, Severity, not_seen};
use crate::queue::{LockTable, Mute};
use crate::verdict::{LookedAt, Needs, NotKnown, Unsought, Verdict, VerdictKind};
use lockscope_base::znode::{Timestamp, ZnodePath};

/// A finding in the list of its lock.
#[derive(Serialize)]
pub struct FindingFacts<'a> {
    code: Code,
    severity: Severity,
    node: Option<&'a str>,
    /// The session that owns the node.
    session: Option<String>,
    #[serde(flatten)]
    client: ClientFacts,
    summary: &'a str,
    remedy: &'a str,
    muted: Option<MuteFacts<'a>>,
}

/// A mute of a finding.
#[derive(Clone, Debug, Serialize)]
pub struct MuteFacts<'a> {
    /// `null` until the finding is cleared.
    until: Option<String>,
    note: &'a str,
    by: &'a str,
}

impl<'a> From<&'a Mute> for MuteFacts<'a> {
    fn from(mute: &'a Mute) -> Self {
        Self { until: mute.until.and_then(rfc3339), note: &mute.note, by: &mute.by }
    }
}

impl<'a> FindingFacts<'a> {
    pub fn new(finding: &'a Finding) -> Self {
        Self {
            code: finding.code,
            severity: finding.severity,
            node: finding.node.as_deref(),
            session: finding.client.as_ref().and_then(|client| Some(client.session?.to_string())),
            client: finding.client.as_deref().map(ClientFacts::from).unwrap_or_default(),
            summary: &finding.summary,
            remedy: &finding.remedy,
            muted: finding.muted.as_deref().map(MuteFacts::from),
        }
    }
}

/// A finding with its lock.
#[derive(Serialize)]
struct Located<'a> {
    lock: &'a str,
    /// The queue's name, where the parent has several queues.
    name: Option<&'a str>,
    #[serde(flatten)]
    facts: FindingFacts<'a>,
}

impl<'a> Located<'a> {
    fn new(finding: &'a Finding) -> Self {
        let lock = &finding.lock;
        Self { lock: lock.path.as_str(), name: lock.name.as_deref(), facts: FindingFacts::new(finding) }
    }
}

/// What a look says of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingNews {
    /// It stands now.
    Raised,
    /// It stands no more.
    Cleared,
    /// It is from before a cut, and raised again if it still applies.
    Forgotten,
    /// It stands, and somebody muted it.
    Muted,
    /// It stands, and is not muted any more.
    Unmuted,
}

impl FindingNews {
    /// Returns the news of a finding that stands, whose mute has changed.
    pub fn of_mute(finding: &Finding) -> Self {
        if finding.muted.is_some() { Self::Muted } else { Self::Unmuted }
    }

    /// Returns the name of the event in JSON. A forgotten finding counts as cleared.
    pub fn id(self) -> &'static str {
        match self {
            Self::Raised => "finding-raised",
            Self::Cleared | Self::Forgotten => "finding-cleared",
            Self::Muted => "finding-muted",
            Self::Unmuted => "finding-unmuted",
        }
    }
}

/// What became of a finding, as a line of `lockscope watch`.
#[derive(Serialize)]
pub struct FindingLine<'a> {
    at: Option<String>,
    event: &'static str,
    #[serde(flatten)]
    finding: Located<'a>,
}

impl<'a> FindingLine<'a> {
    /// Creates the line.
    pub fn new(finding: &'a Finding, news: FindingNews, at: Timestamp) -> Self {
        Self { at: rfc3339(at), event: news.id(), finding: Located::new(finding) }
    }
}

/// The output of `lockscope check`.
#[derive(Serialize)]
pub struct CheckReport<'a> {
    schema: u32,
    checked_at: Option<String>,
    ensemble: &'a ReportedEnsemble,
    /// The number of locks.
    locks: usize,
    fail_on: Severity,
    /// Whether the locks are known to be well: no finding is as severe as `fail_on`, everything could
    /// be read, and no check is open.
    passed: bool,
    #[serde(flatten)]
    facts: VerdictFacts<'a>,
    /// How many of the findings are muted. They do not count.
    muted: usize,
    maintenance: Option<MuteFacts<'a>>,
    findings: Vec<Located<'a>>,
    unreadable: Unreadable<'a>,
    /// The codes that need a longer look.
    not_seen: Vec<Code>,
    /// How long the look must be for each of these codes, in milliseconds.
    not_seen_needs_ms: BTreeMap<&'static str, u64>,
    #[serde(skip)]
    verdict: Verdict,
}

impl<'a> CheckReport<'a> {
    /// Creates the output for a table that was watched for `looked`. Keeps the order of the
    /// findings.
    pub fn new(
        ensemble: &'a ReportedEnsemble,
        table: &'a LockTable,
        diagnosis: &'a Diagnosis,
        at: Timestamp,
        fail_on: Severity,
        looked: Duration,
    ) -> Self {
        let verdict = Verdict::of(table, diagnosis, looked, at, fail_on);
        let needs = not_seen(diagnosis.thresholds(), looked);
        Self {
            schema: SCHEMA,
            checked_at: rfc3339(at),
            ensemble,
            locks: table.lock_count(),
            fail_on,
            passed: verdict.kind() == VerdictKind::Well,
            facts: VerdictFacts::new(&verdict, diagnosis, fail_on),
            muted: diagnosis.muted_count(),
            maintenance: table.mutes().maintenance(at).map(|mute| MuteFacts::from(&**mute)),
            findings: diagnosis.findings().map(Located::new).collect(),
            unreadable: Unreadable(table.unreadable()),
            not_seen: needs.iter().map(|not_seen| not_seen.code).collect(),
            not_seen_needs_ms: needs.iter().map(|not_seen| (not_seen.code.id(), millis(not_seen.needs))).collect(),
            verdict,
        }
    }

    /// Returns whether the locks are known to be well.
    pub fn passed(&self) -> bool {
        self.passed
    }

    /// Returns what is known of the locks.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }
}

/// What is known of the locks, and what is not.
#[derive(Serialize)]
struct VerdictFacts<'a> {
    verdict: &'static str,
    /// What is wrong with the servers.
    trouble_because: Option<String>,
    /// Why it is not known whether the locks are well.
    unknown_because: Option<String>,
    /// How long the looks lasted, and how many there were.
    looked_ms: Option<u64>,
    looks: Option<u64>,
    unchecked: Vec<Unchecked<'a>>,
}

/// A check that is not decided: of one lock, or of all.
#[derive(Serialize)]
struct Unchecked<'a> {
    /// The lock; `null` for a kind that could be found at no lock.
    lock: Option<&'a str>,
    name: Option<&'a str>,
    check: Code,
    why: &'static str,
    known_in_ms: Option<u64>,
}

impl<'a> VerdictFacts<'a> {
    /// Lists the open checks whose findings would count, then the kinds that could not be found.
    fn new(verdict: &Verdict, diagnosis: &'a Diagnosis, fail_on: Severity) -> Self {
        let looked = verdict.looked_at();
        let open = diagnosis.last_look().map_or(&[][..], LastLook::open).iter();
        let open = open.filter(|open| open.severity >= fail_on).map(Unchecked::of_lock);
        let kinds = looked.map_or(&[][..], LookedAt::unsought).iter();
        let lasted = looked.map(LookedAt::lasted).unwrap_or_default();
        Self {
            verdict: verdict.kind().id(),
            trouble_because: verdict.servers().map(ToString::to_string),
            unknown_because: verdict.not_known().map(NotKnown::sentence),
            looked_ms: looked.map(LookedAt::lasted).map(millis),
            looks: looked.map(LookedAt::rounds),
            unchecked: open.chain(kinds.map(|kind| Unchecked::of_kind(*kind, lasted))).collect(),
        }
    }
}

impl<'a> Unchecked<'a> {
    fn of_lock(open: &'a OpenCheck) -> Self {
        let (lock, name) = (Some(open.lock.path.as_str()), open.lock.name.as_deref());
        Self { lock, name, check: open.check, why: open.why.id(), known_in_ms: open.known_in.map(millis) }
    }

    fn of_kind(Unsought { code, needs }: Unsought, lasted: Duration) -> Self {
        let known_in_ms = match needs {
            Needs::Longer(needed) => Some(millis(needed.saturating_sub(lasted))),
            Needs::Servers | Needs::Past => None,
        };
        Self { lock: None, name: None, check: code, why: needs.id(), known_in_ms }
    }
}

/// The nodes that could not be read, with the reasons.
pub struct Unreadable<'a>(pub &'a BTreeMap<ZnodePath, String>);

#[derive(serde::Serialize)]
struct UnreadableNode<'a> {
    path: &'a str,
    reason: &'a str,
}

impl Serialize for Unreadable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(path, reason)| UnreadableNode { path: path.as_str(), reason }))
    }
}
