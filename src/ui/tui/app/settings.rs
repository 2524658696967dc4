//! The options that the console was started with, and those that a changed config file replaces.
//!
//! [`Settings`] has all of them. [`ScreensChosen`] are the initial columns, order and filter of the
//! lists, checked when the file is read. A [`ConfigChange`] has what takes effect without a
//! restart.

use std::path::PathBuf;

use super::filter::Filter;
use super::screens::SCREENS;
use super::{App, Key};
use crate::tui::keymap::{Bindings, Command};
use crate::tui::own_command::OwnCommand;
use crate::tui::page::help::CommandHelp;
use crate::tui::screen::Screen;
use lockscope_base::recipe::OwnRecipe;
use lockscope_base::znode::ZnodePath;
use lockscope_live::admin::ProductionMark;
use lockscope_model::diagnose::Thresholds;
use lockscope_model::queue::{Expectation, LockTable, NamedAddress};

/// The options that the console was started with.
#[expect(clippy::struct_excessive_bools, reason = "the switches are independent of each other")]
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The connect string.
    pub connect: String,
    /// Whether `connect` is the default, because the user named no servers.
    pub connect_is_default: bool,
    /// The active context of the config file.
    pub context: Option<String>,
    /// The context that marks the ensemble as production: by the names of its servers at first, then
    /// by what the ensemble is.
    pub production: Option<ProductionMark>,
    /// The contexts of the config file.
    pub contexts: Vec<KnownContext>,
    /// The roots below which locks are searched; an empty list means the whole chroot.
    pub roots: Vec<ZnodePath>,
    /// Nodes that are single-node locks, although their names do not show it.
    pub named: Vec<ZnodePath>,
    /// The user's own recipes.
    pub recipes: Vec<OwnRecipe>,
    /// What the user expects of elections.
    pub expected: Vec<Expectation>,
    /// The names that the user gives to clients.
    pub clients: Vec<NamedAddress>,
    /// Whether the console may change the ensemble.
    pub write: bool,
    /// The path of the audit log; `None` when there is no place for one.
    pub audit_log: Option<PathBuf>,
    /// Whether times are shown in UTC. A key switches this.
    pub utc: bool,
    /// Whether the screen draws only ASCII.
    pub ascii: bool,
    /// Whether the servers are asked about themselves.
    pub asks_servers: bool,
    /// The thresholds of the findings.
    pub thresholds: Thresholds,
    /// The key bindings that differ from the defaults.
    pub bindings: Bindings,
    /// The initial columns, order and filter of the lists.
    pub screens: ScreensChosen,
    /// The user's own commands.
    pub commands: Vec<OwnCommand>,
}

impl Settings {
    /// Returns an empty table for the locks to show.
    pub fn table(&self) -> LockTable {
        let table = LockTable::new(self.named.iter().cloned());
        table.with_recipes(&self.recipes).with_expectations(&self.expected).with_named_clients(&self.clients)
    }

    /// The user's command with that key on this screen.
    pub(super) fn own_command(&self, key: Key, screen: Screen) -> Option<&OwnCommand> {
        self.commands.iter().find(|own| own.key == key && own.screens.contains(&screen))
    }

    /// Says where the user's command with that key works, if there is one.
    pub(super) fn own_elsewhere(&self, key: Key) -> Option<String> {
        let own = self.commands.iter().find(|own| own.key == key)?;
        let titles = own.screens.iter().map(|screen| screen.entry().title).collect::<Vec<_>>().join(", ");
        Some(format!("{} ({}) does nothing here; it works in {titles}.", key.label(self.ascii), own.name))
    }

    /// The user's own commands, as Help lists them.
    pub(super) fn own_help(&self) -> Vec<CommandHelp> {
        let help = |own: &OwnCommand| CommandHelp {
            keys: own.key.label(self.ascii),
            name: format!(":{}", own.name),
            help: own.run.shown(),
        };
        self.commands.iter().map(help).collect()
    }
}

/// The choices for the list of one screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScreenChoices {
    /// The names of the columns, in their order; `None` means all columns.
    pub columns: Option<Vec<String>>,
    /// The order, as the command `sort` takes it.
    pub sort: Option<String>,
    /// The filter, as typed after `/`.
    pub filter: Option<String>,
}

/// The choices for each screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScreensChosen(Vec<(Screen, ScreenChoices)>);

impl ScreensChosen {
    pub fn choose(&mut self, screen: Screen, choices: ScreenChoices) {
        self.0.retain(|(known, _)| *known != screen);
        self.0.push((screen, choices));
    }

    pub fn of(&self, screen: Screen) -> Option<&ScreenChoices> {
        self.0.iter().find(|(known, _)| *known == screen).map(|(_, choices)| choices)
    }

    /// Applies the orders and filters of the settings that differ from those chosen `before`. The
    /// others keep what the user typed since. An order that is no longer chosen stays too.
    pub(super) fn apply(before: &Self, app: &mut App) {
        for entry in &SCREENS {
            let Some(list) = entry.screen.list() else { continue };
            let chosen = |of: &Self| of.of(entry.screen).cloned().unwrap_or_default();
            let (before, now) = (chosen(before), chosen(&app.settings.screens));
            if let Some(sort) = now.sort.filter(|sort| before.sort.as_ref() != Some(sort)) {
                // `refuse_sort` has checked the order when it was chosen.
                let _ = list.sort_by(app, Some(&sort), app.size.0);
            }
            if now.filter != before.filter {
                list.set_filter(app, now.filter.as_deref().map(Filter::new).unwrap_or_default());
            }
        }
    }

    /// The screen with that name on the command line; `None` unless it has a list.
    pub fn screen(name: &str) -> Option<Screen> {
        let lists = SCREENS.iter().filter(|entry| entry.screen.list().is_some());
        lists.map(|entry| (entry.go().name, entry.screen)).find(|(known, _)| *known == name).map(|(_, screen)| screen)
    }

    /// The names of the screens that have a list.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SCREENS.iter().filter(|entry| entry.screen.list().is_some()).map(|entry| entry.go().name)
    }
}

impl ScreenChoices {
    /// Why a screen cannot have these columns, as a sentence; `None` when it can.
    pub fn refuse_columns(screen: Screen, columns: &[String]) -> Option<String> {
        let (title, known) = (screen.entry().title, screen.list()?.column_names());
        if known.is_empty() {
            return Some(format!("{title} has no columns: its rows are lines of text."));
        }
        if columns.is_empty() {
            return Some(format!("{title} needs a column: it has {}.", known.join(", ")));
        }
        let unknown = columns.iter().find(|column| !known.contains(column))?;
        Some(format!("{title} has no column `{unknown}`: it has {}.", known.join(", ")))
    }

    /// Why a list cannot have this order, as a sentence; `None` when it can.
    pub fn refuse_sort(screen: Screen, sort: &str) -> Option<String> {
        let (title, list) = (screen.entry().title, screen.list()?);
        let names = list.sort_names();
        if names.is_empty() {
            return Some(format!("{title} has one order only."));
        }
        let word = list.refuses_sorting(sort)?;
        Some(format!("{title} cannot be sorted by `{word}`: use {}, or two of them.", names.join(", ")))
    }

    /// Why a list cannot have this filter, as a sentence; `None` when it can.
    pub fn refuse_filter(screen: Screen, filter: &str) -> Option<String> {
        if !screen.entry().has_own(Command::Filter) {
            return Some(format!("{} has no filter.", screen.entry().title));
        }
        Filter::new(filter).wrong().map(str::to_owned)
    }
}

/// A context of the config file: an ensemble with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownContext {
    /// The name of the context.
    pub name: String,
    /// Whether the context is marked as production.
    pub production: bool,
}

/// The settings of a changed config file that take effect without a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigChange {
    /// The contexts of the file.
    pub contexts: Vec<KnownContext>,
    /// The context that marks this ensemble as production, as far as the names of its servers tell.
    pub production: Option<ProductionMark>,
    /// The key bindings that differ from the defaults.
    pub bindings: Bindings,
    /// The initial columns, order and filter of the lists.
    pub screens: ScreensChosen,
    /// The user's own commands.
    pub commands: Vec<OwnCommand>,
    /// Which changes took effect and which did not, as sentences.
    pub notice: String,
    /// Whether the file has an error.
    pub wrong: bool,
}
