//! What must hold for an observer: its reports are true, and its settled table equals the tree.
//!
//! Each report is checked when it comes: it is true, it comes once, and in order. Whenever the
//! observer has been told of everything and says that its table is settled, the table equals the
//! tree, and everything that happened since the last time was reported, unless a cut was reported
//! that explains the gap. And within some seconds it is settled: nothing is excused for good.

mod reports;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Violation;
use crate::ensemble::{Commit, SimulatedEnsemble};
use crate::program::{ObserverView, ProgramState, Stage};
use lockscope_sandbox::parts::{Owner, Tree};
use reports::{Rank, ReportHistory, ReportKind, Reports, lock_of, number};

/// The seconds within which an observer whose requests are answered is settled: the longest pause
/// between two tries, and some for the reading.
const SETTLES_WITHIN: u32 = 14;

/// The same after events have come faster than they were taken.
const SETTLES_AFTER_OVERLOAD: u32 = 60;

/// The seconds without an answer after which an observer does not claim to be settled.
const NOTICES_SILENCE_WITHIN: u32 = 5;

/// How a client and the servers reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The client has been told of everything.
    Current,
    /// Something is under way, or its member lags.
    Behind,
    /// Nothing moves.
    Silent,
}

/// What observers are compared with.
#[derive(Clone, Debug, Default, Hash)]
pub struct Observations {
    history: ReportHistory,
    observers: BTreeMap<usize, WatchedLock>,
}

/// One observer.
#[derive(Clone, Debug, Default, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact, and every combination occurs")]
struct WatchedLock {
    reports: Reports,
    /// The number of reports, and of batches, that were checked.
    checked: usize,
    batches: u32,
    found: bool,
    /// The length of the log when it was settled and current for the last time.
    settled_at: Option<usize>,
    /// Whether a connection was lost since then, and the number of cuts that were over by then.
    was_cut: bool,
    resyncs: u32,
    /// The seconds for which it is not settled although it was current in each, and for which
    /// nothing has reached it.
    unsettled: u32,
    silent: u32,
    /// How it was reached since the last second.
    was_current: bool,
    was_silent: bool,
}

impl Observations {
    /// Records a transaction, if somebody observes.
    pub fn changed(&mut self, commit: &Commit, facts: &[&ProgramState]) {
        if facts.iter().any(|facts| facts.view.is_some()) {
            self.history.add(commit);
        }
    }

    /// Records that the connection of a client has ended.
    pub fn loses_connection(&mut self, client: usize) {
        if let Some(watched) = self.observers.get_mut(&client) {
            (watched.was_cut, watched.unsettled) = (true, 0);
            watched.reports.losses += 1;
        }
    }

    /// Records that a request of a client is refused, or a reply spoilt: it may give the connection up.
    pub fn refuses(&mut self, client: usize) {
        if let Some(watched) = self.observers.get_mut(&client) {
            watched.unsettled = 0;
            watched.reports.losses += 1;
        }
    }

    /// Records that a process is stopped.
    pub fn stops(&mut self, client: usize) {
        if let Some(watched) = self.observers.get_mut(&client) {
            (watched.unsettled, watched.silent) = (0, 0);
        }
    }

    /// Records that a process has run for a second.
    pub fn runs(&mut self, client: usize) {
        if let Some(watched) = self.observers.get_mut(&client) {
            watched.unsettled += u32::from(watched.was_current);
            watched.silent = if watched.was_silent { watched.silent + 1 } else { 0 };
            (watched.was_current, watched.was_silent) = (false, true);
        }
    }

    /// Checks what the observers have reported and show.
    pub fn check(
        &mut self,
        ensemble: &SimulatedEnsemble,
        facts: &[&ProgramState],
        reach: impl Fn(usize) -> Reach,
    ) -> Option<Violation> {
        for (client, facts) in facts.iter().enumerate() {
            let Some(view) = &facts.view else { continue };
            let watched = self.observers.entry(client).or_default();
            // Nothing is known for certain of nodes that may not be read.
            let reads_all = !ensemble.permits.private;
            let wrong = reads_all.then(|| watched.check_reports(&self.history, view)).flatten();
            let mut wrong = wrong.map(|what| format!("reports {what}"));
            // A later session is another observer's.
            if wrong.is_none() && !matches!(facts.stage, Stage::Ended(_)) {
                let reach = reach(client);
                wrong = watched.check_time(view, reach);
                wrong = wrong.or_else(|| watched.check_settled(&self.history, ensemble, view, reach));
            }
            if let Some(what) = wrong {
                return Some(Violation { what: format!("observer {client} {what}"), limit: None });
            }
        }
        None
    }
}

impl WatchedLock {
    /// Checks the new reports, and a settled table against them.
    fn check_reports(&mut self, history: &ReportHistory, view: &ObserverView) -> Option<String> {
        if self.batches == view.batches {
            return None;
        }
        self.batches = view.batches;
        while self.checked < view.happenings.len() || view.found.is_some() && !self.found {
            if let Some((_, queues)) = view.found.as_ref().filter(|(before, _)| *before == self.checked && !self.found)
            {
                self.found = true;
                if let Some(path) = self.reports.found(history, queues) {
                    return Some(format!("{path}, and there was no such node"));
                }
                continue;
            }
            let report = &view.happenings[self.checked];
            self.checked += 1;
            if report.event == lockscope_model::queue::LockEvent::Overloaded && !view.may_overflow {
                return Some("an overload, and it has room for all changes".to_owned());
            }
            if let Some(why) = self.reports.wrong(history, report, &view.happenings[self.checked..], view.is_recursive)
            {
                let (event, path) = (report.event.id(), &report.path);
                return Some(if path.is_empty() {
                    format!("{event}: {why}")
                } else {
                    format!("{event} of {path} (transaction {}): {why}", report.czxid)
                });
            }
        }
        if view.is_settled && self.reports.is_cut {
            return Some("no end of a cut, and shows a settled table".to_owned());
        }
        if view.is_settled && !self.found {
            return Some("nothing that it found, and shows a settled table".to_owned());
        }
        let differs = view.is_settled.then(|| self.reports.differs(history, &view.queues))?;
        differs.map(|what| format!("one thing, and shows {what}"))
    }

    /// Checks that it settles in time, and notices in time that nothing reaches it.
    fn check_time(&mut self, view: &ObserverView, reach: Reach) -> Option<String> {
        self.was_current |= reach == Reach::Current;
        self.was_silent &= reach == Reach::Silent;
        if reach != Reach::Silent {
            self.silent = 0;
        }
        let limit = if view.may_overflow { SETTLES_AFTER_OVERLOAD } else { SETTLES_WITHIN };
        if view.is_settled {
            self.unsettled = 0;
        }
        if self.unsettled > limit {
            return Some(format!("is not settled after {limit} seconds in which all its requests were answered"));
        }
        (view.is_settled && self.silent > NOTICES_SILENCE_WITHIN)
            .then(|| format!("shows a settled table {NOTICES_SILENCE_WITHIN} seconds after the servers' last sign"))
    }

    /// Checks a settled observer that has been told of everything.
    fn check_settled(
        &mut self,
        history: &ReportHistory,
        ensemble: &SimulatedEnsemble,
        view: &ObserverView,
        reach: Reach,
    ) -> Option<String> {
        let is_due = view.is_settled && reach == Reach::Current;
        if !is_due || self.settled_at == Some(history.log.len()) && !self.was_cut {
            return None;
        }
        if ensemble.permits.private {
            return (!view.queues.is_empty()).then(|| "shows nodes that it may not read".to_owned());
        }
        if let Some(what) = difference(ensemble.tree(), view) {
            return Some(format!("shows {what}"));
        }
        let resyncs = std::mem::replace(&mut self.resyncs, self.reports.resyncs);
        if self.settled_at.is_some() && self.was_cut && self.reports.resyncs == resyncs {
            return Some("does not report a lost connection".to_owned());
        }
        let before = self.settled_at.replace(history.log.len()).unwrap_or_default();
        self.was_cut = false;
        let from = if view.is_recursive { before.max(self.reports.told_from) } else { history.log.len() };
        let untold = history.log[from..].iter().find(|(kind, life)| self.reports.lacks(history, *kind, *life, from));
        untold.map(|(kind, life)| {
            let what = match kind {
                ReportKind::Joins => "joined",
                ReportKind::Acquires => "acquired",
                ReportKind::Ends => "is gone",
            };
            let life = history.life(*life);
            format!("does not report that {} (transaction {}) {what}", life.path, life.czxid)
        })
    }
}

/// Path, czxid and owner of a node.
type Queued = (Arc<str>, i64, Option<i64>);

/// The nodes of each lock, by its path.
type Queues = BTreeMap<Arc<str>, Vec<Queued>>;

/// Returns what differs between a table and the tree.
fn difference(tree: &Tree, view: &ObserverView) -> Option<String> {
    let there = queues_of(tree);
    let mut shown = Queues::new();
    for queue in &view.queues {
        shown.entry(Arc::clone(&queue.lock)).or_default().extend(queue.nodes.iter().cloned());
        if !queue.nodes.is_sorted_by_key(place) {
            return Some(format!("a wrong order: {:?}", queue.nodes));
        }
    }
    // Nodes of several recipes at one path are shown as a queue each.
    for nodes in shown.values_mut() {
        nodes.sort_by_key(place);
    }
    (shown != there).then(|| format!("{shown:?}, but the servers have {there:?}"))
}

/// Returns the queues of a tree: each node that a session owns, in the order of the numbers.
fn queues_of(tree: &Tree) -> Queues {
    let mut queues = Queues::new();
    for path in tree.owners().flat_map(|(_, paths)| paths) {
        let Ok(node) = tree.node(path) else { continue };
        let Owner::Session(session) = node.owner else { continue };
        let entry = (Arc::clone(path), node.czxid, Some(session));
        queues.entry(lock_of(path)).or_default().push(entry);
    }
    for nodes in queues.values_mut() {
        nodes.sort_by_key(place);
    }
    queues
}

/// Returns the place of a node in its queue.
fn place((path, czxid, _): &Queued) -> Rank {
    (number(path), *czxid)
}
