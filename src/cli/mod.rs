//! Arguments, and one file for each headless subcommand.
//!
//! [`Arguments`] is the one definition that the help, the completions and the manual page come from. [`run`] settles
//! option, environment, config file and default, and starts what was asked for.
//!
//! Exit codes: 0 done; 1 done, and the answer is no; 2 could not do it; 128 and the number of a signal that came a second
//! time. An error is one sentence on stderr. A reader that
//! closes the pipe ends a command quietly.

mod arguments;
mod auth;
mod check;
mod config;
mod contend;
mod delete;
mod demo;
mod error;
mod follow;
mod generate;
mod human;
mod log;
mod sandbox;
mod settings;
mod snapshot;
mod span;
mod table;
mod unreadable;
mod watch;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

pub use arguments::Arguments;
use arguments::{Command, Format, HeadlessOptions, Options, ScreenOptions};
pub use auth::AuthError;
use auth::AuthSource;
pub use config::ConfigError;
pub use contend::BadScenario;
pub use error::{CliError, Verdict};
pub use settings::SettingsError;
use settings::{Environment, Layer, Settings};

use crate::files::exposed_folder;
use crate::tui::{self, TuiOptions};
use crate::znode::escaped;

/// Does what the arguments say. Ends on SIGINT and SIGTERM where it would otherwise go on.
pub async fn run(arguments: Arguments) -> Result<Verdict, CliError> {
    let outcome = dispatch(arguments).await;
    if let Some(note) = crate::zk::unverified_login() {
        // Who closed standard error does not care.
        let _ = writeln!(io::stderr(), "lockscope: {note}");
    }
    match outcome {
        Err(CliError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Verdict::Yes),
        outcome => outcome,
    }
}

async fn dispatch(arguments: Arguments) -> Result<Verdict, CliError> {
    let Arguments { options, screen, command } = arguments;
    let Some(command) = command else {
        let settings = settle(Layer { options, screen, headless: HeadlessOptions::default() })?;
        open_screen(&settings).await?;
        return Ok(Verdict::Yes);
    };
    refuse_screen_options(&screen, &command)?;
    match command {
        Command::Demo { options: own, screen: own_screen, play } => {
            let options = without_locks(own.over(options), "demo")?;
            let screen = own_screen.over(screen);
            let on_ensemble = options.connect.is_some();
            let settings = settle(Layer { options, screen, headless: HeadlessOptions::default() })?;
            if on_ensemble {
                demo::on_ensemble(&settings, play).await?;
            } else {
                demo::on_sandbox(&settings, play).await?;
            }
        }
        Command::Completions { shell } => generate::completions(shell, &mut io::stdout().lock())?,
        Command::Man { out: Some(folder) } => generate::man_pages(&folder)?,
        Command::Man { out: None } => generate::man(&mut io::stdout().lock())?,
        Command::Sandbox { sandbox, log_file } => {
            if let Some(path) = log_file.or(options.log_file) {
                let environment = Environment::read(|name| std::env::var_os(name))?;
                log::start(&path, environment.log_filter.as_deref())?;
            }
            sandbox::run(&sandbox, &mut io::stdout().lock()).await?;
        }
        Command::Snapshot { options: own, headless } => {
            let settings = settle(Layer { options: own.over(options), screen, headless })?;
            snapshot::run(&settings, format(&settings), &mut io::stdout().lock()).await?;
        }
        Command::Watch { options: own, headless, during } => {
            let settings = settle(Layer { options: own.over(options), screen, headless })?;
            watch::run(&settings, format(&settings), during, &mut tokio::io::stdout()).await?;
        }
        Command::Delete { options: own, headless, delete } => {
            let options = own.over(options);
            if options.root.is_some() {
                return Err(CliError::OnlyLocks("--root", "delete"));
            }
            let screen = ScreenOptions { audit_log: delete.audit_log.clone().or(screen.audit_log), ..screen };
            let settings = settle(Layer { options, screen, headless })?;
            return delete::run(&settings, format(&settings), &delete, &mut io::stdout().lock()).await;
        }
        Command::Check { options: own, headless, fail_on, during } => {
            let settings = settle(Layer { options: own.over(options), screen, headless })?;
            let out = &mut io::stdout().lock();
            return check::run(&settings, format(&settings), fail_on.into(), during, out).await;
        }
        Command::Contend { options: own, headless, contend } => {
            let options = without_locks(own.over(options), "contend")?;
            let settings = settle(Layer { options, screen, headless })?;
            return contend::contend(&settings, format(&settings), &contend, &mut tokio::io::stdout()).await;
        }
        Command::Compare { options: own, headless, compare } => {
            let options = without_locks(own.over(options), "compare")?;
            let screen = ScreenOptions { ascii: compare.ascii.or(screen.ascii), ..screen };
            let settings = settle(Layer { options, screen, headless })?;
            return contend::compare(&settings, format(&settings), &compare, &mut tokio::io::stdout()).await;
        }
    }
    Ok(Verdict::Yes)
}

/// A command that draws a plot may have to do with ASCII, and one that changes something has an audit log.
fn refuse_screen_options(screen: &ScreenOptions, command: &Command) -> Result<(), CliError> {
    if matches!(command, Command::Demo { .. }) {
        return Ok(());
    }
    let draws = matches!(command, Command::Compare { .. });
    let changes = matches!(command, Command::Delete { .. });
    let given = [
        (screen.ascii.is_some() && !draws, "--ascii"),
        (screen.theme.is_some(), "--theme"),
        (screen.mouse.is_some(), "--mouse"),
        (screen.write.is_some(), "--write"),
        (screen.audit_log.is_some() && !changes, "--audit-log"),
    ];
    given.into_iter().find(|(is_given, _)| *is_given).map_or(Ok(()), |(_, name)| Err(CliError::OnlyScreen(name)))
}

/// The options, when none of them says where locks are looked for.
fn without_locks(options: Options, command: &'static str) -> Result<Options, CliError> {
    let given = [(options.root.is_some(), "--root"), (options.lock.is_some(), "--lock")];
    let given = given.into_iter().find(|(is_given, _)| *is_given);
    given.map_or(Ok(options), |(_, name)| Err(CliError::OnlyLocks(name, command)))
}

/// Settles everything and starts the log.
fn settle(spoken: Layer) -> Result<Settings, CliError> {
    let environment = Environment::read(|name| std::env::var_os(name))?;
    let usual =
        etcetera::choose_base_strategy().ok().map(|folders| folders.config_dir().join("lockscope").join("config.toml"));
    let file = config::load(spoken.options.config.as_deref(), usual.as_deref())?;
    let config = spoken.options.config.clone().or(usual);
    let settings = Settings::resolve(spoken, &environment, file)?;
    for folder in exposed_folders(config.as_deref(), &settings) {
        // Who closed standard error does not care.
        let _ = writeln!(io::stderr(), "lockscope: {}", escaped(&folder));
    }
    if let Some(path) = &settings.log_file {
        log::start(path, settings.log_filter.as_deref())?;
    }
    Ok(settings)
}

/// What is to be said of files on which something depends and which everybody could exchange for others.
fn exposed_folders(config: Option<&Path>, settings: &Settings) -> Vec<String> {
    let auth = if let AuthSource::File(path) = &settings.auth { Some(&**path) } else { None };
    let key = settings.tls.as_ref().and_then(|tls| tls.key.as_deref());
    let audit_log = settings.audit_log.clone().or_else(crate::admin::audit::usual_path);
    let files = [config, auth, key, audit_log.as_deref()];
    let exposed = files.into_iter().flatten().filter_map(|file| Some((file, exposed_folder(file)?)));
    let sentence = |(file, folder): (&Path, PathBuf)| {
        let (file, folder) = (file.display(), folder.display());
        format!("everybody can put another file in the place of {file}: run chmod o-w on {folder}")
    };
    exposed.map(sentence).collect()
}

fn format(settings: &Settings) -> Format {
    let usual = if io::stdout().is_terminal() { Format::Table } else { Format::Json };
    settings.format.unwrap_or(usual)
}

async fn open_screen(settings: &Settings) -> Result<(), CliError> {
    let options = TuiOptions {
        observe: settings.observe_options()?,
        survey: settings.survey_options()?,
        thresholds: settings.thresholds,
        ascii: settings.ascii,
        theme: settings.theme,
        mouse: settings.mouse,
        utc: settings.utc,
        write: settings.write,
        audit_log: settings.audit_log.clone().or_else(crate::admin::audit::usual_path),
        tour: None,
    };
    // On the heap: the screen's state is large, and the headless commands share this future.
    Ok(Box::pin(tui::run(options)).await?)
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
                &["contend", "--path", "/a", "--recipe", "spin"],
                &["contend", "--path", "/a", "--rounds", "0"],
                &["contend"],
                &["compare", "--clients", "2,0"],
                &["compare", "--spread", "200"],
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
        invalid value 'spin' for '--recipe <NAME>' [possible values: mutex, mutex-parent, herd, chain, shared-herd, shared-chain, semaphore]; try --help
        invalid value '0' for '--rounds <N>': give a number of rounds from 1 on, or --endless in its place; try --help
        the following required arguments were not provided: --path <PATH>; try --help
        invalid value '0' for '--clients <N[,N...]>': give a number of clients from 1 to 5000; try --help
        invalid value '200' for '--spread <PERCENT>': give a percentage from 0 to 100; try --help
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
