//! Deletions from the tags to the outcome, and the audit log that keeps all of them.
//!
//! [`Deletions`] has the tagged contenders, the open plan, and the confirmed plan that is being
//! carried out; only one runs at a time. The outcome is a notice, an entry of the timeline, and an
//! entry of the audit log, which this console and others write. The table of locks is not touched:
//! it follows the ensemble.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::super::{AuditReading, Effect, Filter, Rows};
use super::{Deletion, is_there, leaves};
use crate::tui::app::{ScreenWorld, TimelineEntry};
use crate::tui::keymap::Bindings;
use lockscope_base::znode::{Timestamp, ZnodePath, Zxid};
use lockscope_live::admin::audit::{AuditEntry, AuditHistory};
use lockscope_live::admin::{Action, DeletePlan, Ending, MAX_TARGETS, NodeOutcome};
use lockscope_model::queue::{ClientIdentity, LockName, LockQueue, LockTable};

/// The open plan, the tagged contenders, and the deletion that is being carried out.
#[derive(Debug, Default)]
pub struct Deletions {
    /// The plan that the user is asked to confirm.
    pub open: Option<Deletion>,
    /// The confirmed plan that is being carried out.
    pub working: Option<Working>,
    pub tags: Tags,
}

impl Deletions {
    pub fn working(&self) -> Option<&Working> {
        self.working.as_ref()
    }

    /// Returns, as a sentence, that a deletion or request is under way; `None` if none is. Only one
    /// runs at a time.
    pub fn why_busy(&self) -> Option<&'static str> {
        self.working.as_ref().map(|working| match working.action() {
            Action::Delete => "A deletion is running: wait for its outcome.",
            Action::Revoke => "An owner is being asked: wait for the outcome.",
        })
    }

    /// Stores the recreation guards found for the open plan, or why they could not be determined.
    /// Ignored once the plan is closed. Returns whether a plan is open.
    pub fn guards_found(&mut self, found: Result<Box<DeletePlan>, String>) -> bool {
        let Some(deletion) = &mut self.open else { return false };
        match found {
            Ok(found) => deletion.plan = deletion.plan.clone().guarded_as(&found),
            Err(_) if deletion.plan.is_guarded() => {}
            Err(why) => deletion.not_found_out = Some(format!("{why} {}", leaves())),
        }
        true
    }

    /// Updates the tags and the open plan after a change in the ensemble. Makes the plan again only
    /// if it has no obstacle yet, and its nodes are no longer as planned (gone, recreated, a parent
    /// not empty) or the table is no longer live.
    pub fn recheck(&mut self, live: &ScreenWorld, bindings: &Bindings, now: Timestamp) {
        let table = live.table();
        self.tags.keep(table);
        if let Some(deletion) = &mut self.open
            && deletion.obstacle.is_none()
            && !(table.is_live() && deletion.is_still_there(table))
        {
            deletion.plan_again(table, live.diagnosis(), bindings, now);
        }
    }

    /// Makes the open plan again from the current state. Called once a second.
    pub fn tick(&mut self, live: &ScreenWorld, bindings: &Bindings, now: Timestamp) {
        if let Some(deletion) = &mut self.open {
            deletion.plan_again(live.table(), live.diagnosis(), bindings, now);
        }
    }
}

/// The tagged contenders, each with the transaction that created it. At most `MAX_TARGETS`, the
/// limit of a plan.
#[derive(Clone, Debug, Default)]
pub struct Tags {
    tagged: FxHashMap<ZnodePath, Zxid>,
    /// Where a range of the open queue begins.
    range: Option<ZnodePath>,
    /// Whether they were chosen in the list of locks, and stay when a lock is opened.
    of_all: bool,
}

impl Tags {
    pub fn len(&self) -> usize {
        self.tagged.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tagged.is_empty()
    }

    pub fn has(&self, path: &ZnodePath) -> bool {
        self.tagged.contains_key(path)
    }

    pub fn paths(&self) -> impl Iterator<Item = &ZnodePath> {
        self.tagged.keys()
    }

    /// Returns whether a range has begun.
    pub fn has_range(&self) -> bool {
        self.range.is_some()
    }

    pub(super) fn begin_range(&mut self, from: ZnodePath) {
        self.range = Some(from);
    }

    pub(in crate::tui::app) fn end_range(&mut self) -> Option<ZnodePath> {
        self.range.take()
    }

    /// Toggles the tag of a contender. Returns `false` if `MAX_TARGETS` contenders are tagged
    /// already.
    pub fn toggle(&mut self, path: ZnodePath, czxid: Zxid) -> bool {
        self.tagged.remove(&path).is_some() || self.add(path, czxid)
    }

    /// Tags a contender. Returns `false` if `MAX_TARGETS` others are tagged already.
    pub(super) fn add(&mut self, path: ZnodePath, czxid: Zxid) -> bool {
        let has_room = self.len() < MAX_TARGETS || self.has(&path);
        if has_room {
            self.tagged.insert(path, czxid);
        }
        has_room
    }

    /// Keeps the tags when a lock is opened.
    pub(super) fn keep_in_all(&mut self) {
        self.of_all = true;
    }

    pub(in crate::tui::app) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Drops the tags that belong to the lock that was open.
    pub(in crate::tui::app) fn leave_lock(&mut self) {
        self.range = None;
        if !self.of_all {
            self.clear();
        }
    }

    /// Drops the tags of contenders that are gone or were recreated under the same name.
    fn keep(&mut self, table: &LockTable) {
        self.tagged.retain(|path, czxid| is_there(table, path, *czxid));
        self.of_all &= !self.tagged.is_empty();
    }
}

/// A confirmed plan that is being carried out.
#[derive(Clone, Debug)]
pub struct Working {
    action: Action,
    nodes: Vec<WorkingNode>,
    /// How many nodes have an outcome.
    done: usize,
}

/// One node of a confirmed plan.
#[derive(Clone, Debug)]
struct WorkingNode {
    path: ZnodePath,
    lock: Option<LockName>,
    /// The owner, as known when the plan was confirmed.
    client: ClientIdentity,
}

impl Working {
    pub(super) fn new(plan: &DeletePlan, table: &LockTable) -> Self {
        let nodes = plan.nodes().iter().map(|node| {
            let lock = table.find(&node.lock, node.lock_name.as_deref()).and_then(|id| table.lock(id));
            let row = table.position(&node.path).and_then(|(id, position)| table.lock(id)?.row(position));
            let contender = row.map(|row| row.contender).filter(|contender| contender.czxid == node.czxid);
            let known = contender.map(|contender| table.clients().identity_of(contender));
            let client =
                known.unwrap_or_else(|| node.session.map(|id| table.clients().identity(id)).unwrap_or_default());
            WorkingNode { path: node.path.clone(), lock: lock.map(LockQueue::lock_name), client }
        });
        Self { action: plan.action(), nodes: nodes.collect(), done: 0 }
    }

    /// Returns the deleted node and its lock, if the plan deletes exactly one node of a known lock.
    fn freed(self) -> Option<(ZnodePath, LockName)> {
        match <[_; 1]>::try_from(self.nodes) {
            Ok([WorkingNode { path, lock, .. }]) if self.action == Action::Delete => Some((path, lock?)),
            _ => None,
        }
    }

    fn node(&self, outcome: &NodeOutcome) -> Option<&WorkingNode> {
        self.nodes.iter().find(|node| node.path == outcome.path)
    }

    pub fn action(&self) -> Action {
        self.action
    }

    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns how many nodes have an outcome.
    pub fn done(&self) -> usize {
        self.done
    }

    pub(in crate::tui::app) fn progressed(&mut self, done: usize) {
        self.done = done;
    }
}

/// What the console reports about a finished deletion.
#[derive(Debug)]
pub struct DeletionNews {
    /// The text of the notice, a few sentences.
    pub text: String,
    /// Whether a deletion or request failed, or an outcome is missing in the audit log.
    pub failed: bool,
    pub entries: Vec<TimelineEntry>,
    /// The deleted node and its lock, if exactly one node was deleted and nothing failed.
    pub freed: Option<(ZnodePath, LockName)>,
}

impl DeletionNews {
    pub fn new(outcomes: &[NodeOutcome], working: Option<Working>, now: Timestamp) -> Self {
        let failed = outcomes.iter().any(|outcome| !outcome.ending.is_done() || outcome.unaudited.is_some());
        Self {
            text: summary(outcomes, working.as_ref(), now),
            failed,
            entries: outcomes.iter().map(|outcome| timeline_entry(outcome, working.as_ref(), now)).collect(),
            freed: working.filter(|_| !failed).and_then(Working::freed),
        }
    }
}

fn timeline_entry(outcome: &NodeOutcome, working: Option<&Working>, at: Timestamp) -> TimelineEntry {
    let known = working.and_then(|working| working.node(outcome));
    let (lock, client) = known.map(|node| (node.lock.clone(), node.client.clone())).unwrap_or_default();
    let (node, ending) = (outcome.path.name().into(), Box::new(outcome.ending.clone()));
    TimelineEntry::Deletion { at, lock, node, client, ending }
}

/// Returns the outcomes as text: the number of nodes done, the first failure, and a missing audit
/// entry.
fn summary(outcomes: &[NodeOutcome], working: Option<&Working>, now: Timestamp) -> String {
    let sentence_of = |outcome| sentence_of(outcome, working, now);
    let mut text = match outcomes {
        [] => "Nothing was done.".to_owned(),
        [only] => sentence_of(only),
        several => {
            let done = several.iter().filter(|outcome| outcome.ending.is_done()).count();
            let asked = several.iter().any(|outcome| outcome.ending == Ending::Asked);
            let verb = if asked { "asked to release" } else { "deleted" };
            match several.iter().find(|outcome| !outcome.ending.is_done()) {
                None => format!("All {done} nodes are {verb}."),
                Some(first) => format!("{done} of {} nodes are {verb}. {}", several.len(), sentence_of(first)),
            }
        }
    };
    if let Some(why) = outcomes.iter().find_map(|outcome| outcome.unaudited.as_deref()) {
        text.push_str(" The audit log lacks this outcome: ");
        text.push_str(why);
        text.push('.');
    }
    text
}

/// Returns the outcome of one node as a sentence that names its owner.
fn sentence_of(outcome: &NodeOutcome, working: Option<&Working>, now: Timestamp) -> String {
    let node = working.and_then(|working| working.node(outcome));
    let owner = node.map(|node| node.client.behind_node(now)).unwrap_or_default();
    format!("{}{owner} {}.", outcome.path, outcome.predicate())
}

/// The entries of the audit log, written by this console and by others.
#[derive(Clone, Debug, Default)]
pub struct AuditLog {
    /// The path of the log; `None` when there is no place for one.
    path: Option<PathBuf>,
    history: AuditHistory,
    places: FxHashMap<String, usize>,
    failed: Option<String>,
    unwritable: Option<String>,
    filter: Filter,
    passing: Vec<usize>,
    was_read: bool,
    reading: bool,
    /// Whether to read the log again after the current read, because an entry was written
    /// meanwhile.
    again: bool,
}

impl AuditLog {
    /// An audit log at `path` that has not been read yet.
    pub(in crate::tui::app) fn new(path: Option<PathBuf>) -> Self {
        Self { path, ..Self::default() }
    }

    /// The path of the log; `None` when there is no place for one.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub fn history(&self) -> &AuditHistory {
        &self.history
    }

    /// The entry at `rank` among the entries that pass the filter.
    pub fn entry(&self, rank: usize) -> Option<&AuditEntry> {
        self.history.entries.get(*self.passing.get(rank)?)
    }

    /// Why the log could not be read.
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Why the log cannot be written.
    pub fn unwritable(&self) -> Option<&str> {
        self.unwritable.as_deref()
    }

    pub fn was_read(&self) -> bool {
        self.was_read
    }

    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    pub(in crate::tui::app) fn set_filter(&mut self, filter: Filter) {
        self.filter = filter;
        let entries = self.history.entries.iter().enumerate();
        self.passing = entries.filter(|(_, entry)| self.filter.takes_audit_entry(entry)).map(|(at, _)| at).collect();
    }

    /// Asks for a read of the log. During a read, asks for another one afterwards.
    pub fn read(&mut self) -> Option<Effect> {
        self.path.as_ref()?;
        self.again = self.reading;
        (!std::mem::replace(&mut self.reading, true)).then_some(Effect::ReadAudit)
    }

    /// Asks for another read after an entry was written, if the log was read before.
    pub fn read_again(&mut self) -> Option<Effect> {
        if self.was_read || self.reading { self.read() } else { None }
    }

    /// Stores what was read. Asks for another read if an entry was written meanwhile.
    pub fn store(&mut self, reading: AuditReading) -> Option<Effect> {
        (self.reading, self.was_read) = (false, true);
        self.unwritable = reading.unwritable;
        match reading.history {
            Ok(history) => {
                self.failed = None;
                let ids = history.entries.iter().enumerate();
                self.places = ids.map(|(at, entry)| (entry.id.clone(), at)).collect();
                self.history = history;
                self.set_filter(self.filter.clone());
            }
            // The entries of the previous read stay, next to the reason why there are no newer
            // ones.
            Err(why) => self.failed = Some(why),
        }
        if self.again { self.read() } else { None }
    }
}

impl Rows<String> for AuditLog {
    fn len(&self) -> usize {
        self.passing.len()
    }

    fn rank(&self, id: &String) -> Option<usize> {
        self.passing.binary_search(self.places.get(id)?).ok()
    }

    fn id(&self, rank: usize) -> Option<String> {
        self.entry(rank).map(|entry| entry.id.clone())
    }
}
