//! `lockscope --config-check`: reports every mistake in the config file.

use std::io::Write;

use anyhow::bail;

use super::options::EnsembleOptions;
use super::output::{note, print};
use super::verdict::Verdict;
use super::{config, usual_config};

/// Prints every mistake on standard error, or that there is none.
pub(super) fn run(options: &EnsembleOptions, out: &mut impl Write) -> anyhow::Result<Verdict> {
    let usual = usual_config();
    let config = config::load(options.config.as_deref(), usual.as_deref())?;
    for mistake in &config.mistakes {
        note(&mistake.to_string());
    }
    let path = options.config.as_ref().or(usual.as_ref());
    let path = path.map_or_else(|| "config.toml".to_owned(), |path| path.display().to_string());
    match config.mistakes.len() {
        0 if !config.is_there => print(out, |out| writeln!(out, "there is no config file {path}"))?,
        0 => print(out, |out| writeln!(out, "the config file {path} is right"))?,
        1 => bail!("there is 1 mistake in the config file {path}"),
        mistakes => bail!("there are {mistakes} mistakes in the config file {path}"),
    }
    Ok(Verdict::Yes)
}
