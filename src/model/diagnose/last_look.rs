//! What the last look for findings covered, and what it could not decide.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Code, Severity};
use crate::queue::LockName;
use lockscope_base::znode::Timestamp;

/// Maximum number of open checks that are kept. The others are only counted.
const MAX_OPEN: usize = 1_000;

/// A check of a lock that the looks so far could not decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCheck {
    /// The lock.
    pub lock: LockName,
    /// The finding that it would be.
    pub check: Code,
    /// The severity that the finding would have.
    pub severity: Severity,
    /// Why it is not decided.
    pub why: WhyOpen,
    /// How much longer to look; `None` where that is not known.
    pub known_in: Option<Duration>,
}

/// Why a check is not decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyOpen {
    /// The state was seen twice, and is a finding only if it lasts for longer.
    Lasts,
    /// A server that showed the finding does not answer any more.
    NoAnswer,
}

impl WhyOpen {
    /// Returns the name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Lasts => "lasts",
            Self::NoAnswer => "no-answer",
        }
    }
}

/// The last look of a [`Diagnosis`](super::Diagnosis), and the looks before it.
///
/// It exists only after a look at a table that was live. An absence of findings means something
/// together with it, never alone.
#[derive(Clone, Debug)]
pub struct LastLook {
    /// The time of the first look since the findings were last forgotten.
    pub since: Timestamp,
    /// The time of the last look.
    pub at: Timestamp,
    /// The number of looks.
    pub rounds: u64,
    open: OpenChecks,
}

impl LastLook {
    /// Creates the result of a look that follows `before`.
    pub(super) fn after(before: Option<&Self>, at: Timestamp, open: OpenChecks) -> Self {
        let (since, rounds) = before.map_or((at, 0), |before| (before.since, before.rounds));
        Self { since, at, rounds: rounds.saturating_add(1), open }
    }

    /// Returns how long the looks have lasted.
    pub fn lasted(&self) -> Duration {
        self.at.since(self.since)
    }

    /// Returns the checks that are not decided, up to a thousand of them.
    pub fn open(&self) -> &[OpenCheck] {
        &self.open.some
    }

    /// Returns how many checks are not decided whose finding would have at least this severity.
    pub fn open_count(&self, least: Severity) -> usize {
        self.open_by_check(least).map(|(_, count)| count).sum()
    }

    /// Returns the kinds of those checks, each with their number.
    pub fn open_by_check(&self, least: Severity) -> impl Iterator<Item = (Code, usize)> {
        self.open
            .counts
            .iter()
            .filter(move |((_, severity), _)| *severity >= least)
            .map(|((code, _), count)| (*code, *count))
    }
}

/// The checks that one look could not decide.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenChecks {
    some: Vec<OpenCheck>,
    counts: BTreeMap<(Code, Severity), usize>,
}

impl OpenChecks {
    /// Adds a check. Several nodes of one lock are one check, which is decided with the first.
    pub fn add(&mut self, open: OpenCheck) {
        if let Some(last) = self.some.last_mut()
            && (last.lock.id, last.check, last.severity) == (open.lock.id, open.check, open.severity)
        {
            last.known_in = last.known_in.into_iter().chain(open.known_in).min();
            return;
        }
        *self.counts.entry((open.check, open.severity)).or_default() += 1;
        if self.some.len() < MAX_OPEN {
            self.some.push(open);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::LockId;
    use lockscope_base::znode::ZnodePath;

    fn open(lock: u64, check: Code, seconds: u64) -> OpenCheck {
        OpenCheck {
            lock: LockName { id: LockId(lock), path: ZnodePath::root(), name: None },
            check,
            severity: Severity::Warning,
            why: WhyOpen::Lasts,
            known_in: Some(Duration::from_secs(seconds)),
        }
    }

    #[test]
    fn the_nodes_of_a_lock_are_one_check_and_all_locks_are_counted() {
        let mut checks = OpenChecks::default();
        checks.add(open(1, Code::Ghost, 7));
        checks.add(open(1, Code::Ghost, 3));
        for lock in 0..2_000 {
            checks.add(open(lock, Code::LostWakeUp, 2));
        }
        let look = LastLook::after(None, Timestamp(5), checks);
        assert_eq!(look.open()[0].known_in, Some(Duration::from_secs(3)));
        assert_eq!((look.open().len(), look.open_count(Severity::Warning)), (MAX_OPEN, 2_001));
        assert_eq!(look.open_count(Severity::Critical), 0);
        let kinds: Vec<_> = look.open_by_check(Severity::Info).collect();
        assert_eq!(kinds, [(Code::Ghost, 1), (Code::LostWakeUp, 2_000)]);
        let next = LastLook::after(Some(&look), Timestamp(3_005), OpenChecks::default());
        assert_eq!((next.rounds, next.lasted(), next.open_count(Severity::Info)), (2, Duration::from_secs(3), 0));
    }
}
