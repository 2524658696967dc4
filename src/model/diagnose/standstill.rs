//! A lock without a hand-over, in one headline whatever its cause.
//!
//! A console that was just started knows from the stats that there was no hand-over. After a while
//! it also knows that the holder's client only sends heartbeats. Servers that are so slow that this
//! explains the standstill are named at the end of the sentence.

use std::cmp::Reverse;
use std::time::Duration;

use super::{OwnerState, TableAt};
use crate::queue::{Contender, ContenderRow, HoldBounds, LockQueue};
use crate::server_view::MemberView;
use crate::text::human;
use crate::text::human::{count, duration};
use lockscope_base::recipe::{LockKind, Role};
use lockscope_base::znode::escaped;

/// The servers' abbreviation for a heartbeat, as a client's last operation.
const HEARTBEAT: &str = "PING";

/// Maximum number of holders that a sentence names.
const MAX_NAMED: usize = 4;

/// A held lock, with the time of its longest hold.
#[derive(Clone, Copy, Debug)]
pub struct Standstill<'a> {
    table_at: TableAt<'a>,
    lock: &'a LockQueue,
    /// The contender that has held longest.
    pub(super) longest: ContenderRow<'a>,
    /// How long that contender has held.
    pub held: HoldBounds,
    /// How many contenders wait.
    pub waiting: usize,
    /// Whether that contender's client sends only heartbeats.
    pub(super) is_idle: bool,
}

impl<'a> TableAt<'a> {
    /// Returns the contender that has held a lock longest, with that time; `None` while the lock is
    /// free.
    pub fn standstill(self, lock: &'a LockQueue) -> Option<Standstill<'a>> {
        let longest = longest_holders(lock).max_by_key(|row| (bounds(self, row).at_least, Reverse(row.position)))?;
        let connection = longest.contender.session().and_then(|session| self.view().connection_of(session));
        let is_idle = connection.is_some_and(|(_, found)| found.last_operation.as_deref() == Some(HEARTBEAT));
        Some(Standstill {
            table_at: self,
            lock,
            longest,
            held: bounds(self, &longest),
            waiting: self.waiting(lock),
            is_idle,
        })
    }

    /// Returns how many contenders wait for a lock. For a single node, these are the sessions that
    /// watch it.
    pub fn waiting(&self, lock: &LockQueue) -> usize {
        match lock.kind() {
            LockKind::SingleNode => self.waiters(lock).map_or(0, |watchers| watchers.sessions.len()),
            _ => lock.waiting(),
        }
    }
}

/// Returns how long a contender has held. Unbounded for a node that was deleted and is shown again.
fn bounds(table_at: TableAt<'_>, row: &ContenderRow<'_>) -> HoldBounds {
    let nothing = HoldBounds { at_least: Duration::ZERO, at_most: Duration::MAX };
    table_at.table().clock().hold_bounds(row.contender, table_at.now()).unwrap_or(nothing)
}

/// Formats `13m42s`, or `at least 13m42s` where the beginning is unknown.
fn length_of(held: HoldBounds) -> String {
    let least = if held.is_exact() { "" } else { "at least " };
    format!("{least}{}", duration(held.at_least))
}

/// Returns the holders to compare. Readers acquired at about the same time, so the first stands for
/// all. Leases differ.
fn longest_holders(lock: &LockQueue) -> impl Iterator<Item = ContenderRow<'_>> {
    let holders = if lock.kind() == LockKind::Semaphore { lock.holding() } else { lock.holding().min(1) };
    lock.rows(0..holders)
}

impl Standstill<'_> {
    /// Returns `stuck 13m42s, 2 wait; its client is connected and idle`. The text contains no
    /// colon: in a summary, a colon separates it from the cause.
    pub(super) fn headline(&self) -> String {
        let leases = self.leases().map(|leases| format!(", {leases}")).unwrap_or_default();
        let wait = if self.waiting == 1 { "waits" } else { "wait" };
        let client = self.client().map(|client| format!("; {client}")).unwrap_or_default();
        format!("stuck {}{leases}, {} {wait}{client}", length_of(self.held), count(self.waiting))
    }

    /// Returns `may be stuck, 2 wait, the first for 13m42s; its client is connected`. Contains no
    /// colon either. `first` is [`Duration::MAX`] where the wait is unknown.
    pub(super) fn headline_in_doubt(&self, first: Option<Duration>) -> String {
        let leases = self.leases().map(|leases| format!(", {leases}")).unwrap_or_default();
        let wait = if self.waiting == 1 { "waits" } else { "wait" };
        let first = match first.filter(|first| *first < Duration::MAX) {
            Some(first) if self.waiting == 1 => format!(" for {}", duration(first)),
            Some(first) => format!(", the first for {}", duration(first)),
            None => String::new(),
        };
        let client = self.client().map(|client| format!("; {client}")).unwrap_or_default();
        format!("may be stuck{leases}, {} {wait}{first}{client}", count(self.waiting))
    }

    /// Describes the holders, how long they hold at most, and how long no hand-over was seen.
    pub(super) fn doubt(&self) -> String {
        let most = self.at_most();
        let most = if most < Duration::MAX { format!(", for at most {}", duration(most)) } else { String::new() };
        format!("{}{most}; no hand-over was seen in {}", self.holders(), duration(self.held.at_least))
    }

    /// Returns the maximum time for which a holder has held.
    pub(super) fn at_most(&self) -> Duration {
        let most = longest_holders(self.lock).map(|row| bounds(self.table_at, &row).at_most);
        most.max().unwrap_or_default()
    }

    /// Describes how many leases of a semaphore are held, and whether these are all.
    fn leases(&self) -> Option<String> {
        let held = self.lock.holding();
        if self.lock.kind() != LockKind::Semaphore {
            return None;
        }
        match (held, self.lock.maximum()) {
            (_, Some(most)) if held < most as usize => {
                Some(format!("{} of {} leases are held", count(held), count(most)))
            }
            (1, _) => None,
            (2, _) if self.all_are_held() => Some("both leases are held".to_owned()),
            _ if self.all_are_held() => Some(format!("all {} leases are held", count(held))),
            _ => Some(format!("{} leases are held", count(held))),
        }
    }

    /// Returns whether provably no lease is free.
    ///
    /// If the number of leases is not stored, the first in line has already created its own lease.
    /// It proceeds only when another lease is returned.
    fn all_are_held(&self) -> bool {
        let first = self.lock.row(self.lock.holding());
        self.lock.maximum().is_some() || first.is_some_and(|first| first.contender.role == Role::Lease)
    }

    /// Describes the client that has held longest; `None` if no proof is possible.
    fn client(&self) -> Option<String> {
        if !self.table_at.view().provenance().can_prove() {
            return None;
        }
        let whose = if self.lock.kind() == LockKind::Semaphore && self.lock.holding() > 1 {
            "the client of the oldest"
        } else {
            "its client"
        };
        let what = match self.table_at.owner_of(self.longest.contender).0 {
            OwnerState::Live if self.is_idle => "is connected and idle",
            OwnerState::Live => "is connected",
            OwnerState::Silent => "is connected and silent",
            OwnerState::Expiring => "is not connected",
            OwnerState::Ghost => "is gone",
            OwnerState::Ownerless | OwnerState::Unknown => return None,
        };
        Some(format!("{whose} {what}"))
    }

    /// Names the holders, each lease with its time.
    pub(super) fn holders(&self) -> String {
        let who = |contender: &Contender| self.table_at.who(contender);
        let others = self.lock.holding() - 1;
        if self.lock.kind() != LockKind::Semaphore {
            let so_do = match others {
                0 => String::new(),
                1 => ", and so does 1 more".to_owned(),
                others => format!(", and so do {} more", count(others)),
            };
            return format!("{} holds{so_do}", who(self.longest.contender));
        }
        let mut leases: Vec<_> = longest_holders(self.lock).map(|row| (bounds(self.table_at, &row), row)).collect();
        leases.sort_by_key(|(held, row)| (Reverse(held.at_least), row.position));
        let more = leases.len().saturating_sub(MAX_NAMED);
        let leases = leases.iter().take(MAX_NAMED);
        let mut named: Vec<String> =
            leases.map(|(held, row)| format!("{} for {}", who(row.contender), length_of(*held))).collect();
        if more > 0 {
            named.push(format!("{} more", count(more)));
        }
        match named.split_last() {
            Some((last, others)) if !others.is_empty() => format!("held by {} and {last}", others.join(", ")),
            _ => format!("held by {}", named.join("")),
        }
    }
}

impl TableAt<'_> {
    /// Returns the end of a sentence that names the slowest server, if its writes take long
    /// ([`SLOW_WRITES`](crate::server_view::SLOW_WRITES)); an empty string otherwise. A lock is
    /// handed on by a write of the holder and one of the next.
    pub(super) fn slow_servers(&self) -> String {
        let slow = |member: &MemberView| Some((member.health.as_ref()?.slow_writes()?, member.address.clone()));
        match self.view().members.iter().filter_map(slow).max() {
            Some((time, address)) => format!(
                "; the servers are slow: one write in a hundred takes {} or longer at {}",
                human::latency(time),
                escaped(&address)
            ),
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use crate::diagnose::testing::{queue, work};
    use crate::diagnose::{Code, TableAt};
    use crate::queue::Change;
    use crate::server_view::{Health, ServerView};

    #[test]
    fn a_standstill_says_that_the_servers_are_slow_only_if_they_are() {
        let mut world = queue(&[1, 2]);
        work(&mut world, 65);
        let is_told = |world: &crate::diagnose::testing::DiagnosisFixture| {
            let found = world.found(Code::Stuck).expect("the finding stands");
            found.summary.contains("the servers are slow: one write in a hundred takes 4.00s or longer at zk1:2181")
        };
        assert!(!is_told(&world));
        let mut view = ServerView::clone(world.table.view());
        view.members[0].health = Some(Health { write_p99: Some(Duration::from_secs(4)), ..Health::default() });
        world.apply(Change::Surveyed { view: Arc::new(view) });
        world.diagnosis.examine(&world.table, world.now);
        assert!(is_told(&world), "{:?}", TableAt::new(&world.table, world.now).slow_servers());
    }
}
