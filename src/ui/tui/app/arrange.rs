//! Computes the layout. The text in the box below a list decides how high the box is.

use super::layout::Wishes;
use super::{App, Area, Layout, Screen};
use crate::tui::page::Page;
use lockscope_model::queue::LockId;

/// Minimum lines of a text below a list.
const MIN_TEXT_HEIGHT: u16 = 6;

/// The screen, terminal size, open lock and single shown pane that a height of the box below the
/// list belongs to. While these stay the same, the box only grows, so that moving the selection
/// does not move the list.
pub(super) type SideOf = (Screen, (u16, u16), Option<LockId>, Option<usize>);

impl App {
    /// Computes the layout.
    pub(super) fn arrange(&mut self) {
        let mut wishes = self.wishes();
        if self.screen() == Screen::Locks {
            wishes.side = self.below_locks_wish(Layout::left_below_rows(self.size.1, &wishes));
        }
        let lock = self.world().open_lock().map(lockscope_model::queue::LockQueue::id);
        let of = (self.screen(), self.size, lock, self.only_pane(self.size.0));
        if let Some((before, height)) = self.navigation.side
            && before == of
        {
            wishes.side.1 = wishes.side.1.max(height);
        }
        self.navigation.side = Some((of, wishes.side.1));
        self.layout = Layout::of(self.size, wishes);
    }

    fn wishes(&self) -> Wishes {
        let lines = |lines: usize| u16::try_from(lines).unwrap_or(u16::MAX);
        let figures = self.screen() == Screen::Contend && !self.shows_picture();
        Wishes {
            banner: lines(self.banner_lines().len()),
            caption: self.caption_height(),
            fleets: figures,
            overlaps: if self.shows_picture() { 0 } else { lines(self.overlap_lines().len()) },
            rows: self.screen().list().map_or(0, |list| list.len(self)),
            side: self.side_wish(),
            side_fills: matches!(self.screen(), Screen::Ensembles | Screen::Timeline | Screen::History),
        }
    }

    fn side_wish(&self) -> (u16, u16) {
        let panes = self.screen().entry().panes;
        if panes.is_empty() {
            return (0, 0);
        }
        let width = Layout::pane_width(self.size.0, panes.len());
        let shown = self.only_pane(self.size.0).map_or(panes, |only| &panes[only..=only]);
        let height = |page: Page| page.height();
        let wanted = shown.iter().map(|(_, write)| height(write(self, Area { width, ..Area::default() }))).max();
        (MIN_TEXT_HEIGHT, wanted.unwrap_or(0).max(MIN_TEXT_HEIGHT))
    }
}
