//! What people said of findings: that they know, and until when nobody needs to be told.
//!
//! A [`Mute`] covers one finding, the findings at some locks for the time of planned work, or those
//! that restarting members cause. It hides nothing: a muted finding stands, and is counted apart.
//!
//! This module knows kinds and severities of findings by their names in JSON, because recordings
//! and notes of other versions may have more of them.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use lockscope_base::recipe::PathPattern;
use lockscope_base::znode::{Timestamp, ZnodePath};

#[cfg(test)]
mod tests;

/// The most mutes of one ensemble.
pub const MAX_MUTES: usize = 1_000;

/// The longest note, in characters.
pub const MAX_NOTE_CHARS: usize = 200;

/// A mute of one finding or of several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mute {
    /// What it covers.
    pub scope: MuteScope,
    /// From when on it applies, by this machine's clock.
    pub since: Timestamp,
    /// Until when it applies; `None` until its finding is cleared.
    pub until: Option<Timestamp>,
    /// What the person wrote.
    pub note: Arc<str>,
    /// The person who muted, as `user@host`.
    pub by: Arc<str>,
}

/// What a mute covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MuteScope {
    /// One finding.
    Finding(MutedFinding),
    /// Findings at these locks.
    Locks {
        /// The paths of the locks.
        path: PathPattern,
        /// The kinds of findings; all where there is none.
        codes: Vec<Arc<str>>,
    },
    /// Restarting members: servers that do not serve, and findings about which clients are
    /// connected.
    Maintenance,
}

/// A finding that somebody muted. One that gets more severe is not covered any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MutedFinding {
    /// The lock's path.
    pub lock: ZnodePath,
    /// The queue's name, where the parent has several queues.
    pub name: Option<Arc<str>>,
    /// The kind of the finding.
    pub code: Arc<str>,
    /// The node, where the finding is about one.
    pub node: Option<Arc<str>>,
    /// The severity when it was muted.
    pub severity: Arc<str>,
}

/// A finding, as far as mutes know it.
#[derive(Clone, Copy, Debug)]
pub struct MutableFinding<'a> {
    /// The lock's path.
    pub lock: &'a ZnodePath,
    /// The queue's name, where the parent has several queues.
    pub name: Option<&'a str>,
    /// The kind.
    pub code: &'a str,
    /// The node.
    pub node: Option<&'a str>,
    /// The severity.
    pub severity: &'a str,
    /// Whether it rests on which clients are connected.
    pub is_of_liveness: bool,
}

/// The mutes of one ensemble.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mutes {
    all: Vec<Arc<Mute>>,
    /// Positions of those of one finding, by the path of the lock.
    by_lock: FxHashMap<ZnodePath, Vec<usize>>,
    /// Positions of the others.
    wide: Vec<usize>,
}

impl Mutes {
    /// Collects mutes; those beyond [`MAX_MUTES`] are left out.
    pub fn new(all: impl IntoIterator<Item = Arc<Mute>>) -> Self {
        let mut mutes = Self { all: all.into_iter().take(MAX_MUTES).collect(), ..Self::default() };
        for (at, mute) in mutes.all.iter().enumerate() {
            match &mute.scope {
                MuteScope::Finding(finding) => mutes.by_lock.entry(finding.lock.clone()).or_default().push(at),
                MuteScope::Locks { .. } | MuteScope::Maintenance => mutes.wide.push(at),
            }
        }
        mutes
    }

    /// Returns all of them, also those whose time is over or has not come.
    pub fn all(&self) -> &[Arc<Mute>] {
        &self.all
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the mute that covers a finding.
    pub fn of(&self, finding: &MutableFinding<'_>, now: Timestamp) -> Option<&Arc<Mute>> {
        let of_lock = self.by_lock.get(finding.lock).into_iter().flatten();
        let mut mutes = of_lock.chain(&self.wide).filter_map(|at| self.all.get(*at));
        mutes.find(|mute| mute.applies_at(now) && mute.scope.covers(finding))
    }

    /// Returns the maintenance that goes on.
    pub fn maintenance(&self, now: Timestamp) -> Option<&Arc<Mute>> {
        let mut mutes = self.wide.iter().filter_map(|at| self.all.get(*at));
        mutes.find(|mute| mute.scope == MuteScope::Maintenance && mute.applies_at(now))
    }

    /// Returns the memory that this takes, in bytes.
    pub fn memory(&self) -> u64 {
        self.all.iter().map(|mute| mute.memory()).sum()
    }
}

impl Mute {
    /// Returns whether the time of the mute has come and is not over.
    pub fn applies_at(&self, now: Timestamp) -> bool {
        self.since <= now && !self.is_over(now)
    }

    /// Returns whether the time of the mute is over.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    fn memory(&self) -> u64 {
        let of_scope = match &self.scope {
            MuteScope::Finding(finding) => {
                2 * finding.lock.as_str().len()
                    + finding.name.as_ref().map_or(0, |name| name.len())
                    + finding.node.as_ref().map_or(0, |node| node.len())
            }
            MuteScope::Locks { path, codes } => path.as_str().len() + size_of::<[usize; 4]>() * codes.len(),
            MuteScope::Maintenance => 0,
        };
        (size_of::<Self>() + size_of::<[usize; 8]>() + self.note.len() + self.by.len() + of_scope) as u64
    }
}

impl MuteScope {
    fn covers(&self, finding: &MutableFinding<'_>) -> bool {
        match self {
            Self::Finding(muted) => {
                (&muted.lock, muted.name.as_deref(), muted.node.as_deref())
                    == (finding.lock, finding.name, finding.node)
                    && *muted.code == *finding.code
                    && rank(finding.severity) <= rank(&muted.severity)
            }
            Self::Locks { path, codes } => {
                path.matches(finding.lock) && (codes.is_empty() || codes.iter().any(|code| **code == *finding.code))
            }
            Self::Maintenance => finding.is_of_liveness,
        }
    }
}

/// The names of the severities, the mildest first.
const SEVERITIES: [&str; 3] = ["info", "warning", "critical"];

/// Returns the place of a severity; an unknown one mutes no more than the mildest.
fn rank(severity: &str) -> usize {
    SEVERITIES.iter().position(|known| *known == severity).unwrap_or_default()
}

impl Serialize for Mutes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.all.iter().map(|mute| &**mute))
    }
}

impl<'de> Deserialize<'de> for Mutes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Mute>::deserialize(deserializer).map(|all| Self::new(all.into_iter().map(Arc::new)))
    }
}
