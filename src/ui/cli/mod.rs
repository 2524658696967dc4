//! The command line: the options and the work of each command.
//!
//! [`Arguments`] is the single definition behind the help, the completions and the manual page. A
//! command's options and its work stand in one file; small commands that are read together share
//! one. [`run`] merges the options with the environment, the config file and the defaults, and
//! starts the command.
//!
//! Exit codes: 0 for success; 1 for success where the answer is no; 2 for a failure; 75 for a
//! recorder that may work when it is started again; 128 plus the signal's number after a second
//! signal. An error is one sentence on stderr. A reader that closes the pipe ends a command
//! quietly.

mod arguments;
mod check;
mod colour;
mod config;
mod console_options;
mod contend;
mod delete;
mod demo;
mod doctor;
mod duty;
mod find;
mod history;
mod import;
mod limits;
mod live_table;
mod manual;
mod options;
mod output;
mod pager;
mod past;
mod print_config;
mod record;
mod record_exports;
mod recorded;
mod resolved;
mod several;
mod snapshot;
mod store_check;
mod table_event;
mod tree;
mod watch;

use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use clap::error::{ContextKind, ContextValue};
use etcetera::BaseStrategy;

use crate::tui;
use arguments::CliCommand;
use config::{Config, ConfigError};
use console_options::ConsoleOptions;
use lockscope_files::exposed_folder;
use lockscope_live::zk;
use lockscope_past::record::ReadMemory;
use options::{EnsembleOptions, Override, SharedOptions};
use past::SpanOptions;
use resolved::{AuthSource, Environment, OptionsError, ResolvedOptions};
use several::Chosen;
use watch::WatchOptions;

pub use arguments::Arguments;
pub use check::{is_plugin, unknown_service};
pub use colour::choose as choose_colours;
pub use limits::claim;
pub use output::{ExitAnswer, MayPass, note};
pub use pager::print_help;

/// Runs the command until it is done or interrupted. An error is one sentence that says what to do.
pub async fn run(arguments: Arguments) -> anyhow::Result<ExitAnswer> {
    // Boxed, because the future of any command is large.
    let outcome = Box::pin(dispatch(arguments)).await;
    if let Some(note) = lockscope_live::zk::unverified_login() {
        output::note(note);
    }
    match outcome {
        Err(error) if output::reader_left(&error) => Ok(ExitAnswer::Yes),
        outcome => outcome,
    }
}

/// Runs `--config-check`: prints every mistake of the config file on standard error, or that there
/// is none.
fn check_config(options: &EnsembleOptions, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    let usual = usual_config();
    let config = config::load(options.config.as_deref(), usual.as_deref())?;
    for mistake in &config.mistakes {
        note(&mistake.to_string());
    }
    let path = options.config.as_ref().or(usual.as_ref());
    let path = path.map_or_else(|| "config.toml".to_owned(), |path| path.display().to_string());
    match config.mistakes.len() {
        0 if !config.is_there => output::print(out, |out| writeln!(out, "there is no config file {path}"))?,
        0 => output::print(out, |out| writeln!(out, "the config file {path} is right"))?,
        1 => bail!("there is 1 mistake in the config file {path}"),
        mistakes => bail!("there are {mistakes} mistakes in the config file {path}"),
    }
    Ok(ExitAnswer::Yes)
}

#[expect(clippy::too_many_lines, reason = "one arm for each command")]
async fn dispatch(arguments: Arguments) -> anyhow::Result<ExitAnswer> {
    if arguments.config_check {
        return check_config(&arguments.ensemble, &mut io::stdout().lock());
    }
    let (before, command) = arguments.split();
    let Some(command) = command else { return screen(before).await };
    let resolve = |own: SharedOptions| resolve_options(own.merge(before.clone()));
    let choose = |own: SharedOptions| several::resolve(own.merge(before.clone()));
    let resolve_past = |own: SharedOptions| resolve_recorded(own.merge(before.clone()));
    match command {
        CliCommand::Snapshot(options) if !options.past.store.is_empty() => {
            let settings = resolve_past(options.read.shared())?;
            snapshot::run_past(&settings, &options.past, &mut io::stdout().lock())
        }
        CliCommand::Snapshot(options) => match choose(options.read.shared())? {
            Chosen::One(settings) => snapshot::run(*settings, &mut io::stdout().lock()).await,
            Chosen::Several(several, format) => snapshot::run_each(several, format, &mut io::stdout().lock()).await,
        },
        CliCommand::Find(options) if !options.past.store.is_empty() => {
            find::run_past(&resolve_past(options.read.shared())?, &options, &mut io::stdout().lock())
        }
        CliCommand::Find(options) => {
            find::run(choose(options.read.shared())?, &options, &mut io::stdout().lock()).await
        }
        CliCommand::Members(options) => {
            let settings = resolve(options.read.shared())?;
            let done = snapshot::run_members(&settings, &options, &mut io::stdout().lock()).await;
            done.map_err(|error| settings.explain(error))
        }
        CliCommand::Doctor(options) => {
            let settings = resolve(options.shared())?;
            let done = Box::pin(doctor::run(&settings, &mut io::stdout().lock())).await;
            done.map_err(|error| settings.explain(error))
        }
        CliCommand::Tree(options) => {
            let settings = resolve(options.shared())?;
            let done = tree::run(&settings, &options, &mut io::stdout().lock()).await;
            done.map_err(|error| settings.explain(error))
        }
        CliCommand::Watch(WatchOptions { past: SpanOptions { store: Some(store), from, to }, read, .. }) => {
            watch::run_past(&resolve_past(read.shared())?, &store, from, to, &mut tokio::io::stdout()).await
        }
        CliCommand::Watch(options) => {
            let out = &mut tokio::io::stdout();
            match choose(options.read.shared())? {
                Chosen::One(settings) => watch::run(&settings, options.stop_after, None, out).await,
                Chosen::Several(several, format) => {
                    watch::run_each(several, format, options.stop_after, None, out).await
                }
            }
        }
        CliCommand::Check(on) if on.duty.watch => Box::pin(check::run_on_duty(choose(on.read.shared())?, &on)).await,
        CliCommand::Check(mut options) => {
            options.read.ensemble.connect = options.read.ensemble.connect.or_else(|| before.ensemble.connect.clone());
            let (shared, out) = (options.read.shared(), &mut io::stdout().lock());
            if options.is_past() {
                return check::run_past(resolve_past(shared), &options, out).await;
            }
            Box::pin(check::run_chosen(choose(shared), &options, out)).await
        }
        CliCommand::Record(command) => {
            let given = command.shared().merge(before.clone());
            match several::chosen(&given)? {
                Some(several) => Box::pin(record::run_each(command, given, several)).await,
                None => Box::pin(record::run_one(&command, || resolve(command.shared()))).await,
            }
        }
        CliCommand::Replay(command) => recorded::run_replay(&resolve_past(command.shared())?, &command).await,
        CliCommand::Contend(options) => {
            let settings = resolve(options.run.shared())?;
            let done = contend::contend(&settings, &options, &mut tokio::io::stdout()).await;
            done.map_err(|error| settings.explain(error))
        }
        CliCommand::Compare(options) => {
            let settings = resolve(options.shared())?;
            let done = contend::compare(&settings, &options, &mut tokio::io::stdout()).await;
            done.map_err(|error| settings.explain(error))
        }
        // An ensemble of the environment or the config file is not meant for a tour.
        CliCommand::Demo(options) if options.ensemble.connect.is_none() && before.ensemble.connect.is_none() => {
            demo::on_sandbox(&resolve_past(options.shared())?, options.play).await
        }
        CliCommand::Demo(options) => demo::on_ensemble(&resolve(options.shared())?, options.play).await,
        CliCommand::Delete(options) => {
            let settings = resolve(options.shared())?;
            let done = Box::pin(delete::run(&settings, &options, &mut io::stdout().lock())).await;
            done.map_err(|error| settings.explain(error))
        }
        CliCommand::History(options) => {
            history::run(&resolve_past(options.shared())?, &options, &mut io::stdout().lock()).await
        }
        CliCommand::Report(command) => history::run_report(&resolve_past(command.shared())?, &command).await,
        CliCommand::Import(command) => {
            import::run(&resolve_past(command.shared())?, &command, &mut io::stdout().lock()).await
        }
        CliCommand::Store { command: store_check::StoreCommand::Check(options) } => {
            let settings = resolve_past(options.shared())?;
            store_check::run(&settings, &options, &mut io::stdout().lock()).await
        }
        CliCommand::Cut(command) => recorded::run_cut(&resolve_past(command.shared())?, &command).await,
        CliCommand::Sandbox(options) => sandbox(&options, &before).await,
        CliCommand::Contexts(options) => {
            let format = options.format.resolve();
            let config = read_config(options.shared().merge(before).ensemble.config.as_deref())?;
            print_config::print_contexts(&config, format, &mut io::stdout().lock())
        }
        CliCommand::Recipes(options) => {
            let config = read_config(options.file.shared().merge(before).ensemble.config.as_deref())?;
            config.mistakes.iter().for_each(|mistake| output::note(&mistake.to_string()));
            let format = options.file.format.resolve();
            print_config::print_recipes(&config.recipes, options.tried.as_ref(), format, &mut io::stdout().lock())
        }
        CliCommand::Completions { shell } => arguments::completions(shell, &mut io::stdout().lock()),
        CliCommand::Man { out: Some(folder) } => manual::man_pages(&folder),
        CliCommand::Man { out: None } => manual::man(&mut io::stdout().lock()),
    }
}

async fn sandbox(options: &demo::SandboxOptions, before: &SharedOptions) -> anyhow::Result<ExitAnswer> {
    if let Some(path) = options.log_file.as_deref().or(before.ensemble.log_file.as_deref()) {
        output::start_log(path, environment()?.log_filter.as_deref())?;
    }
    demo::run_sandbox(options, &mut io::stdout().lock()).await
}

/// Shows the screen until it is left.
async fn screen(given: SharedOptions) -> anyhow::Result<ExitAnswer> {
    if several::is_several(&given.ensemble, &environment()?) {
        several::screen(given).await?;
        return Ok(ExitAnswer::Yes);
    }
    let path = given.ensemble.config.clone().or_else(usual_config);
    let (config, settings) = resolve_options_in(given.clone(), &environment()?)?;
    let source = ConsoleOptions::new(given, environment()?, path, config, settings);
    // Boxed, because the screen's state is large and the headless commands share this future.
    Box::pin(tui::run(source.first()?, Some(Arc::new(source)), Vec::new())).await?;
    Ok(ExitAnswer::Yes)
}

fn environment() -> Result<Environment, OptionsError> {
    Environment::read(|name| std::env::var_os(name))
}

/// Merges the options of the command line with the environment and the config file, and starts the
/// log.
fn resolve_options(options: SharedOptions) -> anyhow::Result<ResolvedOptions> {
    resolve_options_in(options, &environment()?).map(|(_, settings)| settings)
}

/// Merges the options of a command that contacts no ensemble of the environment.
fn resolve_recorded(options: SharedOptions) -> anyhow::Result<ResolvedOptions> {
    let environment = several::without_several(environment()?);
    resolve_options_in(options, &environment).map(|(_, settings)| settings)
}

/// Merges the options and returns the config file too. Sets the memory for reading recordings.
fn resolve_options_in(options: SharedOptions, environment: &Environment) -> anyhow::Result<(Config, ResolvedOptions)> {
    several::refuse(&options.ensemble, environment)?;
    if let Some(bytes) = environment.read_memory {
        ReadMemory::allow(bytes);
    }
    let named = options.ensemble.config.clone();
    let config = config::load(named.as_deref(), usual_config().as_deref())?;
    let context = options.ensemble.context.as_deref().or(environment.options.ensemble.context.as_deref());
    let file = config.options_in(context)?;
    config.mistakes.iter().for_each(|mistake| output::note(&mistake.to_string()));
    let theme_is_given = options.display.theme.is_some();
    let path = named.or_else(usual_config);
    let settings = ResolvedOptions::resolve(options, environment, file)?.with_config(&config);
    let settings = with_theme(settings, theme_is_given, path.as_deref())?;
    for sentence in warnings(path.as_deref(), &settings) {
        output::note(&sentence);
    }
    start_log(&settings)?;
    Ok((config, settings))
}

/// Finds the theme. Only one that was named on the command line must exist.
fn with_theme(
    settings: ResolvedOptions,
    is_given: bool,
    config: Option<&Path>,
) -> Result<ResolvedOptions, resolved::ThemeError> {
    match resolved::find_theme(&settings.theme, config) {
        Ok(palette) => Ok(ResolvedOptions { palette, ..settings }),
        Err(error) if is_given => Err(error),
        // Wrong colours must not prevent looking at locks.
        Err(error) => {
            output::note(&format!("{error}; the colours are the terminal's own"));
            Ok(settings)
        }
    }
}

fn start_log(settings: &ResolvedOptions) -> anyhow::Result<()> {
    settings.log_file.as_ref().map_or(Ok(()), |path| output::start_log(path, settings.log_filter.as_deref()))
}

/// Reads the config file that was named, or else the usual one.
fn read_config(named: Option<&Path>) -> Result<Config, ConfigError> {
    config::load(named, usual_config().as_deref())
}

/// Returns the path of the config file when none is named.
fn usual_config() -> Option<PathBuf> {
    let folders = etcetera::choose_base_strategy().ok()?;
    Some(folders.config_dir().join("lockscope").join("config.toml"))
}

/// Returns a sentence for each important file that every user of the machine could replace, and for
/// a password that everybody on the way could read.
fn warnings(config: Option<&Path>, settings: &ResolvedOptions) -> Vec<String> {
    let auth = if let AuthSource::File(path) = &settings.auth { Some(&**path) } else { None };
    let key = settings.tls.as_ref().and_then(|tls| tls.key.as_deref());
    let files = [config, auth, key, settings.audit_log.as_deref()];
    let exposed = files.into_iter().flatten().filter_map(|file| Some((file, exposed_folder(file)?)));
    let sentence = |(file, folder): (&Path, PathBuf)| {
        let (file, folder) = (file.display(), folder.display());
        format!("every user can put another file in the place of {file}: run chmod o-w on {folder}")
    };
    exposed.map(sentence).chain(settings.plain_password()).collect()
}

/// Returns a usage error as one line: the mistake, a suggestion, and where to find help.
pub fn usage_sentence(error: &clap::Error) -> String {
    let mut text = error.render().to_string();
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) {
        text = text.replace(value, &zk::without_identity(value));
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let sentence: Vec<&str> =
        lines.filter(|line| !line.starts_with("Usage:") && !line.starts_with("For more information")).collect();
    let sentence = sentence.join(" ").replace(" tip: ", "; ");
    let command = match error.get(ContextKind::Custom) {
        Some(ContextValue::String(command)) => command,
        _ => "lockscope",
    };
    format!("{}; try {command} --help", sentence.strip_prefix("error: ").unwrap_or(&sentence))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn sentence(arguments: &[&str]) -> String {
        usage_sentence(&Arguments::from_words([&["lockscope"], arguments].concat()).unwrap_err())
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
                &["snapshot", "--json", "--format", "table"],
                &["--color", "blue"],
                &["--root", "locks"],
                &["watch", "--for", "soon"],
                &["--session-timeout", "1ms"],
                &["--root", "/a", "contend", "--path", "/a"],
                &["contend", "--path", "/a", "--root", "/a"],
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
        unexpected argument '--fromat' found; a similar argument exists: '--format'; try lockscope snapshot --help
        invalid value 'xml' for '--format <FORMAT>' [possible values: table, json]; try lockscope snapshot --help
        the argument '--json' cannot be used with '--format <FORMAT>'; try lockscope snapshot --help
        invalid value 'blue' for '--color <WHEN>' [possible values: auto, always, never]; try lockscope --help
        invalid value 'locks' for '--root <PATH>': "locks" is not a znode path: it does not start with a slash; try lockscope --help
        invalid value 'soon' for '--for <DURATION>': write a number and its unit, as in 500ms, 90s or 1h30m; try lockscope watch --help
        invalid value '1ms' for '--session-timeout <DURATION>': a session timeout lies between 100ms and 1h; try lockscope --help
        unexpected argument '--root' found; try lockscope contend --help
        unexpected argument '--root' found; try lockscope contend --help
        invalid value 'spin' for '--recipe <NAME>' [possible values: mutex, mutex-parent, herd, chain, chain-ahead, shared-herd, shared-chain, semaphore]; try lockscope contend --help
        invalid value '0' for '--rounds <N>': give a number of rounds from 1 on, or --endless in its place; try lockscope contend --help
        the following required arguments were not provided: --path <PATH>; try lockscope contend --help
        invalid value '0' for '--clients <N[,N...]>': give a number of clients from 1 to 5000; try lockscope compare --help
        invalid value '200' for '--spread <PERCENT>': give a percentage from 0 to 100; try lockscope compare --help
        the following required arguments were not provided: <SHELL>; try lockscope completions --help
        unrecognized subcommand 'frobnicate'; try lockscope --help
        "#
        );
    }

    #[test]
    fn help_lists_every_option() {
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
