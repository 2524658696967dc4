//! The config file: the options of the command line under the same names, in TOML.

mod keys;
mod screens;

use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use serde::de::DeserializeOwned;
use toml::de::DeTable;

use super::options::SharedOptions;
use crate::files::{self, FileError, Sensitivity};
use crate::tui::{Bindings, ScreensChosen};

/// The largest config file that is read, in bytes.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The entries of the file that are no options.
const SECTIONS: [&str; 2] = ["keys", "screen"];

/// Why the config file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConfigError {
    #[error("cannot use the config file {path}: {why}; name another one with --config")]
    Unusable { path: PathBuf, why: FileError },
    #[error("the config file {path} is wrong in line {line}: {problem}; correct it, or name another one with --config")]
    Wrong { path: PathBuf, line: usize, problem: String },
}

/// What a config file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Config {
    pub options: SharedOptions,
    /// The keys that are not the usual ones.
    pub bindings: Bindings,
    /// How the lists look at first.
    pub screens: ScreensChosen,
    /// A sentence for each entry that is left out because it is wrong.
    pub mistakes: Vec<String>,
}

/// Reads the config file. `named` was asked for and must be there; `usual` is read when it is there.
pub(super) fn load(named: Option<&Path>, usual: Option<&Path>) -> Result<Config, ConfigError> {
    let Some(path) = named.or(usual) else { return Ok(Config::default()) };
    match files::read_text(path, Sensitivity::Steering, MAX_CONFIG_BYTES) {
        Ok(text) => parse(&text, path),
        Err(why) if named.is_none() && why.is_absent() => Ok(Config::default()),
        Err(why) => Err(ConfigError::Unusable { path: path.to_owned(), why }),
    }
}

/// Reads the text of the config file at `path`; relative paths in it start at its folder.
pub(super) fn parse(text: &str, path: &Path) -> Result<Config, ConfigError> {
    let mistake = |at: Option<Range<usize>>, problem: &str| ConfigError::Wrong {
        path: path.to_owned(),
        line: at.map_or(1, |at| line_of(text, at.start)),
        problem: problem.trim().replace('\n', " "),
    };
    let malformed = |error: toml::de::Error| mistake(error.span(), error.message());
    let table = DeTable::parse(text).map_err(malformed)?;
    let known = option_names();
    let unknown = table
        .get_ref()
        .keys()
        .filter(|key| !SECTIONS.contains(&&**key.get_ref()) && !known.iter().any(|known| known == key.get_ref()));
    if let Some(key) = unknown.min_by_key(|key| key.span().start) {
        return Err(mistake(Some(key.span()), &format!("there is no option {:?}", key.get_ref())));
    }
    let mut options = SharedOptions {
        locks: group(text).map_err(malformed)?,
        display: group(text).map_err(malformed)?,
        changes: group(text).map_err(malformed)?,
        past: group(text).map_err(malformed)?,
        output: group(text).map_err(malformed)?,
        ensemble: group(text).map_err(malformed)?,
    };
    let ensemble = &mut options.ensemble;
    let files = [
        &mut ensemble.auth_file,
        &mut ensemble.tls_ca,
        &mut ensemble.tls_cert,
        &mut ensemble.tls_key,
        &mut ensemble.log_file,
        &mut options.changes.audit_log,
        &mut options.past.store,
    ];
    if let Some(folder) = path.parent() {
        files.into_iter().flatten().for_each(|file| *file = folder.join(&*file));
    }
    let (mut bindings, mut screens, mut mistakes) = (Bindings::default(), ScreensChosen::default(), Vec::new());
    let mut note = |at: Range<usize>, problem: &str| {
        let (path, line) = (path.display(), line_of(text, at.start));
        mistakes.push(format!("the config file {path} is wrong in line {line}: {problem}; this entry is left out"));
    };
    if let Some(value) = table.get_ref().get("keys") {
        bindings = keys::read(value, &mut note);
    }
    if let Some(value) = table.get_ref().get("screen") {
        screens = screens::read(value, &mut note);
    }
    Ok(Config { options, bindings, screens, mistakes })
}

/// The names of the options that can stand in a config file.
fn option_names() -> Vec<String> {
    let options = SharedOptions::augment_args(Command::new("config"));
    let names = options.get_arguments().filter_map(|option| option.get_long()).filter(|name| *name != "config");
    names.map(str::to_owned).collect()
}

/// The options of one group; keys of the other groups are skipped.
fn group<T: DeserializeOwned>(text: &str) -> Result<T, toml::de::Error> {
    toml::from_str(text)
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<SharedOptions, String> {
        read(text).map(|config| config.options)
    }

    fn read(text: &str) -> Result<Config, String> {
        parse(text, Path::new("/etc/lockscope/config.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn relative_paths_in_the_file_start_where_it_lies() {
        let options = parsed("auth-file = 'auth'\ntls-ca = '/ca.pem'\nlog-file = '../log'").unwrap();
        assert_eq!(options.ensemble.auth_file, Some("/etc/lockscope/auth".into()));
        assert_eq!(options.ensemble.tls_ca, Some("/ca.pem".into()));
        assert_eq!(options.ensemble.log_file, Some("/etc/lockscope/../log".into()));
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        for (text, line, part) in [
            ("connect = 'a'\ncolour = 1", 2, "colour"),
            ("\n\nroot = ['locks']", 3, "slash"),
            ("session-timeout = 'soon'", 1, "number and its unit"),
            ("timeout = 5", 1, "string"),
            ("server-view = 'all'", 1, "words"),
            ("utc = true\nmouse = yes", 2, ""),
        ] {
            let message = parsed(text).unwrap_err();
            assert!(message.contains(&format!("line {line}:")), "{message}");
            assert!(message.contains(part) && !message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn a_file_that_was_asked_for_must_be_there_and_the_usual_one_need_not() {
        let absent = Path::new("/nowhere/config.toml");
        assert_eq!(load(None, Some(absent)).unwrap(), Config::default());
        assert_eq!(load(None, None).unwrap(), Config::default());
        let message = load(Some(absent), None).unwrap_err().to_string();
        assert!(message.contains("/nowhere/config.toml") && message.contains("--config"), "{message}");
    }

    #[test]
    fn a_key_or_a_list_that_is_wrong_is_left_out_and_the_others_stand() {
        for (text, line, part) in [
            ("keys = 1", 1, "write [keys]"),
            ("[keys]\nsrot = 'o'", 2, "perhaps sort is meant"),
            ("[keys]\nfrobnicate = 'o'", 2, "Help lists them all"),
            ("[keys]\nsort = 1", 2, "a key or a list of keys"),
            ("[keys]\nsort = ['o', 1]", 2, "a key or a list of keys"),
            ("[keys]\nsort = 'hyper-x'", 2, "`hyper-x` is no key"),
            ("[keys]\nsort = 'ctrl-c'", 2, "is no key to choose"),
            ("[keys]\npause = 'f8'\nsort = 'o'", 3, "`o` means `session` in Locks already"),
            ("screen = 'locks'", 1, "write [screen.locks]"),
            ("screen.locks = 1", 1, "write [screen.locks]"),
            ("[screen.lock]\nsort = 'held'", 1, "there is no list `lock`: there are locks, queue"),
            ("[screen.help]", 1, "there is no list `help`"),
            ("[screen.locks]\ncolumns = ['lock', 'colour']", 2, "has no column `colour`: it has lock, recipe"),
            ("[screen.locks]\ncolumns = []", 2, "needs a column"),
            ("[screen.locks]\ncolumns = 'lock'\nsort = 'x'", 3, "cannot be sorted by `x`"),
            ("[screen.locks]\ncolumns = 7", 2, "takes a list of names"),
            ("[screen.waits]\ncolumns = ['lock']", 2, "has no columns"),
            ("[screen.queue]\nsort = 'age'", 2, "has one order only"),
            ("[screen.locks]\nsort = ['held']", 2, "sort takes a text"),
            ("[screen.locks]\nfilter = '/[/'", 2, "is no pattern yet"),
            ("[screen.locks]\nfilter = 1", 2, "filter takes a text"),
            ("[screen.locks]\nwidth = 1", 2, "a list has no `width`"),
        ] {
            let config = read(text).unwrap();
            let [message] = &config.mistakes[..] else { panic!("{text}: {:?}", config.mistakes) };
            assert!(message.contains(&format!("config.toml is wrong in line {line}: ")), "{message}");
            assert!(message.contains(part) && !message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn keys_columns_order_and_filter_of_each_list_are_read() {
        let text = "[keys]\nquit = ['q', 'f10']\n[screen.locks]\ncolumns = ['lock', 'held']\nsort = 'held -lock'\nfilter = '!test'";
        let config = read(text).unwrap();
        assert_eq!(config.mistakes, Vec::<String>::new());
        assert_ne!(config.bindings, Bindings::default());
        let locks = config.screens.of(ScreensChosen::screen("locks").unwrap()).unwrap();
        assert_eq!(locks.columns.as_deref(), Some(&["lock".to_owned(), "held".to_owned()][..]));
        assert_eq!((locks.sort.as_deref(), locks.filter.as_deref()), (Some("held -lock"), Some("!test")));
    }

    #[test]
    fn the_documented_example_holds_every_option_at_its_default() {
        use crate::cli::resolved::{Environment, ResolvedOptions, SESSION_TIMEOUT};

        let example = include_str!("../../assets/config.toml");
        assert_eq!(parsed(example).unwrap(), SharedOptions::default(), "as it comes, it changes nothing");
        let lines = example.lines().filter_map(|line| line.strip_prefix("#")).filter(|line| !line.starts_with(' '));
        let lines: Vec<&str> = lines.collect();
        let mut listed: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
        let mut keys = option_names();
        listed.sort_unstable();
        keys.sort_unstable();
        assert_eq!(listed, keys);
        let mut options = parsed(&lines.join("\n")).unwrap();
        assert_eq!(options.ensemble.session_timeout, Some(SESSION_TIMEOUT));
        let ensemble = &mut options.ensemble;
        // Its default is another one for test clients.
        ensemble.session_timeout = None;
        // These have no default, or one that depends on the user.
        for file in [
            &mut options.past.store,
            &mut ensemble.auth_file,
            &mut ensemble.tls_ca,
            &mut ensemble.tls_cert,
            &mut ensemble.tls_key,
            &mut ensemble.log_file,
            &mut options.changes.audit_log,
        ] {
            *file = None;
        }
        options.output.format = None;
        let settings = |file| {
            let settings = ResolvedOptions::resolve(SharedOptions::default(), &Environment::default(), file).unwrap();
            // Whether somebody said it is no option.
            format!("{:?}", ResolvedOptions { connect_is_given: false, timeout_is_given: false, ..settings })
        };
        assert_eq!(settings(options), settings(SharedOptions::default()));
    }
}
