//! Several contexts of the config file at once: which are chosen, and the options of each.

use anyhow::{bail, ensure};

use super::config::{Config, ConfigError};
use super::console_options::{ConsoleOptions, elsewhere_environment, known_contexts, sentence};
use super::options::{EnsembleOptions, SharedOptions};
use super::resolved::{Environment, ResolvedOptions};
use super::{environment, exposed_folders, log, output, read_config, resolve_options, themes, usual_config};
use crate::tui::{self, TuiOptions, WatchOptions};

/// The ensembles that a command works on.
pub(super) enum Chosen {
    /// One, in a context or not.
    One(Box<ResolvedOptions>),
    /// Those of several contexts.
    Several(Vec<InContext>),
}

/// A context, and its options.
pub(super) struct InContext {
    pub name: String,
    pub production: bool,
    /// An error says why the options cannot be used.
    pub settings: anyhow::Result<ResolvedOptions>,
}

/// Finds out which ensembles are chosen. Fails when a context does not exist; other mistakes are
/// those of one context.
pub(super) fn resolve(options: SharedOptions) -> anyhow::Result<Chosen> {
    let environment = environment()?;
    if !is_several(&options.ensemble, &environment) {
        return Ok(Chosen::One(Box::new(resolve_options(options)?)));
    }
    let config = read_config(options.ensemble.config.as_deref())?;
    config.mistakes.iter().for_each(|mistake| output::note(&mistake.to_string()));
    let all = each(&options, &environment, &config)?;
    if let Some(settings) = all.iter().find_map(|context| context.settings.as_ref().ok())
        && let Some(path) = &settings.log_file
    {
        log::start(path, settings.log_filter.as_deref())?;
    }
    Ok(Chosen::Several(all))
}

/// Whether several contexts are chosen.
pub(super) fn is_several(options: &EnsembleOptions, environment: &Environment) -> bool {
    match (&options.context, options.all_contexts) {
        (Some(names), _) => names.contains(','),
        (None, Some(all)) => all,
        (None, None) => environment.options.ensemble.context.as_ref().is_some_and(|names| names.contains(',')),
    }
}

/// Refuses several contexts for a command that works on one ensemble.
pub(super) fn refuse(options: &EnsembleOptions, environment: &Environment) -> anyhow::Result<()> {
    ensure!(
        !is_several(options, environment),
        "this works on one ensemble: name one context; the screen, snapshot, watch, check and record take several"
    );
    Ok(())
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
        // What is given on the command line holds in each of them.
        let own = SharedOptions { ensemble: one(&options.ensemble, &name), ..options.clone() };
        let settings = file
            .map_err(anyhow::Error::from)
            .and_then(|file| Ok(ResolvedOptions::resolve(own, &elsewhere_environment, file)?.with_config(config)));
        let production = config.contexts.get(&name).is_some_and(|context| context.production);
        all.push(InContext { name, production, settings });
    }
    let path = options.ensemble.config.clone().or_else(usual_config);
    for settings in all.iter().filter_map(|context| context.settings.as_ref().ok()) {
        exposed_folders(path.as_deref(), settings).iter().for_each(|sentence| output::note(sentence));
    }
    Ok(all)
}

fn one(options: &EnsembleOptions, name: &str) -> EnsembleOptions {
    EnsembleOptions { context: Some(name.to_owned()), all_contexts: None, ..options.clone() }
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

/// Shows several ensembles until the user leaves.
pub(super) async fn screen(given: SharedOptions) -> anyhow::Result<()> {
    let environment = environment()?;
    let path = given.ensemble.config.clone().or_else(usual_config);
    let config = read_config(given.ensemble.config.as_deref())?;
    config.mistakes.iter().for_each(|mistake| output::note(&mistake.to_string()));
    let watched = each(&given, &environment, &config)?.into_iter().map(watched).collect();
    // No context is in force until the user goes into an ensemble.
    let ensemble = EnsembleOptions { context: None, all_contexts: None, ..given.ensemble.clone() };
    let (given, environment) = (SharedOptions { ensemble, ..given }, elsewhere_environment(&environment));
    let theme_is_given = given.display.theme.is_some();
    let mut settings =
        ResolvedOptions::resolve(given.clone(), &environment, config.options_in(None)?)?.with_config(&config);
    settings.production = None;
    match themes::find(&settings.theme, path.as_deref()) {
        Ok(palette) => settings.palette = palette,
        Err(error) if theme_is_given => return Err(error.into()),
        Err(error) => output::note(&format!("{error}; the colours are the terminal's own")),
    }
    if let Some(path) = &settings.log_file {
        log::start(path, settings.log_filter.as_deref())?;
    }
    let mut options: TuiOptions = settings.tui_options(settings.observe_options()?, settings.survey_options()?);
    options.notice = config.mistakes.first().map(|mistake| format!("{mistake}."));
    options.settings.contexts = known_contexts(&config);
    let source = ConsoleOptions::new(given, environment, path, config, settings).with_roots_of_all();
    // Boxed, because the screen's state is large.
    Box::pin(tui::run(options, Some(std::sync::Arc::new(source)), watched)).await?;
    Ok(())
}

/// Returns how the screen watches a context.
fn watched(context: InContext) -> tui::EnsembleOptions {
    let InContext { name, production, settings } = context;
    let options = settings.and_then(|settings| {
        Ok(WatchOptions {
            observe: settings.observe_options()?,
            survey: settings.survey_options()?,
            thresholds: settings.thresholds,
        })
    });
    let options = options.map_err(|error| sentence(&format!("{error:#}")));
    tui::EnsembleOptions { name, production, options }
}
