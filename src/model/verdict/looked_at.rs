//! What looks for findings covered, and which kinds they could not have shown.

use std::time::Duration;

use crate::diagnose::{Code, Diagnosis, LastLook, is_likely_election, not_seen};
use crate::queue::LockTable;
use crate::text::human::count;

/// What was looked at, without a finding that counts or beside one.
///
/// There is no public constructor: only a look at a live table makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookedAt {
    locks: usize,
    lasted: Duration,
    rounds: u64,
    unsought: Vec<Unsought>,
}

/// A kind of finding that the looks could have shown at no lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsought {
    /// The kind.
    pub code: Code,
    /// What would show it.
    pub needs: Needs,
}

/// What would show a kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needs {
    /// Looks that last for so long.
    Longer(Duration),
    /// The servers' answers about their clients.
    Servers,
    /// What happened before the first look.
    Past,
}

impl Needs {
    /// Returns the name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Longer(_) => "longer-look",
            Self::Servers => "servers",
            Self::Past => "past",
        }
    }
}

impl LookedAt {
    pub(super) fn new(table: &LockTable, diagnosis: &Diagnosis, look: &LastLook, lasted: Duration) -> Self {
        Self { locks: table.lock_count(), lasted, rounds: look.rounds, unsought: unsought(table, diagnosis, lasted) }
    }

    /// Returns the number of locks.
    pub fn locks(&self) -> usize {
        self.locks
    }

    /// Returns how long the looks lasted.
    pub fn lasted(&self) -> Duration {
        self.lasted
    }

    /// Returns the number of looks.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Returns the kinds of findings whose absence proves nothing, in the order of the codes.
    pub fn unsought(&self) -> &[Unsought] {
        &self.unsought
    }

    /// Returns `6 kinds need a longer look, 9 the servers' answers`; `None` if nothing is missing.
    pub fn what_is_missing(&self) -> Option<String> {
        let number = |is: fn(&Needs) -> bool| self.unsought.iter().filter(|unsought| is(&unsought.needs)).count();
        let parts = [
            (number(|needs| matches!(needs, Needs::Longer(_))), "a longer look"),
            (number(|needs| *needs == Needs::Servers), "the servers' answers"),
            (number(|needs| *needs == Needs::Past), "a recording of the time before"),
        ];
        let mut parts = parts.into_iter().filter(|(kinds, _)| *kinds > 0);
        let (kinds, what) = parts.next()?;
        let kind = if kinds == 1 { "kind needs" } else { "kinds need" };
        let first = format!("{} {kind} {what}", count(kinds));
        Some(parts.fold(first, |text, (kinds, what)| format!("{text}, {} {what}", count(kinds))))
    }
}

fn unsought(table: &LockTable, diagnosis: &Diagnosis, lasted: Duration) -> Vec<Unsought> {
    let (thresholds, view) = (diagnosis.thresholds(), table.view());
    let too_short = not_seen(thresholds, lasted);
    let servers_tell = view.provenance().can_prove() && view.every_member_answered();
    let began_lately = lasted < thresholds.flapping.within;
    let (has_locks, has_elections) = (table.lock_count() > 0, table.locks().any(is_likely_election));
    let needs = |code: Code| {
        if code.needs_servers() && !servers_tell {
            return Some(Needs::Servers);
        }
        let is_of_the_past = match code {
            Code::TwoLeaders | Code::Flapping | Code::ParticipantMissing => has_elections,
            Code::HeadChangedByExpiry => has_locks,
            _ => false,
        };
        if is_of_the_past && began_lately {
            return Some(Needs::Past);
        }
        too_short.iter().find(|kind| kind.code == code).map(|kind| Needs::Longer(kind.needs))
    };
    Code::ALL.into_iter().filter_map(|code| Some(Unsought { code, needs: needs(code)? })).collect()
}
