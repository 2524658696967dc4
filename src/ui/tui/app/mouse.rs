//! The mouse: it presses tabs, titles of columns, rows and the keys in the footer, and its wheel
//! scrolls.

use super::list::Pressed;
use super::{App, Area, Mouse, Screen, Update};
use crate::tui::keymap::Command;
use crate::tui::page::Focus;

/// Rows that one step of the wheel moves.
const ROWS_PER_WHEEL_TURN: isize = 3;

fn is_in(area: Area, column: u16, line: u16) -> bool {
    (area.x..area.x + area.width).contains(&column) && (area.y..area.y + area.height).contains(&line)
}

impl App {
    pub(super) fn mouse(&mut self, mouse: Mouse) -> Update {
        if self.deletions.open.is_some() || self.asks_to_quit() || self.asks_to_run() {
            return Update::default();
        }
        match mouse {
            Mouse::WheelUp => self.step(-ROWS_PER_WHEEL_TURN),
            Mouse::WheelDown => self.step(ROWS_PER_WHEEL_TURN),
            Mouse::Press(column, line) => return self.press(column, line),
        }
        Update::redraw()
    }

    fn press(&mut self, column: u16, line: u16) -> Update {
        let Some(layout) = self.layout() else { return Update::default() };
        if is_in(layout.tabs, column, line) {
            let screen = self.tab_at(column);
            return screen.map_or_else(Update::default, |screen| self.press_command(Command::Go(screen)));
        }
        if is_in(layout.footer, column, line) && self.footer.prompt.is_none() {
            if self.footer.notice.take().is_some() {
                return Update::redraw();
            }
            return self.hint_at(column).map_or_else(Update::default, |command| self.press_command(command));
        }
        if self.footer.prompt.is_some() || self.shows_picture() || self.shows_queue_picture() {
            return Update::default();
        }
        if is_in(layout.main, column, line) {
            return self.press_list(layout.main, column, line);
        }
        // A press into a box below the list gives it the keys.
        let pressed = self
            .pages()
            .into_iter()
            .position(|shown| is_in(shown.area, column, line) && shown.focus == Focus::Elsewhere);
        if let Some((pane, _)) = pressed.and_then(|at| self.navigation.screen.entry().panes.get(self.pane_of(at))) {
            self.navigation.go_to_pane(*pane);
            return Update::redraw();
        }
        Update::default()
    }

    /// Handles a press into the list. On the title of a column, sorts by that column, or reverses
    /// the order if the list is sorted by it. On a row, selects the row, or opens it if it is
    /// selected.
    fn press_list(&mut self, main: Area, column: u16, line: u16) -> Update {
        let Some(list) = self.navigation.screen.list() else { return Update::default() };
        if line == main.y + 1 {
            let title = list.title_at(self, column.saturating_sub(main.x + 1), self.list_width());
            match title {
                Some((_, true)) => self.reverse(),
                Some((name, false)) => self.sort_by(Some(name)),
                None => return Update::default(),
            }
            return Update::redraw();
        }
        let Some((first, height)) = self.layout().map(|layout| layout.rows()) else { return Update::default() };
        let Some(row) = line.checked_sub(first).map(usize::from).filter(|row| *row < height) else {
            return Update::default();
        };
        let has_keys = self.focused_list().is_some();
        match list.press(self, row) {
            Pressed::Nothing => Update::default(),
            Pressed::SelectedRow if has_keys => self.run(Command::Open, None),
            Pressed::Row | Pressed::SelectedRow => {
                self.navigation.go_to_pane(super::Pane::List);
                Update::redraw()
            }
        }
    }

    /// Carries out a command as its key would.
    fn press_command(&mut self, command: Command) -> Update {
        self.tour_yields();
        self.footer.notice = None;
        if command == Command::Go(Screen::Queue) && self.screen() == Screen::Queue {
            return Update::default();
        }
        self.run(command, None)
    }

    /// The index of the screen's pane that the page at `at` belongs to.
    fn pane_of(&self, at: usize) -> usize {
        self.only_pane(self.size.0).unwrap_or(at)
    }
}
