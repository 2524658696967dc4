//! Arguments, and one file for each headless subcommand.
//!
//! [`Arguments`] is the one definition that the help, the completions and the manual page come from. [`run`] settles
//! option, environment, config file and default, and starts what was asked for.
//!
//! Exit codes: 0 done; 1 done, and the answer is no; 2 could not do it. An error is one sentence on stderr. A reader that
//! closes the pipe ends a command quietly.

mod arguments;
mod auth;
mod config;
mod follow;
mod generate;
mod human;
mod log;
mod sandbox;
mod settings;
mod snapshot;
mod span;
mod table;
mod watch;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use etcetera::BaseStrategy;

pub use arguments::Arguments;
use arguments::{Command, Format, HeadlessOptions, ScreenOptions};
pub use auth::AuthError;
pub use config::ConfigError;
pub use settings::SettingsError;
use settings::{Environment, Layer, Settings};

use crate::sandbox::SandboxError;
use crate::tui::{self, TuiError, TuiOptions};

/// Why a command could not do what it was asked for. Each message is one sentence.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Options that do not go together.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The config file.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The identities.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// An option of the screen was given to a command that has none.
    #[error("{0} is for the screen and means nothing to a command: leave it out")]
    OnlyScreen(&'static str),
    /// The screen ended with an error.
    #[error(transparent)]
    Screen(#[from] TuiError),
    /// The sandbox does not start.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The log file cannot be opened.
    #[error("cannot write the log file {path}: {error}; name another one with --log-file")]
    Log {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Nobody answered in time.
    #[error("gave up after {}: {reason}; give it longer with --timeout", humantime::format_duration(*waited))]
    NoAnswer {
        /// For how long.
        waited: Duration,
        /// What is known of the reason: who was asked, and what came of it.
        reason: String,
    },
    /// The ensemble refused us; the text says why and what to do.
    #[error("{0}")]
    Refused(String),
    /// None of the roots can be read.
    #[error("none of the roots can be read: {0}: name others with --root, or an identity with --auth-file")]
    NothingReadable(String),
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// A page of the manual cannot be written.
    #[error("cannot write the manual pages to {path}: {error}; name another directory with --out")]
    Man {
        /// Which directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// Does what the arguments say. Ends on SIGINT and SIGTERM where it would otherwise go on.
pub async fn run(arguments: Arguments) -> Result<(), CliError> {
    match dispatch(arguments).await {
        Err(CliError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

async fn dispatch(arguments: Arguments) -> Result<(), CliError> {
    let Arguments { options, screen, command } = arguments;
    let Some(command) = command else {
        let settings = settle(Layer { options, screen, headless: HeadlessOptions::default() })?;
        return open_screen(&settings).await;
    };
    refuse_screen_options(&screen)?;
    match command {
        Command::Completions { shell } => generate::completions(shell, &mut io::stdout().lock()),
        Command::Man { out: Some(folder) } => generate::man_pages(&folder),
        Command::Man { out: None } => generate::man(&mut io::stdout().lock()),
        Command::Sandbox { sandbox, log_file } => {
            if let Some(path) = log_file.or(options.log_file) {
                let environment = Environment::read(|name| std::env::var_os(name))?;
                log::start(&path, environment.log_filter.as_deref())?;
            }
            sandbox::run(&sandbox, &mut io::stdout().lock()).await
        }
        Command::Snapshot { options: own, headless } => {
            let settings = settle(Layer { options: own.over(options), screen, headless })?;
            snapshot::run(&settings, format(&settings), &mut io::stdout().lock()).await
        }
        Command::Watch { options: own, headless, during } => {
            let settings = settle(Layer { options: own.over(options), screen, headless })?;
            watch::run(&settings, format(&settings), during, &mut tokio::io::stdout()).await
        }
    }
}

fn refuse_screen_options(screen: &ScreenOptions) -> Result<(), CliError> {
    let given =
        [(screen.ascii.is_some(), "--ascii"), (screen.theme.is_some(), "--theme"), (screen.mouse.is_some(), "--mouse")];
    given.into_iter().find(|(is_given, _)| *is_given).map_or(Ok(()), |(_, name)| Err(CliError::OnlyScreen(name)))
}

/// Settles everything and starts the log.
fn settle(spoken: Layer) -> Result<Settings, CliError> {
    let environment = Environment::read(|name| std::env::var_os(name))?;
    let usual =
        etcetera::choose_base_strategy().ok().map(|folders| folders.config_dir().join("lockscope").join("config.toml"));
    let file = config::load(spoken.options.config.as_deref(), usual.as_deref())?;
    let settings = Settings::resolve(spoken, &environment, file)?;
    if let Some(path) = &settings.log_file {
        log::start(path, settings.log_filter.as_deref())?;
    }
    Ok(settings)
}

fn format(settings: &Settings) -> Format {
    let usual = if io::stdout().is_terminal() { Format::Table } else { Format::Json };
    settings.format.unwrap_or(usual)
}

async fn open_screen(settings: &Settings) -> Result<(), CliError> {
    let options = TuiOptions {
        observe: settings.observe_options()?,
        ascii: settings.ascii,
        theme: settings.theme,
        mouse: settings.mouse,
        utc: settings.utc,
        write: false,
    };
    Ok(tui::run(options).await?)
}

/// A usage error of the arguments as one line: what is wrong, what was probably meant, and where help is.
pub fn usage_sentence(error: &clap::Error) -> String {
    let told = error.render().to_string();
    let lines = told.lines().map(str::trim).filter(|line| !line.is_empty());
    let sentence: Vec<&str> =
        lines.filter(|line| !line.starts_with("Usage:") && !line.starts_with("For more information")).collect();
    let sentence = sentence.join(" ").replace(" tip: ", "; ");
    format!("{}; try --help", sentence.strip_prefix("error: ").unwrap_or(&sentence))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    fn sentence(arguments: &[&str]) -> String {
        usage_sentence(&Arguments::try_parse_from([&["lockscope"], arguments].concat()).unwrap_err())
    }

    #[test]
    fn the_definition_of_the_arguments_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_usage_error_is_one_line_that_names_the_mistake() {
        insta::assert_snapshot!(
            [
                &["snapshot", "--fromat", "json"][..],
                &["snapshot", "--format", "xml"],
                &["--root", "locks"],
                &["watch", "--for", "soon"],
                &["--session-timeout", "1ms"],
                &["completions"],
                &["frobnicate"],
            ]
            .map(sentence)
            .join("\n"),
            @r#"
        unexpected argument '--fromat' found; a similar argument exists: '--format'; try --help
        invalid value 'xml' for '--format <FORMAT>' [possible values: table, json]; try --help
        invalid value 'locks' for '--root <PATH>': "locks" is no znode path: it does not start with a slash; try --help
        invalid value 'soon' for '--for <DURATION>': write a number and its unit, as in 500ms, 90s or 1h30m; try --help
        invalid value '1ms' for '--session-timeout <DURATION>': a session timeout lies between 100ms and 1h; try --help
        the following required arguments were not provided: <SHELL>; try --help
        unrecognized subcommand 'frobnicate'; try --help
        "#
        );
    }

    #[test]
    fn an_option_counts_before_and_after_the_command() {
        let parsed =
            Arguments::try_parse_from(["lockscope", "--connect", "a", "--utc", "snapshot", "--utc=false"]).unwrap();
        let Some(Command::Snapshot { options, .. }) = parsed.command else { panic!("{parsed:?}") };
        let options = options.over(parsed.options);
        assert_eq!((options.connect.as_deref(), options.utc), (Some("a"), Some(false)));
    }

    #[test]
    fn help_says_every_option() {
        let mut snapshots = Vec::new();
        let mut command = Arguments::command().term_width(100);
        command.build();
        snapshots.push(command.render_long_help().to_string());
        for command in command.get_subcommands_mut() {
            snapshots.push(command.clone().term_width(100).render_help().to_string());
        }
        insta::assert_snapshot!(snapshots.join("\n----\n"));
    }
}
