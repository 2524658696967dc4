//! The lines of the audit log, and the change that an intent and its outcome are together.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::super::{Action, PlannedNode, Who};
use lockscope_base::time;

/// The version of the format: fields are added, never renamed.
const SCHEMA: u32 = 1;

/// Which node it was, and what was known of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Subject {
    /// The lock's path.
    pub lock: String,
    /// The node's path.
    pub path: String,
    /// The transaction that created it, where it was seen.
    pub czxid: Option<i64>,
    /// How often its data had been changed.
    pub version: Option<i32>,
    /// Its sequence number; `None` when its name has none.
    pub sequence: Option<i32>,
    /// Who owned it, as unsigned hex.
    pub owner: Option<String>,
    /// Whether its owner was alive: `ghost`, `ownerless`, `expiring`, `suspect`, `live`, `unknown`. The name is part of the
    /// log's format.
    pub life: String,
    /// The evidence for that.
    pub evidence: String,
}

impl Subject {
    /// What a plan says of a node.
    pub fn of(node: &PlannedNode) -> Self {
        Self {
            lock: node.lock.to_string(),
            path: node.path.to_string(),
            czxid: Some(node.czxid.0),
            version: Some(node.version),
            sequence: node.sequence.map(|sequence| sequence.0),
            owner: node.session.map(|session| session.to_string()),
            life: node.liveness.id().to_owned(),
            evidence: node.evidence.clone(),
        }
    }
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::admin) enum LineKind {
    /// What is about to be done.
    Intent,
    /// What came of it.
    Outcome,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::admin) struct AuditLine {
    pub schema: u32,
    pub entry: LineKind,
    /// What ties an outcome to its intent.
    pub id: String,
    /// RFC 3339, UTC, by this machine's clock.
    pub at: String,
    pub action: String,
    #[serde(flatten)]
    pub subject: Subject,
    #[serde(flatten)]
    pub who: Who,
    /// How it was confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The same as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl AuditLine {
    /// What is about to be done to a node.
    pub fn intent(action: Action, subject: Subject, who: &Who, confirmed_by: &str) -> Self {
        Self {
            schema: SCHEMA,
            entry: LineKind::Intent,
            id: uuid::Uuid::new_v4().to_string(),
            at: now(),
            action: action.id().to_owned(),
            subject,
            who: who.clone(),
            confirmed_by: Some(confirmed_by.to_owned()),
            result: None,
            reason: None,
        }
    }

    /// What came of it.
    pub fn outcome(self, result: &str, reason: String) -> Self {
        Self { entry: LineKind::Outcome, at: now(), result: Some(result.to_owned()), reason: Some(reason), ..self }
    }
}

/// RFC 3339, UTC, with milliseconds.
fn now() -> String {
    let now = chrono::DateTime::from_timestamp_millis(time::now().0).unwrap_or_default();
    now.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// The outcome of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditOutcome {
    /// When, as RFC 3339 in UTC.
    pub at: String,
    /// [`Ending::id`](super::super::Ending::id), or why it was not even tried.
    pub result: String,
    /// The same as a sentence.
    pub reason: String,
}

/// One change: its intent and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// What ties the two lines together.
    pub id: String,
    /// When its first line was written, as RFC 3339 in UTC.
    pub at: String,
    /// `delete` or `revoke`.
    pub action: String,
    /// The node, and what was known of it.
    pub subject: Subject,
    /// Who changed it, or wanted to.
    pub who: Who,
    /// How it was confirmed.
    pub confirmed_by: Option<String>,
    /// Whether an intent was written; `false` when it was refused before that.
    pub intended: bool,
    /// The outcome; `None` for an intent alone: nobody wrote down whether the node was deleted.
    pub outcome: Option<AuditOutcome>,
}

impl From<AuditLine> for AuditEntry {
    fn from(line: AuditLine) -> Self {
        let AuditLine { entry, id, at, action, subject, who, confirmed_by, result, reason, .. } = line;
        let outcome = (entry == LineKind::Outcome).then(|| AuditOutcome {
            at: at.clone(),
            result: result.unwrap_or_default(),
            reason: reason.unwrap_or_default(),
        });
        Self { id, at, action, subject, who, confirmed_by, intended: entry == LineKind::Intent, outcome }
    }
}

/// Puts the lines of one id together, in the order of the first of each.
pub(super) fn joined(lines: impl Iterator<Item = AuditLine>) -> Vec<AuditEntry> {
    let mut entries: Vec<AuditEntry> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for line in lines {
        let entry = AuditEntry::from(line);
        if let Some(known) = places.get(&entry.id).and_then(|place| entries.get_mut(*place)) {
            known.intended |= entry.intended;
            known.outcome = entry.outcome.or(known.outcome.take());
        } else {
            places.insert(entry.id.clone(), entries.len());
            entries.push(entry);
        }
    }
    entries
}
