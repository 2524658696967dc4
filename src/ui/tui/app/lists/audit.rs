//! Audit: the audit log of this console and of others.

use crate::tui::app::list::{FixedOrder, ListScreen};
use crate::tui::app::{App, Filter, Pane, Rows, Screen};
use crate::tui::screen::Column;
use lockscope_base::znode::ZnodePath;
use lockscope_live::admin::audit::AuditEntry;

pub struct AuditEntries;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditColumn {
    Time,
    Action,
    Result,
    Owner,
    Who,
    Ensemble,
    Node,
}

const COLUMNS: &[Column<AuditColumn>] = &[
    Column::text(AuditColumn::Time, "TIME", 19, 19, 1),
    Column::text(AuditColumn::Action, "WHAT", 6, 6, 4),
    Column::text(AuditColumn::Result, "RESULT", 15, 15, 0),
    Column::text(AuditColumn::Owner, "OWNER", 9, 9, 5),
    Column::text(AuditColumn::Who, "WHO", 9, 24, 3),
    Column::text(AuditColumn::Ensemble, "ENSEMBLE", 10, 30, 2),
    Column::text(AuditColumn::Node, "NODE", 16, 70, 0),
];

impl ListScreen<App> for AuditEntries {
    type Id = String;
    type Row<'a> = &'a AuditEntry;
    type Order = FixedOrder;
    type Column = AuditColumn;

    fn columns(&self) -> &'static [Column<AuditColumn>] {
        COLUMNS
    }

    fn chosen<'a>(&self, app: &'a App) -> Option<&'a [String]> {
        app.chosen_columns(Screen::Audit)
    }

    fn rows<'a>(&self, app: &'a App) -> impl Rows<String> + 'a {
        app.audit()
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<&'a AuditEntry> {
        app.audit().entry(rank)
    }

    cursor_in!(audit: String);

    /// Returns the node's path; in the details, the session that owns the node.
    fn copied(&self, app: &App, entry: &AuditEntry) -> Option<String> {
        match app.pane() {
            Pane::Details => entry.subject.owner.clone(),
            Pane::List | Pane::Findings | Pane::Events => Some(entry.subject.path.clone()),
        }
    }

    fn open(&self, app: &mut App) {
        app.navigation.go_to_pane(Pane::Details);
    }

    fn node(&self, app: &App) -> Option<ZnodePath> {
        ZnodePath::new(&app.selected_entry()?.subject.path).ok()
    }

    fn filter<'a>(&self, app: &'a App) -> Option<&'a Filter> {
        Some(app.audit().filter())
    }

    fn set_filter(&self, app: &mut App, filter: Filter) {
        app.audit.set_filter(filter);
    }
}
