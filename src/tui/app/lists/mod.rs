//! The list screens: one file each, with what is particular about it. What they do alike is in [`list`](super::list).

mod audit;
mod clients;
mod locks;
mod queue;
mod sessions;
mod timeline;
mod waits;

pub use audit::AuditEntries;
pub use clients::Clients;
pub use locks::Locks;
pub use queue::{Queue, QueueRow};
pub use sessions::Sessions;
pub use timeline::TimelineList;
pub use waits::Waits;

use super::list::List;
use super::{App, Screen};

/// The list of a screen; `None` of one that shows text.
pub(super) fn list_of(screen: Screen) -> Option<&'static dyn List<App>> {
    Some(match screen {
        Screen::Locks => &Locks,
        Screen::Queue => &Queue,
        Screen::Sessions => &Sessions,
        Screen::Waits => &Waits,
        Screen::Contend => &Clients,
        Screen::Timeline => &TimelineList,
        Screen::Audit => &AuditEntries,
        Screen::Help | Screen::Unreadable | Screen::Servers => return None,
    })
}
