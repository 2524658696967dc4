//! The screens, and the selections of those that are lists.

use super::cursor::Cursor;
use super::waits::WaitId;
use crate::contend::ClientId;
use crate::queue::LockId;
use crate::znode::{SessionId, ZnodePath};

/// A part of a screen that can have the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    /// The list, or the text of a screen without a list.
    List,
    /// The details of the selected row.
    Details,
    /// What is wrong with the lock.
    Findings,
}

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

    /// Its panes, from left to right; a list comes first.
    pub fn panes(self) -> &'static [Pane] {
        match self {
            Self::Queue => &[Pane::List, Pane::Details, Pane::Findings],
            Self::Audit => &[Pane::List, Pane::Details],
            _ => &[Pane::List],
        }
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

/// The selection of each list.
#[derive(Debug)]
pub struct Cursors {
    /// Of Locks.
    pub locks: Cursor<LockId>,
    /// Of Queue.
    pub contenders: Cursor<ZnodePath>,
    /// Of Sessions.
    pub sessions: Cursor<SessionId>,
    /// Of Waits.
    pub waits: Cursor<WaitId>,
    /// Of Contend, for each side.
    pub clients: [Cursor<ClientId>; 2],
    /// Of Timeline.
    pub timeline: Cursor<u64>,
    /// Of Audit.
    pub audit: Cursor<String>,
}

impl Default for Cursors {
    fn default() -> Self {
        Self {
            locks: Cursor::first(),
            contenders: Cursor::first(),
            sessions: Cursor::first(),
            waits: Cursor::first(),
            clients: [Cursor::first(), Cursor::first()],
            timeline: Cursor::last(),
            audit: Cursor::last(),
        }
    }
}
