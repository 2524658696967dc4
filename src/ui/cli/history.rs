//! `lockscope history` and `lockscope report`: what happened in a recording, or in several.
//!
//! The first prints holds and waits: when, how long, and how they ended. The second writes an
//! incident into a file.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::options;
use super::options::{Choice, Format, FormatOptions, SharedOptions};
use super::output::{ExitAnswer, print, write_json};
use super::past::{NamedStore, Unread};
use super::recorded::SourceOptions;
use super::resolved::ResolvedOptions;
use lockscope_base::znode::{SessionId, Timestamp, ZnodePath};
use lockscope_files as files;
use lockscope_files::Readers;
use lockscope_past::incident;
use lockscope_past::incident::{EnsembleHtmlRow, Incident, IncidentTraces};
use lockscope_past::record::history;
use lockscope_past::record::history::{
    Histories, HistoriesFacts, History, HistoryFacts, HistoryOrder, HistoryQuery, PastWindow, RankBy, RecordedEnsemble,
};
use lockscope_past::record::tables::ContenderEnd;

/// The most contenders in a table by default.
const ROWS_FOR_PEOPLE: usize = 100;

/// The most contenders in JSON by default.
const ROWS_FOR_PROGRAMS: usize = 10_000;

/// The options of `lockscope history`.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "History")]
pub(super) struct HistoryOptions {
    /// Only this lock: its path
    #[arg(value_name = "LOCK", help_heading = None::<&'static str>)]
    pub path: Option<ZnodePath>,
    /// Only this session, as in 0x10000a2b3c40001
    #[arg(long, value_name = "SESSION", value_parser = parse_session)]
    pub session: Option<SessionId>,
    /// Only clients with this address, with or without its port, or with this name
    #[arg(long, value_name = "CLIENT")]
    pub client: Option<String>,
    /// Only those that ended so; several are separated by commas, as in expired,gone
    #[arg(long, value_name = "END[,END...]", value_delimiter = ',', value_parser = options::choice_parser::<ContenderEnd>())]
    pub end: Vec<ContenderEnd>,
    /// Only those that held for this long or longer, or may have, as in 30s
    #[arg(long, value_name = "DURATION", value_parser = options::parse_duration)]
    pub min_hold: Option<Duration>,
    /// Only those that waited for this long or longer, or may have
    #[arg(long, value_name = "DURATION", value_parser = options::parse_duration)]
    pub min_wait: Option<Duration>,
    /// List those first that held or waited longest, or in the order of time [default: worst in a
    /// table, time in json]
    #[arg(long, value_name = "ORDER", value_parser = options::choice_parser::<HistoryOrder>())]
    pub sort: Option<HistoryOrder>,
    /// Rank locks and clients: by the time that was waited or held, by how often it was acquired, or
    /// by how long others waited
    #[arg(long, value_name = "BY")]
    pub top: Option<TopBy>,
    /// List at most so many contenders: the first of that order, or with --sort time those that
    /// came last [default: 100 in a table, 10000 in json]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    #[command(flatten)]
    pub format: FormatOptions,
    #[command(flatten)]
    pub recording: SourceOptions,
}

impl Choice for ContenderEnd {
    const ALL: &'static [Self] = &Self::ALL;

    fn named(self) -> (&'static str, &'static str) {
        let help = match self {
            Self::Open => "It still stands",
            Self::Gone => "Released by its client, or deleted by another: ZooKeeper does not say which",
            Self::Released => "It held, and its client is proven to have released it",
            Self::Left => "It waited, and its client is proven to have given up",
            Self::Expired => "Its session expired",
            Self::Deleted => "Another session deleted it, as a transaction log says, or a person, as an audit log says",
            Self::Closed => "Its client closed the session, as a transaction log says",
            Self::Unknown => "Nobody saw it, or can tell whether its session had expired",
        };
        (self.id(), help)
    }
}

impl Choice for HistoryOrder {
    const ALL: &'static [Self] = &[Self::Worst, Self::Time];

    fn named(self) -> (&'static str, &'static str) {
        let help = match self {
            Self::Worst => "Who held or waited longest comes first",
            Self::Time => "Who came first comes first",
        };
        (self.id(), help)
    }
}

/// The order of the `--top` ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TopBy {
    /// How long was waited, all waits together
    Wait,
    /// How long was held, all holds together
    Hold,
    /// How often it was acquired
    HandOvers,
    /// How often it was tried in vain: refused, or left without a hold
    InVain,
    /// How long others waited for it, all waiters together; of a client, while it held
    Cost,
}

impl HistoryOptions {
    pub(super) fn shared(&self) -> SharedOptions {
        let mut shared = self.recording.shared();
        shared.output.format = self.format;
        shared
    }
}

/// Parses a session id in the notation in which it is shown.
fn parse_session(text: &str) -> Result<SessionId, &'static str> {
    let digits = text.strip_prefix("0x").ok_or("write the session in hexadecimal, as in 0x10000a2b3c40001")?;
    let bits =
        u64::from_str_radix(digits, 16).map_err(|_| "write the session in hexadecimal, as in 0x10000a2b3c40001")?;
    Ok(SessionId(bits.cast_signed()))
}

/// Prints the history.
pub async fn run(
    settings: &ResolvedOptions,
    options: &HistoryOptions,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    if let Some(several) = options.recording.several()? {
        return run_each(settings, options, &several, out);
    }
    let mut source = options.recording.open(settings).await?;
    let history = History::read(&mut source.store, &query(settings, options, source.from, source.to))?;
    print(out, |out| match settings.format {
        Format::Table => history::lines(out, &history, settings.utc),
        Format::Json => write_json(out, &HistoryFacts::from(&history)),
    })?;
    Ok(ExitAnswer::Yes)
}

/// Prints the histories of several recordings on one time line. Fails at the end when one of them
/// could not be read.
fn run_each(
    settings: &ResolvedOptions,
    options: &HistoryOptions,
    stores: &[NamedStore],
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    let HistoryQuery { order, limit, .. } = query(settings, options, None, None);
    let (mut histories, mut unread) = (Histories::new(order, limit), Unread::default());
    for store in stores {
        let read = || -> anyhow::Result<_> {
            let ensemble = store.ensemble(settings)?;
            let mut source = options.recording.open_store(&store.path, settings)?;
            Ok((ensemble, History::read(&mut source.store, &query(settings, options, source.from, source.to))?))
        };
        match read() {
            Ok((ensemble, history)) => histories.add(ensemble, history),
            Err(error) => unread.add(store, &error),
        }
    }
    print(out, |out| match settings.format {
        Format::Table => history::write_lines(out, &histories, settings.utc),
        Format::Json => write_json(out, &HistoriesFacts::from(&histories)),
    })?;
    unread.end(stores.len())?;
    Ok(ExitAnswer::Yes)
}

/// Returns the query that the options ask for.
fn query(
    settings: &ResolvedOptions,
    options: &HistoryOptions,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
) -> HistoryQuery {
    let (rows, order) = match settings.format {
        Format::Table => (ROWS_FOR_PEOPLE, HistoryOrder::Worst),
        Format::Json => (ROWS_FOR_PROGRAMS, HistoryOrder::Time),
    };
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    HistoryQuery {
        lock: options.path.clone(),
        session: options.session,
        client: options.client.clone(),
        from,
        to,
        ends: options.end.clone(),
        min_hold_ms: options.min_hold.map(millis),
        min_wait_ms: options.min_wait.map(millis),
        order: options.sort.unwrap_or(order),
        limit: options.limit.unwrap_or(rows),
        rank_by: options.top.map(|by| match by {
            TopBy::Wait => RankBy::Wait,
            TopBy::Hold => RankBy::Hold,
            TopBy::HandOvers => RankBy::Handovers,
            TopBy::InVain => RankBy::InVain,
            TopBy::Cost => RankBy::Cost,
        }),
    }
}

/// The options of `lockscope report`.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Report")]
pub(super) struct ReportCommand {
    /// Where to write: a page that ends in .html, or trace events for Perfetto that end in .json
    #[arg(short, long, value_name = "FILE", value_parser = report_file())]
    pub output: ReportFile,
    /// Users that may read the file, which holds clients' addresses and data
    #[arg(long, value_name = "WHO", default_value = "owner", value_parser = options::choice_parser::<Readers>())]
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
pub async fn run_report(settings: &ResolvedOptions, command: &ReportCommand) -> anyhow::Result<ExitAnswer> {
    let ReportFile { path, is_page } = &command.output;
    let refusal = |error: files::FileError| {
        anyhow!("cannot write the report to {}: {error}; name another file with --output", path.display())
    };
    files::can_replace(path).map_err(refusal)?;
    if let Some(several) = command.recording.several()? {
        return report_each(settings, command, &several);
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
fn report_each(
    settings: &ResolvedOptions,
    command: &ReportCommand,
    stores: &[NamedStore],
) -> anyhow::Result<ExitAnswer> {
    let ReportFile { path, is_page } = &command.output;
    let write = |path: &Path, text: &str| {
        files::replace_for(path, text.as_bytes(), command.readable_by).map_err(|error| {
            anyhow!("cannot write the report to {}: {error}; name another file with --output", path.display())
        })
    };
    let (mut rows, mut traces, mut unread) = (Vec::new(), IncidentTraces::default(), Unread::default());
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
            rows.push(EnsembleHtmlRow::new(context, connect, &page, *clock_ahead_ms, &incident));
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
