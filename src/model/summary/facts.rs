//! A summary as JSON.

use serde::Serialize;

use super::{EnsembleSummary, StateKind};
use crate::diagnose::Finding;
use crate::report::rfc3339;

/// One of several ensembles, as JSON.
#[derive(Clone, Debug, Serialize)]
pub struct EnsembleFacts<'a> {
    context: &'a str,
    connect: &'a str,
    production: bool,
    state: &'static str,
    reason: Option<&'a str>,
    #[serde(flatten)]
    figures: Option<Figures<'a>>,
}

/// The figures of an ensemble of which something is known.
#[derive(Clone, Debug, Serialize)]
struct Figures<'a> {
    taken_at: Option<String>,
    last_true: Option<String>,
    servers: usize,
    servers_answering: usize,
    locks: usize,
    contenders: usize,
    longest_wait_ms: Option<u64>,
    findings: Counts,
    verdict: &'static str,
    trouble_because: Option<String>,
    open_checks: usize,
    changes_per_second: f64,
    worst: Option<Worst<'a>>,
}

#[derive(Clone, Debug, Serialize)]
struct Counts {
    critical: usize,
    warning: usize,
    info: usize,
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
        Self { context, connect, production, state: state.id(), reason, figures: summary.map(Figures::new) }
    }
}

impl<'a> Figures<'a> {
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
            findings: Counts { critical: counts.critical, warning: counts.warning, info: counts.info },
            verdict: summary.verdict.id(),
            trouble_because: summary.servers_trouble.as_ref().map(ToString::to_string),
            open_checks: summary.open_checks,
            changes_per_second: summary.changes_per_second,
            worst: summary.findings.first().map(|finding| Worst::new(finding)),
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
