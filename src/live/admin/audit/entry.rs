//! The lines of the audit log, and the entry that an intent and its outcome form together.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::super::{Action, PlannedNode, Who};
use lockscope_base::time;

/// The version of the format: fields are added, never renamed.
const SCHEMA: u32 = 1;

/// The node of an entry, and what was known about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Subject {
    /// The lock's path.
    pub lock: String,
    /// The node's path.
    pub path: String,
    /// The transaction that created the node, if the node was seen.
    pub czxid: Option<i64>,
    /// The number of changes of the node's data.
    pub version: Option<i32>,
    /// The node's sequence number; `None` if its name has none.
    pub sequence: Option<i32>,
    /// The session that owned the node, as unsigned hex.
    pub owner: Option<String>,
    /// The state of the owner: `ghost`, `ownerless`, `expiring`, `suspect`, `live`, `unknown`. The
    /// field's name is part of the log's format.
    pub life: String,
    /// The evidence for `life`.
    pub evidence: String,
}

impl Subject {
    /// Returns the facts that a plan has about a node.
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

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::admin) enum LineKind {
    /// The action that is about to be done.
    Intent,
    /// The outcome of the action.
    Outcome,
}

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::admin) struct AuditLine {
    pub schema: u32,
    pub entry: LineKind,
    /// The id that an intent and its outcome share.
    pub id: String,
    /// The time of the line by this machine's clock, in RFC 3339 and UTC.
    pub at: String,
    pub action: String,
    #[serde(flatten)]
    pub subject: Subject,
    #[serde(flatten)]
    pub who: Who,
    /// The way in which the action was confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The result as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl AuditLine {
    /// Creates the line for the intent to act on a node.
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

    /// Creates the line for the outcome of this intent.
    pub fn outcome(self, result: &str, reason: String) -> Self {
        Self { entry: LineKind::Outcome, at: now(), result: Some(result.to_owned()), reason: Some(reason), ..self }
    }
}

/// Returns the current time in RFC 3339 and UTC, with milliseconds.
fn now() -> String {
    let now = chrono::DateTime::from_timestamp_millis(time::now().0).unwrap_or_default();
    now.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// The outcome of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditOutcome {
    /// The time of the outcome, in RFC 3339 and UTC.
    pub at: String,
    /// [`Ending::id`](super::super::Ending::id), or the reason why the change was not tried.
    pub result: String,
    /// The result as a sentence.
    pub reason: String,
}

/// A change: its intent and its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// The id that the two lines share.
    pub id: String,
    /// The time of the first line, in RFC 3339 and UTC.
    pub at: String,
    /// `delete` or `revoke`.
    pub action: String,
    /// The node, and what was known about it.
    pub subject: Subject,
    /// The person who changed the node or wanted to.
    pub who: Who,
    /// The way in which the change was confirmed.
    pub confirmed_by: Option<String>,
    /// Whether an intent was written; `false` if the change was refused before that.
    pub intended: bool,
    /// The outcome. `None` if only the intent was written: it is unknown whether the node was
    /// deleted.
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

/// Joins the lines of each id, in the order of their first lines.
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
