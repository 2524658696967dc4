//! The watches of a client library.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures::channel::mpsc;
use futures::{FutureExt, Stream, StreamExt};
use lockscope_base::wire::ErrorCode;
use lockscope_requests::{Events, Watch};
use tokio::sync::oneshot;
use zookeeper_client::{EventType, SessionState, WatchedEvent};

use crate::ensemble::{Answer, EventKind, ReadOp, Request, WatchKind};

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
    /// The receivers of watches whose reply has come and which nobody has taken yet.
    one_shot_ends: BTreeMap<u64, oneshot::Receiver<WatchedEvent>>,
    recursive_ends: BTreeMap<u64, mpsc::UnboundedReceiver<WatchedEvent>>,
    dropped: Dropped,
}

impl Watchers {
    /// Adds the watch that a request has set, and returns its number.
    pub(super) fn watch(&mut self, request: &Request, answer: &Result<Answer, ErrorCode>) -> Option<u64> {
        let id = self.next;
        match (request, answer) {
            (Request::Read { read, watch: true }, Ok(answer)) => {
                let (sender, receiver) = oneshot::channel();
                self.one_shot.insert(id, (key(read, answer)?, Some(sender)));
                self.one_shot_ends.insert(id, receiver);
            }
            (Request::WatchRecursively(root), Ok(_)) => {
                let (sender, receiver) = mpsc::unbounded();
                self.recursive.insert(id, (Arc::clone(root), sender));
                self.recursive_ends.insert(id, receiver);
            }
            _ => return None,
        }
        self.next += 1;
        Some(id)
    }

    /// Drops a watch that nobody will take.
    pub(super) fn drop_watch(&mut self, id: u64) {
        self.one_shot_ends.remove(&id);
        self.recursive_ends.remove(&id);
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).push(id);
    }

    /// Returns a new one-shot watch, once.
    pub(super) fn take_watch(&mut self, id: u64) -> Watch {
        let receiver = self.one_shot_ends.remove(&id).expect("a watch is taken once, after its reply");
        Box::pin(SimWatch { receiver, on_drop: OnDrop { dropped: Arc::clone(&self.dropped), id } })
    }

    /// Returns the events of a new recursive watch, once.
    pub(super) fn take_events(&mut self, id: u64) -> Events {
        let receiver = self.recursive_ends.remove(&id).expect("a watch is taken once, after its reply");
        SimEvents { events: receiver, _on_drop: OnDrop { dropped: Arc::clone(&self.dropped), id } }.boxed()
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
                if &**root == "/"
                    || path.strip_prefix(&**root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                {
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
    /// the member, unless others share them.
    pub(super) fn remove_dropped(&mut self) -> Vec<Request> {
        let dropped = std::mem::take(&mut *self.dropped.lock().unwrap_or_else(PoisonError::into_inner));
        let mut requests = Vec::new();
        for id in dropped {
            if let Some((key, _)) = self.one_shot.remove(&id) {
                if !self.one_shot.values().any(|(other, _)| *other == key) {
                    requests.push(Request::RemoveWatch(key.0, key.1));
                }
            } else if let Some((root, _)) = self.recursive.remove(&id)
                && !self.recursive.values().any(|(other, _)| *other == root)
            {
                requests.push(Request::RemoveRecursive(root));
            }
        }
        requests
    }
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

fn fires(watch: WatchKind, event: EventKind) -> bool {
    match event {
        EventKind::Created => watch == WatchKind::Exists,
        EventKind::Deleted => watch != WatchKind::Exists,
        EventKind::DataChanged => watch == WatchKind::Data,
        EventKind::ChildrenChanged => watch == WatchKind::Children,
    }
}

/// Reports that a watcher was dropped.
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
struct SimWatch {
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
struct SimEvents {
    events: mpsc::UnboundedReceiver<WatchedEvent>,
    _on_drop: OnDrop,
}

impl Stream for SimEvents {
    type Item = WatchedEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<WatchedEvent>> {
        self.events.poll_next_unpin(context)
    }
}
