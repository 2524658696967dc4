//! Findings about a holder: its session is gone or about to expire, its client is silent or idle,
//! or it has held for too long.
//!
//! The checks go from a holder that provably is dead to one that works:
//!
//! - `ghost`: a node whose session no longer exists.
//! - `expiring-holder`: the client is gone, and the lock becomes free when the session expires.
//! - `silent-holder`: the client is connected and misses its heartbeats.
//! - `idle-holder`: the client sends only heartbeats. That is no trouble by itself: it says more
//!   about a lock that is stuck.
//! - `stuck`, `stuck-lease`, `may-be-stuck`: a lock or a semaphore's lease without a hand-over for
//!   long, though others wait, and one of which that may be true.
//! - `held-long`: a lock that is held longer than its owner promised.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::diagnose::context::{Check, LockContext, MAX_SUSPICIONS, of_contender};
use crate::diagnose::facts::short_node;
use crate::diagnose::standstill::Standstill;
use crate::diagnose::suspicion::{RoundMemory, Suspicion};
use crate::diagnose::{Code, Finding, HeldBy, OwnerState, Severity};
use crate::queue::{ContenderRow, HoldBounds, is_likely_election, is_registry};
use crate::server_view::{Liveness, Silence};
use crate::text::human;
use lockscope_base::recipe::LockKind;
use lockscope_base::znode::{SessionId, Timestamp};

#[cfg(test)]
pub mod expiring_tests;

#[cfg(test)]
pub mod silent_tests;

#[cfg(test)]
pub mod idle_tests;

#[cfg(test)]
pub mod stuck_tests;

#[cfg(test)]
pub mod held_long_tests;

const GHOST_REMEDY: &str =
    "compare the node on each server, since one may lag behind; then delete it, guarded by its czxid";

/// One transaction ends a session and deletes its nodes. A node that outlives its session for long
/// shows a fault of the servers.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Ghost;

impl Check for Ghost {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let Some(gathered) = context.table_at.view().sessions_as_of() else { return };
        let rows = context.lock.rows(0..context.lock.len());
        let ghosts =
            rows.filter(|row| context.table_at.owner_of(row.contender).0 == OwnerState::Ghost).take(MAX_SUSPICIONS);
        found.extend(ghosts.map(|row| {
            let lasts = context.thresholds.ghost_after;
            Suspicion::new(describe_ghost(context, &row), gathered, lasts).of_state(row.contender.czxid.0)
        }));
    }
}

fn describe_ghost(context: &LockContext<'_>, row: &ContenderRow<'_>) -> Finding {
    let severity = if context.blocks_for_good(row) { Severity::Critical } else { Severity::Warning };
    let (node, who) = (short_node(&row.contender.node), context.table_at.who(row.contender));
    let summary = format!("{node} of {who} outlived its session, which no server knows");
    of_contender(Code::Ghost, severity, context, row.contender).because(summary, GHOST_REMEDY)
}

const EXPIRING_REMEDY: &str =
    "wait: the servers delete the node when the session expires, unless its client comes back before";

/// A client that moves between servers looks the same until all servers were asked again.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ExpiringHolder;

impl Check for ExpiringHolder {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let Some(gathered) = context.table_at.view().connections_as_of() else { return };
        for row in context.lock.rows(0..context.lock.holding().min(MAX_SUSPICIONS)) {
            let Some(session) = row.contender.session() else { continue };
            let liveness = context.table_at.view().liveness(session);
            if matches!(liveness, Liveness::Disconnected { .. }) {
                let finding = describe_expiring(context, &row, liveness.expires_in(context.now()));
                found.push(Suspicion::new(finding, gathered, Duration::ZERO).of_state(row.contender.czxid.0));
            }
        }
    }
}

fn describe_expiring(context: &LockContext<'_>, row: &ContenderRow<'_>, left: Option<Duration>) -> Finding {
    let severity = if context.waiting() > 0 && !is_registry(context.lock) { Severity::Warning } else { Severity::Info };
    let when = left.map_or_else(String::new, |left| format!(" and expires in {}", human::countdown(left)));
    let who = context.table_at.who(row.contender);
    let summary = format!("{who} holds, but has no connection to any server{when}");
    of_contender(Code::ExpiringHolder, severity, context, row.contender).because(summary, EXPIRING_REMEDY)
}

const SILENT_REMEDY: &str = "look at that process and its network: it may be paused or cut off; if it stays silent, the servers delete the node when the session expires";

/// Reported from half of the session timeout on, while the connection exists. Without a connection
/// the holder is [expiring](ExpiringHolder). A pause that ends before the next view is not
/// reported.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct SilentHolder;

impl Check for SilentHolder {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let view = context.table_at.view();
        for row in context.lock.rows(0..context.lock.holding().min(MAX_SUSPICIONS)) {
            if let Some(silence) = row.contender.session().and_then(|session| view.silence_of(session)) {
                let finding = describe_silent(context, &row, silence);
                let suspicion = Suspicion::new(finding, silence.as_of, Duration::ZERO);
                found.push(suspicion.of_state(row.contender.czxid.0));
            }
        }
    }
}

fn describe_silent(context: &LockContext<'_>, row: &ContenderRow<'_>, silence: Silence) -> Finding {
    let severity = if context.waiting() > 0 && !is_registry(context.lock) { Severity::Warning } else { Severity::Info };
    let summary = format!(
        "{} holds, and its client has sent no heartbeat for {}: unless it is heard, its session expires in {}",
        context.table_at.who(row.contender),
        human::duration(silence.lasted(context.now())),
        human::countdown(silence.left(context.now()))
    );
    of_contender(Code::SilentHolder, severity, context, row.contender).because(summary, SILENT_REMEDY)
}

/// Maximum number of a lock's holders that are checked, since readers may hold by the thousand.
const MAX_IDLE_HOLDERS: usize = 16;

const IDLE_REMEDY: &str = "look at that process, and restart it only if it hangs; deleting the node of a process that still works lets two in";

/// The last request that a client sent.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct LastRequest {
    /// The client's own number of the request.
    cxid: i64,
    /// When the connection was made. Numbers start again with each connection.
    established: Option<Timestamp>,
    /// When this was first seen to be the last request.
    since: Timestamp,
}

/// A process that works outside ZooKeeper looks the same as one that hangs, so a person has to
/// check.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct IdleHolder {
    /// The last request of each session that holds a lock with waiters. One entry covers all its
    /// locks.
    last_requests: RoundMemory<SessionId, LastRequest>,
}

impl Check for IdleHolder {
    fn begin(&mut self) {
        self.last_requests.begin();
    }

    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let lock = context.lock;
        if context.waiting() == 0 || is_likely_election(lock) || is_registry(lock) {
            return;
        }
        for row in lock.rows(0..lock.holding().min(MAX_IDLE_HOLDERS)) {
            found.extend(suspect_idle(context, &row, &mut self.last_requests));
        }
    }
}

/// Returns the suspicion against a holder. Heartbeats do not change the number of a client's last
/// request.
fn suspect_idle(
    context: &LockContext<'_>,
    row: &ContenderRow<'_>,
    memory: &mut RoundMemory<SessionId, LastRequest>,
) -> Option<Suspicion> {
    let session = row.contender.session()?;
    let (member, connection) = context.table_at.view().connection_of(session)?;
    let gathered = member.connections.as_ref()?.at;
    let (cxid, heard) = (connection.last_cxid?, connection.last_heard?);
    let fresh = LastRequest { cxid, established: connection.established, since: gathered };
    let last = memory.see(session, || fresh);
    if (last.cxid, last.established) != (cxid, connection.established) {
        *last = fresh;
    }
    // Idle time before the acquisition does not count.
    let since = row.contender.acquired_at().map_or(last.since, |acquired| acquired.max(last.since));
    let silent = gathered.since(since);
    let min_silence = context.thresholds.stuck_after;
    if silent < min_silence || heard <= since || context.first_waits()? < min_silence {
        return None;
    }
    let behind = behind_itself(context, row);
    let silence = human::duration(silent);
    let holds = if context.table_at.held_by(context.lock, row).is_some_and(HeldBy::is_proven) {
        format!(
            "holds, and has sent only heartbeats for {silence}: normal while it works outside ZooKeeper, or it hangs"
        )
    } else {
        format!(
            "stands first, and has sent only heartbeats for {silence}: it works, hangs, or waits for another node, \
             which no list of watches excludes"
        )
    };
    let (who, slow) = (context.table_at.who(row.contender), context.table_at.slow_servers());
    let summary = format!("{}: {who} {holds}{behind}{slow}", idle_headline(context, row)?);
    // Work outside ZooKeeper is normal, and `stuck` tells of the wait. A node that its client may have
    // forgotten is not.
    let severity = if behind.is_empty() { Severity::Info } else { Severity::Warning };
    let finding = of_contender(Code::IdleHolder, severity, context, row.contender).because(summary, IDLE_REMEDY);
    Some(Suspicion::proved(finding, gathered).of_state(row.contender.czxid.0))
}

/// Names the node by which the holder's session also waits, as the end of a sentence; empty if
/// there is none. A client that forgot a node while it waited looks so when its turn has come.
/// [`SelfBlocked`](super::deadlock::SelfBlocked) reports a session that held before it queued
/// again.
fn behind_itself(context: &LockContext<'_>, row: &ContenderRow<'_>) -> String {
    let of_session = row.contender.session().and_then(|session| context.repeated.get(&session));
    let behind = of_session.into_iter().flatten().find(|position| **position >= context.lock.holding());
    behind.and_then(|position| context.lock.row(*position)).map_or_else(String::new, |waiter| {
        let node = short_node(&waiter.contender.node);
        format!("; it waits behind itself by {node}, unless these are two of its threads")
    })
}

/// Returns the same headline as for a lock that is only known to be stuck.
fn idle_headline(context: &LockContext<'_>, idle: &ContenderRow<'_>) -> Option<String> {
    let mut standstill = context.table_at.standstill(context.lock)?;
    standstill.is_idle |= standstill.longest.position == idle.position;
    Some(standstill.headline())
}

const STUCK_REMEDY: &str =
    "look at the holder's process: if it is done with the lock, or hangs, restart it; its node goes with its session";

const STUCK_REMEDY_IN_DOUBT: &str = "look for longer, or at a recording of this time (--store), which tells when the lock was last handed on; then look at the holder's process";

/// Reports one finding per lock, about the contender that has held longest. Proven time before the
/// first look counts.
///
/// A waiter's age is known from the first look, a hand-over before that look often is not. If the
/// first waiter has waited for long, and nothing tells whether the lock was handed on meanwhile, that
/// is a finding of its own, until a hand-over is seen or the hold is proven to be long.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Stuck;

impl Check for Stuck {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let stuck_after = context.thresholds.stuck_after;
        if !waits_for_long(context) {
            return;
        }
        let Some(standstill) = context.table_at.standstill(context.lock) else { return };
        let contender = standstill.longest.contender;
        if standstill.held.at_least >= stuck_after {
            // A hold that was seen to begin needs a second look, by which the cause may be known. Where
            // a word of the path may name an election, the time before the first look does not count.
            let (found_holding, elected) = (contender.acquired_at().is_none(), is_likely_election(context.lock));
            let lasts = if found_holding && elected { stuck_after } else { Duration::ZERO };
            let suspicion = Suspicion::new(describe_stuck(context, &standstill), context.now(), lasts);
            let suspicion = Suspicion { proved: found_holding && !elected, ..suspicion };
            found.push(suspicion.of_state(contender.czxid.0));
        } else if may_be_stuck(context, &standstill) {
            let looked = context.thresholds.least_time_to_find(Code::MayBeStuck);
            let suspicion = Suspicion::new(describe_may_be_stuck(context, &standstill), context.now(), looked);
            found.push(suspicion.proved_by(standstill.held.at_least).of_state(contender.czxid.0));
        }
    }
}

/// Returns whether a waiter has waited long enough for the lock to be stuck, provided that there
/// was no hand-over meanwhile. In an election, a leader holds by design.
fn waits_for_long(context: &LockContext<'_>) -> bool {
    context.waiting() > 0
        && !is_registry(context.lock)
        && context.election.is_none()
        && context.first_waits().is_some_and(|waits| waits >= context.thresholds.stuck_after)
}

/// Returns whether the evidence allows both that a lock is stuck and that it is not.
///
/// A lock that was seen to be handed on moves, and one that is held for less than the threshold, at
/// most, has moved.
fn may_be_stuck(context: &LockContext<'_>, standstill: &Standstill<'_>) -> bool {
    !is_likely_election(context.lock)
        && standstill.at_most() >= context.thresholds.stuck_after
        && !context.lock.was_handed_on_since_read()
}

fn describe_stuck(context: &LockContext<'_>, standstill: &Standstill<'_>) -> Finding {
    let lock = context.lock;
    let code = if lock.kind() == LockKind::Semaphore { Code::StuckLease } else { Code::Stuck };
    let severity = if is_likely_election(lock) { Severity::Info } else { Severity::Warning };
    let slow = context.table_at.slow_servers();
    let summary = format!("{}: {}{slow}", standstill.headline(), standstill.holders());
    of_contender(code, severity, context, standstill.longest.contender).because(summary, STUCK_REMEDY)
}

fn describe_may_be_stuck(context: &LockContext<'_>, standstill: &Standstill<'_>) -> Finding {
    let summary = format!(
        "{}: {}{}",
        standstill.headline_in_doubt(context.first_waits()),
        standstill.doubt(),
        context.table_at.slow_servers()
    );
    of_contender(Code::MayBeStuck, Severity::Warning, context, standstill.longest.contender)
        .because(summary, STUCK_REMEDY_IN_DOUBT)
}

const HELD_LONG_REMEDY: &str = "ask the owner of this lock whether its work takes that long; if its process hangs, restart it, which frees the lock only if a session owns it, and if the work grew, raise held-at-most in [[expect]]";

/// Reported whether or not others wait. A hold counts by what is proven of it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct HeldLong;

impl Check for HeldLong {
    fn check_lock(&mut self, context: &LockContext<'_>, found: &mut Vec<Suspicion>) {
        let (table, lock) = (context.table_at.table(), context.lock);
        if lock.holding() == 0 {
            return;
        }
        let Some(promised) = table.elections().held_at_most(lock) else { return };
        for holder in lock.rows(0..lock.holding().min(MAX_SUSPICIONS)) {
            let held = table.clock().hold_bounds(holder.contender, context.now());
            // A hold that may be past the promise is an open question until its bounds decide it.
            found.extend(
                held.filter(|held| held.at_most > promised).map(|held| judge_hold(context, &holder, held, promised)),
            );
        }
    }
}

fn judge_hold(context: &LockContext<'_>, holder: &ContenderRow<'_>, held: HoldBounds, promised: Duration) -> Suspicion {
    let at_least = if held.is_exact() { "" } else { "at least " };
    let waiting = match context.waiting() {
        0 => String::new(),
        1 => "; 1 waits".to_owned(),
        many => format!("; {} wait", human::count(many)),
    };
    let summary = format!(
        "{} has held for {at_least}{}, and its owner promised {} at most{waiting}",
        context.table_at.who(holder.contender),
        human::duration(held.at_least),
        human::duration(promised)
    );
    let finding =
        of_contender(Code::HeldLong, Severity::Warning, context, holder.contender).because(summary, HELD_LONG_REMEDY);
    // At exactly that time the promise is still kept.
    let lasts = promised.saturating_add(Duration::from_millis(1));
    Suspicion::new(finding, context.now(), lasts).of_state(holder.contender.czxid.0).proved_by(held.at_least)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, Example, curator, queue};

    pub fn examples() -> Vec<Example> {
        vec![(Code::Ghost, ghost())]
    }

    fn ghost() -> DiagnosisFixture {
        let mut world = queue(&[1, 2]);
        world.pass(2);
        let client = world.client(1);
        (client.connected, client.listed) = (false, false);
        world.pass(15);
        world
    }

    #[test]
    fn a_node_that_outlives_its_session_is_a_ghost_and_blocks_its_waiters() {
        let mut world = DiagnosisFixture::new();
        let ghost = world.create(&curator("/l", 1), 1);
        world.create(&curator("/l", 2), 2);
        world.pass(20);
        assert_eq!(world.codes(Severity::Warning), []);
        let client = world.client(1);
        (client.connected, client.listed) = (false, false);
        assert_eq!(world.pass(9), (vec![], vec![]));
        assert_eq!(world.pass(4).0, [Code::Ghost]);
        assert_eq!(world.severity(Code::Ghost), Some(Severity::Critical));
        world.delete(&ghost);
        assert_eq!(world.pass(1).1, [Code::Ghost]);
    }

    #[test]
    fn a_ghost_among_the_members_of_a_group_blocks_nobody() {
        let mut world = DiagnosisFixture::new();
        for number in 1..=2 {
            world.create("/workers/worker-", number);
        }
        world.pass(2);
        let client = world.client(1);
        (client.connected, client.listed) = (false, false);
        world.pass(15);
        assert_eq!(world.severity(Code::Ghost), Some(Severity::Warning));
    }

    #[test]
    fn a_session_that_a_silent_server_may_know_is_no_ghost() {
        let mut world = DiagnosisFixture::new();
        world.create(&curator("/l", 1), 1);
        let client = world.client(1);
        (client.connected, client.listed) = (false, false);
        world.answers = false;
        world.pass(30);
        assert_eq!(world.codes(Severity::Info), []);
    }

    #[test]
    fn a_node_deleted_soon_after_its_session_is_no_ghost() {
        let mut world = DiagnosisFixture::new();
        let node = world.create(&curator("/l", 1), 1);
        world.pass(5);
        let client = world.client(1);
        (client.connected, client.listed) = (false, false);
        world.pass(5);
        world.delete(&node);
        assert_eq!(world.pass(20), (vec![], vec![]));
    }
}
