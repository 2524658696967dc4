//! Commands that filter, sort, pause, draw and copy.

use super::{App, Effect, PromptPurpose, Screen, Shown, Update};
use crate::tui::page::BORDER;
use lockscope_base::znode::{escaped, must_be_escaped};

impl App {
    pub(super) fn filter_by(&mut self, text: Option<&str>) {
        if let Some(text) = text {
            self.look_for(text);
            self.looked_for(text);
        } else {
            let text = self.highlighted().text().to_owned();
            self.footer.ask(PromptPurpose::Filter, &text);
        }
    }

    pub(super) fn sort_by(&mut self, column: Option<&str>) {
        let width = self.list_width();
        let sorted = self.navigation.screen.list().map_or(Ok(()), |list| list.sort_by(self, column, width));
        self.say_what_sorts(sorted);
    }

    /// Chooses the second column to sort by, which orders rows that are equal in the first.
    pub(super) fn then_by(&mut self, column: Option<&str>) {
        let width = self.list_width();
        let sorted = self.navigation.screen.list().map_or(Ok(()), |list| list.then_by(self, column, width));
        self.say_what_sorts(sorted);
    }

    fn say_what_sorts(&mut self, sorted: Result<(), String>) {
        if let (Err(word), Some(list)) = (sorted, self.navigation.screen.list()) {
            let (title, names) = (self.navigation.screen.entry().title, list.sort_names().join(", "));
            self.show_failure(format!("`{word}` is not a column: {title} can be sorted by {names}, or two of them."));
        }
    }

    /// The width of the list inside its box, in columns of the terminal.
    pub(super) fn list_width(&self) -> u16 {
        self.layout().map_or(self.size.0, |layout| layout.main.width).saturating_sub(BORDER)
    }

    pub(super) fn reverse(&mut self) {
        if let Some(list) = self.navigation.screen.list() {
            list.reverse(self);
        }
    }

    /// Pauses the screen, or resumes it.
    pub(super) fn turn_pause(&mut self) {
        match self.shown {
            Shown::Paused(_) => self.shown = Shown::Live,
            _ => self.shown.pause(self.wall, &self.live, self.test_clients.fleets()),
        }
    }

    /// Switches between the list of the screen and its picture. On Locks, shows or hides the graph
    /// of watch events below the list.
    pub(super) fn turn_picture(&mut self) {
        match self.screen() {
            Screen::Locks => self.navigation.turn_graph(),
            Screen::Queue => self.test_clients.motion_mut().turn_queue_picture(),
            _ => self.test_clients.motion_mut().turn_picture(),
        }
    }

    /// Switches between large pictures, for viewers far from the screen, and the usual size.
    pub(super) fn turn_large(&mut self) {
        let is_of_queue = self.screen() == Screen::Queue;
        self.test_clients.motion_mut().turn_large(is_of_queue);
    }

    pub(super) fn copy(&mut self) -> Update {
        let Some(text) = self.navigation.screen.list().and_then(|list| list.copied(self)) else {
            self.show_failure("There is nothing selected to copy.".to_owned());
            return Update::redraw();
        };
        let text = harmless(text);
        self.show_notice(format!("Copied {text}"));
        Update::effect(Effect::Copy(text))
    }
}

/// Returns text that is safe to paste into a terminal. Escapes the text if it contains control or
/// invisible characters. A backslash alone needs no escape, because it occurs in names.
fn harmless(text: String) -> String {
    let does_more = text.chars().any(|character| character != '\\' && must_be_escaped(character));
    if does_more { escaped(&text).into_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copied_text_is_safe_to_paste() {
        let copied = |text: &str| harmless(text.to_owned());
        assert_eq!(copied("/locks/a\nrm -rf x\u{9b}\u{202e}"), r"/locks/a\nrm -rf x\u{9b}\u{202e}");
        assert_eq!(copied(r"/locks/CORP\user-Größe"), r"/locks/CORP\user-Größe");
    }
}
