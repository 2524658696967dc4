//! `lockscope store check`: what a recording covers, and whether it is whole.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Args, Subcommand};
use serde::Serialize;

use super::options::{EnsembleOptions, Format, FormatOptions, SharedOptions};
use super::output::{ExitAnswer, print, run_blocking, write_json};
use super::resolved::ResolvedOptions;
use lockscope_base::znode::{TimeRange, escaped};
use lockscope_model::report::rfc3339;
use lockscope_model::text::human::{bytes, count, date_and_time, plural};
use lockscope_past::record::{CheckedParts, CheckedRun, StoreCheck, StoreDefect, check_store, parts_of};

/// What to do with the file of a recording.
#[derive(Clone, Debug, PartialEq, Subcommand)]
pub(super) enum StoreCommand {
    /// Print what a recording covers, and whether it is whole
    ///
    /// Reads everything: the pages of the database, each segment of the stream with its checksum, and the rows of the
    /// tables. Prints the runs, the gaps with their reasons, where the contenders come from, and what is wrong. The file may
    /// be recorded meanwhile. Exits with 0 when it is whole, with 1 when it is not or not everything could be compared, and
    /// with 2 when it cannot be read.
    Check(StoreCheckOptions),
}

/// The options of `lockscope store check`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct StoreCheckOptions {
    /// The recording; each file of a recording in several is checked
    #[arg(value_name = "FILE")]
    pub store: PathBuf,
    #[command(flatten)]
    pub format: FormatOptions,
    /// Show times in UTC instead of local time; JSON is always in UTC
    #[arg(long, help_heading = "General", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub utc: Option<bool>,
}

impl StoreCheckOptions {
    pub(super) fn shared(&self) -> SharedOptions {
        let ensemble = EnsembleOptions { utc: self.utc, ..EnsembleOptions::default() };
        let mut shared = SharedOptions { ensemble, ..SharedOptions::default() };
        shared.output.format = self.format;
        shared
    }
}

/// Checks a recording and prints what was found.
pub async fn run(
    settings: &ResolvedOptions,
    options: &StoreCheckOptions,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    let mut files = parts_of(&options.store).unwrap_or_default();
    if files.is_empty() {
        files.push(options.store.clone());
    }
    let mut are_whole = true;
    for file in files {
        let store = file.clone();
        let Some(check) = run_blocking(move |is_stopped| check_store(&store, is_stopped)).await?? else {
            bail!("interrupted: not everything was looked at");
        };
        print(out, |out| match settings.format {
            Format::Table => lines(out, &file, &check, settings.utc),
            Format::Json => write_json(out, &StoreCheckFacts::of(&file, &check)),
        })?;
        are_whole &= check.is_whole() == Some(true);
    }
    Ok(if are_whole { ExitAnswer::Yes } else { ExitAnswer::No })
}

fn lines(out: &mut impl Write, store: &Path, check: &StoreCheck, utc: bool) -> std::io::Result<()> {
    let range = |time: TimeRange| format!("{} to {}", date_and_time(time.from, utc), date_and_time(time.to, utc));
    let CheckedParts { pages, segments, entries, rows, compared } = check.looked_at;
    writeln!(out, "{}: {}", escaped(&store.to_string_lossy()), bytes(check.bytes))?;
    if let Some(span) = check.span() {
        writeln!(out, "It covers {} in {}:", range(span), plural(check.runs.len(), "run", "runs"))?;
    }
    for CheckedRun { connect, version, time, segments, .. } in &check.runs {
        let version = version.as_deref().unwrap_or("unknown");
        let segments = plural(*segments, "segment", "segments");
        writeln!(out, "  {}  {segments}, {}, lockscope {}", range(*time), escaped(connect), escaped(version))?;
    }
    writeln!(out, "{}", if check.gaps.is_empty() { "It has no gaps." } else { "Gaps:" })?;
    for gap in &check.gaps {
        let to = gap.to.map_or_else(|| "its end".to_owned(), |to| date_and_time(to, utc));
        writeln!(out, "  {} to {to}  {}", date_and_time(gap.from, utc), escaped(&gap.reason))?;
    }
    let sources = check.sources.iter().map(|(source, rows)| format!("{} {source}", count(*rows)));
    writeln!(out, "Contenders by source: {}.", sources.collect::<Vec<_>>().join(", "))?;
    writeln!(
        out,
        "Looked at {}, {} with {}, and {}; {} were compared with the stream.",
        plural(pages, "page", "pages"),
        plural(segments, "segment", "segments"),
        plural(entries, "entry", "entries"),
        plural(rows, "row", "rows"),
        count(compared),
    )?;
    for StoreDefect { what, time } in &check.defects {
        let time = time.map(|time| format!("{}: ", range(time))).unwrap_or_default();
        writeln!(out, "Wrong: {time}{}.", escaped(what))?;
    }
    if check.more_defects > 0 {
        writeln!(out, "{} more are not shown.", count(check.more_defects))?;
    }
    match check.is_whole() {
        Some(true) => {
            return writeln!(out, "It is whole: everything can be read, and the rows agree with the stream.");
        }
        Some(false) => writeln!(out, "It is not whole.")?,
        None => writeln!(out, "Nothing is wrong with what was looked at.")?,
    }
    if let Some(why) = check.not_compared {
        writeln!(out, "The rows were not compared with the stream: {why}.")?;
    }
    if let Some(needed) = check.needs_memory {
        let needed = needed.div_ceil(1 << 20);
        writeln!(
            out,
            "A part was not read: it takes {needed} MiB of memory. Allow them with LOCKSCOPE_READ_MEMORY={needed}MiB."
        )?;
    }
    Ok(())
}

/// What was found, as JSON.
#[derive(Serialize)]
struct StoreCheckFacts<'a> {
    file: String,
    /// `null` if nothing is wrong with what was looked at, and that was not everything.
    whole: Option<bool>,
    bytes: u64,
    from: Option<String>,
    to: Option<String>,
    runs: Vec<RunFacts<'a>>,
    gaps: Vec<CoverageGapFacts<'a>>,
    sources: serde_json::Map<String, serde_json::Value>,
    checked: CheckedFacts,
    not_compared: Option<&'static str>,
    needs_memory: Option<u64>,
    defects: Vec<DefectFacts<'a>>,
    more_defects: u64,
}

#[derive(Serialize)]
struct RunFacts<'a> {
    from: Option<String>,
    to: Option<String>,
    connect: &'a str,
    version: Option<&'a str>,
    segments: u64,
}

#[derive(Serialize)]
struct CoverageGapFacts<'a> {
    from: Option<String>,
    to: Option<String>,
    reason: &'a str,
}

#[derive(Serialize)]
struct CheckedFacts {
    pages: u64,
    segments: u64,
    entries: u64,
    rows: u64,
    compared: u64,
}

#[derive(Serialize)]
struct DefectFacts<'a> {
    what: &'a str,
    from: Option<String>,
    to: Option<String>,
}

impl<'a> StoreCheckFacts<'a> {
    fn of(store: &Path, check: &'a StoreCheck) -> Self {
        let times = |time: Option<TimeRange>| {
            (time.and_then(|time| rfc3339(time.from)), time.and_then(|time| rfc3339(time.to)))
        };
        let run = |run: &'a CheckedRun| {
            let (from, to) = times(Some(run.time));
            RunFacts { from, to, connect: &run.connect, version: run.version.as_deref(), segments: run.segments }
        };
        let defect = |defect: &'a StoreDefect| {
            let (from, to) = times(defect.time);
            DefectFacts { what: &defect.what, from, to }
        };
        let (from, to) = times(check.span());
        let gaps = check.gaps.iter().map(|gap| CoverageGapFacts {
            from: rfc3339(gap.from),
            to: gap.to.and_then(rfc3339),
            reason: &gap.reason,
        });
        let CheckedParts { pages, segments, entries, rows, compared } = check.looked_at;
        Self {
            file: store.to_string_lossy().into_owned(),
            whole: check.is_whole(),
            bytes: check.bytes,
            from,
            to,
            runs: check.runs.iter().map(run).collect(),
            gaps: gaps.collect(),
            sources: check.sources.iter().map(|(source, rows)| (source.clone(), (*rows).into())).collect(),
            checked: CheckedFacts { pages, segments, entries, rows, compared },
            not_compared: check.not_compared,
            needs_memory: check.needs_memory,
            defects: check.defects.iter().map(defect).collect(),
            more_defects: check.more_defects,
        }
    }
}
