//! The list screens, one file each. [`list`](super::list) has the behaviour that they share.

/// Implements `cursor` and `cursor_mut` for a list whose selection is in this field of
/// [`Cursors`](super::Cursors).
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
mod ensembles;
mod history;
mod locks;
mod queue;
mod session_places;
mod sessions;
mod timeline;
mod waits;

pub use audit::{AuditColumn, AuditEntries};
pub use clients::{ClientColumn, Clients};
pub use ensembles::{EnsembleColumn, Ensembles};
pub use history::{History, HistoryColumn, HistoryId, HistoryRow};
pub use locks::{LockColumn, LockRow, Locks};
pub use queue::{Queue, QueueColumn, QueueRow};
pub use session_places::{PlaceColumn, SessionPlaceRow, SessionPlaces};
pub use sessions::{SessionColumn, Sessions};
pub use timeline::{TimelineColumn, TimelineList};
pub use waits::Waits;
