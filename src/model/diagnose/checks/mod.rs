//! The checks, one file per kind of finding, and the list of all checks.

mod adopted;
mod churning;
mod deadlock;
mod disagrees;
mod empty;
mod expiring;
mod flapping;
mod foreign;
mod ghost;
mod head_expired;
mod held_long;
mod herd;
mod idle;
mod leaked;
mod leaking;
mod lost_wake_up;
mod nobody_holds;
mod nobody_leads;
mod orphan;
mod orphan_suspected;
mod overflow;
mod participant_missing;
mod persistent;
mod self_blocked;
mod silent;
mod stale_owner;
pub(super) mod stuck;
mod two_leaders;

use serde::{Deserialize, Serialize};

use super::context::{Check, LockContext, TableContext};
use super::suspicion::Suspicion;
use super::unwatched::{self, UnwatchedMemory};
use super::{Code, Severity, TableAt, Thresholds, waits};
use crate::queue::LockQueue;

macro_rules! checks {
    ($($module:ident: $check:ident,)*) => {
        /// All checks with their memories, in the order in which they run.
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        pub(super) struct Checks {
            unwatched_waiters: UnwatchedMemory,
            $($module: $module::$check,)*
        }

        impl Checks {
            fn each(&mut self) -> [&mut dyn Check; [$(stringify!($module)),*].len()] {
                [$(&mut self.$module),*]
            }
        }

        /// Returns examples that raise each code, for the test of the sentences.
        #[cfg(test)]
        pub(super) fn examples() -> Vec<super::testing::Example> {
            [$($module::tests::examples()),*].concat()
        }
    };
}

checks! {
    ghost: Ghost,
    disagrees: MemberDisagrees,
    persistent: PersistentContender,
    overflow: SequenceOverflow,
    orphan: Orphan,
    orphan_suspected: OrphanSuspected,
    lost_wake_up: LostWakeUp,
    nobody_holds: NobodyHolds,
    expiring: ExpiringHolder,
    silent: SilentHolder,
    adopted: AdoptedNode,
    head_expired: HeadChangedByExpiry,
    idle: IdleHolder,
    stuck: Stuck,
    leaked: LeakedWatch,
    empty: EmptyParent,
    foreign: ForeignChild,
    deadlock: Deadlock,
    self_blocked: SelfBlocked,
    nobody_leads: NobodyLeads,
    two_leaders: TwoLeaders,
    stale_owner: StaleOwner,
    flapping: Flapping,
    participant_missing: ParticipantMissing,
    held_long: HeldLong,
    leaking: LeakingSession,
    churning: Churning,
    herd: HerdStorm,
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
        context.unwatched = unwatched::unwatched(&context, &mut self.unwatched_waiters);
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
