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

mod ensembles;
mod history;
pub mod locks;
pub mod names;
pub mod queue;
pub mod sessions;
pub mod sorted_locks;
pub mod tree;
pub mod waits;

pub use super::contend::{ClientColumn, Clients};
pub use ensembles::{EnsembleColumn, Ensembles};
pub use history::{
    AuditColumn, AuditEntries, HistoryColumn, HistoryId, HistoryList, HistoryRow, TimelineColumn, TimelineList,
};
pub use locks::{LockColumn, LockList, LockRow};
pub use queue::{QueueColumn, QueueList, QueueRow};
pub use sessions::{PlaceColumn, SessionColumn, SessionList, SessionPlaceRow, SessionPlaces};
pub use tree::{TreeColumn, TreeList};
pub use waits::WaitList;
