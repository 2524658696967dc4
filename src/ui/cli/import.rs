//! `lockscope import`: makes a recording of the transaction logs of servers, or completes one.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use serde::Serialize;
use tokio::time::Instant;

use super::options::{EnsembleOptions, Format, FormatOptions, SharedOptions, WhichLocks};
use super::output::{ExitAnswer, ProgressLine, note, print, run_blocking, write_json};
use super::past;
use super::resolved::ResolvedOptions;
use lockscope_base::time::now;
use lockscope_base::znode::{TimeRange, Timestamp, Zxid};
use lockscope_model::report::rfc3339;
use lockscope_model::text::human::{bytes, count, countdown, date_and_time, duration, plural, rate};
use lockscope_past::import::{
    Certainty, Covered, Defect, ImportOptions, ImportProgress, Imported, MissingTransactions, ServerFiles, import,
};
use lockscope_past::record::{Merged, PastTime, parts_of};

/// A larger difference between the recorder's clock and the leader's is told, in milliseconds.
const MAX_CLOCK_DIFFERENCE_MS: u64 = 1_000;

/// The options of `lockscope import`.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(next_help_heading = "Import")]
pub(super) struct ImportCommand {
    /// The servers' files: a dataDir or dataLogDir, a folder version-2, or single files
    #[arg(value_name = "PATH", required = true, help_heading = None::<&'static str>)]
    pub places: Vec<PathBuf>,
    /// Where to write: a new file, made for its owner only, or a recording to complete
    #[arg(long, value_name = "FILE")]
    pub store: PathBuf,
    /// Leave out the files that nobody needs for what happened from this time on, as in 02:13, -2h
    /// or 2026-05-01T02:13:00Z; counted from the end of the logs [default: from the beginning]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<PastTime>,
    /// Up to this time [default: up to the end]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub to: Option<PastTime>,
    /// Leave out the data of the nodes, which may hold secrets
    #[arg(long)]
    pub no_data: bool,
    #[command(flatten)]
    pub format: FormatOptions,
    #[command(flatten)]
    pub locks: WhichLocks,
    /// Show and read times in UTC instead of local time; JSON is always in UTC
    #[arg(long, help_heading = "General", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    pub utc: Option<bool>,
}

impl ImportCommand {
    pub(super) fn shared(&self) -> SharedOptions {
        let mut shared = SharedOptions {
            locks: self.locks.clone(),
            ensemble: EnsembleOptions { utc: self.utc, ..EnsembleOptions::default() },
            ..SharedOptions::default()
        };
        shared.output.format = self.format;
        shared
    }
}

/// Which part of the files to import, and how.
pub struct ImportPlan {
    pub places: Vec<PathBuf>,
    pub target: PathBuf,
    pub from: Option<PastTime>,
    pub to: Option<PastTime>,
    pub with_data: bool,
}

/// Writes the recording and prints what was read and written. After a failure or a signal, no file
/// exists, or the recording is as it was.
pub async fn run(
    settings: &ResolvedOptions,
    command: &ImportCommand,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    ensure!(
        command.store.exists() || parts_of(&command.store).unwrap_or_default().is_empty(),
        "{} is recorded in several files: complete each of them, or name another file with --store",
        command.store.display()
    );
    let plan = ImportPlan {
        places: command.places.clone(),
        target: command.store.clone(),
        from: command.from,
        to: command.to,
        with_data: !command.no_data,
    };
    let (done, _) = carry_out(settings, plan).await?;
    print(out, |out| match settings.format {
        Format::Table => lines(out, &done, settings.utc),
        Format::Json => write_json(out, &ImportFacts::from(&done)),
    })?;
    Ok(ExitAnswer::Yes)
}

/// Imports, and shows the progress on a terminal. Stops on SIGINT and SIGTERM. Also returns the time
/// that the plan names.
pub async fn carry_out(settings: &ResolvedOptions, plan: ImportPlan) -> anyhow::Result<(Imported, TimeRange)> {
    let settings = settings.clone();
    run_blocking(move |is_stopped| {
        let (mut line, started) = (ProgressLine::on_stderr(), Instant::now());
        import_now(&settings, &plan, &mut |progress| {
            line.show(Instant::now(), || progress_text(&progress, started.elapsed()));
            !is_stopped()
        })
    })
    .await?
}

fn import_now(
    settings: &ResolvedOptions,
    plan: &ImportPlan,
    goes_on: &mut dyn FnMut(ImportProgress) -> bool,
) -> anyhow::Result<(Imported, TimeRange)> {
    let files = ServerFiles::find(&plan.places)?;
    let mut time = TimeRange { from: Timestamp(i64::MIN), to: Timestamp(i64::MAX) };
    if plan.from.is_some() || plan.to.is_some() {
        let end = files.latest_time()?;
        let (from, to) = past::resolve_both(plan.from, plan.to, (end, now()), settings.utc)?;
        time = TimeRange { from: from.unwrap_or(time.from), to: to.unwrap_or(time.to) };
    }
    anyhow::ensure!(time.from <= time.to, "{}", past::EXCHANGED);
    let options = ImportOptions {
        roots: settings.roots.clone(),
        named: settings.locks.clone(),
        recipes: settings.recipes.clone(),
        expected: settings.expected.clone(),
        thresholds: settings.thresholds,
        time,
        with_data: plan.with_data,
    };
    Ok((import(files, &plan.target, &options, goes_on)?, time))
}

/// Names what is missing or damaged on standard error.
pub fn note_defects(done: &Imported, utc: bool) {
    done.missing.iter().for_each(|missing| note(&missing_text(missing, utc)));
    done.defects.iter().for_each(|defect| note(&defect_text(defect)));
}

fn progress_text(progress: &ImportProgress, elapsed: Duration) -> String {
    let ImportProgress { bytes: read, all_bytes, transactions, .. } = *progress;
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let (share, per_second) =
        ((read as f64 / all_bytes.max(1) as f64).min(1.0), transactions as f64 / elapsed.as_secs_f64().max(0.001));
    let left = elapsed.mul_f64((1.0 - share) / share.max(0.001));
    format!(
        "{:3.0} % of {}, {} transactions, {}/s, {} left",
        share * 100.0,
        bytes(all_bytes),
        count(transactions),
        rate(per_second),
        countdown(left)
    )
}

fn lines(out: &mut impl Write, done: &Imported, utc: bool) -> std::io::Result<()> {
    let (files, transactions) =
        (plural(done.files, "file", "files"), plural(done.transactions, "transaction", "transactions"));
    writeln!(out, "Read {files} with {transactions}.")?;
    if let (Some((from, to)), Some((first, last))) = (done.time, done.zxids) {
        let (from, to) = (date_and_time(from, utc), date_and_time(to, utc));
        let what = if done.merged.is_some() { "The logs cover" } else { "The recording covers" };
        writeln!(out, "{what} {from} to {to}, transactions {} to {}.", hex(first), hex(last))?;
    }
    let (holds, waits) = (plural(done.holds, "hold", "holds"), plural(done.waits, "wait", "waits"));
    let it = if done.merged.is_some() { "The logs have" } else { "It has" };
    writeln!(out, "{it} {holds}, and {waits} without a hold.")?;
    if done.attempts > 0 {
        writeln!(out, "Locks that were taken were tried {} times in vain.", count(done.attempts))?;
    }
    done.merged
        .iter()
        .try_for_each(|merged| merged_text(merged).iter().try_for_each(|line| writeln!(out, "{line}")))?;
    done.missing.iter().try_for_each(|missing| writeln!(out, "{}", missing_text(missing, utc)))?;
    done.defects.iter().try_for_each(|defect| writeln!(out, "{}", defect_text(defect)))
}

/// Returns sentences about a recording that was completed.
fn merged_text(merged: &Merged) -> Vec<String> {
    let Merged { rows_both, rows_added, rows_contradicted, gaps_filled, clock_ms } = *merged;
    let (gaps, added) = (plural(gaps_filled, "gap", "gaps"), plural(rows_added, "contender", "contenders"));
    let mut lines = vec![format!(
        "The recording is completed: {gaps} filled, {added} added; {} are from both the recorder and the logs.",
        count(rows_both)
    )];
    if rows_contradicted > 0 {
        let contenders = plural(rows_contradicted, "contender", "contenders");
        lines.push(format!("The logs disprove what the recorder said of {contenders}."));
    }
    if let Some(ms) = clock_ms.filter(|ms| ms.unsigned_abs() > MAX_CLOCK_DIFFERENCE_MS) {
        let (by, way) =
            (duration(Duration::from_millis(ms.unsigned_abs())), if ms > 0 { "ahead of" } else { "behind" });
        lines.push(format!("The recorder's clock was {by} {way} the leader's: times of both differ by that."));
    }
    lines
}

fn missing_text(missing: &MissingTransactions, utc: bool) -> String {
    let (from, to) = (date_and_time(missing.from, utc), date_and_time(missing.to, utc));
    let (after, before) = (hex(missing.after), hex(missing.before));
    match missing.certainty {
        Certainty::Certain => format!("No file has the transactions between {after} and {before} ({from} to {to})."),
        Certainty::Possible => format!(
            "Nothing proves that epoch {} ended with {after}: transactions may be missing before {before} ({from} to {to}).",
            missing.after.epoch()
        ),
    }
}

fn defect_text(defect: &Defect) -> String {
    match defect {
        Defect::Damaged { file, damage } => {
            format!(
                "{} is damaged at byte {} for {}: {}.",
                file.display(),
                damage.offset,
                bytes(damage.bytes),
                damage.why
            )
        }
        Defect::Torn { file, offset } => {
            format!(
                "{} ends within a transaction, at byte {offset}: a server writes it, or was killed.",
                file.display()
            )
        }
        Defect::Others(others) => {
            format!("{} not named.", plural(*others, "other defect or gap is", "other defects and gaps are"))
        }
        Defect::NoSnapshot { zxid } => {
            format!("No snapshot tells what stood before {}: locks that are older are left out.", hex(*zxid))
        }
        Defect::BadSnapshot { file } => format!("{} is not a whole snapshot, and is not used.", file.display()),
        Defect::BadHead { file } => format!("The head of {} is damaged. Its transactions are read.", file.display()),
        Defect::NotALog { file, reason } => format!("No transaction can be read in {}: {reason}.", file.display()),
        Defect::NeverCommitted { file, zxid } => {
            format!(
                "{} alone has the transaction {}, which its leader lost: the next epoch went on without it.",
                file.display(),
                hex(*zxid)
            )
        }
        Defect::ClockSetBack { zxid, by } => {
            format!(
                "The leaders' clock went back by {} at {}: times before it may be wrong by as much.",
                duration(*by),
                hex(*zxid)
            )
        }
        Defect::Differs { file, zxid } => {
            format!(
                "{} has another transaction {} than the other logs: one of the servers is faulty.",
                file.display(),
                hex(*zxid)
            )
        }
    }
}

/// Returns a transaction in the notation of the files' names.
fn hex(zxid: Zxid) -> String {
    format!("0x{:x}", zxid.0)
}

/// What was read and written, as JSON.
#[derive(Serialize)]
struct ImportFacts {
    read: ReadFacts,
    written: WrittenFacts,
    coverage: Vec<ImportCoverageFacts>,
    gaps: Vec<ImportGapFacts>,
    damaged: Vec<String>,
    /// `null` for a new recording.
    merged: Option<MergedFacts>,
}

#[derive(Serialize)]
struct ReadFacts {
    files: usize,
    transactions: u64,
    from: Option<String>,
    to: Option<String>,
    first_zxid: Option<String>,
    last_zxid: Option<String>,
}

#[derive(Serialize)]
struct WrittenFacts {
    changes: u64,
    holds: u64,
    waits: u64,
    attempts: u64,
}

/// A time that is covered.
#[derive(Serialize)]
struct ImportCoverageFacts {
    from: Option<String>,
    to: Option<String>,
    first_zxid: String,
    last_zxid: String,
    source: &'static str,
    /// What proves that no transaction is missing: `numbers`, `digests`, `log` or `snapshot`.
    proven_by: &'static str,
    /// Whether it has the locks that are older.
    older_locks: bool,
}

#[derive(Serialize)]
struct ImportGapFacts {
    from: Option<String>,
    to: Option<String>,
    after_zxid: String,
    before_zxid: String,
    /// Whether transactions are missing for certain; `false` where nothing proves that none are.
    certain: bool,
}

#[derive(Serialize)]
struct MergedFacts {
    rows_both: u64,
    rows_added: u64,
    rows_contradicted: u64,
    gaps_filled: u64,
    clock_ms: Option<i64>,
}

impl From<Merged> for MergedFacts {
    fn from(Merged { rows_both, rows_added, rows_contradicted, gaps_filled, clock_ms }: Merged) -> Self {
        Self { rows_both, rows_added, rows_contradicted, gaps_filled, clock_ms }
    }
}

impl From<&Imported> for ImportFacts {
    fn from(done: &Imported) -> Self {
        let gap = |missing: &MissingTransactions| ImportGapFacts {
            from: rfc3339(missing.from),
            to: rfc3339(missing.to),
            after_zxid: hex(missing.after),
            before_zxid: hex(missing.before),
            certain: missing.certainty == Certainty::Certain,
        };
        let covered = |covered: &Covered| ImportCoverageFacts {
            from: rfc3339(covered.from.1),
            to: rfc3339(covered.to.1),
            first_zxid: hex(covered.from.0),
            last_zxid: hex(covered.to.0),
            source: "log",
            proven_by: covered.proof.id(),
            older_locks: covered.has_older,
        };
        let Imported { changes, holds, waits, attempts, .. } = *done;
        Self {
            read: ReadFacts {
                files: done.files,
                transactions: done.transactions,
                from: done.time.and_then(|(from, _)| rfc3339(from)),
                to: done.time.and_then(|(_, to)| rfc3339(to)),
                first_zxid: done.zxids.map(|(first, _)| hex(first)),
                last_zxid: done.zxids.map(|(_, last)| hex(last)),
            },
            written: WrittenFacts { changes, holds, waits, attempts },
            coverage: done.covered.iter().map(covered).collect(),
            gaps: done.missing.iter().map(gap).collect(),
            damaged: done.defects.iter().map(defect_text).collect(),
            merged: done.merged.map(Into::into),
        }
    }
}
