//! Findings as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::client::ClientFacts;
use super::contender::millis;
use super::unreadable::Unreadable;
use super::verdict::VerdictFacts;
use super::{Ensemble, SCHEMA, rfc3339};
use crate::diagnose::{Code, Diagnosis, Finding, Severity, not_seen};
use crate::queue::LockTable;
use crate::verdict::{Verdict, VerdictKind};
use lockscope_base::znode::Timestamp;

/// A finding in the list of its lock.
#[derive(Serialize)]
pub(super) struct FindingFacts<'a> {
    code: Code,
    severity: Severity,
    node: Option<&'a str>,
    /// The session that owns the node.
    session: Option<String>,
    #[serde(flatten)]
    client: ClientFacts,
    summary: &'a str,
    remedy: &'a str,
}

impl<'a> FindingFacts<'a> {
    pub(super) fn new(finding: &'a Finding) -> Self {
        Self {
            code: finding.code,
            severity: finding.severity,
            node: finding.node.as_deref(),
            session: finding.client.as_ref().and_then(|client| Some(client.session?.to_string())),
            client: finding.client.as_deref().map(ClientFacts::from).unwrap_or_default(),
            summary: &finding.summary,
            remedy: &finding.remedy,
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

/// A raised or cleared finding as a line of `lockscope watch`.
#[derive(Serialize)]
pub struct FindingLine<'a> {
    at: Option<String>,
    event: &'static str,
    #[serde(flatten)]
    finding: Located<'a>,
}

impl<'a> FindingLine<'a> {
    /// Creates the line.
    pub fn new(finding: &'a Finding, raised: bool, at: Timestamp) -> Self {
        Self { at: rfc3339(at), event: Self::event(raised), finding: Located::new(finding) }
    }

    /// Returns the name of the event.
    pub fn event(raised: bool) -> &'static str {
        if raised { "finding-raised" } else { "finding-cleared" }
    }
}

/// The output of `lockscope check`.
#[derive(Serialize)]
pub struct Check<'a> {
    schema: u32,
    checked_at: Option<String>,
    ensemble: &'a Ensemble,
    /// The number of locks.
    locks: usize,
    fail_on: Severity,
    /// Whether the locks are known to be well: no finding is as severe as `fail_on`, everything could
    /// be read, and no check is open.
    passed: bool,
    #[serde(flatten)]
    facts: VerdictFacts<'a>,
    findings: Vec<Located<'a>>,
    unreadable: Unreadable<'a>,
    /// The codes that need a longer look.
    not_seen: Vec<Code>,
    /// How long the look must be for each of these codes, in milliseconds.
    not_seen_needs_ms: BTreeMap<&'static str, u64>,
    #[serde(skip)]
    verdict: Verdict,
}

impl<'a> Check<'a> {
    /// Creates the output for a table that was watched for `looked`. Keeps the order of the
    /// findings.
    pub fn new(
        ensemble: &'a Ensemble,
        table: &'a LockTable,
        diagnosis: &'a Diagnosis,
        at: Timestamp,
        fail_on: Severity,
        looked: Duration,
    ) -> Self {
        let verdict = Verdict::of(table, diagnosis, looked, fail_on);
        let needs = not_seen(diagnosis.thresholds(), looked);
        Self {
            schema: SCHEMA,
            checked_at: rfc3339(at),
            ensemble,
            locks: table.lock_count(),
            fail_on,
            passed: verdict.kind() == VerdictKind::Well,
            facts: VerdictFacts::new(&verdict, diagnosis, fail_on),
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
