//! Moving in the pane that has the keys: a list or a text.

use super::App;

impl App {
    pub(super) fn page(&self) -> isize {
        let rows = match self.navigation.screen.list() {
            Some(_) => self.layout().map_or(1, |layout| layout.rows().1),
            None => self.focused_page().map_or(1, |page| page.shown()),
        };
        isize::try_from(rows.saturating_sub(1).max(1)).unwrap_or(1)
    }

    pub(super) fn half_page(&self) -> isize {
        ((self.page() + 1) / 2).max(1)
    }

    pub(super) fn step(&mut self, by: isize) {
        match self.focused_list() {
            Some(list) => {
                let height = self.layout().map_or(1, |layout| layout.rows().1);
                list.step(self, by, height);
            }
            None => self.scroll_page(by),
        }
    }

    pub(super) fn go_to_end(&mut self, to_last: bool) {
        match self.focused_list() {
            Some(list) => list.go_to_end(self, to_last),
            None => self.scroll_page(if to_last { isize::MAX } else { isize::MIN }),
        }
    }

    pub(super) fn scroll_page(&mut self, by: isize) {
        let end = self.focused_page().map_or(0, |shown| shown.end());
        self.navigation.scroll.step(by, end);
    }
}
