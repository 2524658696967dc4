//! The user's own commands: programs of the config file that run with values of the selected row.

use super::list::List;
use super::own_output::{CommandReport, OwnOutput, Question};
use super::{App, Effect, Key, Screen, Update};
use crate::tui::keymap::{Command, FixedKey};
use crate::tui::own_command::{CommandOutput, OwnCommand, OwnValues, PreparedCommand, host_of};
use crate::tui::page::Scroll;
use lockscope_base::znode::ZnodePath;

impl App {
    /// The user's command with that key on this screen.
    pub(super) fn own_command_of(&self, key: Key) -> Option<OwnCommand> {
        let here = |own: &&OwnCommand| own.key == key && own.screens.contains(&self.navigation.screen);
        self.settings.commands.iter().find(here).cloned()
    }

    /// Says where the user's command with that key works, if there is one.
    pub(super) fn own_elsewhere(&self, key: Key) -> Option<String> {
        let own = self.settings.commands.iter().find(|own| own.key == key)?;
        let titles = own.screens.iter().map(|screen| screen.entry().title).collect::<Vec<_>>().join(", ");
        let label = key.label(self.settings.ascii);
        Some(format!("{label} ({}) does nothing here; it works in {titles}.", own.name))
    }

    /// The user's command with that name.
    pub(super) fn own_command_named(&self, name: &str) -> Option<OwnCommand> {
        self.settings.commands.iter().find(|own| own.name == name).cloned()
    }

    /// Runs a command with the values of the selected row, after a question where one is due.
    pub(super) fn run_own(&mut self, own: &OwnCommand) -> Update {
        self.footer.notice = None;
        if !own.screens.contains(&self.navigation.screen) {
            return self.refuse(format!("`{}` does nothing on this screen.", own.name));
        }
        let command = match own.prepare(&self.own_values()) {
            Ok(command) => command,
            Err(why) => return self.refuse(why),
        };
        let is_current =
            self.shown.is_live() && (self.navigation.screen == Screen::Ensembles || self.world().table().is_live());
        let of_past = !is_current;
        if own.confirm || of_past {
            self.own_runs.question = Some(Question { command, of_past, scroll: Scroll::default() });
            return Update::redraw();
        }
        self.start_own(command)
    }

    /// The values of the selected row.
    fn own_values(&self) -> OwnValues {
        let (screen, list) = (self.navigation.screen, self.navigation.screen.list());
        let path = match (&self.navigation.node, screen) {
            (Some(open), Screen::Node) => Some(open.path().clone()),
            _ => list.and_then(|list| list.node(self)),
        };
        let session = list.and_then(|list: &dyn List<Self>| list.session(self));
        let address = session.and_then(|session| self.world().table().address_of(session));
        let context = match screen {
            Screen::Ensembles => self.selected_ensemble().map(|row| row.name.to_string()),
            _ => self.settings.context.clone(),
        };
        OwnValues {
            path: path.as_ref().map(ZnodePath::to_string),
            session: session.map(|session| session.to_string()),
            client_host: address.map(|address| host_of(address).to_owned()),
            context,
        }
    }

    fn start_own(&mut self, command: PreparedCommand) -> Update {
        if command.output == CommandOutput::Pane {
            if let Some(running) = self.own_runs.output.as_ref().filter(|output| output.is_running()) {
                let why = format!("`{}` was not run: `{}` still runs. ", command.name, running.name());
                let then = self.settings.bindings.fill("{output} shows it, and there {back} stops it.");
                return self.refuse(why + &then);
            }
            self.own_runs.output = Some(OwnOutput::new(&command));
            self.go(Screen::Output);
        }
        Update::effect(Effect::RunCommand(Box::new(command)))
    }

    /// Stops the command whose output is on the screen. `None` when none runs there, or when a
    /// search is to be cleared first.
    pub(super) fn stop_own(&self) -> Option<Update> {
        let stops = self.navigation.screen == Screen::Output && self.runs_command() && !self.is_narrowed();
        stops.then(|| Update::effect(Effect::StopCommand))
    }

    /// Handles the answer to the question whether to run a command.
    pub(super) fn answer_run(&mut self, key: Key) -> Update {
        // In a terminal that is too small, nobody could read what would run.
        if FixedKey::Yes.is(key) && self.layout().is_some() {
            let question = self.own_runs.question.take();
            return question.map_or_else(Update::default, |question| self.start_own(question.command));
        }
        if FixedKey::No.is(key) || FixedKey::Leave.is(key) {
            self.own_runs.question = None;
            return Update::redraw();
        }
        let moves =
            [(Command::Up, -1), (Command::Down, 1), (Command::PageUp, -self.page()), (Command::PageDown, self.page())];
        let by = moves.into_iter().find(|(command, _)| self.settings.bindings.keys_of(*command).contains(&key));
        let end = self.popup().map_or(0, |shown| shown.end());
        if let Some((question, (_, by))) = self.own_runs.question.as_mut().zip(by) {
            question.scroll.step(by, end);
        }
        Update::redraw()
    }

    /// Takes in what a command reports.
    pub(super) fn command_reported(&mut self, report: CommandReport) -> Update {
        let redraw = self.navigation.screen == Screen::Output;
        match report {
            CommandReport::Output(output) => {
                if let Some(shown) = &mut self.own_runs.output {
                    shown.add(&output);
                }
                return Update { redraw, effects: Vec::new() };
            }
            CommandReport::Ended { end, left_out } => {
                let Some(shown) = &mut self.own_runs.output else { return Update::default() };
                let text = end.sentence(shown.name());
                let is_good = end.is_good();
                shown.end(end, left_out);
                if !redraw {
                    let text = format!("{text} {}", self.settings.bindings.fill("{output} shows its output."));
                    if is_good { self.show_notice(text) } else { self.show_failure(text) }
                }
            }
            CommandReport::Returned { name, end } => {
                let text = end.sentence(&name);
                if end.is_good() { self.show_notice(text) } else { self.show_failure(text) }
            }
        }
        Update::redraw()
    }
}
