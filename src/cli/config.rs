//! The config file: the options of the command line under the same names, in TOML.

use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use serde::de::DeserializeOwned;
use toml::de::DeTable;

use super::options::SharedOptions;
use crate::files::{self, FileError, Sensitivity};

/// The largest config file that is read, in bytes.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Why the config file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConfigError {
    #[error("cannot use the config file {path}: {why}; name another one with --config")]
    Unusable { path: PathBuf, why: FileError },
    #[error("the config file {path} is wrong in line {line}: {problem}; correct it, or name another one with --config")]
    Wrong { path: PathBuf, line: usize, problem: String },
}

/// Reads the config file. `named` was asked for and must be there; `usual` is read when it is there.
pub(super) fn load(named: Option<&Path>, usual: Option<&Path>) -> Result<SharedOptions, ConfigError> {
    let Some(path) = named.or(usual) else { return Ok(SharedOptions::default()) };
    match files::read_text(path, Sensitivity::Steering, MAX_CONFIG_BYTES) {
        Ok(text) => parse(&text, path),
        Err(why) if named.is_none() && why.is_absent() => Ok(SharedOptions::default()),
        Err(why) => Err(ConfigError::Unusable { path: path.to_owned(), why }),
    }
}

/// Reads the text of the config file at `path`; relative paths in it start at its folder.
pub(super) fn parse(text: &str, path: &Path) -> Result<SharedOptions, ConfigError> {
    let mistake = |at: Option<Range<usize>>, problem: &str| ConfigError::Wrong {
        path: path.to_owned(),
        line: at.map_or(1, |at| line_of(text, at.start)),
        problem: problem.trim().replace('\n', " "),
    };
    let malformed = |error: toml::de::Error| mistake(error.span(), error.message());
    let table = DeTable::parse(text).map_err(malformed)?;
    let known = keys();
    let unknown = table.get_ref().keys().filter(|key| !known.iter().any(|known| known == key.get_ref()));
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
    Ok(options)
}

/// The names of the options that can stand in a config file.
fn keys() -> Vec<String> {
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
        assert_eq!(load(None, Some(absent)).unwrap(), SharedOptions::default());
        assert_eq!(load(None, None).unwrap(), SharedOptions::default());
        let message = load(Some(absent), None).unwrap_err().to_string();
        assert!(message.contains("/nowhere/config.toml") && message.contains("--config"), "{message}");
    }

    #[test]
    fn the_documented_example_holds_every_option_at_its_default() {
        use crate::cli::resolved::{Environment, ResolvedOptions, SESSION_TIMEOUT};

        let example = include_str!("../../assets/config.toml");
        assert_eq!(parsed(example).unwrap(), SharedOptions::default(), "as it comes, it changes nothing");
        let lines = example.lines().filter_map(|line| line.strip_prefix("#")).filter(|line| !line.starts_with(' '));
        let lines: Vec<&str> = lines.collect();
        let mut listed: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
        let mut keys = keys();
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
