use serde::Serialize;

use super::{Ensemble, SCHEMA, rfc3339};
use crate::diagnose::{Code, Finding, Severity};
use crate::znode::Timestamp;

/// A finding among those of its lock.
#[derive(Serialize)]
pub(super) struct FindingFacts<'a> {
    code: Code,
    severity: Severity,
    node: Option<&'a str>,
    summary: &'a str,
    remedy: &'a str,
}

impl<'a> FindingFacts<'a> {
    pub(super) fn new(finding: &'a Finding) -> Self {
        Self {
            code: finding.code,
            severity: finding.severity,
            node: finding.node.as_deref(),
            summary: &finding.summary,
            remedy: &finding.remedy,
        }
    }
}

/// A finding with the lock that it is about.
#[derive(Serialize)]
struct Located<'a> {
    lock: &'a str,
    /// Which queue, where the lock's parent holds several.
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

/// That a finding was raised or cleared, as a line of `lockscope watch`.
#[derive(Serialize)]
pub struct FindingLine<'a> {
    at: Option<String>,
    event: &'static str,
    #[serde(flatten)]
    finding: Located<'a>,
}

impl<'a> FindingLine<'a> {
    /// The line.
    pub fn new(finding: &'a Finding, raised: bool, at: Timestamp) -> Self {
        Self { at: rfc3339(at), event: Self::event(raised), finding: Located::new(finding) }
    }

    /// Its event.
    pub fn event(raised: bool) -> &'static str {
        if raised { "finding-raised" } else { "finding-cleared" }
    }
}

/// What `lockscope check` prints.
#[derive(Serialize)]
pub struct Check<'a> {
    schema: u32,
    checked_at: Option<String>,
    ensemble: &'a Ensemble,
    /// How many locks were looked at.
    locks: usize,
    fail_on: Severity,
    /// Whether nothing is as bad as `fail_on`.
    passed: bool,
    findings: Vec<Located<'a>>,
}

impl<'a> Check<'a> {
    /// The findings, in this order.
    pub fn new(
        ensemble: &'a Ensemble,
        locks: usize,
        at: Timestamp,
        fail_on: Severity,
        findings: Vec<&'a Finding>,
    ) -> Self {
        Self {
            schema: SCHEMA,
            checked_at: rfc3339(at),
            ensemble,
            locks,
            fail_on,
            passed: findings.iter().all(|finding| finding.severity < fail_on),
            findings: findings.into_iter().map(Located::new).collect(),
        }
    }

    /// Whether nothing is as bad as asked for.
    pub fn passed(&self) -> bool {
        self.passed
    }
}
