//! Completion on the command line: names of commands, and values of their arguments.

use super::commands::named;
use super::list::List;
use super::moments::START;
use super::{App, Prompt, PromptPurpose, Rows};
use crate::tui::keymap::{ArgumentKind, Command, CommandEntry, commands};

/// Maximum number of completions.
const MAX_OFFERED: usize = 50;

impl App {
    /// Returns the completed lines for a typed line, the most likely first. Linear in the number of
    /// locks when the argument is a lock or a node.
    pub(super) fn completions(&self, line: &str) -> Vec<String> {
        let Some((name, typed)) = line.trim_start().split_once(char::is_whitespace) else {
            return self.offered_names(line.trim_start());
        };
        let Ok(entry) = named(name, self.navigation.screen, &self.settings.bindings) else { return Vec::new() };
        let Some(argument) = entry.argument else { return Vec::new() };
        // Where an argument has several words, only the last one is completed.
        let several = matches!(argument.kind, ArgumentKind::Columns | ArgumentKind::Client);
        let (before, word) = match typed.rsplit_once(char::is_whitespace).filter(|_| several) {
            Some((before, word)) => (format!("{before} "), word),
            None => (String::new(), typed.trim_start()),
        };
        let lines = self.offered_values(argument.kind, word).into_iter().map(|value| format!("{name} {before}{value}"));
        lines.take(MAX_OFFERED).collect()
    }

    /// The text that completion would insert at the cursor of the command line.
    pub fn ghost(&self) -> Option<String> {
        let prompt = self.command_prompt()?;
        let offered = self.completions(prompt.text());
        offered
            .into_iter()
            .find_map(|line| Some(line.strip_prefix(prompt.text())?.to_owned()))
            .filter(|rest| !rest.is_empty())
    }

    /// The other completions of the last word, without the first, which is the
    /// [`ghost`](Self::ghost).
    pub fn other_completions(&self) -> Vec<String> {
        let Some(prompt) = self.command_prompt() else { return Vec::new() };
        let words = prompt.text().matches(char::is_whitespace).count();
        let word = |line: String| line.splitn(words + 1, char::is_whitespace).last().map(str::to_owned);
        self.completions(prompt.text()).into_iter().skip(1).filter_map(word).collect()
    }

    /// The entry of the command that is being typed, which describes its argument and its effect.
    pub fn typed_command(&self) -> Option<&'static CommandEntry> {
        let name = self.footer.prompt.as_ref()?.text().split_whitespace().next()?;
        commands().find(|entry| entry.name == name || entry.synonyms.contains(&name))
    }

    fn command_prompt(&self) -> Option<&Prompt> {
        let prompt = self.footer.prompt.as_ref()?;
        (prompt.purpose == PromptPurpose::Command && prompt.is_at_end() && !prompt.text().is_empty()).then_some(prompt)
    }

    /// The names of commands that start with `typed`. Synonyms come after all names.
    fn offered_names(&self, typed: &str) -> Vec<String> {
        let useful: Vec<_> = commands().filter(|entry| self.is_of_use(entry.command)).collect();
        let names = useful.iter().map(|entry| entry.name);
        let synonyms = useful.iter().flat_map(|entry| entry.synonyms.iter().copied());
        let screen = self.navigation.screen;
        let own = self.settings.commands.iter().filter(|own| own.screens.contains(&screen)).map(|own| &*own.name);
        let begins = names.chain(own).chain(synonyms).filter(|name| name.starts_with(typed));
        begins.take(MAX_OFFERED).map(str::to_owned).collect()
    }

    /// Whether a command does something on this screen now.
    fn is_of_use(&self, command: Command) -> bool {
        self.navigation.screen.has(command)
            && (self.tour.is_some() || !command.is_of_tour())
            && (self.has_fleets() || !command.is_for_fleets())
    }

    fn offered_values(&self, kind: ArgumentKind, typed: &str) -> Vec<String> {
        let list = self.navigation.screen.list();
        let begins = |value: &String| value.starts_with(typed) && value != typed;
        match kind {
            ArgumentKind::Text => Vec::new(),
            ArgumentKind::Moment => Some(START.to_owned()).filter(begins).into_iter().collect(),
            ArgumentKind::Columns => {
                let sign = if typed.starts_with('-') { "-" } else { "" };
                let names = list.map_or_else(Vec::new, List::sort_names);
                names.into_iter().map(|name| format!("{sign}{name}")).filter(begins).collect()
            }
            ArgumentKind::Lock | ArgumentKind::Node => {
                let table = self.world().table();
                let paths = table.locks().filter(|lock| lock.path().as_str().starts_with(typed));
                let named = paths.map(|lock| match lock.name().filter(|_| kind == ArgumentKind::Lock) {
                    Some(name) => format!("{} {name}", lock.path()),
                    None => lock.path().to_string(),
                });
                let mut found: Vec<_> = named.filter(begins).take(MAX_OFFERED).collect();
                found.sort_unstable();
                found.dedup();
                found
            }
            ArgumentKind::Session => {
                let sessions = self.world().sessions();
                let ids = (0..sessions.len()).filter_map(|rank| sessions.id(rank)).map(|id| id.to_string());
                ids.filter(begins).take(MAX_OFFERED).collect()
            }
            ArgumentKind::Client => {
                let clients = self.fleets().clients(self.side());
                let ids = clients.iter().map(|client| client.id.to_string());
                ["holder".to_owned()].into_iter().chain(ids).filter(begins).take(MAX_OFFERED).collect()
            }
            ArgumentKind::Scene => {
                let scenes = self.tour().map_or(0, |tour| tour.scene_number().1);
                (1..=scenes).map(|scene| scene.to_string()).filter(begins).collect()
            }
            ArgumentKind::Context => self.context_names().map(str::to_owned).filter(begins).take(MAX_OFFERED).collect(),
        }
    }
}
