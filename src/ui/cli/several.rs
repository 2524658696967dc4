//! Several contexts of the config file at once: which are chosen, and the options of each.

use std::io;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{bail, ensure};
use futures::stream;
use futures::stream::StreamExt;
use serde::Serialize;

use super::config::{Config, ConfigError};
use super::console_options::{ConsoleOptions, elsewhere_environment, one_of_all, sentence};
use super::options::{EnsembleOptions, Format, Override, SharedOptions};
use super::resolved::{Environment, ResolvedOptions};
use super::{environment, output, read_config, resolve_options, start_log, usual_config, warnings, with_theme};
use crate::tui;
use crate::tui::EnsembleWatchOptions;
use lockscope_base::znode::{Timestamp, escaped};
use lockscope_model::diagnose::{AcrossEnsembles, EnsembleClaims, TableAt, crossed_now};
use lockscope_model::queue::{CrossWaits, LockTable};
use lockscope_model::report::{ReportedEnsemble, SCHEMA};

/// The ensembles that a command works on.
pub enum Chosen {
    /// One, in a context or not.
    One(Box<ResolvedOptions>),
    /// Those of several contexts, and the format of what is printed about them.
    Several(Vec<InContext>, Format),
}

/// A context, and its options.
pub struct InContext {
    pub name: String,
    pub production: bool,
    /// An error says why the options cannot be used.
    pub settings: anyhow::Result<ResolvedOptions>,
}

/// Finds out which ensembles are chosen. Fails when a context does not exist; other mistakes are
/// those of one context.
pub fn resolve(options: SharedOptions) -> anyhow::Result<Chosen> {
    let Some(mut all) = chosen(&options)? else { return Ok(Chosen::One(Box::new(resolve_options(options)?))) };
    let config = read_config(options.ensemble.config.as_deref())?;
    let format = options.output.format.merge(config.options.output.format).resolve();
    for settings in all.iter_mut().filter_map(|context| context.settings.as_mut().ok()) {
        settings.format = format;
    }
    Ok(Chosen::Several(all, format))
}

/// Returns the contexts, if several are chosen, and starts the log.
pub fn chosen(options: &SharedOptions) -> anyhow::Result<Option<Vec<InContext>>> {
    let environment = environment()?;
    if !is_several(&options.ensemble, &environment) {
        return Ok(None);
    }
    let config = read_config(options.ensemble.config.as_deref())?;
    config.mistakes.iter().for_each(|mistake| output::note(&mistake.to_string()));
    let all = each(options, &environment, &config)?;
    if let Some(settings) = all.iter().find_map(|context| context.settings.as_ref().ok()) {
        start_log(settings)?;
    }
    Ok(Some(all))
}

/// Reads the options of one of several contexts again.
pub fn again(options: &SharedOptions, name: &str) -> anyhow::Result<ResolvedOptions> {
    let config = read_config(options.ensemble.config.as_deref())?;
    let found = each(options, &environment()?, &config)?.into_iter().find(|context| context.name == name);
    found.map_or_else(|| bail!("there is no context {name:?} any more in the config file"), |context| context.settings)
}

/// Whether several contexts are chosen.
pub fn is_several(options: &EnsembleOptions, environment: &Environment) -> bool {
    match (&options.context, options.all_contexts) {
        (Some(names), _) => names.contains(','),
        (None, Some(all)) => all,
        (None, None) => environment.options.ensemble.context.as_ref().is_some_and(|names| names.contains(',')),
    }
}

/// Refuses several contexts for a command that works on one ensemble.
pub fn refuse(options: &EnsembleOptions, environment: &Environment) -> anyhow::Result<()> {
    ensure!(
        !is_several(options, environment),
        "this works on one ensemble: name one context; the screen, snapshot, find, watch, check and record take several"
    );
    Ok(())
}

/// Leaves several contexts of the environment out.
pub fn without_several(environment: Environment) -> Environment {
    if !is_several(&EnsembleOptions::default(), &environment) {
        return environment;
    }
    let mut options = environment.options.clone();
    options.ensemble.context = None;
    Environment { options, ..environment }
}

/// Returns the options of each chosen context, in the given order.
fn each(options: &SharedOptions, environment: &Environment, config: &Config) -> anyhow::Result<Vec<InContext>> {
    ensure!(
        options.ensemble.connect.is_none(),
        "each context has servers of its own: leave out --connect, or name one context"
    );
    let names = names(&options.ensemble, environment, config)?;
    let elsewhere_environment = elsewhere_environment(environment);
    let mut all = Vec::new();
    for name in names {
        let file = match config.options_in(Some(&name)) {
            Err(error @ ConfigError::NoContext { .. }) => return Err(error.into()),
            file => file,
        };
        let own = one_of_all(options, &name);
        let settings = file.map_err(anyhow::Error::from).and_then(|file| {
            let settings = ResolvedOptions::resolve(own, &elsewhere_environment, file)?.with_config(config);
            Ok(ResolvedOptions { is_one_of_several: true, ..settings })
        });
        let production = config.contexts.get(&name).is_some_and(|context| context.production);
        all.push(InContext { name, production, settings });
    }
    let path = options.ensemble.config.clone().or_else(usual_config);
    for settings in all.iter().filter_map(|context| context.settings.as_ref().ok()) {
        for sentence in warnings(path.as_deref(), settings) {
            output::note(&sentence);
        }
    }
    Ok(all)
}

fn names(options: &EnsembleOptions, environment: &Environment, config: &Config) -> anyhow::Result<Vec<String>> {
    let typed = options.context.as_ref().or(environment.options.ensemble.context.as_ref());
    let mut names: Vec<String> = Vec::new();
    if options.all_contexts == Some(true) {
        names.extend(config.contexts.keys().cloned());
        ensure!(!names.is_empty(), "the config file has no contexts: write [context.NAME] there, or name --connect");
        return Ok(names);
    }
    for name in typed.into_iter().flat_map(|typed| typed.split(',')).map(str::trim) {
        if name.is_empty() {
            bail!("a name is missing in --context: write the names with one comma between two, as in a,b");
        }
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// One of several ensembles that are followed together: it tells what its clients claim, and is told
/// in which cycles of waits over the ensembles they take part.
#[derive(Debug)]
pub struct OneOfEnsembles {
    name: Arc<str>,
    all: Arc<Mutex<AcrossEnsembles>>,
}

impl OneOfEnsembles {
    pub fn new(name: &str, all: &Arc<Mutex<AcrossEnsembles>>) -> Self {
        Self { name: name.into(), all: Arc::clone(all) }
    }

    /// Tells the claims of a table. Returns what it has to be told, if that is news.
    pub fn exchange(&self, table: &LockTable, now: Timestamp) -> Option<Arc<CrossWaits>> {
        let claims = EnsembleClaims::of(TableAt::new(table, now));
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.take(Arc::clone(&self.name), claims);
        all.compare(now);
        crossed_now(all.told().get(&self.name), &self.name, table, now)
    }
}

impl Drop for OneOfEnsembles {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).forget(&self.name);
    }
}

/// The most contexts that are read at the same time.
const MAX_AT_ONCE: usize = 64;

/// What is printed in place of the facts of a context that could not be reached.
#[derive(Serialize)]
struct EnsembleFailure<'a> {
    schema: u32,
    error: &'a str,
}

/// The contexts that a command could not reach.
#[derive(Debug)]
pub struct Failures {
    names: Vec<String>,
    all: usize,
}

impl Failures {
    /// Starts to work on that many contexts.
    pub fn of(all: usize) -> Self {
        Self { names: Vec::new(), all }
    }

    /// Prints why a context could not be reached, and remembers it.
    pub fn add(
        &mut self,
        name: &str,
        error: &anyhow::Error,
        format: Format,
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        self.name(name, error);
        let error = format!("{error:#}");
        output::print(out, |out| match format {
            Format::Json => output::write_json_of(out, Some(name), &EnsembleFailure { schema: SCHEMA, error: &error }),
            Format::Table => writeln!(out, "{name}: not seen: {}", escaped(&error)),
        })
    }

    /// Names a context that could not be reached on standard error.
    pub fn name(&mut self, name: &str, error: &anyhow::Error) {
        self.names.push(name.to_owned());
        output::note(&format!("{name}: {error:#}"));
    }

    /// Fails if a context could not be reached.
    pub fn end(self) -> anyhow::Result<()> {
        let (failed, all) = (self.names.len(), self.all);
        ensure!(failed == 0, "{failed} of {all} contexts could not be reached: {}", self.names.join(", "));
        Ok(())
    }
}

/// Writes the context and its servers above a table, if there are several.
pub fn write_heading(out: &mut impl Write, context: Option<&str>, ensemble: &ReportedEnsemble) -> io::Result<()> {
    match context {
        Some(context) => writeln!(out, "== {context} ({})", escaped(ensemble.connect())),
        None => Ok(()),
    }
}

/// Works on each context, up to [`MAX_AT_ONCE`] at the same time. Returns the results in the order
/// of the contexts.
pub fn results<T, F: Future<Output = anyhow::Result<T>>>(
    contexts: Vec<InContext>,
    work: impl Fn(ResolvedOptions) -> F,
) -> impl futures::Stream<Item = (String, anyhow::Result<T>)> {
    let working = contexts.into_iter().map(move |InContext { name, settings, .. }| {
        let work = settings.map(&work);
        async move {
            let done = match work {
                Ok(work) => work.await,
                Err(error) => Err(error),
            };
            (name, done)
        }
    });
    stream::iter(working).buffered(MAX_AT_ONCE)
}

/// Shows several ensembles until the user leaves.
pub async fn screen(given: SharedOptions) -> anyhow::Result<()> {
    let environment = environment()?;
    let path = given.ensemble.config.clone().or_else(usual_config);
    let config = read_config(given.ensemble.config.as_deref())?;
    config.mistakes.iter().for_each(|mistake| output::note(&mistake.to_string()));
    let watched = each(&given, &environment, &config)?.into_iter().map(watched).collect();
    // No context is in force until the user goes into an ensemble.
    let ensemble = EnsembleOptions { context: None, all_contexts: None, ..given.ensemble.clone() };
    let (given, environment) = (SharedOptions { ensemble, ..given }, elsewhere_environment(&environment));
    let theme_is_given = given.display.theme.is_some();
    let settings =
        ResolvedOptions::resolve(given.clone(), &environment, config.options_in(None)?)?.with_config(&config);
    let settings = ResolvedOptions { production: None, ..with_theme(settings, theme_is_given, path.as_deref())? };
    start_log(&settings)?;
    let source = ConsoleOptions::new(given, environment, path, config, settings).of_all();
    // Boxed, because the screen's state is large.
    Box::pin(tui::run(source.first()?, Some(Arc::new(source)), watched)).await?;
    Ok(())
}

/// Returns how the screen watches a context.
fn watched(context: InContext) -> tui::EnsembleToWatch {
    let InContext { name, production, settings } = context;
    let options = settings.and_then(|settings| {
        Ok(EnsembleWatchOptions {
            observe: settings.observe_options()?,
            survey: settings.survey_options()?,
            thresholds: settings.thresholds,
            notes: settings.notes(),
        })
    });
    let options = options.map_err(|error| sentence(&format!("{error:#}")));
    tui::EnsembleToWatch { name, production, options }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::cli::config;
    use crate::cli::options::WhichLocks;
    use crate::tui::OptionsSource;

    #[test]
    fn an_ensemble_is_opened_with_the_options_with_which_it_is_watched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "session-timeout = '9s'\n[context.a]\nconnect = 'zk1'\nroot = ['/file']\n").unwrap();
        let named = EnsembleOptions { config: Some(path.clone()), ..EnsembleOptions::default() };
        let locks = |root: Option<&str>, lock: Option<&str>| WhichLocks {
            root: root.map(|root| vec![crate::testing::path(root)]),
            lock: lock.map(|lock| vec![crate::testing::path(lock)]),
            ..WhichLocks::default()
        };
        let of = |ensemble, locks| SharedOptions { locks, ensemble, ..SharedOptions::default() };
        let none = || locks(None, None);
        let given = [
            of(named.clone(), none()),
            of(named.clone(), locks(Some("/given"), None)),
            of(named.clone(), locks(None, Some("/lock"))),
            of(named.clone(), WhichLocks { stuck_after: Some(Duration::from_secs(7)), ..none() }),
            of(EnsembleOptions { session_timeout: Some(Duration::from_secs(5)), ..named.clone() }, none()),
            of(EnsembleOptions { tls_ca: Some("ca.pem".into()), ..named.clone() }, none()),
            of(EnsembleOptions { kerberos: Some(true), ..named.clone() }, none()),
        ];
        for given in given {
            let (environment, config) = (Environment::default(), config::load(Some(&path), None).unwrap());
            let all = EnsembleOptions { all_contexts: Some(true), ..given.ensemble.clone() };
            let of_all = SharedOptions { ensemble: all, ..given.clone() };
            let list = each(&of_all, &environment, &config).unwrap().into_iter().map(watched).next().unwrap();
            let list = list.options.unwrap();
            let settings = ResolvedOptions::resolve(given.clone(), &environment, config.options_in(None).unwrap());
            let source =
                ConsoleOptions::new(given, environment, Some(path.clone()), config, settings.unwrap()).of_all();
            let opened = source.in_context("a").unwrap().watch();
            assert_eq!(opened.observe, list.observe);
            assert_eq!(format!("{opened:?}"), format!("{list:?}"));
        }
    }
}
