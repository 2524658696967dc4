//! `lockscope contexts` and `lockscope recipes`: print parts of the config file.
//!
//! The first prints its named ensembles, the second how names of nodes are read, and why.

use std::io;
use std::io::Write;

use clap::Args;
use serde::Serialize;

use super::config::Config;
use super::options::{ConfigFileOptions, DEFAULT_CONNECT, Format};
use super::output::{ExitAnswer, print, write_json};
use lockscope_base::recipe::{
    Classification, Classifier, LockKind, OwnRecipe, Recipe, RequestMode, WrittenRecipe, written,
};
use lockscope_base::znode::{ZnodePath, escaped};
use lockscope_model::report::ReportedEnsemble;

/// The public part of a context: without identities in its connect string.
#[derive(Serialize)]
struct ContextFacts<'a> {
    name: &'a str,
    connect: String,
    production: bool,
}

/// Prints the contexts in the order of their names.
pub fn print_contexts(config: &Config, format: Format, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    let contexts: Vec<ContextFacts<'_>> = config
        .contexts
        .iter()
        .map(|(name, context)| {
            let connect = context.options.ensemble.connect.as_ref().or(config.options.ensemble.connect.as_ref());
            let connect =
                ReportedEnsemble::new(connect.map_or(DEFAULT_CONNECT, String::as_str), None).connect().to_owned();
            ContextFacts { name, connect, production: context.production }
        })
        .collect();
    print(out, |out| match format {
        Format::Json => write_json(out, &contexts),
        Format::Table if contexts.is_empty() => {
            writeln!(
                out,
                "The config file has no contexts: write [context.NAME] there, and the options of that ensemble below."
            )
        }
        Format::Table => write_table(out, &contexts),
    })?;
    Ok(ExitAnswer::Yes)
}

fn write_table(out: &mut impl Write, contexts: &[ContextFacts<'_>]) -> std::io::Result<()> {
    let longest = contexts.iter().map(|context| context.name.len()).max().unwrap_or(0).max("CONTEXT".len());
    writeln!(out, "{:<longest$}  {:<10}  CONNECT", "CONTEXT", "PRODUCTION")?;
    for ContextFacts { name, connect, production } in contexts {
        let production = if *production { "yes" } else { "no" };
        writeln!(out, "{name:<longest$}  {production:<10}  {}", escaped(connect))?;
    }
    Ok(())
}

/// The options of `lockscope recipes`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct RecipesOptions {
    /// Say how the node of this path is read, and why
    // An id of its own: other commands use this name for something else.
    #[arg(long = "try", value_name = "PATH")]
    pub tried: Option<ZnodePath>,
    #[command(flatten)]
    pub file: ConfigFileOptions,
}

/// A recipe in the form of the config file.
#[derive(Serialize)]
struct RecipeFacts {
    name: &'static str,
    patterns: Vec<&'static str>,
    kind: LockKind,
    roles: serde_json::Map<String, serde_json::Value>,
    leases: Option<u32>,
    name_from: Option<&'static str>,
    lock: bool,
    own: bool,
    note: Option<&'static str>,
}

/// How a node is read. For a node that is no contender only the first two fields and the last are
/// set.
#[derive(Serialize)]
struct ReadingFacts<'a> {
    path: &'a str,
    node: &'a str,
    recipe: Option<&'static str>,
    kind: Option<LockKind>,
    mode: Option<RequestMode>,
    lock: Option<String>,
    name: Option<String>,
    why: String,
}

/// Prints all recipes, or how one node is read. Exits with 1 when that node is no contender.
pub fn print_recipes(
    own: &[OwnRecipe],
    tried: Option<&ZnodePath>,
    format: Format,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    let Some(path) = tried else {
        let all = own.iter().map(|own| Recipe::Own(*own)).chain(Recipe::ALL).map(written);
        let all = all.filter(|recipe| !recipe.patterns.is_empty());
        print(out, |out| match format {
            Format::Json => write_json(out, &all.map(RecipeFacts::from).collect::<Vec<_>>()),
            Format::Table => all.into_iter().try_for_each(|recipe| write_toml(out, &recipe)),
        })?;
        return Ok(ExitAnswer::Yes);
    };
    let classifier = Classifier::new([]).with_recipes(own);
    let place = classifier.classify(path);
    let facts = ReadingFacts {
        path: path.as_str(),
        node: path.name(),
        recipe: place.as_ref().map(|place| place.recipe.id()),
        kind: place.as_ref().map(|place| place.recipe.kind()),
        mode: place.as_ref().map(|place| place.mode),
        lock: place.as_ref().map(|place| place.lock.to_string()),
        name: place.as_ref().and_then(|place| place.name.as_deref().map(str::to_owned)),
        why: why(path, place.as_ref(), &classifier),
    };
    print(out, |out| match format {
        Format::Json => write_json(out, &facts),
        Format::Table => writeln!(out, "{}: {}", escaped(path.as_str()), escaped(&facts.why)),
    })?;
    Ok(if place.is_some() { ExitAnswer::Yes } else { ExitAnswer::No })
}

/// Returns why a node is read as it is, as a part of a sentence.
fn why(path: &ZnodePath, place: Option<&Classification>, classifier: &Classifier) -> String {
    let Some(place) = place else {
        let group = classifier.own_at(path).map(|(own, _)| own.definition());
        return group.map_or_else(
            || "it is no contender: no recipe reads such a name".to_owned(),
            |group| {
                format!("it is no contender but a member of the group {}, which reads {}", group.name, group.pattern)
            },
        );
    };
    let recipe = written(place.recipe);
    let whose = if recipe.own { "the config file's recipe" } else { "the recipe" };
    let what = match place.mode {
        RequestMode::Exclusive => "asks for the lock alone",
        RequestMode::Read => "asks to read",
        RequestMode::Write => "asks to write",
        RequestMode::Lease => "has, or asks for, a lease",
    };
    let mut why = format!("{whose} {} reads {}; it {what}", recipe.name, recipe.patterns.join(" or "));
    let own = if let Recipe::Own(own) = place.recipe { Some(own.definition()) } else { None };
    if let Some(below) = own.and_then(|own| own.below.as_ref()) {
        why = format!("{why}; it holds below {below}");
    }
    if place.needs_ephemeral() {
        why += "; it counts only when a session owns it";
    }
    if let Some(note) = recipe.note {
        why = format!("{why}; {note}");
    }
    why
}

impl From<WrittenRecipe> for RecipeFacts {
    fn from(recipe: WrittenRecipe) -> Self {
        let WrittenRecipe { name, patterns, kind, roles, leases, name_from, lock, own, note } = recipe;
        let roles = roles.into_iter().map(|(word, role)| (word.to_owned(), role.id().into())).collect();
        Self { name, patterns, kind, roles, leases, name_from, lock, own, note }
    }
}

/// Writes a recipe in the syntax of a config file; each pattern becomes a recipe of its own,
/// because a recipe there has one pattern.
fn write_toml(out: &mut impl Write, recipe: &WrittenRecipe) -> io::Result<()> {
    if let Some(note) = recipe.note {
        writeln!(out, "# {note}")?;
    }
    for pattern in &recipe.patterns {
        writeln!(out, "[[recipe]]\nname = {:?}\npattern = {pattern:?}\nkind = {:?}", recipe.name, recipe.kind.id())?;
        if !recipe.roles.is_empty() && pattern.contains("{role}") {
            let roles: Vec<String> =
                recipe.roles.iter().map(|(word, role)| format!("{word:?} = {:?}", role.id())).collect();
            writeln!(out, "roles = {{ {} }}", roles.join(", "))?;
        }
        if let Some(leases) = recipe.leases {
            writeln!(out, "leases = {leases}")?;
        }
        if let Some(key) = recipe.name_from {
            writeln!(out, "name_from = {key:?}")?;
        }
        if !recipe.lock {
            writeln!(out, "lock = false")?;
        }
        writeln!(out)?;
    }
    Ok(())
}
