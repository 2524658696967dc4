//! The kinds of findings that need a longer look.

use std::time::Duration;

use super::code::FoundAfter;
use super::{Code, Thresholds};

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
/// Locks that may be stuck are findings themselves, so `stuck` is never among these kinds.
pub fn not_seen(thresholds: &Thresholds, looked: Duration) -> Vec<NotSeen> {
    let undecided = Code::ALL.into_iter().filter(|code| code.traits().found_after != FoundAfter::StuckTimeAtMost);
    let all = undecided.map(|code| NotSeen { code, needs: thresholds.least_time_to_find(code) });
    all.filter(|not_seen| not_seen.needs > looked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_that_need_more_time_than_the_look_are_listed() {
        let codes = |seconds| -> Vec<Code> {
            let found = not_seen(&Thresholds::default(), Duration::from_secs(seconds));
            found.into_iter().map(|not_seen| not_seen.code).collect()
        };
        assert!(codes(2).contains(&Code::Deadlock) && !codes(3).contains(&Code::Deadlock));
        assert!(codes(1).contains(&Code::MayBeStuck) && !codes(2).contains(&Code::MayBeStuck));
        let of_six_seconds = [
            Code::Ghost,
            Code::MemberDisagrees,
            Code::IdleHolder,
            Code::EmptyParent,
            Code::StaleOwner,
            Code::ParticipantMissing,
            Code::GrowingParents,
            Code::Churning,
        ];
        assert_eq!(codes(6), of_six_seconds);
        assert_eq!(codes(3_600), []);
    }
}
