//! What all clients of a fleet did and cost. Pure: time is an argument, counted from the fleet's start.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;

use super::holder_claims::{HolderClaim, HolderClaims};
use super::link::Passed;
use super::{ClientId, ClientState, FleetTotals, MAX_OVERLAPS, Overlap, Quantiles};
use crate::lock::{Access, Algorithm, Cost};
use crate::znode::{SessionId, Zxid};

/// The longest time that is recorded, in microseconds: an hour. Longer ones count as an hour.
const MAX_MICROS: u64 = 3_600_000_000;

/// One client's figures.
#[derive(Debug)]
pub(super) struct ClientStats {
    pub(super) state: ClientState,
    pub(super) since: Duration,
    pub(super) session: Option<SessionId>,
    pub(super) expired: u32,
    pub(super) token: Option<Zxid>,
    pub(super) acquisitions: u64,
    pub(super) held: Duration,
    pub(super) trouble: Option<String>,
    waits: TimeDistribution,
    holds: TimeDistribution,
    access: Access,
    /// Whether it found somebody before it when it asked.
    is_behind: bool,
}

/// A distribution of times, and its figures as last computed.
#[derive(Debug)]
struct TimeDistribution {
    histogram: Histogram<u32>,
    quantiles: Quantiles,
    changed: bool,
}

impl TimeDistribution {
    fn new() -> Self {
        // Grows with what it takes in; two digits are enough for one of many clients.
        let histogram = Histogram::new(2).expect("two digits are in its range");
        Self { histogram, quantiles: Quantiles::default(), changed: false }
    }

    fn add(&mut self, time: Duration) {
        // It grows up to any time that is bounded by an hour.
        let _ = self.histogram.record(micros(time));
        self.changed = true;
    }

    fn quantiles(&mut self) -> Quantiles {
        if std::mem::take(&mut self.changed) {
            self.quantiles = quantiles(&self.histogram);
        }
        self.quantiles
    }
}

impl ClientStats {
    fn new(now: Duration) -> Self {
        Self {
            state: ClientState::Connecting,
            since: now,
            session: None,
            expired: 0,
            token: None,
            acquisitions: 0,
            held: Duration::ZERO,
            trouble: None,
            waits: TimeDistribution::new(),
            holds: TimeDistribution::new(),
            access: Access::Write,
            is_behind: false,
        }
    }

    fn enters(&mut self, state: ClientState, now: Duration) {
        (self.state, self.since) = (state, now);
    }

    /// How long it waited, and how long it held.
    pub(super) fn times(&mut self) -> (Quantiles, Quantiles) {
        (self.waits.quantiles(), self.holds.quantiles())
    }
}

/// The figures of a fleet.
#[derive(Debug)]
pub(super) struct Tally {
    clients: BTreeMap<ClientId, ClientStats>,
    claims: HolderClaims,
    waits: Histogram<u64>,
    holds: Histogram<u64>,
    totals: FleetTotals,
    overlaps: Vec<Overlap>,
    waiting: u64,
    waiting_writers: u64,
    last_release: Duration,
    deletions: Deletions,
    /// What `deletions` was at first.
    deleted_before: u64,
}

/// How often contenders' nodes were deleted, or are about to be, by all fleets that share it.
///
/// A program's own recursive watches fire for the deletions of all its fleets, and the servers count that to each. Fleets that
/// run at the same time on the same ensemble share one, so that each can take it off.
#[derive(Clone, Debug, Default)]
pub struct Deletions(Arc<AtomicU64>);

impl Deletions {
    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }
}

impl Tally {
    pub(super) fn new(algorithm: Algorithm, deletions: Deletions) -> Self {
        let histogram = || Histogram::new_with_bounds(1, MAX_MICROS, 3).expect("bounds in its range");
        Self {
            clients: BTreeMap::new(),
            claims: HolderClaims::new(algorithm),
            waits: histogram(),
            holds: histogram(),
            totals: FleetTotals::default(),
            overlaps: Vec::new(),
            waiting: 0,
            waiting_writers: 0,
            last_release: Duration::ZERO,
            deleted_before: deletions.count(),
            deletions,
        }
    }

    pub(super) fn joins(&mut self, client: ClientId, now: Duration) {
        self.clients.insert(client, ClientStats::new(now));
    }

    /// Forgets a client; what it did stays in the totals.
    pub(super) fn leaves(&mut self, client: ClientId) {
        self.stops(client);
        self.clients.remove(&client);
    }

    pub(super) fn connected(&mut self, client: ClientId, session: SessionId, now: Duration) {
        self.on(client, |stats| {
            stats.session = Some(session);
            stats.trouble = None;
            stats.enters(ClientState::Ready, now);
        });
    }

    pub(super) fn enters(&mut self, client: ClientId, state: ClientState, now: Duration) {
        self.stops(client);
        self.on(client, |stats| stats.enters(state, now));
    }

    pub(super) fn troubled(&mut self, client: ClientId, trouble: String) {
        self.on(client, |stats| stats.trouble = Some(trouble));
    }

    pub(super) fn expires(&mut self, client: ClientId, now: Duration) {
        self.enters(client, ClientState::Connecting, now);
        self.on(client, |stats| stats.expired += 1);
        self.totals.expired += 1;
    }

    pub(super) fn asks(&mut self, client: ClientId, access: Access, now: Duration) {
        // A created node wakes the whole herd.
        self.totals.modelled_herd += self.waiting;
        let others = if access == Access::Read { self.waiting_writers } else { self.waiting };
        let is_behind = others > 0 || self.claims.blocks(access);
        self.waiting += 1;
        self.waiting_writers += u64::from(access == Access::Write);
        self.on(client, |stats| {
            (stats.access, stats.is_behind) = (access, is_behind);
            stats.enters(ClientState::Waiting, now);
        });
    }

    pub(super) fn acquires(&mut self, client: ClientId, token: Zxid, now: Duration) {
        let Some(stats) = self.clients.get_mut(&client) else { return };
        let waited = now.saturating_sub(stats.since);
        stats.acquisitions += 1;
        stats.token = Some(token);
        stats.waits.add(waited);
        stats.enters(ClientState::Holding, now);
        let (access, is_behind) = (stats.access, stats.is_behind);
        self.no_more_waits(access);
        self.totals.modelled_chain += u64::from(is_behind);
        self.totals.acquisitions += 1;
        self.waits.saturating_record(micros(waited));
        let violations = self.claims.begins(HolderClaim { client, token, access, was_frozen: false }, now);
        if let Some(bound) = violations.not_above {
            self.totals.violations += 1;
            self.troubled(
                client,
                format!("its fencing token {} is not higher than {}, an earlier one", token.0, bound.0),
            );
        }
        for overlap in violations.overlaps {
            let counter = if overlap.outlived { &mut self.totals.outlived } else { &mut self.totals.violations };
            *counter += 1;
            self.overlaps.push(overlap);
        }
        let excess = self.overlaps.len().saturating_sub(MAX_OVERLAPS);
        self.overlaps.drain(..excess);
    }

    /// It is about to release: from here on it does not claim to hold.
    pub(super) fn releases(&mut self, client: ClientId, now: Duration) {
        let Some(stats) = self.clients.get_mut(&client) else { return };
        if stats.state != ClientState::Holding {
            return;
        }
        let held = now.saturating_sub(stats.since);
        stats.held += held;
        stats.holds.add(held);
        stats.token = None;
        stats.enters(ClientState::Ready, now);
        self.holds.saturating_record(micros(held));
        self.claims.ends(client);
        self.last_release = now;
        self.deletions.add(1);
        // A deleted node wakes the whole herd.
        self.totals.modelled_herd += self.waiting;
    }

    pub(super) fn frozen(&mut self, client: ClientId) {
        self.claims.frozen(client);
    }

    /// It waits or holds no longer, without a release.
    fn stops(&mut self, client: ClientId) {
        let Some(stats) = self.clients.get_mut(&client) else { return };
        stats.token = None;
        let (before, access) = (stats.state, stats.access);
        self.deletions.add(u64::from(matches!(before, ClientState::Waiting | ClientState::Holding)));
        if before == ClientState::Waiting {
            self.no_more_waits(access);
            self.totals.modelled_herd += self.waiting;
        }
        self.claims.ends(client);
    }

    fn no_more_waits(&mut self, access: Access) {
        self.waiting = self.waiting.saturating_sub(1);
        self.waiting_writers = self.waiting_writers.saturating_sub(u64::from(access == Access::Write));
    }

    fn on(&mut self, client: ClientId, change: impl FnOnce(&mut ClientStats)) {
        if let Some(stats) = self.clients.get_mut(&client) {
            change(stats);
        }
    }

    pub(super) fn clients_mut(&mut self) -> impl Iterator<Item = (ClientId, &mut ClientStats)> {
        self.clients.iter_mut().map(|(id, stats)| (*id, stats))
    }

    pub(super) fn are_all_in(&self, state: &[ClientState]) -> bool {
        self.clients.values().all(|stats| state.contains(&stats.state))
    }

    pub(super) fn overlaps(&self) -> Vec<Overlap> {
        self.overlaps.clone()
    }

    /// How often contenders' nodes were deleted since this tally began, those of the fleets beside it included.
    pub(super) fn deletions(&self) -> u64 {
        self.deletions.count().saturating_sub(self.deleted_before)
    }

    pub(super) fn last_release(&self) -> Duration {
        self.last_release
    }

    /// All together, with what the locks and the links counted.
    pub(super) fn totals(&self, cost: Cost, passed: Passed) -> FleetTotals {
        FleetTotals {
            requests: cost.requests,
            events: cost.events,
            wire_requests: passed.requests,
            wire_events: passed.events,
            bytes_up: passed.up,
            bytes_down: passed.down,
            waits: quantiles(&self.waits),
            holds: quantiles(&self.holds),
            ..self.totals.clone()
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(MAX_MICROS).min(MAX_MICROS)
}

fn quantiles<C: hdrhistogram::Counter>(histogram: &Histogram<C>) -> Quantiles {
    let at = |quantile| Duration::from_micros(histogram.value_at_quantile(quantile));
    if histogram.is_empty() {
        return Quantiles::default();
    }
    Quantiles {
        count: histogram.len(),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        max: Duration::from_micros(histogram.max()),
    }
}
