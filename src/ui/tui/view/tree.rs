//! ```text
//! ┌ Tree ── /apps ── 3 children ── read at 14:41:07 ── sort: name ▲ ───────────┐
//! │  NAME             CHILDREN  OWNER                        AGE     DATA      │
//! │▌ billing                12  -                            2d4h    0 B       │
//! │  worker-7                0  10.0.4.17:51586  0x1…0001b   14m02s  9 B       │
//! ```

use ratatui::style::Style;

use super::View;
use super::list::{ListTitle, ListView, who_is};
use crate::tui::app::{ChildState, SearchEnd, Tree, TreeColumn, TreeList, TreeRow, TreeSearch};
use crate::tui::page::node::special_owner;
use crate::tui::screen::Placed;
use crate::tui::widget::Cell;
use lockscope_model::text::human::{bytes, count, duration, plural, time_of_day};
use lockscope_model::text::{Keep, width};

/// Columns of the title that the path leaves free, and those beside a search.
const BESIDE_PATH: usize = 40;
const BESIDE_SEARCH: usize = 62;

impl ListView for TreeList {
    fn title(&self, view: View<'_>) -> ListTitle {
        let (tree, theme) = (view.app.tree(), view.theme);
        if view.app.replay().is_some() {
            return ListTitle { name: "Tree".to_owned(), ..ListTitle::default() };
        }
        let columns = usize::from(view.app.layout().map_or(80, |layout| layout.main.width));
        let beside = if tree.search.is_some() { BESIDE_SEARCH } else { BESIDE_PATH };
        let path = view.fit(tree.path.as_str(), columns.saturating_sub(beside), Keep::End);
        let mut after_filter = told(view, tree);
        if let Some(at) = tree.listed_at.filter(|_| tree.search.is_none()) {
            after_filter.push((format!("read at {}", time_of_day(at, view.app.settings().utc)), theme.text));
        }
        let before_filter = vec![(path, theme.strong)];
        ListTitle { name: "Tree".to_owned(), before_filter, all: tree.all(), after_filter, ..ListTitle::default() }
    }

    fn why_empty(&self, view: View<'_>, _: usize) -> Vec<String> {
        let tree = view.app.tree();
        if view.app.replay().is_some() {
            return vec!["Recordings have no tree: only the live ensemble can be asked for it.".to_owned()];
        }
        if tree.trouble.is_some() {
            return vec![view.sentence("{tree} reads it again, {back} goes up.")];
        }
        if !tree.filter.is_empty() && tree.all() > 0 {
            return view.nothing_contains("No child");
        }
        match (tree.search.as_ref(), tree.listed_at) {
            (Some(search), _) if search.end.is_none() => vec!["Nothing was found yet.".to_owned()],
            (Some(search), _) => vec![nothing_found(search)],
            (None, None) => vec!["The children are being read.".to_owned()],
            (None, Some(_)) => vec![view.sentence("This node has no children: {node} shows the node itself.")],
        }
    }

    fn cell(&self, view: View<'_>, row: &TreeRow<'_>, column: Placed<TreeColumn>) -> Cell {
        let (theme, columns) = (view.theme, usize::from(column.width));
        if column.key == TreeColumn::Name {
            let keep = if view.app.tree().search.is_some() { Keep::End } else { Keep::Ends };
            return Cell::new(view.fit(row.name, columns, keep), theme.strong);
        }
        let stat = match row.state {
            ChildState::Read(stat) => stat,
            ChildState::Unread => return Cell::new(theme.signs.charset.ellipsis(), theme.dim),
            ChildState::Gone if column.key == TreeColumn::Owner => return Cell::new("gone", theme.dim),
            ChildState::Gone => return Cell::new("", theme.dim),
        };
        let number = |number: i32| usize::try_from(number).unwrap_or_default();
        match column.key {
            TreeColumn::Children if stat.children > 0 => Cell::new(count(number(stat.children)), theme.text),
            TreeColumn::Age if stat.created_at.0 > 0 => {
                Cell::new(duration(view.app.server_now().since(stat.created_at)), theme.text)
            }
            TreeColumn::Data if stat.data_length > 0 => Cell::new(bytes(number(stat.data_length) as u64), theme.text),
            TreeColumn::Owner => match stat.owner {
                None => Cell::new("-", theme.dim),
                Some(owner) => match special_owner(owner) {
                    Some((short, _)) => Cell::new(short, theme.dim),
                    None => Cell::new(who_is(view, owner, columns), theme.text),
                },
            },
            _ => Cell::new("-", theme.dim),
        }
    }

    /// Marks the parents of locks.
    fn mark(&self, view: View<'_>, row: &TreeRow<'_>) -> Option<(&'static str, Style)> {
        let lock = view.app.world().table().find(&view.app.tree().path_of(*row), None);
        lock.map(|_| (view.theme.signs.holds, view.theme.good))
    }

    fn trouble<'a>(&self, view: View<'a>) -> Option<&'a str> {
        view.app.tree().trouble.as_deref()
    }
}

/// Says where a search that has ended has found nothing.
fn nothing_found(search: &TreeSearch) -> String {
    let looked = format!("Nothing was found in {}", plural(search.visited, "node", "nodes"));
    match (search.unsearched, search.end) {
        (0, Some(SearchEnd::Complete)) => format!("{looked}."),
        (0, _) => format!("{looked}; the rest was not searched."),
        (left, _) => format!("{looked}; {} not searched: gone, too large, or not readable.", count(left)),
    }
}

/// Says how much was read, or how far the search is.
fn told(view: View<'_>, tree: &Tree) -> Vec<(String, Style)> {
    let theme = view.theme;
    if let Some(search) = tree.search.as_ref() {
        let text = view.fit(search.filter.text(), 24, Keep::Start);
        let (end, style) = match search.end {
            None => (view.sentence("{back} stops"), theme.text),
            Some(SearchEnd::Complete) if search.unsearched > 0 => {
                (format!("{} not searched", count(search.unsearched)), theme.wait)
            }
            Some(SearchEnd::Complete) => ("complete".to_owned(), theme.good),
            Some(SearchEnd::Stopped) => ("stopped".to_owned(), theme.wait),
            Some(SearchEnd::Visited | SearchEnd::Found) => ("no more is searched".to_owned(), theme.wait),
        };
        let looked = plural(search.visited, "node", "nodes");
        let found = format!("{} found in {looked}, {end}", count(tree.all()));
        return vec![(format!("find: {text}"), theme.wait), (found, style)];
    }
    if tree.listed_at.is_none() {
        return Vec::new();
    }
    let mut parts = vec![(plural(tree.all(), "child", "children"), theme.text)];
    if tree.left_out > 0 {
        parts.push((format!("{} left out", count(tree.left_out)), theme.wait));
    }
    let (read, all) = tree.progress();
    if read < all {
        let longest = format!("stats of {} of {} read", count(read), count(all));
        let is_narrow = width(&longest) + BESIDE_PATH > usize::from(view.app.layout().map_or(80, |it| it.main.width));
        let text = if is_narrow { format!("{} of {} read", count(read), count(all)) } else { longest };
        parts.push((text, theme.dim));
    }
    parts
}
