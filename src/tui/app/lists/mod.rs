//! The list screens: one file each, with what is particular about it. What they do alike is in [`list`](super::list).

/// Says in which field of [`Cursors`](super::Cursors) a list keeps its selection.
macro_rules! cursor_in {
    ($field:ident: $id:ty) => {
        fn cursor<'a>(&self, app: &'a App) -> &'a crate::tui::app::Cursor<$id> {
            &app.cursors.$field
        }

        fn cursor_mut<'a>(&self, app: &'a mut App) -> &'a mut crate::tui::app::Cursor<$id> {
            &mut app.cursors.$field
        }
    };
}

mod audit;
mod clients;
mod history;
mod locks;
mod queue;
mod session_places;
mod sessions;
mod timeline;
mod waits;

pub use audit::AuditEntries;
pub use clients::Clients;
pub use history::{History, HistoryId, HistoryRow};
pub use locks::Locks;
pub use queue::{Queue, QueueRow};
pub use session_places::{SessionPlaceRow, SessionPlaces};
pub use sessions::Sessions;
pub use timeline::TimelineList;
pub use waits::Waits;
