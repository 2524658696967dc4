//! The kinds of findings that need a longer look.

use std::time::Duration;

use super::checks::stuck;
use super::code::FoundAfter;
use super::context::LockContext;
use super::{Code, TableAt, Thresholds};
use crate::queue::LockQueue;
use lockscope_base::recipe::LockKind;

/// A kind of finding that was not possible in the time of the look, so that its absence proves
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSeen {
    /// The kind of finding.
    pub code: Code,
    /// How long the table must be watched to find it.
    pub needs: Duration,
}

/// Returns the kinds of findings that a look of length `looked` could not find, in the order of the
/// codes.
///
/// Stuck locks are included only if the evidence for some lock allows both answers.
pub fn not_seen(table_at: TableAt<'_>, thresholds: &Thresholds, looked: Duration) -> Vec<NotSeen> {
    let all = Code::ALL.into_iter().map(|code| NotSeen { code, needs: thresholds.least_time_to_find(code) });
    let too_long = all.filter(|not_seen| not_seen.needs > looked);
    too_long.filter(|not_seen| !is_decided(table_at, thresholds, not_seen.code)).collect()
}

fn is_decided(table_at: TableAt<'_>, thresholds: &Thresholds, code: Code) -> bool {
    let of_code = |lock: &&LockQueue| (lock.kind() == LockKind::Semaphore) == (code == Code::StuckLease);
    let is_undecided = |lock| stuck::is_undecided(&LockContext::new(table_at, thresholds, lock));
    code.traits().found_after == FoundAfter::StuckTimeAtMost
        && !table_at.table().locks().filter(of_code).any(is_undecided)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::testing::{DiagnosisFixture, curator, queue};

    fn codes(world: &DiagnosisFixture, seconds: u64) -> Vec<Code> {
        let table_at = TableAt::new(&world.table, world.now);
        let found = not_seen(table_at, world.diagnosis.thresholds(), Duration::from_secs(seconds));
        found.into_iter().map(|not_seen| not_seen.code).collect()
    }

    #[test]
    fn findings_that_need_more_time_than_the_look_are_listed() {
        let world = DiagnosisFixture::new();
        assert!(codes(&world, 2).contains(&Code::Deadlock) && !codes(&world, 3).contains(&Code::Deadlock));
        let of_six_seconds = [
            Code::Ghost,
            Code::MemberDisagrees,
            Code::IdleHolder,
            Code::EmptyParent,
            Code::StaleOwner,
            Code::ParticipantMissing,
        ];
        assert_eq!(codes(&world, 6), of_six_seconds);
        assert_eq!(codes(&world, 3_600), []);
    }

    #[test]
    fn a_lock_that_may_be_stuck_needs_more_time() {
        let mut world = queue(&[1, 2, 3]);
        world.now = world.now.plus(Duration::from_secs(600));
        let head = world.lock("/l").path_of(world.lock("/l").first_holder().expect("the lock has a holder"));
        world.delete(&head);
        world.begin_anew();
        assert!(codes(&world, 6).contains(&Code::Stuck) && !codes(&world, 6).contains(&Code::StuckLease));
        world.create(&curator("/l", 9), 9);
        world.now = world.now.plus(Duration::from_secs(61));
        world.begin_anew();
        assert!(!codes(&world, 6).contains(&Code::Stuck), "it is proven that it is");
    }
}
