//! Measures what the visible rows need of the columns of their list, after each event.

use rustc_hash::FxHashMap;

use super::list::ColumnNeeds;
use super::lists::names::shorten;
use super::{App, ListScreen, LockColumn, LockList, Screen};
use crate::tui::page::BORDER;
use lockscope_model::queue::{LockId, LockQueue};
use lockscope_model::text::Charset;

/// The screen, the width of its list and the filter that the needs of rows belong to.
pub type NeedsOf = (Screen, u16, String);

/// The names of the visible locks, shortened so that no two look alike.
#[derive(Debug, Default)]
pub struct ShortNames {
    /// The whole names, and the columns that each may take.
    of: (Vec<(LockId, String)>, usize),
    short: FxHashMap<LockId, String>,
}

impl ShortNames {
    fn new(of: (Vec<(LockId, String)>, usize), charset: Charset) -> Self {
        let whole: Vec<_> = of.0.iter().map(|(_, name)| name.as_str()).collect();
        let short = shorten(&whole, of.1, charset);
        Self { short: of.0.iter().map(|(id, _)| *id).zip(short).collect(), of }
    }
}

impl App {
    /// The width of the list inside its box, in columns of the terminal.
    pub(super) fn list_width(&self) -> u16 {
        self.layout().map_or(self.size.0, |layout| layout.main.width).saturating_sub(BORDER)
    }

    /// Measures what the visible rows need of the list's columns.
    pub(super) fn measure(&mut self) {
        let Some((list, layout)) = self.screen().list().zip(self.layout) else { return };
        let of = (self.screen(), layout.main.width, self.filter().text().to_owned());
        if self.navigation.needs_of.as_ref() != Some(&of) {
            (self.navigation.needs, self.navigation.needs_of) = (ColumnNeeds::default(), Some(of));
        }
        let (mut needs, height) = (std::mem::take(&mut self.navigation.needs), layout.rows().1);
        list.measure(self, height, &mut needs);
        self.navigation.needs = needs;
        if self.screen() == Screen::Locks {
            let placed = LockList.place(self, self.list_width());
            let column = placed.iter().find(|column| column.key == LockColumn::Lock);
            let columns = column.map_or(0, |column| usize::from(column.width));
            let names = (LockList.long_names(self, columns, height), columns);
            // The names are mostly those of the event before.
            if self.navigation.short_names.of != names {
                self.navigation.short_names = ShortNames::new(names, self.charset());
            }
            let (top, world) = (self.cursors.locks.top(), self.world());
            let visible = world.locks().window(top..top + height).filter_map(|id| world.table().lock(id));
            self.navigation.longest_queue = visible.map(LockQueue::waiting).max().unwrap_or(0);
        }
    }

    /// The name of a visible lock that is too long for its column, shortened.
    pub fn short_name(&self, lock: LockId) -> Option<&str> {
        self.navigation.short_names.short.get(&lock).map(String::as_str)
    }

    /// The number of waiters in the longest visible queue.
    pub fn longest_visible_queue(&self) -> usize {
        self.navigation.longest_queue
    }
}
