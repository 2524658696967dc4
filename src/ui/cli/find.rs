//! `lockscope find`: where a text occurs in the locks of one ensemble or of all.

use std::io::Write;
use std::pin::pin;
use std::sync::Arc;

use anyhow::ensure;
use clap::Args;
use futures::StreamExt;

use super::options::{Format, ReadOptions};
use super::output::{ExitAnswer, note, print, write_json};
use super::past::{MomentOptions, NamedStore, Stores, Unread};
use super::resolved::ResolvedOptions;
use super::several::{Chosen, Failures};
use super::{past, several, snapshot};
use lockscope_base::znode::Timestamp;
use lockscope_model::diagnose::TableAt;
use lockscope_model::queue::LockTable;
use lockscope_model::report::{FoundFacts, find_text};

/// The most places that are printed.
const MAX_FOUND: usize = 10_000;

/// The options of `lockscope find`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct FindOptions {
    /// A part of a lock's path, or of a contender's node, session, name, address or data
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub text: String,
    #[command(flatten)]
    pub past: MomentOptions,
    #[command(flatten)]
    pub read: ReadOptions,
}

/// The places that were found so far, in the order of the ensembles.
struct Finder<'a> {
    text: &'a str,
    found: Vec<FoundFacts>,
}

impl Finder<'_> {
    fn search(&mut self, context: Option<&str>, table: &LockTable, at: Timestamp) {
        let left = (MAX_FOUND + 1).saturating_sub(self.found.len());
        let context: Option<Arc<str>> = context.map(Arc::from);
        let of_table = find_text(TableAt::new(table, at), self.text, left);
        self.found.extend(of_table.into_iter().map(|found| found.in_context(context.clone())));
    }

    /// Prints what was found. The answer is no when that is nothing.
    fn print(mut self, format: Format, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
        if self.found.len() > MAX_FOUND {
            self.found.truncate(MAX_FOUND);
            note(&format!("only the first {MAX_FOUND} places are printed: give a longer text"));
        }
        print(out, |out| match format {
            Format::Json => write_json(out, &self.found),
            Format::Table => self.found.iter().try_for_each(|found| found.write_line(out)),
        })?;
        Ok(if self.found.is_empty() { ExitAnswer::No } else { ExitAnswer::Yes })
    }
}

/// Reads the chosen ensembles and searches them. Prints what was found even when one of several could
/// not be reached, and then fails.
pub async fn run(chosen: Chosen, options: &FindOptions, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    let mut finder = Finder { text: &options.text, found: Vec::new() };
    let (contexts, format) = match chosen {
        Chosen::One(settings) => {
            let read = snapshot::take(*settings).await?;
            finder.search(None, &read.locks, read.at);
            return finder.print(read.settings.format, out);
        }
        Chosen::Several(contexts, format) => (contexts, format),
    };
    let mut failures = Failures::of(contexts.len());
    let mut taken = pin!(several::results(contexts, snapshot::take));
    while let Some((name, taken)) = taken.next().await {
        match taken {
            Ok(read) => finder.search(Some(&name), &read.locks, read.at),
            Err(error) => failures.name(&name, &error),
        }
    }
    let answer = finder.print(format, out)?;
    failures.end()?;
    Ok(answer)
}

/// Searches recordings, as of a moment.
pub fn run_past(settings: &ResolvedOptions, options: &FindOptions, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    let mut finder = Finder { text: &options.text, found: Vec::new() };
    let mut search = |context: Option<&str>, path| {
        let moment = past::moment(path, options.past.at, settings.utc)?;
        let is_known = moment.state.table.is_live();
        ensure!(is_known, "nothing is known of the locks at that moment: there was no connection; name another time");
        finder.search(context, &moment.state.table, moment.at);
        Ok(())
    };
    let several = match Stores::find(&options.past.store)? {
        Stores::One(store) => {
            search(None, &store)?;
            return finder.print(settings.format, out);
        }
        Stores::Several(several) => several,
    };
    let mut unread = Unread::default();
    for store @ NamedStore { name, path } in &several {
        if let Err(error) = search(Some(name), path) {
            unread.add(store, &error);
        }
    }
    let answer = finder.print(settings.format, out)?;
    unread.end(several.len())?;
    Ok(answer)
}
