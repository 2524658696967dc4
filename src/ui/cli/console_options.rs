//! The options of the running console: resolved again for another context, and after a change of
//! the config file.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use super::config::{Config, protection_guard};
use super::options::{EnsembleOptions, SharedOptions, WhichLocks};
use super::resolved::{Environment, ResolvedOptions};
use super::{config, resolved};
use crate::tui::app::{ConfigChange, KnownContext};
use crate::tui::{OptionsSource, ReadAgain, TuiOptions};
use lockscope_base::znode::escaped;

/// Identifies a version of a file: its modification time, length and inode.
type FileState = Option<(SystemTime, u64, u64)>;

/// The given options and the config file.
pub struct ConsoleOptions {
    given: SharedOptions,
    environment: Environment,
    /// The path of the config file, existing or not.
    path: Option<PathBuf>,
    /// Whether the given options are those of every context, as where several are shown.
    are_of_all: bool,
    known: Mutex<Known>,
}

/// The config file as last read.
#[derive(Debug)]
struct Known {
    state: FileState,
    config: Config,
    settings: ResolvedOptions,
}

impl std::fmt::Debug for ConsoleOptions {
    /// Leaves out the environment, which may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConsoleOptions").field("path", &self.path).finish_non_exhaustive()
    }
}

impl ConsoleOptions {
    pub fn new(
        given: SharedOptions,
        environment: Environment,
        path: Option<PathBuf>,
        config: Config,
        settings: ResolvedOptions,
    ) -> Self {
        let state = path.as_deref().and_then(state_of);
        let known = Mutex::new(Known { state, config, settings });
        Self { given, environment, path, are_of_all: false, known }
    }

    /// Keeps the given options in every context.
    pub fn of_all(self) -> Self {
        Self { are_of_all: true, ..self }
    }

    /// Returns the options that the console starts with.
    pub fn first(&self) -> anyhow::Result<TuiOptions> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Known { config, settings, .. } = &*known;
        let mut options = settings.tui_options(settings.observe_options()?, settings.survey_options()?);
        options.notice = config.mistakes.first().map(|mistake| format!("{mistake}."));
        options.settings.contexts = known_contexts(config);
        options.guard = Some(protection_guard(&self.given, settings.context.as_deref()));
        Ok(options)
    }

    fn elsewhere(&self, context: &str) -> SharedOptions {
        if self.are_of_all { one_of_all(&self.given, context) } else { elsewhere(&self.given, context) }
    }

    fn load(&self, earlier: &Config) -> Result<Config, String> {
        let named = self.given.ensemble.config.as_deref();
        config::load_over(named, self.path.as_deref(), earlier).map_err(|error| sentence(&error.to_string()))
    }
}

impl OptionsSource for ConsoleOptions {
    type Options = TuiOptions;

    fn in_context(&self, name: &str) -> Result<TuiOptions, String> {
        let state = self.path.as_deref().and_then(state_of);
        let config = self.load(&Config::default())?;
        let file = config.options_in(Some(name)).map_err(|error| sentence(&error.to_string()))?;
        let (given, environment) = (self.elsewhere(name), elsewhere_environment(&self.environment));
        let settings = ResolvedOptions::resolve(given, &environment, file)
            .map_err(|error| sentence(&error.to_string()))?
            .with_config(&config);
        let observe = settings.observe_options().map_err(|error| sentence(&error.to_string()))?;
        let survey = settings.survey_options().map_err(|error| sentence(&error.to_string()))?;
        let settings = match resolved::find_theme(&settings.theme, self.path.as_deref()) {
            Ok(palette) => ResolvedOptions { palette, ..settings },
            Err(error) => return Err(sentence(&error.to_string())),
        };
        let contexts = known_contexts(&config);
        let mut options = settings.tui_options(observe, survey);
        options.settings.contexts = contexts;
        options.guard = Some(protection_guard(&self.given, Some(name)));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Known { state, config, settings };
        Ok(options)
    }

    fn read_again(&self) -> Option<ReadAgain> {
        let state = self.path.as_deref().and_then(state_of);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // A missing file may be in the middle of a replacement.
        if state.is_none() || state == known.state {
            return None;
        }
        known.state = state;
        let unchanged = |known: &Known, notice: String| ReadAgain {
            change: ConfigChange {
                contexts: known_contexts(&known.config),
                production: known.settings.production.clone(),
                bindings: known.settings.bindings.clone(),
                screens: known.settings.screens.clone(),
                commands: known.settings.commands.clone(),
                notice,
                wrong: true,
            },
            theme: known.settings.palette,
            ascii: known.settings.ascii,
        };
        let config = match self.load(&known.config) {
            Ok(config) => config,
            Err(why) => return Some(unchanged(&known, format!("{why} Everything stays as it was."))),
        };
        let context = known.settings.context.clone();
        let Some(file) = config.kept_options_in(context.as_deref()) else {
            let why = "The context in force is gone from the config file. Everything stays as it was.".to_owned();
            return Some(unchanged(&known, why));
        };
        let (given, environment) = match &context {
            // In another context the options given for the first ensemble no longer apply.
            Some(name) if self.given.ensemble.context.as_ref() != Some(name) => {
                (self.elsewhere(name), elsewhere_environment(&self.environment))
            }
            _ => (self.given.clone(), self.environment.clone()),
        };
        let settings = match ResolvedOptions::resolve(given, &environment, file) {
            Ok(settings) => settings.with_config(&config),
            Err(why) => {
                let why = format!("{} Everything stays as it was.", sentence(&why.to_string()));
                return Some(unchanged(&known, why));
            }
        };
        let (mistakes, mut wrong) = (&config.mistakes, !config.mistakes.is_empty());
        let mut notice = match mistakes.first() {
            None => "The config file was read again.".to_owned(),
            Some(first) => sentence(&first.as_kept()),
        };
        if mistakes.len() > 1 {
            notice = format!("{notice} {} mistakes in all: `lockscope --config-check` names them.", mistakes.len());
        }
        let later = settings.changed_for_later(&known.settings);
        if !later.is_empty() {
            notice = format!("{notice} From the next start or :context on: {}.", later.join(", "));
        }
        let (name, palette) = match resolved::find_theme(&settings.theme, self.path.as_deref()) {
            Ok(palette) => (settings.theme, palette),
            Err(error) => {
                wrong = true;
                notice = format!("{notice} {}", sentence(&error.to_string()));
                (known.settings.theme.clone(), known.settings.palette)
            }
        };
        let ascii = settings.ascii;
        let change = ConfigChange {
            contexts: known_contexts(&config),
            production: settings.production.clone(),
            bindings: settings.bindings.clone(),
            screens: settings.screens.clone(),
            commands: settings.commands.clone(),
            notice: escaped(&notice).into_owned(),
            wrong,
        };
        // Settings that need a restart stay as they were at the start, so that later changes are
        // compared with these.
        let ResolvedOptions { production, bindings, screens, commands, .. } = settings;
        let before = known.settings.clone();
        let now = ResolvedOptions { theme: name, palette, ascii, production, bindings, screens, commands, ..before };
        (known.config, known.settings) = (config, now);
        Some(ReadAgain { change, theme: palette, ascii })
    }
}

fn known_contexts(config: &Config) -> Vec<KnownContext> {
    let context = |(name, context): (&String, &config::Context)| KnownContext {
        name: name.clone(),
        production: context.production,
    };
    config.contexts.iter().map(context).collect()
}

/// Returns the options of one of several contexts. What is given on the command line holds in each
/// of them.
pub fn one_of_all(given: &SharedOptions, context: &str) -> SharedOptions {
    let ensemble = EnsembleOptions { context: Some(context.to_owned()), all_contexts: None, ..given.ensemble.clone() };
    SharedOptions { ensemble, ..given.clone() }
}

/// Returns the given options without those that choose the ensemble, the part of it, and our
/// identity.
fn elsewhere(given: &SharedOptions, context: &str) -> SharedOptions {
    let ensemble = EnsembleOptions {
        context: Some(context.to_owned()),
        all_contexts: None,
        connect: None,
        auth_file: None,
        allow_plain_auth: None,
        tls_ca: None,
        tls_cert: None,
        tls_key: None,
        kerberos: None,
        kerberos_server: None,
        kerberos_principal: None,
        admin_url: None,
        ..given.ensemble.clone()
    };
    let locks = WhichLocks { root: None, lock: None, ..given.locks.clone() };
    SharedOptions { locks, ensemble, ..given.clone() }
}

pub fn elsewhere_environment(environment: &Environment) -> Environment {
    let ensemble =
        EnsembleOptions { context: None, connect: None, auth_file: None, ..environment.options.ensemble.clone() };
    let options = SharedOptions { ensemble, ..environment.options.clone() };
    Environment { options, auth_lines: None, ..environment.clone() }
}

fn state_of(path: &Path) -> FileState {
    use std::os::unix::fs::MetadataExt;
    let found = path.metadata().ok()?;
    Some((found.modified().ok()?, found.len(), found.ino()))
}

/// Turns an error's text into a sentence: with a capital letter and a full stop.
pub fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::cli::resolved::Environment;
    use crate::tui::{Bindings, ScreensChosen, ThemeName};
    use lockscope_live::admin::ProductionMark;

    const FILE: &str = "theme = 'mono'\n[context.a]\nconnect = 'zk1'\n[context.b]\nconnect = 'zk2/b'\nproduction = true\n\
                        [context.c]\nconnect = 5\n";

    fn options(folder: &Path, given: SharedOptions) -> (PathBuf, ConsoleOptions) {
        let path = folder.join("config.toml");
        fs::write(&path, FILE).unwrap();
        let given =
            SharedOptions { ensemble: EnsembleOptions { config: Some(path.clone()), ..given.ensemble }, ..given };
        let config = config::load(Some(&path), None).unwrap();
        let file = config.options_in(Some("a")).unwrap();
        let settings = ResolvedOptions::resolve(given.clone(), &Environment::default(), file).unwrap();
        let settings = settings.with_config(&config);
        (path.clone(), ConsoleOptions::new(given, Environment::default(), Some(path), config, settings))
    }

    fn in_a() -> SharedOptions {
        let ensemble = EnsembleOptions { context: Some("a".to_owned()), utc: Some(true), ..EnsembleOptions::default() };
        SharedOptions { ensemble, ..SharedOptions::default() }
    }

    #[test]
    fn another_context_keeps_given_options_except_those_of_the_ensemble() {
        let folder = tempfile::tempdir().unwrap();
        let mut given = in_a();
        given.ensemble.connect = Some("given".to_owned());
        let (_, options) = options(folder.path(), given);
        let there = options.in_context("b").unwrap();
        assert_eq!(there.observe.connection.connect, "zk2/b");
        let set = &there.settings;
        assert_eq!(
            (set.context.as_deref(), set.production.clone(), set.utc),
            (Some("b"), Some(ProductionMark::certain("b")), true)
        );
        assert_eq!(set.contexts.len(), 3);
        let wrong = options.in_context("c").unwrap_err();
        assert!(wrong.contains("line 8") && wrong.ends_with('.'), "{wrong}");
        assert!(options.in_context("d").unwrap_err().contains("no context \"d\""));
    }

    #[test]
    fn a_changed_file_is_read_once_and_a_wrong_entry_keeps_its_value() {
        let folder = tempfile::tempdir().unwrap();
        let (path, options) = options(folder.path(), in_a());
        assert!(options.read_again().is_none(), "nothing has changed");
        fs::write(&path, FILE.replace("'mono'", "'contrast'").replace("connect = 'zk1'", "connect = 'zk9'")).unwrap();
        let read = options.read_again().unwrap();
        assert_eq!(format!("{:?}", read.theme), format!("{:?}", ThemeName::Contrast.palette()));
        assert!(read.change.notice.contains("From the next start or :context on: connect."), "{}", read.change.notice);
        assert!(options.read_again().is_none(), "it was read");
        fs::write(&path, FILE.replace("'mono'", "55")).unwrap();
        let read = options.read_again().unwrap();
        assert!(read.change.wrong);
        assert!(read.change.notice.contains("in line 1: theme"), "{}", read.change.notice);
        fs::write(&path, format!("{FILE}[keys]\npause = 'f8'\n[screen.locks]\nsort = 'held'\n")).unwrap();
        let good = options.read_again().unwrap().change;
        assert_ne!((&good.bindings, &good.screens), (&Bindings::default(), &ScreensChosen::default()));
        assert!(!good.notice.contains("next start"), "{}", good.notice);
        fs::write(&path, format!("{FILE}[keys]\npause = 'hyper'\n[screen.locks]\nsort = 'never'\n")).unwrap();
        let wrong = options.read_again().unwrap().change;
        assert_eq!((wrong.bindings, wrong.screens), (good.bindings, good.screens), "what was there before stays");
        assert!(wrong.notice.contains("3 mistakes"), "{}", wrong.notice);
        fs::remove_file(&path).unwrap();
        assert!(options.read_again().is_none(), "it may come back");
        assert_eq!(options.in_context("a").unwrap_err().matches(&*path.to_string_lossy()).count(), 1);
    }
}
