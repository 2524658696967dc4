//! What is known of the locks of an ensemble: trouble, well with what was looked at, or not known
//! with the reason.
//!
//! Every place that says "OK" or "no finding" takes it from a [`Verdict`]. Architecture invariant: an
//! empty list of findings proves nothing. `Well` carries a [`LookedAt`], which only this module can
//! make, from a look at a live table:
//!
//! ```compile_fail
//! let looked = lockscope_model::verdict::LookedAt { locks: 3 };
//! ```

mod looked_at;
mod servers;

#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::looked_at::{LookedAt, Needs, Unsought};
pub use self::servers::ServerTrouble;
use crate::diagnose::{Diagnosis, LastLook, OpenCheck, Severity};
use crate::queue::LockTable;
use crate::text::human::{duration, plural};
use lockscope_base::znode::ZnodePath;

/// What is known of the locks of one ensemble at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is a finding that counts, or servers do not serve.
    Trouble(Trouble),
    /// There is no finding that counts, and the looks would have shown one.
    Well(LookedAt),
    /// There is no finding that counts, and there may be one.
    Unknown(NotKnown),
}

/// What is wrong with an ensemble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    worst: Severity,
    servers: Option<ServerTrouble>,
    looked: Option<LookedAt>,
}

/// The kind of a [`Verdict`], from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VerdictKind {
    /// See [`Verdict::Well`].
    Well,
    /// See [`Verdict::Unknown`].
    Unknown,
    /// See [`Verdict::Trouble`].
    Trouble,
}

impl VerdictKind {
    /// Returns the name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Trouble => "trouble",
            Self::Well => "well",
            Self::Unknown => "unknown",
        }
    }
}

/// Why it is not known whether the locks are well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotKnown {
    /// The table is not in step with the ensemble.
    NotLive,
    /// No look for findings was made yet.
    NoLook,
    /// A part of the tree cannot be read, and may contain locks in any state.
    Unreadable {
        /// The number of places.
        places: usize,
        /// The first of them.
        first: ZnodePath,
        /// Why it cannot be read.
        why: String,
    },
    /// Checks are not decided yet.
    Open {
        /// The number of checks.
        checks: usize,
        /// One of them; `None` if there are too many to keep.
        first: Option<Box<OpenCheck>>,
        /// How much longer to look until all are decided; `None` where that is not known.
        known_in: Option<Duration>,
    },
}

impl Verdict {
    /// Judges a table by the looks at it, which lasted for `looked`. Findings less severe than
    /// `fail_on` do not count. Linear in the number of locks.
    pub fn of(table: &LockTable, diagnosis: &Diagnosis, looked: Duration, fail_on: Severity) -> Self {
        let look = diagnosis.last_look().filter(|_| table.is_live());
        // Without a look at the locks, less than critical trouble says too little.
        let counts = |severity: Severity| severity >= fail_on && (look.is_some() || severity == Severity::Critical);
        let servers = ServerTrouble::of(table.view()).filter(|servers| counts(servers.severity()));
        let finding = look.and_then(|_| diagnosis.findings().next()).map(|finding| finding.severity);
        let finding = finding.filter(|worst| *worst >= fail_on);
        if let Some(worst) = finding.max(servers.as_ref().map(ServerTrouble::severity)) {
            let looked = look.map(|look| LookedAt::new(table, diagnosis, look, looked));
            return Self::Trouble(Trouble { worst, servers, looked });
        }
        if !table.is_live() {
            return Self::Unknown(NotKnown::NotLive);
        }
        let Some(look) = look else { return Self::Unknown(NotKnown::NoLook) };
        if let Some((first, why)) = table.unreadable().first_key_value() {
            let (first, why) = (first.clone(), why.clone());
            return Self::Unknown(NotKnown::Unreadable { places: table.unreadable().len(), first, why });
        }
        match look.open_count(fail_on) {
            0 => Self::Well(LookedAt::new(table, diagnosis, look, looked)),
            checks => Self::Unknown(NotKnown::of_open(look, checks, fail_on)),
        }
    }

    /// Judges the locks of a console, by its looks since the last gap. What somebody should look at
    /// counts.
    pub fn of_now(table: &LockTable, diagnosis: &Diagnosis) -> Self {
        let looked = diagnosis.last_look().map(LastLook::lasted).unwrap_or_default();
        Self::of(table, diagnosis, looked, Severity::Warning)
    }

    /// Returns the kind.
    pub fn kind(&self) -> VerdictKind {
        match self {
            Self::Trouble(..) => VerdictKind::Trouble,
            Self::Well(_) => VerdictKind::Well,
            Self::Unknown(_) => VerdictKind::Unknown,
        }
    }

    /// Returns what was looked at; `None` where that proves nothing.
    pub fn looked_at(&self) -> Option<&LookedAt> {
        match self {
            Self::Trouble(trouble) => trouble.looked.as_ref(),
            Self::Well(looked) => Some(looked),
            Self::Unknown(_) => None,
        }
    }

    /// Returns the severity of the worst trouble.
    pub fn worst(&self) -> Option<Severity> {
        if let Self::Trouble(trouble) = self { Some(trouble.worst) } else { None }
    }

    /// Returns what is wrong with the servers, if that counts.
    pub fn servers(&self) -> Option<&ServerTrouble> {
        if let Self::Trouble(trouble) = self { trouble.servers.as_ref() } else { None }
    }

    /// Returns why it is not known whether the locks are well.
    pub fn not_known(&self) -> Option<&NotKnown> {
        if let Self::Unknown(why) = self { Some(why) } else { None }
    }
}

impl NotKnown {
    fn of_open(look: &LastLook, checks: usize, fail_on: Severity) -> Self {
        let mut open = look.open().iter().filter(|open| open.severity >= fail_on);
        let known_in = open.clone().map(|open| open.known_in).try_fold(Duration::ZERO, |all, one| Some(all.max(one?)));
        Self::Open { checks, first: open.next().cloned().map(Box::new), known_in }
    }

    /// Returns the reason in words. Names from the tree are as they are, and must be escaped.
    pub fn sentence(&self) -> String {
        match self {
            Self::NotLive => "the locks are not in step with the ensemble".to_owned(),
            Self::NoLook => "nobody has looked for findings yet".to_owned(),
            Self::Unreadable { places: 1, first, why } => format!("{first} cannot be read: {why}"),
            Self::Unreadable { places, first, why } => {
                format!("{} cannot be read, {first} among them: {why}", plural(*places, "place", "places"))
            }
            Self::Open { checks, known_in, .. } => {
                let when = known_in.map(|known_in| format!(", known in {}", duration(known_in))).unwrap_or_default();
                format!("{} not decided yet{when}", plural(*checks, "check is", "checks are"))
            }
        }
    }
}
