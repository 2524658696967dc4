//! Finds which client created or deleted the node whose watch fired, as far as the trace shows.
//! Pure.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

use lockscope_base::znode::ZnodePath;
use lockscope_lab::contend::{ClientId, RequestKind, TraceEntry, TraceStep, WatchPlace};

/// Maximum number of remembered changes: more than can be under way at once.
const MAX_CHANGES: usize = 256;
/// Maximum paths in the map of owners. When it is full, the map is cleared; the owners of existing
/// nodes are learned again.
const MAX_OWNERS: usize = 20_000;

/// A node that was created or deleted.
#[derive(Clone, Debug)]
struct NodeChange {
    client: ClientId,
    path: ZnodePath,
    is_deletion: bool,
    /// The entries of the request and of its reply, as positions in the trace.
    sent: u64,
    answered: u64,
}

/// A request for a change whose reply is not known yet.
#[derive(Clone, Copy, Debug)]
struct PendingChange {
    kind: RequestKind,
    /// The request's entry, as a position in the trace.
    sent: u64,
    /// Whether the client went on as it does after a failure. The reply to a listing that was sent
    /// with the request may be noticed before the reply to the request.
    has_failed: bool,
    /// Whether the request deletes another node than the client's newest. A client that gets a
    /// lease deletes its node in the queue and does not wait for the reply.
    is_of_older_node: bool,
}

/// The change that fired the watches on a place.
#[derive(Clone, Copy, Debug)]
struct FiredChange {
    /// The change fired only watches that were set before this position in the trace: the position
    /// of its first noted event, or that of the node's next creation if that came earlier.
    fired_before: u64,
    cause: Cause,
}

/// The client that made a change and the entry of its request, each if the trace shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cause {
    client: Option<ClientId>,
    sent: Option<u64>,
}

impl Cause {
    fn by_request(client: ClientId, sent: u64) -> Self {
        Self { client: Some(client), sent: Some(sent) }
    }
}

impl NodeChange {
    fn fires(&self, place: &WatchPlace) -> bool {
        fires(&self.path, self.is_deletion, place)
    }
}

/// Returns whether a change of a node fires a watch on `place`.
fn fires(path: &ZnodePath, is_deletion: bool, place: &WatchPlace) -> bool {
    match place {
        WatchPlace::Children(parent) => path.parent_str() == Some(parent.as_str()),
        WatchPlace::Node(node) => is_deletion && path == node,
    }
}

/// The known nodes, their owners and their changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Causes {
    /// The number of noted entries.
    noted: u64,
    changes: VecDeque<NodeChange>,
    /// The requests that may still change a node.
    pending: FxHashMap<ClientId, PendingChange>,
    /// The watches of each client, each with the entry that set it.
    watches: FxHashMap<ClientId, Vec<(WatchPlace, u64)>>,
    /// The last change that fired the watches on a place.
    last_fired: BTreeMap<WatchPlace, FiredChange>,
    owners: FxHashMap<ZnodePath, ClientId>,
    /// The newest node of each client.
    nodes: FxHashMap<ClientId, ZnodePath>,
    /// The clients whose sessions may end without a trace entry of theirs.
    silent: Vec<ClientId>,
}

impl Causes {
    /// Notes that a client has a node.
    pub fn know(&mut self, client: ClientId, node: &ZnodePath) {
        if self.nodes.get(&client) == Some(node) && self.owners.get(node) == Some(&client) {
            return;
        }
        if self.owners.len() > MAX_OWNERS {
            self.owners.clear();
        }
        self.owners.insert(node.clone(), client);
        self.nodes.insert(client, node.clone());
    }

    /// Takes in the next entry of the trace.
    pub fn add_entry(&mut self, entry: &TraceEntry) {
        self.noted += 1;
        let (client, at) = (entry.client, self.noted);
        match &entry.step {
            TraceStep::Sent(kind @ (RequestKind::Create | RequestKind::Delete)) => {
                self.pending.insert(
                    client,
                    PendingChange { kind: *kind, sent: at, has_failed: false, is_of_older_node: false },
                );
            }
            TraceStep::Created(path) => {
                self.change(client, path, false);
                self.know(client, path);
            }
            TraceStep::Deleted(path) => self.change(client, path, true),
            TraceStep::Watches(place) => {
                if let Some(pending) = self.pending.get_mut(&client) {
                    pending.has_failed = true;
                }
                self.watches.entry(client).or_default().push((place.clone(), at));
            }
            TraceStep::Unwatches(place) | TraceStep::Woken(place) => self.forget_watch(client, place),
            TraceStep::Acquires(_) => match self.pending.get_mut(&client) {
                Some(pending) if pending.kind == RequestKind::Delete => pending.is_of_older_node = true,
                _ => _ = self.pending.remove(&client),
            },
            TraceStep::Asks(_) | TraceStep::Releases => {
                self.pending.remove(&client);
            }
            TraceStep::Freezes | TraceStep::Crashes => {
                self.silent.retain(|other| *other != client);
                self.silent.push(client);
                if entry.step == TraceStep::Crashes {
                    self.pending.remove(&client);
                }
            }
            TraceStep::Thaws | TraceStep::Expires => {
                self.silent.retain(|other| *other != client);
                if entry.step == TraceStep::Expires {
                    self.pending.remove(&client);
                    self.watches.remove(&client);
                }
            }
            TraceStep::Sent(_) | TraceStep::Writes(_) => {}
        }
    }

    fn change(&mut self, client: ClientId, path: &ZnodePath, is_deletion: bool) {
        let sent = self.pending.remove(&client).map_or(self.noted, |pending| pending.sent);
        self.changes.push_back(NodeChange { client, path: path.clone(), is_deletion, sent, answered: self.noted });
        if self.changes.len() > MAX_CHANGES {
            self.changes.pop_front();
        }
    }

    fn forget_watch(&mut self, client: ClientId, place: &WatchPlace) {
        let Some(watches) = self.watches.get_mut(&client) else { return };
        if let Some(at) = watches.iter().position(|(set, _)| set == place) {
            watches.remove(at);
        }
    }

    /// Returns the client whose node was created or deleted when `client`'s watch fired; `None`
    /// where the trace does not show it. `later` are the entries after the event's own. Must be
    /// called before the event's entry is noted.
    pub fn of<'e>(
        &mut self,
        client: ClientId,
        place: &WatchPlace,
        later: impl Iterator<Item = &'e TraceEntry>,
    ) -> Option<ClientId> {
        let watches = self.watches.get(&client);
        let set = watches.and_then(|watches| watches.iter().find(|(set, _)| set == place)).map_or(0, |(_, at)| *at);
        // One change fires all watches on a place, except one that the change's own client sets
        // right after.
        let last = self.last_fired.get(place).copied();
        if let Some(last) = last.filter(|last| set < last.fired_before && last.cause.client != Some(client)) {
            return last.cause.client;
        }
        let later: Vec<&TraceEntry> = later.collect();
        // A request sent after the watch was set also reached the server after it. For earlier
        // requests the order is unknown, except for the client's own: those are answered in the
        // order of sending.
        let after = |_: ClientId, sent: u64| sent > set;
        let before = |other: ClientId, sent: u64| sent <= set && other != client;
        let known = self.answered(place, set, after).or_else(|| self.pending(place, after, &later));
        let known = known.or_else(|| self.answered(place, set, before)).or_else(|| self.pending(place, before, &later));
        let behind = self.noted + 1;
        let cause = known.unwrap_or_else(|| {
            let client = self.silent(place).or_else(|| match place {
                WatchPlace::Node(path) => self.owners.get(path).copied(),
                WatchPlace::Children(_) => None,
            });
            Cause { client, sent: None }
        });
        // This is a late event of a change that has already fired; it did not fire watches set
        // meanwhile.
        let is_late = cause.sent.is_some() && last.is_some_and(|last| last.cause == cause);
        if !is_late {
            let fired_before = self.recreated(place, cause).unwrap_or(behind);
            if self.last_fired.len() >= MAX_CHANGES {
                self.last_fired.clear();
            }
            self.last_fired.insert(place.clone(), FiredChange { fired_before, cause });
        }
        cause.client
    }

    /// Returns the position in the trace at which the node of a watch was created again after
    /// `deletion`.
    fn recreated(&self, place: &WatchPlace, deletion: Cause) -> Option<u64> {
        let (WatchPlace::Node(node), Some(sent)) = (place, deletion.sent) else { return None };
        let mut made = self.changes.iter().filter(|change| !change.is_deletion && change.path == *node);
        made.find(|change| change.answered > sent).map(|change| change.answered)
    }

    /// Looks for the first answered change that fired the watch.
    fn answered(&self, place: &WatchPlace, set: u64, counts: impl Fn(ClientId, u64) -> bool) -> Option<Cause> {
        let mut fired = self.changes.iter().filter(|change| change.answered > set && change.fires(place));
        let first = fired.find(|change| counts(change.client, change.sent));
        first.map(|change| Cause::by_request(change.client, change.sent))
    }

    /// Looks for a request without a reply: the only candidate or, among several, the one whose
    /// reply comes first.
    fn pending(
        &self,
        place: &WatchPlace,
        counts: impl Fn(ClientId, u64) -> bool,
        later: &[&TraceEntry],
    ) -> Option<Cause> {
        let may_fire = |client: &ClientId, change: &PendingChange| match (change.kind, place) {
            (RequestKind::Delete, WatchPlace::Node(node)) if change.is_of_older_node => {
                self.nodes.get(client) != Some(node) && self.owners.get(node).is_none_or(|owner| owner == client)
            }
            (RequestKind::Delete, WatchPlace::Children(_)) if change.is_of_older_node => false,
            (RequestKind::Delete, _) => self.nodes.get(client).is_some_and(|node| fires(node, true, place)),
            _ => matches!(place, WatchPlace::Children(_)),
        };
        let all = self
            .pending
            .iter()
            .filter(|(client, change)| !change.has_failed && may_fire(client, change) && counts(**client, change.sent));
        let pending: Vec<Cause> = all.map(|(client, change)| Cause::by_request(*client, change.sent)).collect();
        if let [] | [_] = pending[..] {
            return pending.first().copied();
        }
        let mut fired = later.iter().filter(|entry| match &entry.step {
            TraceStep::Created(path) => fires(path, false, place),
            TraceStep::Deleted(path) => fires(path, true, place),
            _ => false,
        });
        fired.find_map(|entry| pending.iter().find(|pending| pending.client == Some(entry.client)).copied())
    }

    /// Looks for a client whose session may have ended without a trace entry.
    fn silent(&mut self, place: &WatchPlace) -> Option<ClientId> {
        let owns = |other: &&ClientId| self.nodes.get(other).is_some_and(|node| fires(node, true, place));
        let client = self.silent.iter().rfind(owns).copied()?;
        self.nodes.remove(&client);
        Some(client)
    }
}
