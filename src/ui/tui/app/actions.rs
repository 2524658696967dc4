//! Dispatches each command to the method that carries it out.

use super::list::Find;
use super::{App, Effect, PromptPurpose, Screen, Update};
use crate::tui::keymap::Command;

impl App {
    pub(super) fn run(&mut self, command: Command, argument: Option<&str>) -> Update {
        let leads_to_ensemble = command.changes_ensemble()
            || matches!(command, Command::Go(Screen::Node | Screen::Audit | Screen::Contend | Screen::Comparison));
        if let Some(why) = self.shown.refusal().filter(|_| leads_to_ensemble) {
            return self.refuse(self.settings.bindings.fill(why));
        }
        if let Some(why) = self.refusal_outside(command) {
            return self.refuse(self.settings.bindings.fill(why));
        }
        match command {
            Command::Go(Screen::Ensembles) => return self.go_to_ensembles(),
            Command::PlayFaster | Command::PlaySlower => return self.change_playing(command),
            Command::Pause if self.shown.is_past() => return self.change_playing(command),
            Command::ReturnToLive => return self.return_to_live(),
            Command::Up => self.step(-1),
            Command::Down => self.step(1),
            Command::PageUp => self.step(-self.page()),
            Command::PageDown => self.step(self.page()),
            Command::HalfPageUp => self.step(-self.half_page()),
            Command::HalfPageDown => self.step(self.half_page()),
            Command::NextMatch => self.go_to_match(Find::Next),
            Command::PreviousMatch => self.go_to_match(Find::Previous),
            Command::First => self.go_to_end(false),
            Command::Last => self.go_to_end(true),
            Command::Left => self.left(),
            Command::Right => self.right(),
            Command::Open => self.open_selected(),
            Command::Back => match self.stop_own() {
                Some(stop) => return stop,
                None => self.back(),
            },
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
            // No screen has this command: only an open deletion plan reads its key.
            Command::AskOwner => {}
            Command::Lock if self.looks_in_ensembles() => self.seek_in_ensembles(argument),
            Command::Lock => self.open_path(argument),
            Command::Filter => self.filter_by(argument),
            Command::Sort => self.sort_by(argument),
            Command::ThenBy => self.then_by(argument),
            Command::Reverse => self.reverse(),
            Command::Pause => self.turn_pause(),
            Command::Times => self.settings.utc = !self.settings.utc,
            Command::Copy => return self.copy(),
            Command::Export => return self.export(),
            Command::Context => return self.go_to_context(argument),
            Command::Prompt => self.footer.ask(PromptPurpose::Command, ""),
            Command::Redraw => return Update::effect(Effect::Redraw),
            Command::Suspend => return Update::effect(Effect::Suspend),
            Command::Quit => return self.quit(),
            Command::Start => return self.start(argument),
            Command::Stop => return self.stop_fleets(),
            Command::Holder => self.select_holder(),
            Command::Picture => self.turn_picture(),
            Command::Large => self.turn_large(),
            Command::Slower | Command::Faster | Command::StopOrGo | Command::PlayStep => {
                return self.change_motion(command);
            }
            Command::TourNext
            | Command::TourBack
            | Command::TourNextScene
            | Command::TourPreviousScene
            | Command::TourScene
            | Command::TourPlay => return self.turn_tour(command, argument),
            Command::Join
            | Command::Leave
            | Command::Crash
            | Command::Freeze
            | Command::Cut
            | Command::Heal
            | Command::Delay => return self.order(command, argument),
            Command::Import => return self.import_past(argument),
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
