/// What fills the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Screen {
    /// Every lock.
    Locks,
    /// One lock's queue.
    Queue,
    /// Who holds and who waits.
    Sessions,
    /// Who waits for whom, across locks.
    Waits,
    /// Test clients.
    Contend,
    /// What happened.
    Timeline,
    /// What was changed from here.
    Audit,
    /// What the keys do.
    Help,
    /// Where the server does not let us look.
    Unreadable,
    /// What each server tells about itself.
    Servers,
}

impl Screen {
    /// Every screen.
    pub const ALL: [Self; 10] = [
        Self::Locks,
        Self::Queue,
        Self::Sessions,
        Self::Waits,
        Self::Contend,
        Self::Timeline,
        Self::Audit,
        Self::Help,
        Self::Unreadable,
        Self::Servers,
    ];

    /// Whether it tells who watches what.
    pub fn shows_watchers(self) -> bool {
        matches!(self, Self::Queue | Self::Sessions | Self::Waits)
    }

    /// Its name, for people and for file names.
    pub fn title(self) -> &'static str {
        match self {
            Self::Locks => "Locks",
            Self::Queue => "Queue",
            Self::Sessions => "Sessions",
            Self::Waits => "Waits",
            Self::Contend => "Contend",
            Self::Timeline => "Timeline",
            Self::Audit => "Audit",
            Self::Help => "Help",
            Self::Unreadable => "Unreadable",
            Self::Servers => "Servers",
        }
    }
}
