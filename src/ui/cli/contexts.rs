//! `lockscope contexts`: the named ensembles of the config file.

use std::io::Write;

use serde::Serialize;

use super::config::Config;
use super::exit_answer::ExitAnswer;
use super::options::Format;
use super::output::{print, write_json};
use super::resolved::DEFAULT_CONNECT;
use lockscope_base::znode::escaped;
use lockscope_model::report::Ensemble;

/// The public part of a context: without identities in its connect string.
#[derive(Serialize)]
struct ContextFacts<'a> {
    name: &'a str,
    connect: String,
    production: bool,
}

/// Prints the contexts in the order of their names.
pub(super) fn run(config: &Config, format: Format, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    let contexts: Vec<ContextFacts<'_>> = config
        .contexts
        .iter()
        .map(|(name, context)| {
            let connect = context.options.ensemble.connect.as_ref().or(config.options.ensemble.connect.as_ref());
            let connect = Ensemble::new(connect.map_or(DEFAULT_CONNECT, String::as_str), None).connect().to_owned();
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
