//! The watches of a client library.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures::channel::mpsc;
use futures::{FutureExt, Stream, StreamExt};
use lockscope_base::wire::ErrorCode;
use tokio::sync::oneshot;
use zookeeper_client::{EventType, SessionState, WatchedEvent};

use crate::ensemble::{Answer, EventKind, ReadOp, Request, WatchKind, is_below};

/// A node that is watched, and for what.
type WatchKey = (Arc<str>, WatchKind);

/// The watchers that were dropped. They may be dropped while the library is locked.
type Dropped = Arc<Mutex<Vec<u64>>>;

/// The watches of one client, by the number of the watcher.
#[derive(Debug, Default)]
pub(super) struct Watchers {
    next: u64,
    one_shot: BTreeMap<u64, (WatchKey, Option<oneshot::Sender<WatchedEvent>>)>,
    recursive: BTreeMap<u64, (Arc<str>, mpsc::UnboundedSender<WatchedEvent>)>,
    dropped: Dropped,
    /// The requests that remove dropped watches at the member, while a request under way may set
    /// the same watch.
    removals: Vec<Request>,
}

/// A new watch. Dropping it removes it.
#[derive(Debug)]
pub(super) enum NewWatch {
    OneShot(SimWatch),
    Recursive(SimEvents),
}

impl Watchers {
    /// Adds the watch that a request has set, and returns it.
    pub(super) fn watch(&mut self, request: &Request, answer: &Result<Answer, ErrorCode>) -> Option<NewWatch> {
        let id = self.next;
        let watch = match (request, answer) {
            (Request::Read { read, watch: true }, Ok(answer)) => {
                let (sender, receiver) = oneshot::channel();
                self.one_shot.insert(id, (key(read, answer)?, Some(sender)));
                NewWatch::OneShot(SimWatch { receiver, on_drop: self.on_drop(id) })
            }
            (Request::WatchRecursively(root), Ok(_)) => {
                let (sender, events) = mpsc::unbounded();
                self.recursive.insert(id, (Arc::clone(root), sender));
                NewWatch::Recursive(SimEvents { events, _on_drop: self.on_drop(id) })
            }
            _ => return None,
        };
        self.next += 1;
        Some(watch)
    }

    fn on_drop(&self, id: u64) -> OnDrop {
        OnDrop { dropped: Arc::clone(&self.dropped), id }
    }

    /// Delivers an event of a node.
    pub(super) fn fire(&mut self, kind: EventKind, path: &Arc<str>, zxid: i64) {
        let event = match kind {
            EventKind::Created => EventType::NodeCreated,
            EventKind::Deleted => EventType::NodeDeleted,
            EventKind::DataChanged => EventType::NodeDataChanged,
            EventKind::ChildrenChanged => EventType::NodeChildrenChanged,
        };
        let event = WatchedEvent::new(event, &**path).with_zxid(zxid);
        self.one_shot.retain(|_, ((watched, watch), sender)| {
            let fires = watched == path && fires(*watch, kind);
            if fires && let Some(sender) = sender.take() {
                let _ = sender.send(event.clone());
            }
            !fires
        });
        if kind != EventKind::ChildrenChanged {
            for (root, sender) in self.recursive.values() {
                if is_below(path, root) {
                    let _ = sender.unbounded_send(event.clone());
                }
            }
        }
    }

    /// Tells the recursive watches of a new state of the session.
    pub(super) fn session(&mut self, state: SessionState) {
        for (_, sender) in self.recursive.values() {
            let _ = sender.unbounded_send(WatchedEvent::new_session(state));
        }
    }

    /// Ends all watches with the session.
    pub(super) fn end(&mut self, state: SessionState) {
        self.session(state);
        self.recursive.clear();
        for (_, sender) in std::mem::take(&mut self.one_shot).into_values() {
            let _ = sender.map(|sender| sender.send(WatchedEvent::new_session(state)));
        }
    }

    /// Returns the one-shot watches that a new connection sets again.
    pub(super) fn to_set_again(&self) -> Vec<WatchKey> {
        let mut keys: Vec<WatchKey> = self.one_shot.values().map(|(key, _)| key.clone()).collect();
        keys.sort();
        keys.dedup();
        keys
    }

    /// Forgets the watchers that were dropped. Returns the requests that remove their watches at
    /// the member, unless another watcher shares them. While a request is under way that may set
    /// the same watch, its removal waits: the member has one watch for both.
    pub(super) fn remove_dropped<'a>(
        &mut self,
        under_way: &(impl Iterator<Item = &'a Request> + Clone),
    ) -> Vec<Request> {
        for id in std::mem::take(&mut *self.dropped.lock().unwrap_or_else(PoisonError::into_inner)) {
            if let Some(((path, kind), _)) = self.one_shot.remove(&id) {
                self.removals.push(Request::RemoveWatch(path, kind));
            } else if let Some((root, _)) = self.recursive.remove(&id) {
                self.removals.push(Request::RemoveRecursive(root));
            }
        }
        let removals = std::mem::take(&mut self.removals);
        let needless = |removal: &Request| match removal {
            Request::RemoveWatch(path, kind) => self.one_shot.values().any(|(key, _)| is_same(key, path, *kind)),
            Request::RemoveRecursive(root) => self.recursive.values().any(|(other, _)| other == root),
            _ => true,
        };
        let wanted = removals.into_iter().filter(|removal| !needless(removal));
        let (early, due) = wanted.partition(|removal| under_way.clone().any(|request| may_set(request, removal)));
        self.removals = early;
        due
    }
}

/// Returns whether a request may set the watch that a removal names.
fn may_set(request: &Request, removal: &Request) -> bool {
    match (request, removal) {
        (Request::Read { read, watch: true }, Request::RemoveWatch(path, kind)) => match read {
            ReadOp::Data(own) | ReadOp::Stat(own) => own == path && *kind != WatchKind::Children,
            ReadOp::Children(own) => own == path && *kind == WatchKind::Children,
            ReadOp::Count(_) => false,
        },
        (Request::WatchRecursively(root), Request::RemoveRecursive(other)) => root == other,
        _ => false,
    }
}

/// Returns whether a member has one watch for both: it knows no difference between a node's data and
/// its creation.
fn is_same(key: &WatchKey, path: &str, kind: WatchKind) -> bool {
    &*key.0 == path && (key.1 == WatchKind::Children) == (kind == WatchKind::Children)
}

/// Returns what a read watches, according to its answer.
fn key(read: &ReadOp, answer: &Answer) -> Option<WatchKey> {
    Some(match (read, answer) {
        (ReadOp::Data(path), _) | (ReadOp::Stat(path), Answer::Stat(Some(_))) => (Arc::clone(path), WatchKind::Data),
        (ReadOp::Stat(path), _) => (Arc::clone(path), WatchKind::Exists),
        (ReadOp::Children(path), _) => (Arc::clone(path), WatchKind::Children),
        (ReadOp::Count(_), _) => return None,
    })
}

/// Returns whether a watch of the node takes an event. The client library is no stricter.
fn fires(watch: WatchKind, event: EventKind) -> bool {
    match event {
        EventKind::Created | EventKind::DataChanged => watch != WatchKind::Children,
        EventKind::Deleted => true,
        EventKind::ChildrenChanged => watch == WatchKind::Children,
    }
}

/// Reports that a watcher was dropped.
#[derive(Debug)]
struct OnDrop {
    dropped: Dropped,
    id: u64,
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).push(self.id);
    }
}

/// A one-shot watch. Dropping it before its event removes it.
#[derive(Debug)]
pub(super) struct SimWatch {
    receiver: oneshot::Receiver<WatchedEvent>,
    on_drop: OnDrop,
}

impl Future for SimWatch {
    type Output = WatchedEvent;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<WatchedEvent> {
        let _ = &self.on_drop;
        self.receiver.poll_unpin(context).map(|event| event.expect("a watcher is removed with its event only"))
    }
}

/// The events of a recursive watch.
#[derive(Debug)]
pub(super) struct SimEvents {
    events: mpsc::UnboundedReceiver<WatchedEvent>,
    _on_drop: OnDrop,
}

impl Stream for SimEvents {
    type Item = WatchedEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<WatchedEvent>> {
        self.events.poll_next_unpin(context)
    }
}
