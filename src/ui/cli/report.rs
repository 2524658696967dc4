//! `lockscope report`: writes an incident of a recording into a file.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};

use super::choice::{self, Choice};

use super::exit_answer::ExitAnswer;
use super::options::SharedOptions;
use super::recorded::SourceOptions;
use super::resolved::ResolvedOptions;
use super::stores::{NamedStore, Unread};
use lockscope_files::{self as files, Readers};
use lockscope_past::incident::{self, EnsembleRow, Incident, Traces};
use lockscope_past::record::history::{PastWindow, RecordedEnsemble};

/// The options of `lockscope report`.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Report")]
pub(super) struct ReportCommand {
    /// Where to write: a page that ends in .html, or trace events for Perfetto that end in .json
    #[arg(short, long, value_name = "FILE", value_parser = report_file())]
    pub output: ReportFile,
    /// Users that may read the file, which holds clients' addresses and data
    #[arg(long, value_name = "WHO", default_value = "owner", value_parser = choice::parser::<Readers>())]
    pub readable_by: Readers,
    #[command(flatten)]
    pub recording: SourceOptions,
}

impl ReportCommand {
    pub(super) fn shared(&self) -> SharedOptions {
        self.recording.shared()
    }
}

impl Choice for Readers {
    const ALL: &'static [Self] = &[Self::Owner, Self::Group, Self::Everyone];

    fn named(self) -> (&'static str, &'static str) {
        match self {
            Self::Owner => ("owner", "Only you (mode 0600)"),
            Self::Group => ("group", "Your group too (mode 0640)"),
            Self::Everyone => ("everyone", "Every user of the machine (mode 0644)"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReportFile {
    path: PathBuf,
    is_page: bool,
}

/// Returns a parser of paths whose extension names a format.
fn report_file() -> impl TypedValueParser<Value = ReportFile> {
    PathBufValueParser::new().try_map(|path| {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("html") => Ok(ReportFile { path, is_page: true }),
            Some("json") => Ok(ReportFile { path, is_page: false }),
            _ => Err("name a file that ends in .html or in .json"),
        }
    })
}

/// Writes the file, or leaves the old one.
pub(super) async fn run(settings: &ResolvedOptions, command: &ReportCommand) -> anyhow::Result<ExitAnswer> {
    let ReportFile { path, is_page } = &command.output;
    let refusal = |error: files::FileError| {
        anyhow!("cannot write the report to {}: {error}; name another file with --output", path.display())
    };
    files::can_replace(path).map_err(refusal)?;
    if let Some(several) = command.recording.several()? {
        return run_each(settings, command, &several);
    }
    let mut source = command.recording.open(settings).await?;
    let Some(window) = PastWindow::read(&mut source.store, source.from, source.to)? else {
        bail!("nothing was recorded in {} yet", source.name);
    };
    let incident = Incident::new(&window);
    let text = if *is_page { incident::html(&incident, settings.utc) } else { incident::trace(&incident)? };
    files::replace_for(path, text.as_bytes(), command.readable_by).map_err(refusal)?;
    Ok(ExitAnswer::Yes)
}

/// Writes a page for each recording beside the file, which has an overview and links to them; or all
/// of them into one trace. Fails at the end when one of them could not be read.
fn run_each(settings: &ResolvedOptions, command: &ReportCommand, stores: &[NamedStore]) -> anyhow::Result<ExitAnswer> {
    let ReportFile { path, is_page } = &command.output;
    let write = |path: &Path, text: &str| {
        files::replace_for(path, text.as_bytes(), command.readable_by).map_err(|error| {
            anyhow!("cannot write the report to {}: {error}; name another file with --output", path.display())
        })
    };
    let (mut rows, mut traces, mut unread) = (Vec::new(), Traces::default(), Unread::default());
    for (at, store) in stores.iter().enumerate() {
        let read = || -> anyhow::Result<_> {
            let ensemble = store.ensemble(settings)?;
            let mut source = command.recording.open_store(&store.path, settings)?;
            let window = PastWindow::read(&mut source.store, source.from, source.to)?;
            Ok((ensemble, window.with_context(|| format!("nothing was recorded in {} yet", source.name))?))
        };
        let (ensemble, window) = match read() {
            Ok(read) => read,
            Err(error) => {
                unread.add(store, &error);
                continue;
            }
        };
        let incident = Incident::new(&window);
        if *is_page {
            let page = page_of(path, store, at);
            write(&path.with_file_name(&page), &incident::html(&incident, settings.utc))?;
            let RecordedEnsemble { context, connect, clock_ahead_ms } = &ensemble;
            rows.push(EnsembleRow::new(context, connect, &page, *clock_ahead_ms, &incident));
        } else {
            traces.add(&store.name, &incident);
        }
    }
    let text = if *is_page { incident::overview(rows, unread.each(), settings.utc) } else { traces.text()? };
    write(path, &text)?;
    unread.end(stores.len())?;
    Ok(ExitAnswer::Yes)
}

/// Returns the file name of an ensemble's page: harmless in a link, whatever the recording is called.
fn page_of(overview: &Path, store: &NamedStore, at: usize) -> String {
    let stem = overview.file_stem().unwrap_or_default().to_string_lossy();
    let is_harmless = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
    let harmless = |text: &str| text.chars().filter(|letter| is_harmless(*letter)).collect::<String>();
    if harmless(&store.name) == store.name {
        format!("{}-{}.html", harmless(&stem), store.name)
    } else {
        format!("{}-{}-{}.html", harmless(&stem), at + 1, harmless(&store.name))
    }
}
