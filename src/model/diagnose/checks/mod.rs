//! The checks, in chapters of related findings, and the list of all checks.

mod deadlock;
mod disagrees;
mod election;
mod former_owner;
mod holder;
mod load;
mod tree;
mod unaware;

use serde::{Deserialize, Serialize};

use super::context::{Check, LockContext, TableContext, UnwatchedMemory};
use super::suspicion::Suspicion;
use super::{Code, Severity, TableAt, Thresholds, context, waits};
use crate::queue::LockQueue;

macro_rules! checks {
    ($($field:ident: $module:ident::$check:ident, $tests:ident;)*) => {
        /// All checks with their memories, in the order in which they run.
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        pub struct Checks {
            unwatched_waiters: UnwatchedMemory,
            $($field: $module::$check,)*
        }

        impl Checks {
            fn each(&mut self) -> [&mut dyn Check; [$(stringify!($field)),*].len()] {
                [$(&mut self.$field),*]
            }
        }

        /// Returns examples that raise each code, for the test of the sentences.
        #[cfg(test)]
        pub fn examples() -> Vec<super::testing::Example> {
            [$($module::$tests::examples()),*].concat()
        }
    };
}

checks! {
    ghost: holder::Ghost, tests;
    disagrees: disagrees::MemberDisagrees, tests;
    persistent: tree::PersistentContender, tests;
    overflow: tree::SequenceOverflow, overflow_tests;
    orphan: unaware::Orphan, tests;
    orphan_suspected: unaware::OrphanSuspected, orphan_suspected_tests;
    lost_wake_up: unaware::LostWakeUp, lost_wake_up_tests;
    nobody_holds: unaware::NobodyHolds, nobody_holds_tests;
    expiring: holder::ExpiringHolder, expiring_tests;
    silent: holder::SilentHolder, silent_tests;
    adopted: former_owner::AdoptedNode, tests;
    head_expired: former_owner::HeadChangedByExpiry, head_expired_tests;
    idle: holder::IdleHolder, idle_tests;
    stuck: holder::Stuck, stuck_tests;
    leaked: load::LeakedWatch, tests;
    empty: tree::EmptyParent, empty_tests;
    foreign: tree::ForeignChild, foreign_tests;
    deadlock: deadlock::Deadlock, tests;
    self_blocked: deadlock::SelfBlocked, self_blocked_tests;
    nobody_leads: election::NobodyLeads, tests;
    two_leaders: former_owner::TwoLeaders, two_leaders_tests;
    stale_owner: former_owner::StaleOwner, stale_owner_tests;
    flapping: election::Flapping, flapping_tests;
    participant_missing: election::ParticipantMissing, participant_missing_tests;
    held_long: holder::HeldLong, held_long_tests;
    leaking: load::LeakingSession, leaking_tests;
    churning: load::Churning, churning_tests;
    herd: load::HerdStorm, herd_tests;
    cross_deadlock: deadlock::CrossDeadlock, cross_tests;
}

impl Checks {
    /// Begins a look. Forgets what the last look did not see.
    pub fn begin(&mut self) {
        self.unwatched_waiters.begin();
        for check in self.each() {
            check.begin();
        }
    }

    /// Runs the checks that look at all locks together.
    pub fn check_all(&mut self, table_at: TableAt<'_>, thresholds: &Thresholds, found: &mut Vec<Suspicion>) {
        let (cycles, self_blocked) = waits::cycles(table_at.table());
        let context = TableContext { table_at, thresholds, cycles, self_blocked };
        for check in self.each() {
            check.check_all(&context, found);
        }
        found.retain(|suspicion| disagrees::stands(table_at, &suspicion.finding));
    }

    /// Runs the checks that look at one lock.
    pub fn check_lock(
        &mut self,
        table_at: TableAt<'_>,
        thresholds: &Thresholds,
        lock: &LockQueue,
        found: &mut Vec<Suspicion>,
    ) {
        let mut context = LockContext::new(table_at, thresholds, lock);
        context.unwatched = context::unwatched(&context, &mut self.unwatched_waiters);
        for check in self.each() {
            check.check_lock(&context, found);
        }
        leave_out_what_leaks(found);
        found.retain(|suspicion| disagrees::stands(table_at, &suspicion.finding));
    }
}

/// Leaves out what is suspected of single nodes where their session leaks nodes, unless one of them
/// blocks the lock.
fn leave_out_what_leaks(found: &mut Vec<Suspicion>) {
    let session_of = |suspicion: &Suspicion| suspicion.finding.client.as_ref().and_then(|client| client.session);
    let leaks = found.iter().filter(|suspicion| suspicion.finding.code == Code::LeakingSession);
    let leaking: Vec<_> = leaks.filter_map(session_of).collect();
    if !leaking.is_empty() {
        found.retain(|suspicion| {
            let is_of_node = matches!(suspicion.finding.code, Code::OrphanSuspected | Code::LostWakeUp);
            let blocks = suspicion.finding.severity == Severity::Critical;
            blocks || !is_of_node || session_of(suspicion).is_none_or(|session| !leaking.contains(&session))
        });
    }
}
