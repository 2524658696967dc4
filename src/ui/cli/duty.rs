//! `lockscope check --watch`: a watcher on duty. It reports findings as they are raised and cleared,
//! and runs a program for the raised ones.
//!
//! Architecture invariant: what znodes and servers say reaches the program only as JSON on its
//! standard input. It is never an argument, and no shell reads it.
//!
//! [`FindingsOnDuty`] decides what is news. A finding that was forgotten after a cut is
//! no news when it is raised again. The program is not run for a muted finding until its mute ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::options;
use super::output::{json_of, note};
use super::resolved::ResolvedOptions;
use super::table_event::TableEvent;
use crate::tui::{CommandEnd, CommandOutput, PreparedCommand, run_with_input};
use lockscope_base::time::now as now_by_clock;
use lockscope_base::znode::{Timestamp, ZnodePath};
use lockscope_model::diagnose::{Code, Finding, Severity, Thresholds};
use lockscope_model::queue::{LockEvent, LockTable};
use lockscope_model::report::{FindingLine, FindingNews};
use lockscope_model::text::human;

#[cfg(test)]
mod tests;

/// The most findings that wait for the program.
const MAX_WAITING: usize = 64;

/// How long a program may run, unless the options say otherwise.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// How long the program is not run again for a lock and code, unless the options say otherwise.
const COOL_DOWN: Duration = Duration::from_secs(5 * 60);

/// How long the end waits for the program.
const PATIENCE_AT_END: Duration = Duration::from_secs(5);

/// The most kinds of findings that are remembered only because they cool down.
const MAX_COOLING: usize = 10_000;

/// How often the findings that stand are gone through.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// How much longer than a state must last to be a finding it takes to find it again: the servers
/// are asked at intervals.
const MORE_TO_FIND_AGAIN: Duration = Duration::from_secs(10);

/// The options of a watcher on duty.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Watching")]
pub(super) struct DutyOptions {
    /// Keep watching, and print each finding at least as severe as --fail-on when it is raised and
    /// when it is cleared; ends with 0
    #[arg(long, conflicts_with_all = ["nagios", "store"])]
    pub watch: bool,
    /// Run this program for each raised finding, which it reads as JSON from its standard input;
    /// quotes keep blanks in an argument, and no shell is run
    #[arg(long, value_name = "COMMAND", requires = "watch", value_parser = command)]
    pub on_finding: Option<PreparedCommand>,
    /// After a run, run it for the same lock and code only after this time, or if that gets more
    /// severe [default: 5m]
    #[arg(long, value_name = "DURATION", requires = "on_finding", value_parser = options::parse_duration_or_none)]
    pub cool_down: Option<Duration>,
    /// Kill the program with its process group after this time [default: 30s]
    #[arg(long, value_name = "DURATION", requires = "on_finding", value_parser = options::parse_duration)]
    pub on_finding_timeout: Option<Duration>,
}

/// Splits a command into the program and its arguments.
fn command(text: &str) -> Result<PreparedCommand, String> {
    let words = shell_words::split(text).map_err(|_| "a quote is not closed".to_owned())?;
    let mut words = words.into_iter();
    let program = words.next().filter(|program| !program.trim().is_empty());
    let program = program.ok_or("name a program and its arguments, as in 'page --team storage'")?;
    Ok(PreparedCommand {
        name: program.clone(),
        program,
        arguments: words.collect(),
        variables: Vec::new(),
        output: CommandOutput::Pane,
        timeout: TIME_LIMIT,
        names: None,
    })
}

/// What a watcher on duty does, in whatever ensemble.
#[derive(Clone, Debug)]
pub struct Duty {
    fail_on: Severity,
    cool_down: Duration,
    program: Option<ProgramQueue>,
}

impl Duty {
    /// Starts to wait for findings. The program ends with [`ProgramTask::finish`], after this and
    /// all its clones are dropped.
    pub fn begin(options: &DutyOptions, fail_on: Severity) -> (Self, ProgramTask) {
        let (program, task) = options.on_finding.clone().map_or((None, None), |command| {
            let timeout = options.on_finding_timeout.unwrap_or(TIME_LIMIT);
            let (sender, findings) = mpsc::channel(MAX_WAITING);
            let left_out = Arc::new(AtomicU64::new(0));
            let command = PreparedCommand { timeout, ..command };
            let task = tokio::spawn(run_for_each(command, findings, Arc::clone(&left_out)));
            (Some(ProgramQueue { sender, left_out }), Some(task))
        });
        (Self { fail_on, cool_down: options.cool_down.unwrap_or(COOL_DOWN), program }, ProgramTask(task))
    }

    /// Returns the duty in one ensemble.
    pub fn of(&self, settings: &ResolvedOptions) -> FindingsOnDuty {
        FindingsOnDuty {
            duty: self.clone(),
            context: settings.label().map(str::to_owned),
            thresholds: settings.thresholds,
            kinds: BTreeMap::new(),
            next_sweep: None,
        }
    }
}

/// The findings that wait for the program.
#[derive(Clone, Debug)]
struct ProgramQueue {
    sender: mpsc::Sender<WaitingFinding>,
    /// Those that found no place, until a run is told.
    left_out: Arc<AtomicU64>,
}

#[derive(Debug)]
struct WaitingFinding {
    context: Option<String>,
    finding: Arc<Finding>,
    raised_at: Timestamp,
}

/// What the program reads.
#[derive(Serialize)]
struct FindingForProgram<'a> {
    #[serde(flatten)]
    line: FindingLine<'a>,
    /// The raised findings for which there was no place since the last run.
    left_out: u64,
}

/// Runs the program for one finding after the other.
async fn run_for_each(
    command: PreparedCommand,
    mut findings: mpsc::Receiver<WaitingFinding>,
    left_out: Arc<AtomicU64>,
) {
    while let Some(WaitingFinding { context, finding, raised_at }) = findings.recv().await {
        let left_out = left_out.swap(0, Ordering::Relaxed);
        let facts = FindingForProgram { line: FindingLine::new(&finding, FindingNews::Raised, raised_at), left_out };
        let end = match json_of(context.as_deref(), &facts) {
            Ok(input) => run_with_input(&command, input.as_bytes()).await,
            Err(error) => CommandEnd::NotStarted(error.to_string()),
        };
        let name = &command.name;
        let (lock, code) = (finding.lock.path.as_str(), finding.code);
        let what = match end {
            CommandEnd::Exited(0) => continue,
            CommandEnd::TimedOut(limit) => {
                format!("`{name}` was killed: it ran for longer than {}.", human::duration(limit))
            }
            CommandEnd::NotStarted(why) => format!("`{name}` cannot be started: {why}."),
            end => end.sentence(name),
        };
        note(&format!("{what} It was run for {code} of {lock}; the watch goes on"));
    }
}

/// The program's runs.
pub struct ProgramTask(Option<JoinHandle<()>>);

impl ProgramTask {
    /// Waits briefly for the runs that are due, and kills what still runs then.
    pub async fn finish(self) {
        let Some(mut task) = self.0 else { return };
        if timeout(PATIENCE_AT_END, &mut task).await.is_err() {
            task.abort();
            // It was cancelled, which kills the program.
            let _ = task.await;
            note("--on-finding: at the end the program still ran; it was killed, and not run for what waited");
        }
    }
}

/// A kind of finding of a lock: its path, the name of its queue, the code.
type KindOfLock = (ZnodePath, Option<Arc<str>>, Code);

fn kind_of(finding: &Finding) -> KindOfLock {
    (finding.lock.path.clone(), finding.lock.name.clone(), finding.code)
}

/// The findings of one kind of a lock.
#[derive(Debug, Default)]
struct FindingsOfKind {
    /// By node.
    standing: BTreeMap<Option<Arc<str>>, FindingOnDuty>,
    /// Until when the program is not run again, unless for something more severe.
    cooling: Option<(Instant, Severity)>,
}

#[derive(Debug)]
struct FindingOnDuty {
    finding: Arc<Finding>,
    raised_at: Timestamp,
    /// When it was forgotten after a cut; it may still stand.
    forgotten: Option<Instant>,
    /// Whether the program needs not to be run for it.
    is_told: bool,
}

/// The findings of one ensemble that stand for a watcher on duty.
pub struct FindingsOnDuty {
    duty: Duty,
    context: Option<String>,
    thresholds: Thresholds,
    kinds: BTreeMap<KindOfLock, FindingsOfKind>,
    next_sweep: Option<Instant>,
}

impl FindingsOnDuty {
    /// Takes the events of the ensemble, and returns those that are news of its findings. Call this
    /// about once a second.
    pub fn take(&mut self, events: Vec<TableEvent>, table: &LockTable, now: Instant) -> Vec<TableEvent> {
        let mut told = Vec::new();
        for event in events {
            match event {
                TableEvent::Finding { finding, news, at } if self.is_news(&finding, news, at, now) => {
                    told.push(TableEvent::Finding { finding, news, at });
                }
                TableEvent::Happening(happening, reason) => self.note_sight(happening.event, reason),
                _ => {}
            }
        }
        if !told.is_empty() || self.next_sweep.is_none_or(|next| now >= next) {
            self.next_sweep = Some(now + SWEEP_INTERVAL);
            told.extend(self.sweep(table, now));
        }
        told
    }

    /// Says on standard error when the locks are not seen any more, and when they are again: silence
    /// would look like health.
    fn note_sight(&self, event: LockEvent, reason: Option<String>) {
        let of = self.context.as_ref().map(|context| format!("{context}: ")).unwrap_or_default();
        match event {
            LockEvent::Disconnected | LockEvent::Overloaded => {
                let why = reason.unwrap_or_else(|| event.title().to_owned());
                note(&format!("{of}the locks are not seen any more: {why}"));
            }
            LockEvent::Resynced => note(&format!("{of}the locks are seen again")),
            _ => {}
        }
    }

    fn is_news(&mut self, finding: &Arc<Finding>, news: FindingNews, at: Timestamp, now: Instant) -> bool {
        let kind = kind_of(finding);
        let known = self.kinds.get_mut(&kind);
        match (news, known.and_then(|of_kind| of_kind.standing.get_mut(&finding.node))) {
            (FindingNews::Raised, _) if finding.severity < self.duty.fail_on => false,
            (FindingNews::Raised, Some(known)) if known.finding.severity >= finding.severity => {
                (known.finding, known.forgotten) = (Arc::clone(finding), None);
                false
            }
            (FindingNews::Raised, _) => {
                let on_duty =
                    FindingOnDuty { finding: Arc::clone(finding), raised_at: at, forgotten: None, is_told: false };
                self.kinds.entry(kind).or_default().standing.insert(finding.node.clone(), on_duty);
                true
            }
            (FindingNews::Forgotten, Some(known)) => {
                known.forgotten = Some(now);
                false
            }
            (FindingNews::Cleared, Some(_)) => {
                self.kinds.entry(kind).or_default().standing.remove(&finding.node);
                true
            }
            (FindingNews::Muted | FindingNews::Unmuted, Some(known)) => {
                known.finding = Arc::clone(finding);
                true
            }
            (_, None) => false,
        }
    }

    /// Gives up forgotten findings that were not raised again, and hands over what is due. Returns
    /// the events of those that were given up.
    fn sweep(&mut self, table: &LockTable, now: Instant) -> Vec<TableEvent> {
        let Self { duty, context, thresholds, kinds, .. } = self;
        let mut cleared = Vec::new();
        for of_kind in kinds.values_mut() {
            of_kind.standing.retain(|_, on_duty| {
                let stands = on_duty.may_stand(table, thresholds, now);
                if !stands {
                    let (finding, at) = (Arc::clone(&on_duty.finding), now_by_clock());
                    cleared.push(TableEvent::Finding { finding, news: FindingNews::Cleared, at });
                }
                stands
            });
            if let Some(program) = &duty.program {
                of_kind.hand_over(program, duty.cool_down, context.as_deref(), now);
            }
        }
        kinds.retain(|_, of_kind| !of_kind.standing.is_empty() || of_kind.cooling.is_some_and(|(end, _)| now < end));
        let mut over = kinds.values().filter(|of_kind| of_kind.standing.is_empty()).count().saturating_sub(MAX_COOLING);
        kinds.retain(|_, of_kind| {
            let is_kept = over == 0 || !of_kind.standing.is_empty();
            over -= usize::from(!is_kept);
            is_kept
        });
        cleared
    }
}

impl FindingOnDuty {
    /// Returns whether the finding stands or may be raised again.
    fn may_stand(&mut self, table: &LockTable, thresholds: &Thresholds, now: Instant) -> bool {
        let Some(forgotten) = &mut self.forgotten else { return true };
        let Finding { lock, node, code, .. } = &*self.finding;
        if !table.is_live() {
            // The time without looks does not count.
            *forgotten = now;
            return true;
        }
        let is_there = node.as_ref().is_none_or(|node| table.stands(lock.id, node)) && table.lock(lock.id).is_some();
        is_there && now - *forgotten <= thresholds.least_time_to_find(*code) + MORE_TO_FIND_AGAIN
    }
}

impl FindingsOfKind {
    /// Hands the worst finding that is due over to the program. It stands for the others of its
    /// kind.
    fn hand_over(&mut self, program: &ProgramQueue, cool_down: Duration, context: Option<&str>, now: Instant) {
        let is_due = |on_duty: &FindingOnDuty| {
            !on_duty.is_told && on_duty.forgotten.is_none() && on_duty.finding.muted.is_none()
        };
        let due = self.standing.values().filter(|on_duty| is_due(on_duty));
        let untold = due.clone().count();
        let Some(worst) = due.max_by_key(|on_duty| on_duty.finding.severity) else { return };
        let severity = worst.finding.severity;
        if self.cooling.is_some_and(|(end, told)| now < end && severity <= told) {
            return;
        }
        let (finding, raised_at) = (Arc::clone(&worst.finding), worst.raised_at);
        let waiting = WaitingFinding { context: context.map(str::to_owned), finding, raised_at };
        if program.sender.try_send(waiting).is_ok() {
            self.cooling = Some((now + cool_down, severity));
        } else {
            program.left_out.fetch_add(untold as u64, Ordering::Relaxed);
        }
        self.standing.values_mut().filter(|on_duty| is_due(on_duty)).for_each(|on_duty| on_duty.is_told = true);
    }
}
