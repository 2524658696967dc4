//! The config file: the options of the command line under the same names, in TOML, plus settings
//! without an option.
//!
//! Every entry is read on its own: a wrong one is a [`Mistake`], and the others stay valid.
//! [`parse_over`] has a line for each section of the file. The function of a section takes its
//! entry, returns its value, and adds its mistakes.

mod commands;
mod contexts;
mod elections;
mod entry;
mod keys;
mod mistake;
mod option_entries;
mod recipes;
mod screens;
mod syntax;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(super) use contexts::Context;
pub(super) use mistake::Mistake;
use mistake::Mistakes;
use option_entries::{OptionEntries, SoundEntries};

use super::merge::Merge;
use super::options::SharedOptions;
use crate::tui::{Bindings, OwnCommand, ScreensChosen};
use lockscope_base::recipe::OwnRecipe;
use lockscope_files::{self as files, FileError, Sensitivity};
use lockscope_live::zk;
use lockscope_model::diagnose::Flapping;
use lockscope_model::queue::Expectation;

/// The largest config file that is read, in bytes.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The sections of the file that are not options.
const SECTIONS: [&str; 7] = ["context", "recipe", "keys", "screen", "command", "expect", "flapping"];

/// Why the config file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConfigError {
    #[error("cannot use the config file {path}: {why}; name another one with --config")]
    Unusable { path: PathBuf, why: FileError },
    #[error(transparent)]
    Wrong(Mistake),
    #[error("there is no context {name:?} in the config file: {known}")]
    NoContext { name: String, known: String },
}

impl std::error::Error for Mistake {}

/// The content of a config file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Config {
    /// Whether the file exists.
    pub is_there: bool,
    /// The options at the top of the file.
    pub options: SharedOptions,
    /// The named ensembles.
    pub contexts: BTreeMap<String, Context>,
    /// The user's own recipes, in the order in which they are tried.
    pub recipes: Vec<OwnRecipe>,
    /// What the user expects of elections.
    pub expected: Vec<Expectation>,
    /// When leadership flaps.
    pub flapping: Flapping,
    /// The key bindings that differ from the defaults.
    pub bindings: Bindings,
    /// The initial columns, order and filter of the lists.
    pub screens: ScreensChosen,
    /// The user's own commands.
    pub commands: Vec<OwnCommand>,
    /// The mistakes, in the order of their lines.
    pub mistakes: Vec<Mistake>,
    /// The valid entries at the top.
    sound: SoundEntries,
}

impl Config {
    /// Returns the options with this context in force, or with none.
    pub(super) fn options_in(&self, context: Option<&str>) -> Result<SharedOptions, ConfigError> {
        if let Some(mistake) = self.mistakes.iter().find(|mistake| mistake.hinders_start(context)) {
            return Err(ConfigError::Wrong(mistake.clone()));
        }
        match (self.kept_options_in(context), context) {
            (Some(options), _) => Ok(options),
            (None, name) => {
                Err(ConfigError::NoContext { name: name.unwrap_or_default().to_owned(), known: self.known_contexts() })
            }
        }
    }

    /// Returns the same options despite mistakes, for which the earlier values were kept; `None`
    /// when the context does not exist.
    pub(super) fn kept_options_in(&self, context: Option<&str>) -> Option<SharedOptions> {
        let Some(name) = context else { return Some(self.options.clone()) };
        Some(self.contexts.get(name)?.options.clone().merge(self.options.clone()))
    }

    /// Returns the context that marks the ensemble of this connect string as production: the one in
    /// force, or any that names one of its servers. Naming the servers differently therefore does
    /// not avoid the extra questions.
    pub(super) fn production_of(&self, in_force: Option<&str>, connect: &str) -> Option<&str> {
        let in_force = in_force.and_then(|name| self.contexts.get_key_value(name));
        let named = self.contexts.iter().filter(|(_, context)| {
            let named = context.options.ensemble.connect.as_ref().or(self.options.ensemble.connect.as_ref());
            named.is_some_and(|named| is_same_tree(named, connect))
        });
        in_force.into_iter().chain(named).find(|(_, context)| context.production).map(|(name, _)| name.as_str())
    }

    fn known_contexts(&self) -> String {
        let names: Vec<&str> = self.contexts.keys().map(String::as_str).collect();
        if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) }
    }
}

/// Returns whether two connect strings share a server and a part of its tree.
fn is_same_tree(one: &str, other: &str) -> bool {
    let (Ok((servers, chroot)), Ok((others, below))) = (zk::servers(one), zk::servers(other)) else { return false };
    let path = |chroot: Option<String>| chroot.map_or_else(|| "/".to_owned(), |chroot| format!("{chroot}/"));
    let (chroot, below) = (path(chroot), path(below));
    servers.iter().any(|server| others.contains(server)) && (chroot.starts_with(&below) || below.starts_with(&chroot))
}

/// Reads the config file. `named` was requested and must exist; `usual` is read if it exists.
pub(super) fn load(named: Option<&Path>, usual: Option<&Path>) -> Result<Config, ConfigError> {
    load_over(named, usual, &Config::default())
}

/// Reads the config file like [`load`]; wrong entries keep their values from `earlier`.
pub(super) fn load_over(named: Option<&Path>, usual: Option<&Path>, earlier: &Config) -> Result<Config, ConfigError> {
    let Some(path) = named.or(usual) else { return Ok(Config::default()) };
    match files::read_text(path, Sensitivity::Steering, MAX_CONFIG_BYTES) {
        Ok(text) => Ok(parse_over(&text, path, earlier)),
        Err(why) if named.is_none() && why.is_absent() => Ok(Config::default()),
        Err(why) => Err(ConfigError::Unusable { path: path.to_owned(), why }),
    }
}

/// Parses the text of the config file at `path`; relative paths in it start at its folder.
#[cfg(test)]
pub(super) fn parse(text: &str, path: &Path) -> Config {
    parse_over(text, path, &Config::default())
}

/// Parses the text of the config file at `path`; wrong entries keep their values from `earlier`, if
/// any.
fn parse_over(text: &str, path: &Path, earlier: &Config) -> Config {
    let mut mistakes = Mistakes::of(text, path);
    let mut config = Config { is_there: true, ..Config::default() };
    if let Some(text) = syntax::without_bad_lines(text, &mut mistakes) {
        let table = syntax::table(&text);
        let OptionEntries { options, sound } = option_entries::read(&table, &SECTIONS, &earlier.sound, &mut mistakes);
        (config.options, config.sound) = (options, sound);
        if let Some(value) = table.get("recipe") {
            config.recipes = recipes::read(value, &mut mistakes);
        }
        if let Some(value) = table.get("expect") {
            config.expected = elections::read_expected(value, &mut mistakes);
        }
        if let Some(value) = table.get("flapping") {
            config.flapping = elections::read_flapping(value, earlier.flapping, &mut mistakes);
        }
        if let Some(value) = table.get("context") {
            config.contexts = contexts::read(value, &earlier.contexts, &mut mistakes);
        }
        if let Some(value) = table.get("keys") {
            config.bindings = keys::read(value, &earlier.bindings, &mut |at, problem| mistakes.record(at, problem));
        }
        if let Some(value) = table.get("command") {
            config.commands = commands::read(value, &config.bindings, &earlier.commands, &mut mistakes);
        }
        if let Some(value) = table.get("screen") {
            config.screens = screens::read(value, &earlier.screens, &mut |at, problem| mistakes.record(at, problem));
        }
    } else {
        config = Config { is_there: true, ..earlier.clone() };
    }
    config.mistakes = mistakes.in_order();
    config
}
