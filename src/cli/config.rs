//! The config file: the options of the command line under the same names, in TOML.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::arguments::{Format, HeadlessOptions, Options, ScreenOptions, ServerViewBy};
use super::settings::Layer;
use super::span;
use crate::files::{self, FileError, Sensitivity};
use crate::tui::ThemeName;
use crate::zk::admin::AdminUrl;
use crate::znode::ZnodePath;

/// The largest config file that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// Why the config file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It is not there, or may not be used.
    #[error("cannot use the config file {path}: {why}; name another one with --config")]
    Unusable {
        /// Where it was looked for.
        path: PathBuf,
        /// What is wrong with it.
        why: FileError,
    },
    /// It is no TOML, or says something that no option means.
    #[error("the config file {path} is wrong in line {line}: {problem}; correct it, or name another one with --config")]
    Wrong {
        /// Which file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
}

/// Every key of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ConfigFile {
    connect: Option<String>,
    #[serde(default, deserialize_with = "span::deserialize_session_timeout")]
    session_timeout: Option<Duration>,
    auth_file: Option<PathBuf>,
    tls_ca: Option<PathBuf>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    root: Option<Vec<ZnodePath>>,
    lock: Option<Vec<ZnodePath>>,
    #[serde(default, deserialize_with = "span::deserialize")]
    stuck_after: Option<Duration>,
    server_view: Option<ServerViewBy>,
    #[serde(default, deserialize_with = "admin_url")]
    admin_url: Option<AdminUrl>,
    log_file: Option<PathBuf>,
    utc: Option<bool>,
    ascii: Option<bool>,
    #[serde(default, deserialize_with = "theme")]
    theme: Option<ThemeName>,
    mouse: Option<bool>,
    write: Option<bool>,
    audit_log: Option<PathBuf>,
    format: Option<Format>,
    #[serde(default, deserialize_with = "span::deserialize")]
    timeout: Option<Duration>,
}

/// The names that the command line takes.
fn theme<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ThemeName>, D::Error> {
    let text = String::deserialize(from)?;
    let known = ThemeName::value_variants()
        .iter()
        .find(|theme| theme.to_possible_value().is_some_and(|value| value.matches(&text, false)));
    known.copied().map(Some).ok_or_else(|| {
        let values = ThemeName::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        D::Error::custom(format!("{text:?} is no theme; there are {}", names.join(", ")))
    })
}

fn admin_url<'de, D: Deserializer<'de>>(from: D) -> Result<Option<AdminUrl>, D::Error> {
    String::deserialize(from)?.parse().map(Some).map_err(D::Error::custom)
}

/// Reads the config file. `named` was asked for and must be there; `usual` is read when it is there.
pub(super) fn load(named: Option<&Path>, usual: Option<&Path>) -> Result<Layer, ConfigError> {
    let Some(path) = named.or(usual) else { return Ok(Layer::default()) };
    match files::read_text(path, Sensitivity::Steering, LARGEST) {
        Ok(text) => parse(&text, path),
        Err(why) if named.is_none() && why.is_absent() => Ok(Layer::default()),
        Err(why) => Err(ConfigError::Unusable { path: path.to_owned(), why }),
    }
}

/// Reads the text of the config file at `path`; paths in it are relative to where it lies.
pub(super) fn parse(text: &str, path: &Path) -> Result<Layer, ConfigError> {
    let file: ConfigFile = toml::from_str(text).map_err(|error| ConfigError::Wrong {
        path: path.to_owned(),
        line: error.span().map_or(1, |span| line_of(text, span.start)),
        problem: error.message().trim().replace('\n', " "),
    })?;
    let beside = |file: PathBuf| path.parent().map_or_else(|| file.clone(), |folder| folder.join(&file));
    Ok(Layer {
        options: Options {
            connect: file.connect,
            session_timeout: file.session_timeout,
            auth_file: file.auth_file.map(beside),
            tls_ca: file.tls_ca.map(beside),
            tls_cert: file.tls_cert.map(beside),
            tls_key: file.tls_key.map(beside),
            root: file.root,
            lock: file.lock,
            stuck_after: file.stuck_after,
            server_view: file.server_view,
            admin_url: file.admin_url,
            config: None,
            log_file: file.log_file.map(beside),
            utc: file.utc,
        },
        screen: ScreenOptions {
            ascii: file.ascii,
            theme: file.theme,
            mouse: file.mouse,
            write: file.write,
            audit_log: file.audit_log.map(beside),
        },
        headless: HeadlessOptions { format: file.format, timeout: file.timeout },
    })
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Layer, String> {
        parse(text, Path::new("/etc/lockscope/config.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn relative_paths_in_the_file_start_where_it_lies() {
        let layer = parsed("auth-file = 'auth'\ntls-ca = '/ca.pem'\nlog-file = '../log'").unwrap();
        assert_eq!(layer.options.auth_file, Some("/etc/lockscope/auth".into()));
        assert_eq!(layer.options.tls_ca, Some("/ca.pem".into()));
        assert_eq!(layer.options.log_file, Some("/etc/lockscope/../log".into()));
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        for (text, line, part) in [
            ("connect = 'a'\ncolour = 1", 2, "colour"),
            ("\n\nroot = ['locks']", 3, "slash"),
            ("session-timeout = 'soon'", 1, "number and its unit"),
            ("timeout = 5", 1, "string"),
            ("theme = 'pink'", 1, "terminal"),
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
        assert_eq!(load(None, Some(absent)).unwrap(), Layer::default());
        assert_eq!(load(None, None).unwrap(), Layer::default());
        let message = load(Some(absent), None).unwrap_err().to_string();
        assert!(message.contains("/nowhere/config.toml") && message.contains("--config"), "{message}");
    }

    #[test]
    fn the_documented_example_holds_every_option_at_its_default() {
        use crate::cli::settings::{Environment, Settings};
        use clap::CommandFactory;

        let example = include_str!("../../assets/config.toml");
        assert_eq!(parsed(example).unwrap(), Layer::default(), "as it comes, it changes nothing");
        let keys: Vec<&str> =
            example.lines().filter_map(|line| line.strip_prefix("#")).filter(|line| !line.starts_with(' ')).collect();
        let spoken = parsed(&keys.join("\n")).unwrap();
        for key in &keys {
            let name = key.split(' ').next().unwrap();
            let mut commands = vec![crate::cli::Arguments::command()];
            commands.extend(crate::cli::Arguments::command().get_subcommands().cloned());
            let known = commands.iter().any(|c| c.get_arguments().any(|option| option.get_long() == Some(name)));
            assert!(known, "{name} is no option");
        }
        assert_eq!(spoken.options.session_timeout, Some(crate::cli::settings::SESSION_TIMEOUT));
        let plain = Layer {
            options: Options {
                // Its default is another one for test clients.
                session_timeout: None,
                auth_file: None,
                tls_ca: None,
                tls_cert: None,
                tls_key: None,
                log_file: None,
                ..spoken.options.clone()
            },
            screen: ScreenOptions { audit_log: None, ..spoken.screen.clone() },
            headless: HeadlessOptions { format: None, ..spoken.headless.clone() },
        };
        let settings =
            |file| format!("{:?}", Settings::resolve(Layer::default(), &Environment::default(), file).unwrap());
        assert_eq!(settings(plain), settings(Layer::default()));
    }
}
