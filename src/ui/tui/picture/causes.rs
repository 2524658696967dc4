//! Whose node came or went when a watch fired, as far as the trace tells. Pure.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use rustc_hash::FxHashMap;

use lockscope_base::znode::ZnodePath;
use lockscope_lab::contend::{ClientId, RequestKind, TraceEntry, TraceStep, WatchPlace};

/// Changes that are remembered: more than can be under way at a time.
const MAX_CHANGES: usize = 256;
/// Paths of nodes whose owners are remembered: of so many, those that are gone are forgotten.
const MAX_OWNERS: usize = 20_000;

/// A node was created or deleted.
#[derive(Clone, Debug)]
struct NodeChange {
    client: ClientId,
    path: ZnodePath,
    is_deletion: bool,
    /// The entry with which its request was sent, and the one with which it was answered, as places in the trace.
    sent: u64,
    answered: u64,
}

/// A request for a change that is not known to be carried out.
#[derive(Clone, Copy, Debug)]
struct PendingChange {
    kind: RequestKind,
    /// Its entry, as a place in the trace.
    sent: u64,
    /// Whether its client goes on as after a failure. The answer to a listing that was sent with it may be noticed before its own.
    has_failed: bool,
    /// Whether it deletes another node than its client's newest: who gets a lease then deletes its node in the queue, and waits for no
    /// reply.
    is_of_older_node: bool,
}

/// A change that fired the watches on a place.
#[derive(Clone, Copy, Debug)]
struct FiredChange {
    /// Watches that were set behind this place in the trace are not among them: the first event of the change that was noted, or where
    /// the node was made again before that.
    fired_before: u64,
    cause: Cause,
}

/// Whose change it was, and the entry with which its request was sent; what of that the trace tells.
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

/// Whether a change of a node fires a watch.
fn fires(path: &ZnodePath, is_deletion: bool, place: &WatchPlace) -> bool {
    match place {
        WatchPlace::Children(parent) => path.parent_str() == Some(parent.as_str()),
        WatchPlace::Node(node) => is_deletion && path == node,
    }
}

/// What is known of nodes, their owners, and changes of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Causes {
    /// Entries that were noted.
    noted: u64,
    changes: VecDeque<NodeChange>,
    /// Requests that may still change something.
    pending: FxHashMap<ClientId, PendingChange>,
    /// Since which entry each client has each watch.
    watches: FxHashMap<ClientId, Vec<(WatchPlace, u64)>>,
    /// The last change that fired the watches on a place.
    last_fired: BTreeMap<WatchPlace, FiredChange>,
    owners: FxHashMap<ZnodePath, ClientId>,
    /// The newest node of each client.
    nodes: FxHashMap<ClientId, ZnodePath>,
    /// Those whose sessions may end without a word from them.
    silent: Vec<ClientId>,
}

impl Causes {
    /// This client has this node.
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

    /// Takes the next entry of the trace in.
    pub fn note(&mut self, entry: &TraceEntry) {
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

    /// Whose node came or went when this client's watch fired; `later` are the entries behind that of the event. To be asked before the
    /// event's entry is noted. `None` where the trace does not tell.
    pub fn of<'e>(
        &mut self,
        client: ClientId,
        place: &WatchPlace,
        later: impl Iterator<Item = &'e TraceEntry>,
    ) -> Option<ClientId> {
        let watches = self.watches.get(&client);
        let set = watches.and_then(|watches| watches.iter().find(|(set, _)| set == place)).map_or(0, |(_, at)| *at);
        // One change fires all watches that are set on a place, but not the one that its own client sets right after it.
        let last = self.last_fired.get(place).copied();
        if let Some(last) = last.filter(|last| set < last.fired_before && last.cause.client != Some(client)) {
            return last.cause.client;
        }
        let later: Vec<&TraceEntry> = later.collect();
        // What was sent after the watch was set came after it at the server too. Of the rest that is not known, but that one's own
        // requests are answered in the order in which they were sent.
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
        // An event that comes late of a change that has fired already: watches that were set meanwhile were not fired by it.
        let is_late = cause.sent.is_some() && last.is_some_and(|last| last.cause == cause);
        if !is_late {
            let fired_before = self.made_again(place, cause).unwrap_or(behind);
            if self.last_fired.len() >= MAX_CHANGES {
                self.last_fired.clear();
            }
            self.last_fired.insert(place.clone(), FiredChange { fired_before, cause });
        }
        cause.client
    }

    /// Where in the trace the node of a watch was made again after that deletion of it.
    fn made_again(&self, place: &WatchPlace, deletion: Cause) -> Option<u64> {
        let (WatchPlace::Node(node), Some(sent)) = (place, deletion.sent) else { return None };
        let mut made = self.changes.iter().filter(|change| !change.is_deletion && change.path == *node);
        made.find(|change| change.answered > sent).map(|change| change.answered)
    }

    /// By a change that was answered after that: the first of those that count.
    fn answered(&self, place: &WatchPlace, set: u64, counts: impl Fn(ClientId, u64) -> bool) -> Option<Cause> {
        let mut fired = self.changes.iter().filter(|change| change.answered > set && change.fires(place));
        let first = fired.find(|change| counts(change.client, change.sent));
        first.map(|change| Cause::by_request(change.client, change.sent))
    }

    /// By a request that is not answered yet: the only one of those that count, or of several the one that is answered first.
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

    /// By the end of a session without a word from its client.
    fn silent(&mut self, place: &WatchPlace) -> Option<ClientId> {
        let owns = |other: &&ClientId| self.nodes.get(other).is_some_and(|node| fires(node, true, place));
        let client = self.silent.iter().rfind(owns).copied()?;
        self.nodes.remove(&client);
        Some(client)
    }
}
