//! Keys and the mouse become commands, and each command finds who carries it out.

use super::commands::{command, named};
use super::list::Pressed;
use super::{App, Effect, Key, Mouse, Prompt, PromptPurpose, ROWS_PER_WHEEL_TURN, Screen, Update};
use crate::tui::keymap::Command;

/// Why nothing is changed or asked while a file is shown, and while the past of what is live is.
const NOT_IN_A_RECORDING: &str = "This is a recording: the ensemble is neither changed nor asked.";
const NOT_IN_THE_PAST: &str = "This is the past: F goes back to what is live, where that can be done.";

impl Update {
    pub(super) fn redraw() -> Self {
        Self { redraw: true, effects: Vec::new() }
    }

    pub(super) fn effect(effect: Effect) -> Self {
        Self { redraw: true, effects: vec![effect] }
    }
}

impl App {
    pub(super) fn key(&mut self, key: Key) -> Update {
        if self.footer.asks_to_quit {
            return self.answer(key);
        }
        if key == Key::Ctrl('c') {
            return self.quit();
        }
        if self.deletions.open.is_some() {
            return self.answer_plan(key);
        }
        if self.footer.prompt.is_some() && self.layout().is_some() {
            return self.type_key(key);
        }
        match command(key, self.navigation.screen, self.tour.is_some()) {
            // The tour's keys play and stop a recording, too.
            Some(Command::TourPlay | Command::TourNext | Command::Tag)
                if self.replay.is_some() && self.tour.is_none() =>
            {
                self.play_or_stop()
            }
            Some(command) if command.is_of_tour() && self.tour.is_none() => Update::default(),
            Some(command) => {
                self.tour_yields();
                self.footer.notice = None;
                self.run(command, None)
            }
            None => Update::default(),
        }
    }

    pub(super) fn mouse(&mut self, mouse: Mouse) -> Update {
        if self.deletions.open.is_some() {
            return Update::default();
        }
        match mouse {
            Mouse::WheelUp => self.step(-ROWS_PER_WHEEL_TURN),
            Mouse::WheelDown => self.step(ROWS_PER_WHEEL_TURN),
            Mouse::Press(_, line) => return self.press(line),
        }
        Update::redraw()
    }

    /// Selects the row on that line; opens it when it is selected already.
    fn press(&mut self, line: u16) -> Update {
        let Some(layout) = self.layout() else { return Update::default() };
        if self.shows_picture() || self.shows_queue_picture() {
            return Update::default();
        }
        let (first, height) = layout.rows();
        let Some(row) = line.checked_sub(first).map(usize::from).filter(|row| *row < height) else {
            return Update::default();
        };
        match self.navigation.screen.list().map_or(Pressed::Nothing, |list| list.press(self, row)) {
            Pressed::Nothing => Update::default(),
            Pressed::Row => Update::redraw(),
            Pressed::SelectedRow => self.run(Command::Open, None),
        }
    }

    fn type_key(&mut self, key: Key) -> Update {
        let Some(mut prompt) = self.footer.prompt.take() else { return Update::default() };
        match (key, prompt.purpose) {
            (Key::Esc, PromptPurpose::Filter) => self.set_filter(""),
            // A plan takes its keys itself.
            (Key::Esc, _) | (Key::Enter, PromptPurpose::Filter | PromptPurpose::Confirmation) => {}
            (Key::Enter, PromptPurpose::Clients) => return self.start_pair(prompt.text()),
            (Key::Enter, PromptPurpose::ClientsIntoQueue) => return self.start_in_queue(prompt.text()),
            (Key::Enter, PromptPurpose::Command) => return self.obey(prompt.text()),
            (Key::Up, PromptPurpose::Filter) => {
                self.footer.prompt = Some(prompt);
                self.step(-1);
            }
            (Key::Down, PromptPurpose::Filter) => {
                self.footer.prompt = Some(prompt);
                self.step(1);
            }
            _ => {
                let leaves = key == Key::Backspace && prompt.text().is_empty();
                if prompt.edit(key) && prompt.purpose == PromptPurpose::Filter && prompt.text() != self.filter().text()
                {
                    self.set_filter(prompt.text());
                }
                if !leaves {
                    self.footer.prompt = Some(prompt);
                }
            }
        }
        Update::redraw()
    }

    /// Carries out a typed command.
    fn obey(&mut self, line: &str) -> Update {
        let line = line.trim();
        let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if name.is_empty() {
            return Update::redraw();
        }
        let argument = Some(argument.trim()).filter(|argument| !argument.is_empty());
        match named(name, self.navigation.screen) {
            Ok(entry) if argument.is_some() && entry.argument.is_none() => {
                self.show_failure(format!("`{}` takes nothing after it.", entry.name));
            }
            Ok(entry) if !self.navigation.screen.has(entry.command) => {
                self.show_failure(format!("`{}` does nothing on this screen.", entry.name));
            }
            Ok(entry) => return self.run(entry.command, argument),
            Err(error) => self.show_failure(error.to_string()),
        }
        Update::redraw()
    }

    fn run(&mut self, command: Command, argument: Option<&str>) -> Update {
        let leads_to_ensemble = command.changes_ensemble()
            || matches!(command, Command::Go(Screen::Node | Screen::Audit | Screen::Contend | Screen::Comparison));
        if self.replay.is_some() && leads_to_ensemble {
            let is_of_live = self.replay.as_ref().is_some_and(|replay| replay.is_of_live());
            return self.refuse(if is_of_live { NOT_IN_THE_PAST } else { NOT_IN_A_RECORDING }.to_owned());
        }
        match command {
            Command::PlayFaster => return self.change_speed(true),
            Command::PlaySlower => return self.change_speed(false),
            Command::ReturnToLive => return self.return_to_live(),
            Command::Pause if self.replay.is_some() => return self.play_or_stop(),
            Command::Up => self.step(-1),
            Command::Down => self.step(1),
            Command::PageUp => self.step(-self.page()),
            Command::PageDown => self.step(self.page()),
            Command::First => self.go_to_end(false),
            Command::Last => self.go_to_end(true),
            Command::Left => self.left(),
            Command::Right => self.right(),
            Command::Open => self.open_selected(),
            Command::Back => self.back(),
            Command::NextPane => self.go_to_next_pane(),
            Command::Go(Screen::Queue) => self.go_to_queue(),
            Command::Go(Screen::History) => self.go_to_history(),
            Command::Go(Screen::Audit) => return self.open_audit(),
            Command::Go(Screen::Node) => return self.open_node_of_row(argument),
            Command::Go(Screen::Session) => self.open_session_of_row(argument),
            Command::Go(screen) if screen.list().is_none() => self.toggle(screen),
            Command::Go(screen) => self.go(screen),
            Command::Delete => return self.ask_to_delete(),
            Command::Tag => self.tag(),
            Command::Lock => self.open_path(argument),
            Command::Filter => self.filter_by(argument),
            Command::Sort => self.sort_by(argument),
            Command::Reverse => self.reverse(),
            Command::Pause => self.turn_pause(),
            Command::Times => self.settings.utc = !self.settings.utc,
            Command::Copy => return self.copy(),
            Command::Export => return self.export(),
            Command::Prompt => self.footer.prompt = Some(Prompt::new(PromptPurpose::Command, "")),
            Command::Redraw => return Update::effect(Effect::Redraw),
            Command::Suspend => return Update::effect(Effect::Suspend),
            Command::Quit => return self.quit(),
            Command::Start => return self.start(argument),
            Command::Stop => return self.stop_fleets(),
            Command::Holder => self.select_holder(),
            Command::Picture => self.turn_picture(),
            Command::Large => self.turn_large(),
            Command::Slower => return self.go_slower(),
            Command::Faster => return self.go_faster(),
            Command::StopOrGo => return self.stop_or_go_on(),
            Command::PlayStep => return self.play_one_step(),
            Command::TourNext => return self.tour_next(),
            Command::TourBack => return self.tour_back(),
            Command::TourNextScene => return self.tour_next_scene(),
            Command::TourPreviousScene => return self.tour_previous_scene(),
            Command::TourScene => return self.tour_scene(argument),
            Command::TourPlay => return self.tour_plays(),
            Command::Join
            | Command::Leave
            | Command::Crash
            | Command::Freeze
            | Command::Cut
            | Command::Heal
            | Command::Delay => return self.order(command, argument),
            Command::NextEvent
            | Command::PreviousEvent
            | Command::NextMinute
            | Command::PreviousMinute
            | Command::NextFinding
            | Command::PreviousFinding
            | Command::GoToTime => return self.travel_by(command, argument),
        }
        Update::redraw()
    }
}
