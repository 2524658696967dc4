//! `lockscope check`: which locks are stuck and why, for monitoring.

use std::ffi::OsString;
use std::io;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{bail, ensure};
use clap::Args;
use futures::StreamExt;
use tokio::time::{Instant, timeout_at};

use super::colour::WordTone;
use super::duty::{Duty, DutyOptions};
use super::live_table::LiveTable;
use super::options::{Choice, Format, ReadOptions, WhichLocks};
use super::output::{ExitAnswer, note, print, reader_left, write_json_of};
use super::past::{CheckedPast, NamedStore, PastMoment, Stores, Unread};
use super::resolved::ResolvedOptions;
use super::several::{Chosen, Failures, InContext};
use super::table_event::{every_root_is_readable, some_root_is_readable};
use super::{colour, options, past, several, watch};
use lockscope_base::time::now;
use lockscope_base::znode::Timestamp;
use lockscope_live::zk::EnsembleAddress;
use lockscope_model::diagnose::{Diagnosis, EnsembleClaims, Severity, TableAt, cross_waits};
use lockscope_model::queue::{Change, LockTable};
use lockscope_model::report::{CheckReport, ReportedEnsemble, ServiceStatus, StatusLine, lines};
use lockscope_model::text::human;
use lockscope_model::text::human::date_and_time;
use lockscope_model::verdict::ServerTrouble;
use lockscope_past::record::{PastTime, RecordedState};

/// The minimum surveys of each server during a check; some findings need two.
const VIEWS: u32 = 3;

/// How much longer than a state must last to be a finding a check looks on, at most.
const MORE_TIME: Duration = Duration::from_secs(1);

/// How long a check looks, unless the options say otherwise.
const LOOK_FOR: Duration = Duration::from_secs(3);

/// The oldest end of a recording that a check accepts: monitoring asks about the present.
const MAX_RECORDING_AGE: Duration = Duration::from_secs(60);

/// The options of `lockscope check`.
#[derive(Args, Clone, Debug, PartialEq)]
pub(super) struct CheckOptions {
    /// Exit with 1 when a finding is at least this severe; with --nagios, less severe ones leave it
    /// OK
    #[arg(long, value_name = "SEVERITY", default_value = "warning", value_parser = options::choice_parser::<Severity>())]
    pub fail_on: Severity,
    /// Print one line for Nagios, and exit with 0 (OK), 1 (WARNING), 2 (CRITICAL) or 3 (UNKNOWN)
    #[arg(long, conflicts_with_all = ["format", "json"])]
    pub nagios: bool,
    /// Look for this long, as in 3s or 1m [default: 3s; with --watch until SIGINT or SIGTERM]
    #[arg(long = "for", value_name = "DURATION", value_parser = options::parse_duration)]
    pub look_for: Option<Duration>,
    #[command(flatten)]
    pub duty: DutyOptions,
    #[command(flatten)]
    pub past: CheckedPast,
    #[command(flatten)]
    pub read: ReadOptions,
}

impl CheckOptions {
    /// Returns whether a recording is checked in place of an ensemble.
    pub(super) fn is_past(&self) -> bool {
        !self.past.store.is_empty() && self.read.ensemble.connect.is_none()
    }

    /// Fails for options that say something about an ensemble while only a recording is checked.
    fn refuse_options_of_ensembles(&self) -> anyhow::Result<()> {
        let WhichLocks { root, lock, .. } = &self.read.locks;
        let given = [
            ("--for", self.look_for.is_some()),
            ("--root", root.is_some()),
            ("--lock", lock.is_some()),
            ("--timeout", self.read.output.timeout.is_some()),
        ];
        let name = given.iter().find(|(_, given)| *given).map(|(name, _)| name);
        name.map_or(Ok(()), |name| {
            bail!("{name} is for an ensemble: leave it out, or name the ensemble with --connect")
        })
    }
}

impl Choice for Severity {
    const ALL: &'static [Self] = &[Self::Info, Self::Warning, Self::Critical];

    fn named(self) -> (&'static str, &'static str) {
        let help = match self {
            Self::Info => "Any finding",
            Self::Warning => "What somebody should look at",
            Self::Critical => "Locks that will not be granted again by themselves",
        };
        (self.id(), help)
    }
}

/// The result of a check, and the time that it took.
struct CheckedEnsemble {
    ensemble: ReportedEnsemble,
    table: LockTable,
    diagnosis: Diagnosis,
    at: Timestamp,
    duration: Duration,
}

/// Checks the chosen ensembles.
pub async fn run_chosen(
    chosen: anyhow::Result<Chosen>,
    options: &CheckOptions,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    match (chosen, options.nagios) {
        (Ok(Chosen::Several(several, _)), true) => Ok(run_each_for_nagios(several, options, out).await),
        (Ok(Chosen::Several(several, format)), false) => run_each(several, options, format, out).await,
        (Ok(Chosen::One(settings)), true) => Ok(run_for_nagios(Ok(*settings), options, out).await),
        (Ok(Chosen::One(settings)), false) => run(&settings, options, out).await,
        (Err(error), true) => Ok(run_for_nagios(Err(error), options, out).await),
        (Err(error), false) => Err(error),
    }
}

/// Reports findings as they are raised and cleared, in the chosen ensembles.
pub async fn run_on_duty(chosen: Chosen, options: &CheckOptions) -> anyhow::Result<ExitAnswer> {
    let (duty, program) = Duty::begin(&options.duty, options.fail_on);
    let (out, stop_after) = (&mut tokio::io::stdout(), options.look_for);
    let outcome = match chosen {
        Chosen::One(settings) => watch::run(&settings, stop_after, Some(duty), out).await,
        Chosen::Several(several, format) => watch::run_each(several, format, stop_after, Some(duty), out).await,
    };
    program.finish().await;
    outcome
}

/// Checks a recording, or several.
pub async fn run_past(
    settings: anyhow::Result<ResolvedOptions>,
    options: &CheckOptions,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    let found = settings.and_then(|settings| {
        options.refuse_options_of_ensembles()?;
        Ok((settings, Stores::find(&options.past.store)?))
    });
    match (found, options.nagios) {
        (Ok((settings, Stores::Several(several))), is_plugin) => {
            run_each_past(&settings, options, &several, is_plugin, out)
        }
        (found, true) => Ok(run_for_nagios(found.map(|(settings, _)| settings), options, out).await),
        (found, false) => run(&found?.0, options, out).await,
    }
}

/// Prints the findings, and for people also what could not be read. When a root cannot be read, the
/// findings below the other roots are printed and the command fails.
async fn run(settings: &ResolvedOptions, options: &CheckOptions, out: &mut impl Write) -> anyhow::Result<ExitAnswer> {
    let looked = read_state(settings, options).await?;
    print_check(settings, options, &looked, out)
}

/// Checks each context. The answer is no when it is no for one of them; fails when one of them could
/// not be reached.
async fn run_each(
    contexts: Vec<InContext>,
    options: &CheckOptions,
    format: Format,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    let mut failures = Failures::of(contexts.len());
    let mut answer = ExitAnswer::Yes;
    for (name, looked) in look_at_each(contexts, options).await {
        let checked = looked.and_then(|(settings, looked)| print_check(&settings, options, &looked, out));
        match checked {
            Ok(ExitAnswer::No) => answer = ExitAnswer::No,
            Ok(_) => {}
            Err(error) if reader_left(&error) => return Err(error),
            Err(error) => failures.add(&name, &error, format, out)?,
        }
    }
    failures.end()?;
    Ok(answer)
}

/// A context, and what was found in it.
type CheckedContext = (String, anyhow::Result<(ResolvedOptions, CheckedEnsemble)>);

/// Looks at each context, and then for clients that wait for each other across them. Returns all in
/// the order of the contexts.
async fn look_at_each(contexts: Vec<InContext>, options: &CheckOptions) -> Vec<CheckedContext> {
    let look = |settings: ResolvedOptions| async move {
        let looked = read_state(&settings, options).await?;
        Ok((settings, looked))
    };
    let mut all: Vec<CheckedContext> = several::results(contexts, look).collect().await;
    let seen = all.iter().filter_map(|(name, looked)| {
        let CheckedEnsemble { table, at, .. } = &looked.as_ref().ok()?.1;
        Some((Arc::from(name.as_str()), EnsembleClaims::of(TableAt::new(table, *at))))
    });
    let claims: Vec<(Arc<str>, EnsembleClaims)> = seen.collect();
    let crossed = cross_waits(claims.iter().map(|(name, claims)| (name, claims)), now());
    for (name, looked) in &mut all {
        let Some((waits, (_, looked))) = crossed.get(name.as_str()).zip(looked.as_mut().ok()) else { continue };
        let CheckedEnsemble { table, diagnosis, at, .. } = looked;
        *at = waits.at;
        table.apply(Change::Crossed { waits: Arc::new(waits.clone()) }, *at);
        diagnosis.examine(table, *at);
    }
    all
}

fn print_check(
    settings: &ResolvedOptions,
    options: &CheckOptions,
    looked: &CheckedEnsemble,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    let is_past = options.is_past();
    let CheckedEnsemble { ensemble, table, diagnosis, at, duration } = looked;
    let check = CheckReport::new(ensemble, table, diagnosis, *at, options.fail_on, *duration);
    print(out, |out| match settings.format {
        Format::Json => write_json_of(out, settings.label(), &check),
        Format::Table => {
            several::write_heading(out, settings.label(), ensemble)?;
            let mut text = Vec::new();
            lines::check(&mut text, table, diagnosis, check.verdict(), !is_past, settings.utc)?;
            String::from_utf8_lossy(&text).lines().try_for_each(|line| writeln!(out, "{}", coloured(line)))
        }
    })?;
    if !is_past {
        every_root_is_readable(table, &settings.roots)?;
    }
    Ok(if check.passed() { ExitAnswer::Yes } else { ExitAnswer::No })
}

/// Colours the severity that a line begins with.
fn coloured(line: &str) -> String {
    let tones = [(Severity::Critical, WordTone::Bad), (Severity::Warning, WordTone::Warning)];
    let found = tones.into_iter().find_map(|(severity, tone)| Some((tone, line.strip_prefix(severity.id())?)));
    found.map_or_else(
        || line.to_owned(),
        |(tone, rest)| colour::on_stdout(tone, &line[..line.len() - rest.len()]) + rest,
    )
}

/// Prints one line for Nagios. Problems that prevent a judgement are in that line too, and never
/// fail the command.
async fn run_for_nagios(
    settings: anyhow::Result<ResolvedOptions>,
    options: &CheckOptions,
    out: &mut impl Write,
) -> ExitAnswer {
    let line = match settings {
        Ok(settings) => status(&settings, options).await,
        Err(error) => Err(error),
    };
    print_status(&known(line), out)
}

/// Returns the line of a check that failed: the state is unknown, for this reason.
fn known(line: anyhow::Result<StatusLine>) -> StatusLine {
    line.unwrap_or_else(|error| StatusLine::unknown(&format!("{error:#}")))
}

fn print_status(line: &StatusLine, out: &mut impl Write) -> ExitAnswer {
    let printed = print(out, |out| writeln!(out, "{line}"));
    // A line that could not be printed counts as unknown.
    ExitAnswer::Monitored(if printed.is_ok() { line.status() } else { ServiceStatus::Unknown })
}

/// Prints one line for Nagios about all contexts, as [`run_for_nagios`] does.
async fn run_each_for_nagios(contexts: Vec<InContext>, options: &CheckOptions, out: &mut impl Write) -> ExitAnswer {
    let line = |(name, looked): CheckedContext| {
        let line = looked.and_then(|(settings, looked)| status_of(looked, &settings, options));
        (name, known(line))
    };
    let lines: Vec<_> = look_at_each(contexts, options).await.into_iter().map(line).collect();
    print_status(&StatusLine::of_all(&lines), out)
}

/// Returns whether these words ask for a line for Nagios, even if they are no valid command line.
pub fn is_plugin(words: &[OsString]) -> bool {
    ["check", "--nagios"].into_iter().all(|word| words.iter().any(|other| other == word))
}

/// Prints that the state of the locks is unknown, and the reason.
pub fn unknown_service(why: &str) -> ExitAnswer {
    // The exit code remains valid without a reader.
    let _ = writeln!(io::stdout().lock(), "{}", StatusLine::unknown(why));
    ExitAnswer::Monitored(ServiceStatus::Unknown)
}

/// Checks several recordings, as [`run_each`] does ensembles.
fn run_each_past(
    settings: &ResolvedOptions,
    options: &CheckOptions,
    stores: &[NamedStore],
    is_plugin: bool,
    out: &mut impl Write,
) -> anyhow::Result<ExitAnswer> {
    let (mut answer, mut unread, mut lines) = (ExitAnswer::Yes, Unread::default(), Vec::new());
    for store in stores {
        let looked = read_past_state(settings, &store.path, options.past.at);
        if is_plugin {
            let line = looked.and_then(|looked| status_of(looked, settings, options));
            lines.push((store.name.replace(' ', "-"), known(line)));
            continue;
        }
        match looked.and_then(|looked| print_check(&store.settings(settings), options, &looked, out)) {
            Ok(ExitAnswer::No) => answer = ExitAnswer::No,
            Ok(_) => {}
            Err(error) if reader_left(&error) => return Err(error),
            Err(error) => unread.add(store, &error),
        }
    }
    if is_plugin {
        return Ok(print_status(&StatusLine::of_all(&lines), out));
    }
    unread.end(stores.len())?;
    Ok(answer)
}

async fn status(settings: &ResolvedOptions, options: &CheckOptions) -> anyhow::Result<StatusLine> {
    status_of(read_state(settings, options).await?, settings, options)
}

fn status_of(
    looked: CheckedEnsemble,
    settings: &ResolvedOptions,
    options: &CheckOptions,
) -> anyhow::Result<StatusLine> {
    let CheckedEnsemble { table, diagnosis, at, duration, .. } = looked;
    let line = StatusLine::new(&table, &diagnosis, at, duration, options.fail_on);
    if !options.is_past() {
        return Ok(line);
    }
    let age = now().since(at);
    if options.past.at.is_none() && age > MAX_RECORDING_AGE {
        bail!("the recording ends {} ago, at {}", human::duration(age), date_and_time(at, settings.utc));
    }
    Ok(line.recorded_at(&date_and_time(at, settings.utc)))
}

async fn read_state(settings: &ResolvedOptions, options: &CheckOptions) -> anyhow::Result<CheckedEnsemble> {
    match &options.past.store[..] {
        [store, ..] if options.is_past() => read_past_state(settings, store, options.past.at),
        _ => look_live(settings, options).await,
    }
}

/// Checks a moment of a recording. Fails when nothing was known at that moment.
fn read_past_state(settings: &ResolvedOptions, store: &Path, at: Option<PastTime>) -> anyhow::Result<CheckedEnsemble> {
    let PastMoment { at, state, ensemble, since, coverage } = past::moment(store, at, settings.utc)?;
    let RecordedState { table, mut diagnosis, .. } = state;
    let when = || date_and_time(at, settings.utc);
    ensure!(table.is_live(), "nothing is known of the locks at {}: there was no connection; name another time", when());
    ensure!(
        coverage.is_none_or(|covered| !covered.is_empty()),
        "nothing is known of the locks at {}: the recording has a gap there; name another time",
        when()
    );
    if diagnosis.last_look().is_none() {
        // The recorder has not looked since the state was stored, which it does each second.
        diagnosis.examine(&table, at);
    }
    Ok(CheckedEnsemble { ensemble, table, diagnosis, at, duration: at.since(since) })
}

/// Checks the live locks for `look_for` after everything was read, and a little longer while checks
/// are open that could fail. Fails when the table is not live at the end: such a table has no
/// findings. If no server serves clients, that is the result.
async fn look_live(settings: &ResolvedOptions, options: &CheckOptions) -> anyhow::Result<CheckedEnsemble> {
    let look_for = options.look_for.unwrap_or(LOOK_FOR);
    let mut live = LiveTable::start(settings)?;
    for store in &options.past.store {
        match last_state(settings, store) {
            Ok(recorded) => live.resume(recorded, &settings.roots),
            // The check of what is there now is worth more than none.
            Err(error) => note(&format!("nothing is taken from {}: {error:#}", store.display())),
        }
    }
    live.survey(settings, look_for / VIEWS)?;
    let longest = look_for + settings.thresholds.settled_after + MORE_TIME;
    let watched = look(&mut live, look_for..longest, options.fail_on).await;
    live.newest_view().await;
    let (ensemble, trouble) = (live.ensemble(), live.trouble().to_owned());
    let (table, diagnosis, at) = live.stop().await;
    let nobody_serves = ServerTrouble::of(table.view()).is_some_and(|servers| servers.severity() == Severity::Critical);
    let duration = match watched {
        Err(_) if nobody_serves => look_for,
        watched => watched?,
    };
    some_root_is_readable(&table, &settings.roots)?;
    let is_live = table.is_live() || nobody_serves;
    ensure!(is_live, "the connection was lost while the locks were read: {trouble}; try again");
    Ok(CheckedEnsemble { ensemble, table, diagnosis, at, duration })
}

/// Returns the state at the end of a recording of this ensemble.
fn last_state(settings: &ResolvedOptions, store: &Path) -> anyhow::Result<RecordedState> {
    let PastMoment { at, state, ensemble, .. } = past::moment(store, None, settings.utc)?;
    let is_same =
        EnsembleAddress::of(ensemble.connect()).is_of_the_same(&EnsembleAddress::of(&settings.ensemble_name()));
    ensure!(is_same, "it is a recording of {}", ensemble.connect());
    ensure!(at <= now().plus(MORE_TIME), "it ends at {}, which has not come yet", date_and_time(at, settings.utc));
    Ok(state)
}

/// Looks for the shortest of these times, and for up to the longest while checks are open. Returns
/// the time that it took.
async fn look(live: &mut LiveTable, look_for: Range<Duration>, fail_on: Severity) -> anyhow::Result<Duration> {
    live.read_once().await?;
    let began = Instant::now();
    while let Ok(events) = timeout_at(began + look_for.start, live.next()).await {
        events?;
    }
    while live.open_checks(fail_on) > 0
        && let Ok(events) = timeout_at(began + look_for.end, live.next()).await
    {
        events?;
    }
    Ok(began.elapsed().max(look_for.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_error_before_the_check_is_unknown_and_prints_one_line() {
        let options = CheckOptions {
            fail_on: Severity::Warning,
            nagios: true,
            look_for: Some(Duration::ZERO),
            duty: DutyOptions::default(),
            past: CheckedPast::default(),
            read: ReadOptions::default(),
        };
        let mut out = Vec::new();
        let answer = run_for_nagios(Err(anyhow::anyhow!("no such\ncontext | x")), &options, &mut out).await;
        assert_eq!(answer, ExitAnswer::Monitored(ServiceStatus::Unknown));
        assert_eq!(String::from_utf8_lossy(&out), "LOCKSCOPE UNKNOWN - no such\\ncontext \\u{7c} x\n");
    }
}
