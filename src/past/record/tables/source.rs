//! Where a row comes from.

/// Where the facts of a row come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Source {
    /// A recorder that watched the ensemble.
    #[default]
    Watched,
    /// The transaction logs of a server.
    Log,
    /// Both: the row was begun by one and continued by the other.
    Both,
}

impl Source {
    /// Returns the name in JSON and in the tables.
    pub fn id(self) -> &'static str {
        match self {
            Self::Watched => "watched",
            Self::Log => "log",
            Self::Both => "both",
        }
    }

    /// Returns the source with this name; rows of earlier versions have none, and are watched.
    pub fn from_id(id: Option<&str>) -> Self {
        match id {
            Some("log") => Self::Log,
            Some("both") => Self::Both,
            _ => Self::Watched,
        }
    }

    /// Returns the source of a row that this one continues.
    #[must_use]
    pub fn and(self, next: Self) -> Self {
        if self == next { self } else { Self::Both }
    }
}
