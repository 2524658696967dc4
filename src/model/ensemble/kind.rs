//! The kinds of what happens to the ensemble as a whole.

use serde::{Deserialize, Serialize};

/// What happened to the ensemble as a whole. Recordings store a variant by its position: new ones
/// go to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EnsembleEventKind {
    /// No member served clients, because a majority of the members did not work together.
    NoMajority,
    /// The members elected a leader; which one is not known.
    Election,
    /// Another member leads, or the same one again after an election.
    LeaderChanged,
    /// A member did not answer, while others served.
    MemberMissing,
    /// Writes took a second or longer.
    SlowWrites,
    /// We saw nothing: the connection was lost, or what it showed was outdated.
    NotSeen,
}

impl EnsembleEventKind {
    /// All variants.
    pub const ALL: [Self; 6] =
        [Self::NoMajority, Self::Election, Self::LeaderChanged, Self::MemberMissing, Self::SlowWrites, Self::NotSeen];

    /// Returns the name in JSON and in the tables of recordings.
    pub fn id(self) -> &'static str {
        match self {
            Self::NoMajority => "no-majority",
            Self::Election => "election",
            Self::LeaderChanged => "leader-changed",
            Self::MemberMissing => "member-missing",
            Self::SlowWrites => "slow-writes",
            Self::NotSeen => "not-seen",
        }
    }

    /// Returns the words for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::NoMajority => "no majority",
            Self::Election => "election",
            Self::LeaderChanged => "another leader",
            Self::MemberMissing => "member missing",
            Self::SlowWrites => "slow writes",
            Self::NotSeen => "not seen",
        }
    }

    /// Returns the variant with this name; `None` for names of newer versions.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.id() == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_by_its_name_and_has_the_same_in_json() {
        for kind in EnsembleEventKind::ALL {
            assert_eq!(EnsembleEventKind::from_id(kind.id()), Some(kind));
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{}\"", kind.id()));
        }
        assert_eq!(EnsembleEventKind::from_id("a-newer-one"), None);
    }
}
