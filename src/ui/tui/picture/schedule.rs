//! When each entry of a trace is shown: events travel one after the other where one came of the other, and together where they
//! have one cause.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::causes::Causes;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_lab::contend::{ClientId, RequestKind, TraceEntry, TraceStep, WatchPlace};

/// A watch event that travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    /// The number of its entry among all watch events of the trace, from 0.
    pub number: u64,
    /// Whose node went or came, or changed; `None` when that is not known.
    pub from: Option<ClientId>,
    /// Whom it wakes.
    pub to: ClientId,
    /// What was watched.
    pub place: WatchPlace,
    /// When it starts and when it arrives.
    pub start: Timestamp,
    pub end: Timestamp,
}

/// A request of a client that was woken, on its way to the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestFlight {
    /// The number of its entry among all requests of the trace, from 0.
    pub number: u64,
    /// Whose it is.
    pub client: ClientId,
    pub kind: RequestKind,
    /// When it starts and when it arrives.
    pub start: Timestamp,
    pub end: Timestamp,
}

/// What is shown at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A watch event begins to travel.
    Start(Flight),
    /// It has arrived.
    Land(Flight),
    /// A client sends a request.
    Send(RequestFlight),
    /// It has arrived.
    Arrive(RequestFlight),
    /// Anything else that a client did.
    Entry(TraceEntry),
}

/// What waits to be shown, by the moment when it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Schedule {
    items: BTreeMap<(Timestamp, u64), Item>,
    /// Items that were ever added.
    added: u64,
    /// Watch events that were ever added.
    wakes: u64,
    /// Requests that were ever added.
    requests: u64,
    /// Until when each client is shown to be busy.
    busy: FxHashMap<ClientId, Timestamp>,
    /// When the last watch event starts.
    last_start: Timestamp,
    /// When the last item is shown.
    end: Timestamp,
    /// When each client's last change of a node, or the request for it, is shown.
    changed: FxHashMap<ClientId, Timestamp>,
    causes: Causes,
}

impl Schedule {
    /// The next item that is to be shown until then.
    pub fn pop(&mut self, now: Timestamp) -> Option<Item> {
        let first = self.items.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// When the next item is to be shown.
    pub fn next(&self) -> Option<Timestamp> {
        self.items.first_key_value().map(|((at, _), _)| *at)
    }

    /// How long it takes until all is shown.
    pub fn remaining(&self, now: Timestamp) -> Duration {
        if self.items.is_empty() { Duration::ZERO } else { self.end.since(now) }
    }

    /// How many watch events wait to be shown.
    pub fn waiting_wakes(&self) -> u64 {
        self.items.values().filter(|item| matches!(item, Item::Start(_))).count() as u64
    }

    /// Drops all that waits.
    pub fn clear(&mut self) {
        let (added, wakes, requests) = (self.added, self.wakes, self.requests);
        *self = Self { added, wakes, requests, ..Self::default() };
    }

    /// These clients have these nodes.
    pub fn know<'a>(&mut self, nodes: impl Iterator<Item = (ClientId, &'a ZnodePath)>) {
        nodes.for_each(|(client, node)| self.causes.know(client, node));
    }

    /// Adds what happened, to be shown from now on; each watch event travels for that time.
    pub fn add(&mut self, entries: &[TraceEntry], now: Timestamp, flight: Duration) {
        let ordered = with_effects_after_causes(entries);
        for (at, entry) in ordered.iter().enumerate() {
            self.add_entry(entry, &ordered[at + 1..], now, flight);
            self.causes.note(entry);
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
                    // What comes of it comes at once: those who are woken do not wait for the reply.
                    self.busy.insert(client, ready);
                    self.changed.insert(client, ready);
                }
            }
            step => {
                // A step begins when all that came of the one before is shown.
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

/// Whether a client begins something new with it, rather than going on with what others caused.
pub(super) fn begins_step(step: &TraceStep) -> bool {
    matches!(step, TraceStep::Asks(_) | TraceStep::Releases | TraceStep::Crashes | TraceStep::Expires)
}

/// A node that is created or deleted wakes others before its client has the reply: its entry is put right behind the request.
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
