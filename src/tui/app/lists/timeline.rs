//! Timeline: what happened, newest last.

use serde::Serialize;

use crate::tui::app::export::TimelineLine;
use crate::tui::app::list::{FixedOrder, ListScreen};
use crate::tui::app::{App, Cursor, Filter, Rows, TimelineEntry};

/// The list of Timeline.
pub struct TimelineList;

#[derive(Serialize)]
struct TimelineExport<'a> {
    happenings: Vec<TimelineLine<'a>>,
}

impl ListScreen<App> for TimelineList {
    type Id = u64;
    type Row<'a> = &'a TimelineEntry;
    type Order = FixedOrder;

    fn rows<'a>(&self, app: &'a App) -> impl Rows<u64> + 'a {
        app.world().timeline_rows()
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<&'a TimelineEntry> {
        app.world().timeline().get(app.world().timeline_rows().id(rank)?)
    }

    fn cursor<'a>(&self, app: &'a App) -> &'a Cursor<u64> {
        &app.cursors.timeline
    }

    fn cursor_mut<'a>(&self, app: &'a mut App) -> &'a mut Cursor<u64> {
        &mut app.cursors.timeline
    }

    fn copied(&self, _: &App, entry: &TimelineEntry) -> Option<String> {
        entry.lock().map(|lock| lock.path.to_string())
    }

    /// Opens the lock of the entry, on the contender that it is about when that is still there.
    fn open(&self, app: &mut App) {
        let Some(entry) = self.row(app, self.cursor(app).rank()) else { return };
        let node = entry.node().cloned();
        match entry.lock().map(|lock| (lock.id, app.world().table().lock(lock.id).is_some(), lock.path.clone())) {
            Some((id, true, path)) => {
                app.open_lock(id);
                if let Some(node) = node {
                    app.select_contender(path.child(&node));
                }
            }
            Some((_, false, path)) => app.show_failure(format!("The lock {path} is gone.")),
            None => app.show_failure("This concerns the connection, not a lock.".to_owned()),
        }
    }

    fn filter<'a>(&self, app: &'a App) -> Option<&'a Filter> {
        Some(app.world().timeline_filter())
    }

    fn set_filter(&self, app: &mut App, filter: Filter) {
        app.each_world(|world| world.filter_timeline(filter.clone()));
    }

    fn exported(&self, app: &App) -> Result<String, String> {
        let rows = app.world().timeline_rows();
        let happenings = (0..rows.len()).filter_map(|rank| self.row(app, rank)).map(TimelineLine::new).collect();
        app.as_json(TimelineExport { happenings })
    }
}
