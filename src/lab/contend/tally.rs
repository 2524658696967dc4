//! The tally of a fleet: what all clients did, and what it cost. Pure: time is an argument, counted
//! from the fleet's start.
//!
//! The watch events of a run's equal parts show how far its figures vary. Fleets that run beside
//! each other share the count of deletions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::sync::oneshot;

use super::client_stats::{ClientProcess, ClientStats, MAX_MICROS, WireCounts, micros, quantiles};
use super::holder_claims::{HolderClaim, HolderClaims};
use super::status::Passed;
use super::stepping::{LetGo, StepQueue, StepTicket, TraceLog};
use super::turns::TurnLog;
use super::{ClientId, ClientState, FleetTotals, MAX_OVERLAPS, NextStep, Overlap, ResourceStatus, TraceStep};
use lockscope_base::znode::{SessionId, Zxid};
use lockscope_lock::activity::LockActivity;
use lockscope_lock::{Access, Algorithm};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod run_parts_tests;

/// The figures of a fleet and the claims of its clients.
#[derive(Debug)]
pub struct Tally {
    clients: BTreeMap<ClientId, ClientStats>,
    claims: HolderClaims,
    waits: Histogram<u64>,
    holds: Histogram<u64>,
    totals: FleetTotals,
    overlaps: Vec<Overlap>,
    waiting: u64,
    waiting_writers: u64,
    last_release: Duration,
    deletions: OwnDeletions,
    parts: RunParts,
    /// The value of `deletions` at the start.
    deleted_before: u64,
    /// The counts of clients that have left.
    wire_of_left: WireCounts,
    /// `None` for a semaphore: each of its holders holds something else, and a lower token is no
    /// fault there.
    resource: Option<ResourceStatus>,
    pub(super) trace: TraceLog,
    pub(super) steps: StepQueue,
    pub(super) turns: TurnLog,
}

impl Tally {
    /// Creates the tally of a run that makes `planned` acquisitions, or is endless.
    pub fn new(algorithm: Algorithm, planned: Option<u64>, deletions: OwnDeletions) -> Self {
        let histogram = || Histogram::new_with_bounds(1, MAX_MICROS, 3).expect("valid bounds and digits");
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
            parts: RunParts::of(planned),
            wire_of_left: WireCounts::default(),
            resource: (!matches!(algorithm, Algorithm::Semaphore(_))).then(ResourceStatus::default),
            trace: TraceLog::default(),
            steps: StepQueue::default(),
            turns: TurnLog::default(),
        }
    }

    pub fn joins(&mut self, client: ClientId, now: Duration) {
        self.clients.insert(client, ClientStats::new(now));
    }

    /// Removes a client; its figures stay in the totals.
    pub fn leaves(&mut self, client: ClientId) {
        self.stops(client);
        self.turns.forget(client);
        if let Some(stats) = self.clients.remove(&client) {
            self.wire_of_left += stats.wire.counts();
        }
    }

    /// Returns whether a client was killed. Later reports of its task did not happen.
    fn is_dead(&self, client: ClientId) -> bool {
        self.clients.get(&client).is_some_and(|stats| stats.process == ClientProcess::Dead)
    }

    pub fn connected(&mut self, client: ClientId, session: SessionId, now: Duration) {
        if self.is_dead(client) {
            return;
        }
        self.on(client, |stats| {
            stats.session = Some(session);
            stats.trouble = None;
            stats.enters(ClientState::Ready, now);
        });
    }

    pub fn enters(&mut self, client: ClientId, state: ClientState, now: Duration) {
        if self.is_dead(client) && state != ClientState::Leaving {
            return;
        }
        self.stops(client);
        self.on(client, |stats| stats.enters(state, now));
        self.trace.has_news();
    }

    pub fn troubled(&mut self, client: ClientId, trouble: String) {
        self.on(client, |stats| stats.trouble = Some(trouble));
    }

    pub fn expires(&mut self, client: ClientId, now: Duration) {
        if self.is_dead(client) {
            return;
        }
        self.enters(client, ClientState::Connecting, now);
        self.on(client, |stats| {
            stats.expired += 1;
            stats.wire.session_ends();
        });
        self.totals.expired += 1;
        self.trace.push(client, TraceStep::Expires, now);
    }

    pub fn asks(&mut self, client: ClientId, access: Access, now: Duration) {
        if self.is_dead(client) {
            return;
        }
        // The created node wakes the whole herd.
        self.totals.modelled_herd += self.waiting;
        let others = if access == Access::Read { self.waiting_writers } else { self.waiting };
        let is_behind = others > 0 || self.claims.blocks(access);
        self.waiting += 1;
        self.waiting_writers += u64::from(access == Access::Write);
        self.on(client, |stats| {
            (stats.access, stats.is_behind) = (access, is_behind);
            stats.enters(ClientState::Waiting, now);
        });
        self.trace.push(client, TraceStep::Asks(access), now);
    }

    pub fn acquires(&mut self, client: ClientId, token: Zxid, now: Duration) {
        let asked = |stats: &&mut ClientStats| stats.state == ClientState::Waiting;
        let Some(stats) = self.clients.get_mut(&client).filter(asked) else { return };
        let waited = now.saturating_sub(stats.since);
        stats.acquisitions += 1;
        stats.token = Some(token);
        stats.waits.add(waited);
        stats.wire.acquires();
        stats.enters(ClientState::Holding, now);
        let (access, is_behind) = (stats.access, stats.is_behind);
        self.no_more_waits(access);
        self.totals.modelled_chain += u64::from(is_behind);
        self.totals.acquisitions += 1;
        self.turns.ends(self.totals.acquisitions, client);
        if self.parts.ends_with(self.totals.acquisitions) {
            let delivered = self.wire().events;
            self.parts.end_part(delivered);
        }
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
        self.trace.push(client, TraceStep::Acquires(token), now);
        self.writes(client, now);
    }

    /// Writes to the resource for a holder, unless it only reads or there is no resource.
    fn writes(&mut self, client: ClientId, now: Duration) {
        let (Some(resource), Some(stats)) = (&mut self.resource, self.clients.get(&client)) else { return };
        let Some(token) = stats.token.filter(|_| stats.access == Access::Write) else { return };
        let write = resource.write(client, token, now);
        self.trace.push(client, TraceStep::Writes(write), now);
    }

    /// Records that a client is about to release: from here on it does not claim to hold. Before
    /// that it writes a last time, unless it knows that it has lost the lock. A process that was
    /// stopped in the middle of its work does not know.
    pub fn releases(&mut self, client: ClientId, knows_of_loss: bool, now: Duration) {
        if self.clients.get(&client).is_none_or(|stats| stats.state != ClientState::Holding) {
            return;
        }
        if !knows_of_loss || self.claims.was_frozen(client) {
            self.writes(client, now);
        }
        self.trace.push(client, TraceStep::Releases, now);
        let Some(stats) = self.clients.get_mut(&client) else { return };
        let held = now.saturating_sub(stats.since);
        stats.held += held;
        stats.holds.add(held);
        stats.token = None;
        stats.enters(ClientState::Ready, now);
        self.holds.saturating_record(micros(held));
        self.claims.ends(client);
        self.last_release = now;
        self.deletions.add(1);
        // The deleted node wakes the whole herd.
        self.totals.modelled_herd += self.waiting;
    }

    /// Records an activity of a client's locks.
    pub fn notes(&mut self, client: ClientId, activity: LockActivity, now: Duration) {
        let Some(stats) = self.clients.get_mut(&client) else { return };
        match stats.process {
            ClientProcess::Runs => {}
            ClientProcess::Frozen => return stats.put_off.push(activity),
            // The library's activity for a killed client reaches no server.
            ClientProcess::Dead => return,
        }
        if matches!(activity, LockActivity::Woken(_)) {
            self.turns.wakes(client);
        }
        if let Some(step) = stats.wire.record(activity, stats.state == ClientState::Waiting) {
            self.trace.push(client, step, now);
        }
    }

    /// Records that a client's process is stopped.
    pub fn freezes(&mut self, client: ClientId, now: Duration) {
        let Some(stats) = self.clients.get_mut(&client).filter(|stats| stats.process == ClientProcess::Runs) else {
            return;
        };
        stats.process = ClientProcess::Frozen;
        self.claims.frozen(client);
        self.trace.push(client, TraceStep::Freezes, now);
    }

    /// Records that a client's process goes on.
    pub fn thaws(&mut self, client: ClientId, now: Duration) {
        let Some(stats) = self.clients.get_mut(&client).filter(|stats| stats.process == ClientProcess::Frozen) else {
            return;
        };
        stats.process = ClientProcess::Runs;
        let put_off = std::mem::take(&mut stats.put_off);
        self.trace.push(client, TraceStep::Thaws, now);
        for activity in put_off {
            self.notes(client, activity, now);
        }
    }

    /// Records that a client's process is killed. Its node stays until its session has ended.
    pub fn crashes(&mut self, client: ClientId, now: Duration) {
        self.steps.forget(client);
        if self.clients.get(&client).is_none_or(|stats| stats.state.is_over() || stats.process == ClientProcess::Dead) {
            return;
        }
        self.enters(client, ClientState::Crashed, now);
        self.on(client, |stats| {
            stats.process = ClientProcess::Dead;
            stats.put_off.clear();
            stats.wire.disconnects();
        });
        self.trace.push(client, TraceStep::Crashes, now);
    }

    /// Records that the session of a killed client has ended.
    pub fn dead_session_ends(&mut self, client: ClientId) {
        self.on(client, |stats| stats.wire.session_ends());
        self.trace.has_news();
    }

    /// Adds a client that waits for a step. Returns `None` if it need not wait.
    pub fn waits_for_step(
        &mut self,
        client: ClientId,
        step: NextStep,
    ) -> Option<(StepTicket, oneshot::Receiver<LetGo>)> {
        self.trace.has_news();
        let since = self.clients.get(&client)?.since;
        self.steps.enter(client, step, since)
    }

    /// Returns the client that the next step lets go on, and what it will do.
    pub fn next_step(&self) -> Option<(ClientId, NextStep)> {
        self.steps.next(|client| runs(&self.clients, client))
    }

    /// Lets the next client take its step.
    pub fn step(&mut self) {
        self.steps.step(|client| runs(&self.clients, client));
        self.trace.has_news();
    }

    /// Records that a client no longer waits or holds, without a release.
    fn stops(&mut self, client: ClientId) {
        let Some(stats) = self.clients.get_mut(&client) else { return };
        stats.token = None;
        stats.wire.decide();
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

    pub fn clients_mut(&mut self) -> impl Iterator<Item = (ClientId, &mut ClientStats)> {
        self.clients.iter_mut().map(|(id, stats)| (*id, stats))
    }

    pub fn are_all_in(&self, state: &[ClientState]) -> bool {
        self.clients.values().all(|stats| state.contains(&stats.state))
    }

    pub fn overlaps(&self) -> Vec<Overlap> {
        self.overlaps.clone()
    }

    /// Returns the deletions of contenders' nodes since this tally began, including those of the
    /// fleets beside it.
    pub fn deletions(&self) -> u64 {
        self.deletions.count().saturating_sub(self.deleted_before)
    }

    pub fn last_release(&self) -> Duration {
        self.last_release
    }

    pub fn resource(&self) -> ResourceStatus {
        self.resource.unwrap_or_default()
    }

    fn wire(&self) -> WireCounts {
        let mut wire = self.wire_of_left;
        self.clients.values().for_each(|stats| wire += stats.wire.counts());
        wire
    }

    /// Returns the totals, with the counts of the locks and of the links.
    pub fn totals(&self, passed: Passed) -> FleetTotals {
        let wire = self.wire();
        FleetTotals {
            requests: wire.requests,
            events: wire.events,
            woken_in_vain: wire.in_vain,
            event_spread: self.parts.spread(),
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

/// Returns whether a client's process runs.
fn runs(clients: &BTreeMap<ClientId, ClientStats>, client: ClientId) -> bool {
    clients.get(&client).is_some_and(|stats| stats.process == ClientProcess::Runs)
}

/// The number of deletions of contenders' nodes, done or imminent, by all fleets that share this
/// counter.
///
/// A program's own recursive watches fire for the deletions of all its fleets, and the servers'
/// counters include that. Fleets that run at the same time on the same ensemble share one counter,
/// so that each can subtract it.
#[derive(Clone, Debug, Default)]
pub struct OwnDeletions(Arc<AtomicU64>);

impl OwnDeletions {
    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }
}

/// How many equal parts a run has.
const PARTS: u64 = 10;

/// The watch events that were delivered by the end of each part so far.
#[derive(Clone, Debug, Default)]
struct RunParts {
    /// The acquisitions of one part; 0 for an endless run, and for one that is too short.
    length: u64,
    delivered: Vec<u64>,
}

impl RunParts {
    /// Divides a run with this number of acquisitions; `None` is endless.
    fn of(acquisitions: Option<u64>) -> Self {
        Self { length: acquisitions.unwrap_or_default() / PARTS, delivered: Vec::new() }
    }

    /// Returns whether a part ends with this acquisition, counted from 1.
    fn ends_with(&self, acquisition: u64) -> bool {
        let ended = self.ended();
        self.length > 0 && ended < PARTS && acquisition == self.length * (ended + 1)
    }

    /// Ends a part, by whose end this many watch events were delivered in all.
    fn end_part(&mut self, delivered: u64) {
        self.delivered.push(delivered);
    }

    fn ended(&self) -> u64 {
        self.delivered.len() as u64
    }

    /// Returns the least and the greatest number of watch events an acquisition in any part; `None`
    /// until all parts have ended.
    fn spread(&self) -> Option<[f64; 2]> {
        if self.ended() < PARTS {
            return None;
        }
        let before = std::iter::once(0).chain(self.delivered.iter().copied());
        let each = self.delivered.iter().zip(before).map(|(after, before)| after.saturating_sub(before));
        let (least, greatest) =
            each.fold((u64::MAX, 0), |(least, greatest), part| (least.min(part), greatest.max(part)));
        Some([least, greatest].map(|part| super::outcome::per(part, self.length)))
    }
}
