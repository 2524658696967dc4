//! When each entry of a trace is shown. Events travel one after the other if one caused the other,
//! and together if they have the same cause.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::causes::Causes;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_lab::contend::{ClientId, RequestKind, TraceEntry, TraceStep, WatchPlace};

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
pub(super) enum Item {
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
pub(super) struct Schedule {
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
    causes: Causes,
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
pub(super) fn begins_step(step: &TraceStep) -> bool {
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
