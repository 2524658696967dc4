//! Findings as rows, each with the times at which it was raised and cleared.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::contender::{RecordedClient, RecordedLock};
use lockscope_base::recipe::{LockKind, Recipe};
use lockscope_base::znode::{SessionId, Timestamp};
use lockscope_model::diagnose::{Code, Finding, FindingChanges, Severity};
use lockscope_model::queue::{LockId, LockTable};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FindingRecord {
    pub id: i64,
    pub lock: Arc<RecordedLock>,
    pub client: RecordedClient,
    pub session: Option<SessionId>,
    pub node: Option<Arc<str>>,
    pub code: Code,
    pub severity: Severity,
    pub raised_at: Timestamp,
    pub cleared_at: Option<Timestamp>,
    /// `open`, `cleared`, or `unknown` if the locks were no longer seen.
    pub ending: &'static str,
    /// The finding, whose summary and remedy are written. They are long, so the diagnosis and the
    /// row share them.
    pub found: Arc<Finding>,
}

type FindingKey = (LockId, Code, Option<Arc<str>>);

/// The open findings, and the rows to be written.
#[derive(Clone, Debug)]
pub(super) struct StandingFindingRows {
    no_data: bool,
    next_id: i64,
    standing: FxHashMap<FindingKey, Arc<FindingRecord>>,
    /// Changed rows in order; the last row of an id counts.
    pub changed: Vec<Arc<FindingRecord>>,
}

/// The most rows kept while nothing can be written.
const MAX_CHANGED: usize = 100_000;

impl StandingFindingRows {
    pub fn new(no_data: bool, next_id: i64) -> Self {
        Self { no_data, next_id, standing: FxHashMap::default(), changed: Vec::new() }
    }

    /// Records the changes of one look for findings.
    pub fn changed(&mut self, changes: &FindingChanges, table: &LockTable, at: Timestamp) {
        if self.changed.len() > MAX_CHANGED {
            self.changed.drain(..MAX_CHANGED / 2);
        }
        for finding in &changes.cleared {
            let Some(record) = self.standing.remove(&key(finding)) else { continue };
            let mut record = Arc::unwrap_or_clone(record);
            // A finding of unseen locks is not known to be cleared.
            let seen = table.is_in_step().then_some(at);
            record.cleared_at = seen.or(table.last_true()).or(Some(at));
            record.ending = if seen.is_some() { "cleared" } else { "unknown" };
            self.changed.push(record.into());
        }
        for finding in &changes.raised {
            let record = Arc::new(self.raised(finding, table, at));
            self.changed.push(Arc::clone(&record));
            self.standing.insert(key(finding), record);
        }
    }

    /// Records findings that were open when the table was first seen, with their beginnings.
    pub fn stood(&mut self, findings: impl Iterator<Item = (Arc<Finding>, Timestamp)>, table: &LockTable) {
        for (finding, raised_at) in findings {
            let record = Arc::new(self.raised(&finding, table, raised_at));
            self.changed.push(Arc::clone(&record));
            self.standing.insert(key(&finding), record);
        }
    }

    fn raised(&mut self, finding: &Arc<Finding>, table: &LockTable, at: Timestamp) -> FindingRecord {
        let found = self.recorded(finding);
        if let Some(known) = self.standing.get(&key(finding)) {
            let severity = known.severity.max(finding.severity);
            return FindingRecord { severity, found, ..FindingRecord::clone(known) };
        }
        let id = self.next_id;
        self.next_id += 1;
        let lock = table.lock(finding.lock.id);
        let (recipe, kind) =
            lock.map_or((Recipe::UnknownQueue.id(), LockKind::Exclusive), |lock| (lock.recipe().id(), lock.kind()));
        let client = finding.client.as_ref();
        FindingRecord {
            id,
            lock: Arc::new(RecordedLock {
                path: finding.lock.path.clone(),
                name: finding.lock.name.clone(),
                recipe,
                kind: kind.id(),
            }),
            client: RecordedClient {
                address: client.and_then(|client| client.address.clone()),
                name: client.and_then(|client| client.name.clone()).filter(|_| !self.no_data),
            },
            session: client.and_then(|client| client.session),
            node: finding.node.clone(),
            code: finding.code,
            severity: finding.severity,
            raised_at: at,
            cleared_at: None,
            ending: "open",
            found,
        }
    }

    /// Removes the parts that come from a node's data, when data are not recorded.
    fn recorded(&self, finding: &Arc<Finding>) -> Arc<Finding> {
        match finding.client.as_ref().and_then(|client| client.name.as_deref()) {
            Some(name) if self.no_data => {
                let summary = finding.summary.replace(&*lockscope_base::znode::escaped(name), "(name not recorded)");
                Arc::new(Finding { summary, ..Finding::clone(finding) })
            }
            _ => Arc::clone(finding),
        }
    }
}

fn key(finding: &Finding) -> FindingKey {
    (finding.lock.id, finding.code, finding.node.clone())
}
