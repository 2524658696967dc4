//! Help: the keys of the screen from which it was opened, then every command.

use super::{App, Area, Screen};
use crate::tui::keymap::{Command, CommandEntry, command_groups, commands};
use crate::tui::page::{Page, Tone, help};

impl App {
    pub(super) fn help_page(&self, area: Area) -> Page {
        let mut page = self.writer(help::COLUMNS, area);
        let bindings = &self.settings.bindings;
        if let Some(screen) = self.navigation.screen_before() {
            help::write_keys(&mut page, screen.entry().title, &self.keys_of(screen));
        }
        let groups = command_groups().map(|group| {
            let is_shown = |entry: &&CommandEntry| match entry.command {
                Command::Go(Screen::Ensembles) => self.ensembles().is_some(),
                Command::Go(Screen::Output) => !self.settings.commands.is_empty(),
                _ => true,
            };
            let commands = group.commands.iter().filter(is_shown).map(|entry| help::CommandHelp {
                keys: bindings
                    .keys(entry)
                    .iter()
                    .map(|key| key.label(self.settings.ascii))
                    .collect::<Vec<_>>()
                    .join(" "),
                name: match entry.argument {
                    Some(argument) => format!(":{} {}", entry.name, argument.shown),
                    None => format!(":{}", entry.name),
                },
                help: bindings.help(entry),
            });
            (group.title, commands.collect())
        });
        let own = (!self.settings.commands.is_empty()).then(|| ("Your commands", self.settings.own_help()));
        help::write_help(&mut page, groups.chain(own), |text| bindings.fill(text));
        let mut page = Page::new("Help", help::COLUMNS, page.lines());
        page.title.push((format!("lockscope {}", env!("CARGO_PKG_VERSION")), Tone::Dim));
        page
    }

    /// The keys that the footer of a screen may show, and their words.
    fn keys_of(&self, screen: Screen) -> Vec<(String, &'static str)> {
        let of = |entry: &&CommandEntry| {
            let elsewhere = matches!(entry.command, Command::Go(_)) || entry.command.is_of_replay();
            screen.has(entry.command) && !elsewhere && !self.is_refused(entry.command)
        };
        let entries = commands().filter(of);
        entries
            .filter_map(|entry| {
                let key = self.settings.bindings.keys(entry).first()?;
                let is_searched = || screen.list().is_none_or(|list| list.filter(self).is_none());
                let word = match entry.command {
                    Command::Filter if is_searched() => "search",
                    Command::Picture if screen == Screen::Locks => "graph",
                    _ => entry.hint?,
                };
                Some((key.label(self.settings.ascii), word))
            })
            .collect()
    }
}
