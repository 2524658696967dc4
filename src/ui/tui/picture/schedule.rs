//! When each entry of a trace is shown, and which client created or deleted the node whose watch
//! fired. Pure.
//!
//! Events travel one after the other if one caused the other, and together if they have the same
//! cause. The cause is found as far as the trace shows it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use rustc_hash::FxHashMap;

use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_lab::contend::{ClientId, RequestKind, TraceEntry, TraceStep, WatchPlace};

#[cfg(test)]
mod tests;

/// A watch event in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    /// The number of the entry among all watch events of the trace, from 0.
    pub number: u64,
    /// The client whose node was created, deleted or changed; `None` when unknown.
    pub from: Option<ClientId>,
    /// The client that the event wakes.
    pub to: ClientId,
    /// The place that was watched.
    pub place: WatchPlace,
    /// The times of departure and arrival.
    pub start: Timestamp,
    pub end: Timestamp,
}

/// A request of a woken client, on its way to the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestFlight {
    /// The number of the entry among all requests of the trace, from 0.
    pub number: u64,
    /// The client that sends the request.
    pub client: ClientId,
    pub kind: RequestKind,
    /// The times of departure and arrival.
    pub start: Timestamp,
    pub end: Timestamp,
}

/// A thing to show at a given time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A watch event departs.
    Start(Flight),
    /// A watch event arrives.
    Land(Flight),
    /// A client sends a request.
    Send(RequestFlight),
    /// A request arrives.
    Arrive(RequestFlight),
    /// Any other action of a client.
    Entry(TraceEntry),
}

/// The items still to be shown, by the time at which they are due.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    items: BTreeMap<(Timestamp, u64), Item>,
    /// The number of items ever added.
    added: u64,
    /// The number of watch events ever added.
    wakes: u64,
    /// The number of requests ever added.
    requests: u64,
    /// The time until which each client is shown to be busy.
    busy: FxHashMap<ClientId, Timestamp>,
    /// The departure of the last watch event.
    last_start: Timestamp,
    /// The time at which the last item is shown.
    end: Timestamp,
    /// The time at which each client's last change of a node, or the request for it, is shown.
    changed: FxHashMap<ClientId, Timestamp>,
    causes: WakeCauses,
}

impl Schedule {
    /// Returns the next item due by `now`.
    pub fn pop(&mut self, now: Timestamp) -> Option<Item> {
        let first = self.items.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns when the next item is due.
    pub fn next(&self) -> Option<Timestamp> {
        self.items.first_key_value().map(|((at, _), _)| *at)
    }

    /// Returns the time until everything is shown.
    pub fn remaining(&self, now: Timestamp) -> Duration {
        if self.items.is_empty() { Duration::ZERO } else { self.end.since(now) }
    }

    /// Returns the number of watch events still to be shown.
    pub fn waiting_wakes(&self) -> u64 {
        self.items.values().filter(|item| matches!(item, Item::Start(_))).count() as u64
    }

    /// Drops all waiting items.
    pub fn clear(&mut self) {
        let (added, wakes, requests) = (self.added, self.wakes, self.requests);
        *self = Self { added, wakes, requests, ..Self::default() };
    }

    /// Notes which clients have which nodes.
    pub fn know<'a>(&mut self, nodes: impl Iterator<Item = (ClientId, &'a ZnodePath)>) {
        nodes.for_each(|(client, node)| self.causes.know(client, node));
    }

    /// Adds entries to be shown from `now` on; each watch event travels for `flight`.
    pub fn add(&mut self, entries: &[TraceEntry], now: Timestamp, flight: Duration) {
        let ordered = with_effects_after_causes(entries);
        for (at, entry) in ordered.iter().enumerate() {
            self.add_entry(entry, &ordered[at + 1..], now, flight);
            self.causes.add_entry(entry);
        }
    }

    fn add_entry(&mut self, entry: &TraceEntry, later: &[&TraceEntry], now: Timestamp, flight: Duration) {
        let client = entry.client;
        let ready = self.busy.get(&client).copied().unwrap_or(now).max(now);
        match &entry.step {
            TraceStep::Woken(place) => {
                let from = self.causes.of(client, place, later.iter().copied());
                self.add_flight(from, (client, place), ready, flight);
            }
            TraceStep::Sent(kind) => {
                let end = ready.plus(flight / 2);
                let sent = RequestFlight { number: self.requests, client, kind: *kind, start: ready, end };
                self.requests += 1;
                self.push(ready, Item::Send(sent));
                self.push(end, Item::Arrive(sent));
                self.busy.insert(client, end);
                if matches!(kind, RequestKind::Create | RequestKind::Delete) {
                    // The effects of the change show at once: woken clients do not wait for the
                    // change's reply.
                    self.busy.insert(client, ready);
                    self.changed.insert(client, ready);
                }
            }
            step => {
                // A step begins only after all effects of the previous step are shown.
                let at = if begins_step(step) { ready.max(self.end) } else { ready };
                if matches!(step, TraceStep::Created(_) | TraceStep::Deleted(_)) {
                    self.changed.insert(client, at);
                }
                self.push(at, Item::Entry(entry.clone()));
                self.busy.insert(client, at);
            }
        }
    }

    fn add_flight(
        &mut self,
        from: Option<ClientId>,
        (to, place): (ClientId, &WatchPlace),
        ready: Timestamp,
        flight: Duration,
    ) {
        let caused = from.and_then(|from| self.changed.get(&from)).copied().unwrap_or(ready);
        let start = ready.max(caused).max(self.last_start);
        let end = start.plus(flight);
        let made = Flight { number: self.wakes, from, to, place: place.clone(), start, end };
        self.wakes += 1;
        self.last_start = start;
        self.push(start, Item::Start(made.clone()));
        self.push(end, Item::Land(made));
        self.busy.insert(to, end);
    }

    fn push(&mut self, at: Timestamp, item: Item) {
        self.items.insert((at, self.added), item);
        self.added += 1;
        self.end = self.end.max(at);
    }
}

/// Returns whether the client starts something new with this step, rather than reacting to others.
pub fn begins_step(step: &TraceStep) -> bool {
    matches!(step, TraceStep::Asks(_) | TraceStep::Releases | TraceStep::Crashes | TraceStep::Expires)
}

/// Moves the entry of a created or deleted node right after its request: the change wakes other
/// clients before its own client gets the reply.
fn with_effects_after_causes(entries: &[TraceEntry]) -> Vec<&TraceEntry> {
    let mut moved = BTreeSet::new();
    let mut ordered = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        if moved.contains(&at) {
            continue;
        }
        ordered.push(entry);
        let is_reply = |step: &TraceStep| match entry.step {
            TraceStep::Sent(RequestKind::Create) => matches!(step, TraceStep::Created(_)),
            TraceStep::Sent(RequestKind::Delete) => matches!(step, TraceStep::Deleted(_)),
            _ => false,
        };
        let is_change = |step: &TraceStep| matches!(step, TraceStep::Sent(RequestKind::Create | RequestKind::Delete));
        let later = entries.iter().enumerate().skip(at + 1);
        let mut own = later.filter(|(_, other)| other.client == entry.client);
        if is_change(&entry.step)
            && let Some((found, reply)) = own.find(|(_, other)| is_reply(&other.step) || is_change(&other.step))
            && is_reply(&reply.step)
        {
            moved.insert(found);
            ordered.push(reply);
        }
    }
    ordered
}

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
    cause: WakeCause,
}

/// The client that made a change and the entry of its request, each if the trace shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct WakeCause {
    client: Option<ClientId>,
    sent: Option<u64>,
}

impl WakeCause {
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
struct WakeCauses {
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

impl WakeCauses {
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
            WakeCause { client, sent: None }
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
    fn recreated(&self, place: &WatchPlace, deletion: WakeCause) -> Option<u64> {
        let (WatchPlace::Node(node), Some(sent)) = (place, deletion.sent) else { return None };
        let mut made = self.changes.iter().filter(|change| !change.is_deletion && change.path == *node);
        made.find(|change| change.answered > sent).map(|change| change.answered)
    }

    /// Looks for the first answered change that fired the watch.
    fn answered(&self, place: &WatchPlace, set: u64, counts: impl Fn(ClientId, u64) -> bool) -> Option<WakeCause> {
        let mut fired = self.changes.iter().filter(|change| change.answered > set && change.fires(place));
        let first = fired.find(|change| counts(change.client, change.sent));
        first.map(|change| WakeCause::by_request(change.client, change.sent))
    }

    /// Looks for a request without a reply: the only candidate or, among several, the one whose
    /// reply comes first.
    fn pending(
        &self,
        place: &WatchPlace,
        counts: impl Fn(ClientId, u64) -> bool,
        later: &[&TraceEntry],
    ) -> Option<WakeCause> {
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
        let pending: Vec<WakeCause> = all.map(|(client, change)| WakeCause::by_request(*client, change.sent)).collect();
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
