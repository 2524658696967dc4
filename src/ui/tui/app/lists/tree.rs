//! Tree: the children of one node, or what a search found below it. It is read when it opens, and not
//! live.

use std::sync::LazyLock;

use serde::Serialize;

use crate::tui::app::list::{ListOrder, ListScreen, Sorting};
use crate::tui::app::tree::{ChildState, Tree, TreeOrder, TreeRow};
use crate::tui::app::{App, Filter, Rows, Screen};
use crate::tui::screen::Column;
use lockscope_base::znode::{SessionId, ZnodePath};
use lockscope_model::report::ChildFacts;

pub struct TreeList;

impl ListOrder for TreeOrder {
    type Column = TreeColumn;
    const TABLE: &'static [(Self, &'static str, TreeColumn)] = &[
        (Self::Name, "name", TreeColumn::Name),
        (Self::Children, "children", TreeColumn::Children),
        (Self::Owner, "owner", TreeColumn::Owner),
        (Self::Age, "age", TreeColumn::Age),
        (Self::Data, "data", TreeColumn::Data),
    ];
    const POINTS_DOWN: bool = false;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeColumn {
    Name,
    Children,
    Owner,
    Age,
    Data,
}

const COLUMNS: &[Column<TreeColumn>] = &[
    Column::text(TreeColumn::Name, "NAME", 16, 70, 0),
    Column::number(TreeColumn::Children, "CHILDREN", 9, 1),
    Column::text(TreeColumn::Owner, "OWNER", 12, 46, 2),
    Column::number(TreeColumn::Age, "AGE", 7, 3),
    Column::number(TreeColumn::Data, "DATA", 8, 4),
];

/// What is exported: the children whose stats were read, as `lockscope tree` prints them.
#[derive(Serialize)]
struct TreeExport<'a> {
    path: &'a ZnodePath,
    children: Vec<ChildFacts>,
    /// The number of children whose stats were not read.
    left_out: usize,
}

/// The rows in the past, of which there is no tree.
static NO_TREE: LazyLock<Tree> = LazyLock::new(Tree::default);

impl App {
    /// The tree of the live ensemble; an empty one in the past.
    pub fn tree(&self) -> &Tree {
        if self.shown.is_past() { &NO_TREE } else { &self.tree }
    }

    /// The selected row of the tree.
    pub fn selected_child(&self) -> Option<TreeRow<'_>> {
        self.tree().row(self.cursors.tree.rank())
    }
}

impl ListScreen<App> for TreeList {
    type Id = u32;
    type Row<'a> = TreeRow<'a>;
    type Order = TreeOrder;
    type Column = TreeColumn;

    fn columns(&self) -> &'static [Column<TreeColumn>] {
        COLUMNS
    }

    fn chosen<'a>(&self, app: &'a App) -> Option<&'a [String]> {
        app.chosen_columns(Screen::Tree)
    }

    fn rows<'a>(&self, app: &'a App) -> impl Rows<u32> + 'a {
        app.tree()
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<TreeRow<'a>> {
        app.tree().row(rank)
    }

    cursor_in!(tree: u32);

    fn copied(&self, app: &App, row: TreeRow<'_>) -> Option<String> {
        Some(app.tree().path_of(row).to_string())
    }

    /// Opens the queue of a lock, or else goes into the node.
    fn open(&self, app: &mut App) {
        let Some(path) = app.selected_child().map(|row| app.tree().path_of(row)) else { return };
        match app.world().table().find(&path, None) {
            Some(lock) => app.open_lock(lock),
            None => app.open_tree_at(path, None),
        }
    }

    fn filter<'a>(&self, app: &'a App) -> Option<&'a Filter> {
        Some(&app.tree().filter)
    }

    fn set_filter(&self, app: &mut App, filter: Filter) {
        app.tree.set_filter(filter);
    }

    fn order(&self, app: &App) -> Option<Sorting<TreeOrder>> {
        Some(app.tree().sorting)
    }

    fn sort(&self, app: &mut App, sorting: Sorting<TreeOrder>) {
        app.tree.sort(sorting);
    }

    fn exported(&self, app: &App) -> Result<String, String> {
        let (tree, now) = (app.tree(), app.server_now());
        let rows = (0..tree.len()).filter_map(|rank| tree.row(rank));
        let facts = rows.filter_map(|row| match row.state {
            ChildState::Read(stat) => Some(ChildFacts::new(row.name.to_owned(), &stat.whole(), now)),
            ChildState::Unread | ChildState::Gone => None,
        });
        let children: Vec<_> = facts.collect();
        let left_out = tree.all() + tree.left_out - children.len();
        app.as_json(TreeExport { path: &tree.path, children, left_out })
    }

    fn session(&self, app: &App) -> Option<SessionId> {
        match app.selected_child()?.state {
            ChildState::Read(stat) => stat.owner,
            ChildState::Unread | ChildState::Gone => None,
        }
    }

    /// The selected node, or the open one where there is none.
    fn node(&self, app: &App) -> Option<ZnodePath> {
        let tree = app.tree();
        Some(app.selected_child().map_or_else(|| tree.path.clone(), |row| tree.path_of(row)))
    }

    fn changes_with_time(&self, app: &App) -> bool {
        !app.tree().is_empty()
    }
}
