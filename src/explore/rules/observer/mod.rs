//! What must hold for an observer: its table equals the tree when nothing is under way, and what it
//! reports has happened.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use lockscope_base::znode::Sequence;
use lockscope_model::queue::LockEvent;
use lockscope_sandbox::parts::{Owner, Tree, name, parent};

use super::Violation;
use crate::ensemble::{Change, Commit, Ensemble};
use crate::program::{Facts, Told, View};

/// The nodes of sessions that have existed, by path and czxid, with the transaction that deleted
/// them.
type History = BTreeMap<(Arc<str>, i64), Option<i64>>;

/// Path, czxid and owner of a node.
type Queued = (Arc<str>, i64, Option<i64>);

/// The nodes of each lock, by its path.
type Queues = BTreeMap<Arc<str>, Vec<Queued>>;

/// What observers are compared with.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Observations {
    history: History,
    /// The number of reports of each client that were checked.
    checked: BTreeMap<usize, usize>,
}

impl Observations {
    /// Records a transaction, if somebody observes.
    pub(super) fn changed(&mut self, commit: &Rc<Commit>, facts: &[&Facts]) {
        if facts.iter().all(|facts| facts.view.is_none()) {
            return;
        }
        for change in &commit.changes {
            match change {
                Change::Created { path, owner: Some(_) } => {
                    self.history.insert((Arc::clone(path), commit.zxid), None);
                }
                Change::Deleted { path, czxid, owner: Some(_), .. } => {
                    self.history.insert((Arc::clone(path), *czxid), Some(commit.zxid));
                }
                _ => {}
            }
        }
    }

    /// Checks what was reported since the last call, and compares the tables of the observers that
    /// `is_current` names with the tree.
    pub(super) fn check(
        &mut self,
        ensemble: &Ensemble,
        facts: &[&Facts],
        is_current: impl Fn(usize) -> bool,
    ) -> Option<Violation> {
        for (client, view) in facts.iter().enumerate().filter_map(|(at, facts)| Some((at, facts.view.as_ref()?))) {
            let checked = self.checked.entry(client).or_default();
            if *checked < view.happenings.len() {
                *checked = view.happenings.len();
                if let Some(what) = wrong_report(&self.history, &view.happenings) {
                    return Some(Violation { what: format!("observer {client} reports {what}"), limit: None });
                }
            }
            if view.is_settled
                && is_current(client)
                && let Some(what) = difference(ensemble.tree(), view)
            {
                return Some(Violation { what: format!("observer {client} shows {what}"), limit: None });
            }
        }
        None
    }
}

/// Returns what differs between a table and the tree.
fn difference(tree: &Tree, view: &View) -> Option<String> {
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
fn place((path, czxid, _): &Queued) -> (Option<i32>, i64) {
    (number(path), *czxid)
}

/// Returns the path of a node's lock: its parent, or itself if it has no number.
fn lock_of(path: &Arc<str>) -> Arc<str> {
    if number(path).is_none() { Arc::clone(path) } else { parent(path).unwrap_or_default().into() }
}

fn number(path: &str) -> Option<i32> {
    Sequence::split(name(path)).map(|(_, number)| number.0)
}

/// Returns the first report that is not true, as a part of a sentence.
fn wrong_report(history: &History, reports: &[Told]) -> Option<String> {
    let mut earlier = Reports::default();
    reports.iter().find_map(|report| {
        let why = earlier.wrong(history, report)?;
        Some(format!("{} of {} (transaction {}): {why}", report.event.id(), report.path, report.czxid))
    })
}

/// What was reported so far.
#[derive(Default)]
struct Reports {
    told: BTreeSet<(Kind, Arc<str>, i64)>,
    last_join: i64,
    last_end: i64,
    /// Whether there is a cut. What happens during one has no order.
    is_cut: bool,
}

/// The events of a contender: each comes once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Joins,
    Acquires,
    Ends,
}

impl Reports {
    /// Adds a report. Returns why it is not true.
    fn wrong(&mut self, history: &History, report: &Told) -> Option<&'static str> {
        let Told { event, path, czxid, .. } = report;
        let kind = match event {
            LockEvent::Released | LockEvent::Left | LockEvent::Expired => Kind::Ends,
            LockEvent::Acquired => Kind::Acquires,
            LockEvent::Enqueued => Kind::Joins,
            LockEvent::Disconnected | LockEvent::Overloaded => {
                self.is_cut = true;
                return None;
            }
            LockEvent::Resynced => {
                (self.last_join, self.last_end, self.is_cut) = (0, 0, false);
                return None;
            }
            LockEvent::Waits => return Some("no client that stands first waits"),
            LockEvent::LockFound | LockEvent::LockGone | LockEvent::Reconnected | LockEvent::Settled => {
                return None;
            }
        };
        if !self.told.insert((kind, Arc::clone(path), *czxid)) {
            return Some("that was reported before");
        }
        if candidates(history, path, *czxid).next().is_none() {
            return Some("there was no such node");
        }
        let never_held = !candidates(history, path, *czxid).any(|node| was_first(history, node));
        match kind {
            Kind::Acquires if never_held => Some("it was never the first"),
            Kind::Acquires => None,
            Kind::Joins => {
                let is_late = !self.is_cut && *czxid > 0 && *czxid < self.last_join;
                self.last_join = self.last_join.max(*czxid);
                is_late.then_some("a later node was reported before it")
            }
            Kind::Ends if *event == LockEvent::Released && never_held => Some("it never held"),
            Kind::Ends => self.wrong_end(history, report),
        }
    }

    fn wrong_end(&mut self, history: &History, report: &Told) -> Option<&'static str> {
        let ends: Vec<i64> =
            candidates(history, &report.path, report.czxid).filter_map(|(_, deleted)| *deleted).collect();
        if ends.is_empty() {
            return Some("it still exists");
        }
        if report.deleted_by.is_some_and(|by| !ends.contains(&by)) {
            return Some("another transaction deleted it");
        }
        if let [end] = ends[..] {
            let is_late = !self.is_cut && end < self.last_end;
            self.last_end = self.last_end.max(end);
            return is_late.then_some("a later end was reported before it");
        }
        None
    }
}

/// Returns the nodes that a report can mean. An unread node has a path, and no known czxid.
fn candidates<'a>(
    history: &'a History,
    path: &'a Arc<str>,
    czxid: i64,
) -> impl Iterator<Item = (&'a (Arc<str>, i64), &'a Option<i64>)> {
    history.iter().filter(move |((at, created), _)| at == path && (czxid < 0 || *created == czxid))
}

/// Returns whether a node was the first of its queue at any time. Nodes that one transaction
/// deletes go one after the other, as their events do.
fn was_first(history: &History, ((path, created), deleted): (&(Arc<str>, i64), &Option<i64>)) -> bool {
    let until = deleted.unwrap_or(i64::MAX);
    let lock = lock_of(path);
    history.iter().all(|((other, other_created), other_deleted)| {
        let is_before = lock_of(other) == lock
            && (number(other), *other_created) < (number(path), *created)
            && *other_created < until;
        !is_before || other_deleted.is_some_and(|gone| gone <= until)
    })
}
