//! Which findings the time was too short for.

use std::time::Duration;

use super::checks::stuck;
use super::code::FoundAfter;
use super::context::LockContext;
use super::{Code, TableAt, Thresholds};
use crate::queue::LockQueue;
use lockscope_base::recipe::LockKind;

/// A kind of finding that could not be seen in the time in which a table was looked at: that there is none means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSeen {
    /// Which.
    pub code: Code,
    /// For how long the table must be looked at to see it.
    pub needs: Duration,
}

/// What could not be seen of a table that was looked at for so long, in the order of the codes. A lock that may be stuck is undecided
/// only if what its nodes prove allows either.
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
    fn what_takes_longer_than_the_look_is_not_seen() {
        let world = DiagnosisFixture::new();
        assert!(codes(&world, 2).contains(&Code::Deadlock) && !codes(&world, 3).contains(&Code::Deadlock));
        assert_eq!(codes(&world, 6), [Code::Ghost, Code::MemberDisagrees, Code::IdleHolder, Code::EmptyParent]);
        assert_eq!(codes(&world, 3_600), []);
    }

    #[test]
    fn a_lock_that_may_be_stuck_or_not_is_said_to_need_more_time() {
        let mut world = queue(&[1, 2, 3]);
        world.now = world.now.plus(Duration::from_secs(600));
        let head = world.lock("/l").path_of(world.lock("/l").first_holder().expect("a holder"));
        world.delete(&head);
        world.begin_anew();
        assert!(codes(&world, 6).contains(&Code::Stuck) && !codes(&world, 6).contains(&Code::StuckLease));
        world.create(&curator("/l", 9), 9);
        world.now = world.now.plus(Duration::from_secs(61));
        world.begin_anew();
        assert!(!codes(&world, 6).contains(&Code::Stuck), "it is proven that it is");
    }
}
