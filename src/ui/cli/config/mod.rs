//! The config file: the options of the command line under the same names, in TOML, plus settings
//! without an option.
//!
//! Every entry is read on its own: a wrong one is a [`Mistake`], and the others stay valid.
//! [`parse_over`] has a line for each section of the file. The function of a section takes its
//! entry, returns its value, and adds its mistakes.
//!
//! A context is a named set of options, one for each ensemble.

mod entries;
mod sections;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::options::{DEFAULT_CONNECT, Override, SharedOptions};
use super::usual_config;
use crate::tui::{Bindings, OwnCommand, ScreensChosen};
use entries::{Mistakes, OptionEntries, SoundEntries};
use lockscope_base::recipe::OwnRecipe;
use lockscope_files as files;
use lockscope_files::{FileError, Sensitivity};
use lockscope_live::admin::notebook::PlannedMutes;
use lockscope_live::admin::{ProtectedContext, ProtectionGuard, ProtectionSource, protection};
use lockscope_live::zk::EnsembleAddress;
use lockscope_model::diagnose::FlappingLimit;
use lockscope_model::queue::{Expectation, Mute, NamedAddress};

pub use entries::Mistake;
use sections::ConfiguredMute;

#[cfg(test)]
mod tests;

/// The largest config file that is read, in bytes.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The sections of the file that are not options.
const SECTIONS: [&str; 9] = ["context", "recipe", "keys", "screen", "command", "expect", "flapping", "mute", "client"];

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
    /// The file, whether it exists or not; `None` where none was looked for.
    path: Option<PathBuf>,
    /// The options at the top of the file.
    pub options: SharedOptions,
    /// The named ensembles.
    pub contexts: BTreeMap<String, Context>,
    /// The user's own recipes, in the order in which they are tried.
    pub recipes: Vec<OwnRecipe>,
    /// What the user expects of elections.
    pub expected: Vec<Expectation>,
    /// The names that the user gives to clients.
    pub clients: Vec<NamedAddress>,
    /// The mutes of planned work.
    mutes: Vec<ConfiguredMute>,
    /// When leadership flaps.
    pub flapping: FlappingLimit,
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

    /// Returns the context that marks the ensemble of this connect string as production, as far as
    /// the names of its servers tell: the one in force, or any that names one of them. A
    /// [`ProtectionGuard`] also recognizes other names.
    pub(super) fn production_of(&self, in_force: Option<&str>, connect: &str) -> Option<&str> {
        let here = EnsembleAddress::of(connect);
        let in_force = in_force.and_then(|name| self.contexts.get_key_value(name));
        let named = self
            .contexts
            .iter()
            .filter(|(_, context)| EnsembleAddress::of(self.connect_of(context)).shares_nodes(&here));
        in_force.into_iter().chain(named).find(|(_, context)| context.production).map(|(name, _)| name.as_str())
    }

    fn connect_of<'a>(&'a self, context: &'a Context) -> &'a str {
        let connect = context.options.ensemble.connect.as_ref().or(self.options.ensemble.connect.as_ref());
        connect.map_or(DEFAULT_CONNECT, String::as_str)
    }

    /// Returns the contexts that protect their ensembles. Fails when one of an ensemble that people
    /// depend on has a mistake that hides which ensemble that is.
    fn protected(&self) -> Result<Vec<ProtectedContext>, ConfigError> {
        let mut protected = Vec::new();
        for (name, context) in &self.contexts {
            let mut mistakes = self.mistakes.iter().filter(|mistake| mistake.hinders_start(Some(name)));
            if let Some(mistake) = mistakes.next().filter(|_| context.production) {
                return Err(ConfigError::Wrong(mistake.clone()));
            }
            let changes = &context.options.changes;
            let (read_only, audit_log) = (changes.write == Some(false), changes.audit_log.clone());
            if context.production || read_only || audit_log.is_some() {
                let (name, connect) = (name.clone(), self.connect_of(context).to_owned());
                protected.push(ProtectedContext {
                    name,
                    connect,
                    production: context.production,
                    read_only,
                    audit_log,
                });
            }
        }
        Ok(protected)
    }

    /// Returns the mutes of planned work in this context, which are read again when the file changes.
    pub(super) fn planned_mutes(&self, context: Option<&str>) -> Option<Arc<dyn PlannedMutes>> {
        let (path, context) = (self.path.clone()?, context.map(str::to_owned));
        Some(Arc::new(MutesOfConfig { path, context }))
    }

    fn known_contexts(&self) -> String {
        let names: Vec<&str> = self.contexts.keys().map(String::as_str).collect();
        if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) }
    }
}

/// The mutes that the config file plans for a context.
#[derive(Debug)]
struct MutesOfConfig {
    path: PathBuf,
    context: Option<String>,
}

impl PlannedMutes for MutesOfConfig {
    fn path(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn read(&self) -> Result<Vec<Mute>, String> {
        let config = load(None, Some(&self.path)).map_err(|error| error.to_string())?;
        let is_of_here = |mute: &ConfiguredMute| mute.context.is_none() || mute.context == self.context;
        Ok(config.mutes.into_iter().filter(is_of_here).map(|mute| mute.mute).collect())
    }
}

/// The contexts of the config file that protect their ensembles. The file is read each time.
#[derive(Debug)]
struct ConfiguredProtection {
    /// The file that was named.
    named: Option<PathBuf>,
    /// The usual file.
    usual: Option<PathBuf>,
    /// Whether the command line says that the screen may write.
    may_write: bool,
    /// Whether the command line names a log.
    names_log: bool,
}

impl ProtectionSource for ConfiguredProtection {
    fn contexts(&self) -> Result<Vec<ProtectedContext>, String> {
        let config = load(self.named.as_deref(), self.usual.as_deref()).map_err(|error| error.to_string())?;
        let mut contexts = config.protected().map_err(|error| error.to_string())?;
        for context in &mut contexts {
            context.read_only &= !self.may_write;
            context.audit_log = context.audit_log.take().filter(|_| !self.names_log);
        }
        contexts.retain(|context| context.production || context.read_only || context.audit_log.is_some());
        Ok(contexts)
    }
}

/// Returns the guard of the ensembles that the contexts of the config file protect.
pub(super) fn protection_guard(given: &SharedOptions, in_force: Option<&str>) -> ProtectionGuard {
    let source = ConfiguredProtection {
        named: given.ensemble.config.clone(),
        usual: usual_config(),
        may_write: given.changes.write == Some(true),
        names_log: given.changes.audit_log.is_some(),
    };
    ProtectionGuard::new(Arc::new(source), in_force.map(str::to_owned), protection::usual_path())
}

/// Reads the config file. `named` was requested and must exist; `usual` is read if it exists.
pub fn load(named: Option<&Path>, usual: Option<&Path>) -> Result<Config, ConfigError> {
    load_over(named, usual, &Config::default())
}

/// Reads the config file like [`load`]; wrong entries keep their values from `earlier`.
pub fn load_over(named: Option<&Path>, usual: Option<&Path>, earlier: &Config) -> Result<Config, ConfigError> {
    let Some(path) = named.or(usual) else { return Ok(Config::default()) };
    let at = |config| Config { path: Some(path.to_owned()), ..config };
    match files::read_text(path, Sensitivity::Steering, MAX_CONFIG_BYTES) {
        Ok(text) => Ok(at(parse_over(&text, path, earlier))),
        Err(why) if named.is_none() && why.is_absent() => Ok(at(Config::default())),
        Err(why) => Err(ConfigError::Unusable { path: path.to_owned(), why }),
    }
}

/// Parses the text of the config file at `path`; relative paths in it start at its folder.
#[cfg(test)]
pub fn parse(text: &str, path: &Path) -> Config {
    parse_over(text, path, &Config::default())
}

/// Parses the text of the config file at `path`; wrong entries keep their values from `earlier`, if
/// any.
fn parse_over(text: &str, path: &Path, earlier: &Config) -> Config {
    let mut mistakes = Mistakes::of(text, path);
    let mut config = Config { is_there: true, ..Config::default() };
    if let Some(text) = entries::without_bad_lines(text, &mut mistakes) {
        let table = entries::table(&text);
        let OptionEntries { options, sound } = entries::read_options(&table, &SECTIONS, &earlier.sound, &mut mistakes);
        (config.options, config.sound) = (options, sound);
        if let Some(value) = table.get("recipe") {
            config.recipes = sections::read_recipes(value, &mut mistakes);
        }
        if let Some(value) = table.get("expect") {
            config.expected = sections::read_expected(value, &mut mistakes);
        }
        if let Some(value) = table.get("client") {
            config.clients = sections::read_clients(value, &mut mistakes);
        }
        if let Some(value) = table.get("mute") {
            config.mutes = sections::read_mutes(value, &mut mistakes);
        }
        if let Some(value) = table.get("flapping") {
            config.flapping = sections::read_flapping(value, earlier.flapping, &mut mistakes);
        }
        if let Some(value) = table.get("context") {
            config.contexts = read_contexts(value, &earlier.contexts, &mut mistakes);
        }
        if let Some(value) = table.get("keys") {
            config.bindings =
                sections::read_keys(value, &earlier.bindings, &mut |at, problem| mistakes.record(at, problem));
        }
        if let Some(value) = table.get("command") {
            config.commands = sections::read_commands(value, &config.bindings, &earlier.commands, &mut mistakes);
        }
        if let Some(value) = table.get("screen") {
            config.screens =
                sections::read_screens(value, &earlier.screens, &mut |at, problem| mistakes.record(at, problem));
        }
    } else {
        config = Config { is_there: true, ..earlier.clone() };
    }
    config.mistakes = mistakes.in_order();
    config
}

/// The longest name of a context, in bytes: the name appears in the header.
const MAX_NAME: usize = 64;

/// The one key of a context that is not an option.
const PRODUCTION: &str = "production";

/// The options of one ensemble.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Context {
    /// The options that the context sets; the others come from the top of the file.
    pub options: SharedOptions,
    /// Whether the ensemble is in production: the screen says so, and deletions ask for the
    /// context's name.
    pub production: bool,
    sound: SoundEntries,
}

/// Reads all `[context.NAME]` tables.
fn read_contexts(
    all: &Spanned<DeValue<'_>>,
    earlier: &BTreeMap<String, Context>,
    mistakes: &mut Mistakes<'_>,
) -> BTreeMap<String, Context> {
    let mut contexts = BTreeMap::new();
    let Some(tables) = all.get_ref().as_table() else {
        mistakes
            .record(all.span(), "context holds tables: write [context.NAME], and the options of that ensemble below");
        return contexts;
    };
    for (name, value) in tables {
        let (name, at) = (name.get_ref().to_string(), name.span());
        if !is_name(&name) {
            let problem = format!(
                "{name:?} is no name for a context: up to {MAX_NAME} letters, digits, dots, dashes and underscores are"
            );
            mistakes.record(at, &problem);
        } else if let Some(table) = value.get_ref().as_table() {
            mistakes.enter(Some(&name));
            let context = read_context(table, earlier.get(&name), mistakes);
            mistakes.enter(None);
            contexts.insert(name, context);
        } else {
            let problem = format!("{name:?} is no option of contexts: write [context.{name}], and its options below");
            mistakes.record(at, &problem);
        }
    }
    contexts
}

fn read_context(table: &DeTable<'_>, earlier: Option<&Context>, mistakes: &mut Mistakes<'_>) -> Context {
    let nothing = SoundEntries::new();
    let kept = earlier.map_or(&nothing, |context| &context.sound);
    let OptionEntries { options, sound } = entries::read_options(table, &[PRODUCTION], kept, mistakes);
    let production = table.get(PRODUCTION).is_some_and(|value| {
        value.get_ref().as_bool().unwrap_or_else(|| {
            let found = value.get_ref().type_str();
            mistakes.refuse(value.span(), &format!("production: it is a {found}, and true or false is wanted"));
            // An invalid value counts as `true`: its author wanted to be asked.
            true
        })
    });
    Context { options, production, sound }
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}
