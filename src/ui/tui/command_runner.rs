//! Runs the user's own commands: in a pane, or with the terminal.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::app::{CommandEnd, CommandReport, Event, MAX_OUTPUT_BYTES};
use super::own_command::PreparedCommand;

/// Bytes that are read at once; a longer line is broken there.
const PIECE: usize = 8 * 1024;
/// Reports that wait for the console, until the program has to wait.
const MAX_QUEUED_REPORTS: usize = 16;
/// How long output is still read after the program has ended: a process that it left behind may
/// keep the pipe open.
const REST_OF_OUTPUT: Duration = Duration::from_millis(300);
/// Secrets of lockscope that no other program needs.
const SECRET_VARIABLE: &str = "LOCKSCOPE_AUTH";

/// Runs commands. Dropping it kills them.
#[derive(Debug)]
pub struct CommandRunner {
    sender: mpsc::Sender<Event>,
    reports: mpsc::Receiver<Event>,
    pane: JoinSet<()>,
    stop: Option<mpsc::Sender<()>>,
}

impl Default for CommandRunner {
    fn default() -> Self {
        let (sender, reports) = mpsc::channel(MAX_QUEUED_REPORTS);
        Self { sender, reports, pane: JoinSet::new(), stop: None }
    }
}

impl CommandRunner {
    /// Starts a command whose output is reported.
    pub fn start(&mut self, command: PreparedCommand) {
        let (stop, stopped) = mpsc::channel(1);
        self.stop = Some(stop);
        // Only the result of the one before it may be left.
        while self.pane.try_join_next().is_some() {}
        self.pane.spawn(run_in_pane(command, self.sender.clone(), stopped));
    }

    /// Kills the command with the pane.
    pub fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // Fails when it has been asked or has ended.
            let _ = stop.try_send(());
        }
    }

    /// Waits for the next report. Cancel safe.
    pub async fn next(&mut self) -> Event {
        match self.reports.recv().await {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }
}

fn event(report: CommandReport) -> Event {
    Event::Command(Box::new(report))
}

/// Returns a process that can be started. Dropping the started process kills it.
fn process(command: &PreparedCommand) -> Command {
    let mut process = Command::new(&command.program);
    process.args(&command.arguments).env_remove(SECRET_VARIABLE).kill_on_drop(true);
    for (name, value) in &command.variables {
        match value {
            Some(value) => process.env(name, value),
            None => process.env_remove(name),
        };
    }
    process
}

fn not_started(error: &io::Error) -> CommandEnd {
    CommandEnd::NotStarted(error.to_string())
}

fn end_of(status: io::Result<ExitStatus>) -> CommandEnd {
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => CommandEnd::Exited(code),
            (None, signal) => CommandEnd::Killed(signal.unwrap_or_default()),
        },
        Err(error) => not_started(&error),
    }
}

/// A process group that is killed when this is dropped.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    /// The leader has ended and its id may be another's soon: nothing is killed any more.
    fn release(&mut self) {
        self.0 = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // Fails when all its processes have ended.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

async fn run_in_pane(command: PreparedCommand, reports: mpsc::Sender<Event>, mut stopped: mpsc::Receiver<()>) {
    let mut process = process(&command);
    process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let (end, left_out) = match process.spawn() {
        Err(error) => (not_started(&error), 0),
        Ok(mut child) => follow(&mut child, command.timeout, &reports, &mut stopped).await,
    };
    // Fails when the console has ended.
    let _ = reports.send(event(CommandReport::Ended { end, left_out })).await;
}

/// Reports the output of a process until it ends, or has to be killed with its whole group.
async fn follow(
    child: &mut Child,
    patience: Duration,
    reports: &mpsc::Sender<Event>,
    stopped: &mut mpsc::Receiver<()>,
) -> (CommandEnd, u64) {
    let mut group = ProcessGroup::of(child);
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let mut room = MAX_OUTPUT_BYTES;
    let (lines, mut read) = mpsc::channel(MAX_QUEUED_REPORTS);
    let mut readers = JoinSet::new();
    if let Some(out) = out {
        readers.spawn(read_lines(out, lines.clone()));
    }
    if let Some(err) = err {
        readers.spawn(read_lines(err, lines.clone()));
    }
    drop(lines);
    let mut left_out = 0_u64;
    let mut limit = std::pin::pin!(sleep(patience));
    let end = loop {
        tokio::select! {
            biased;
            _ = stopped.recv() => break CommandEnd::Stopped,
            () = &mut limit => break CommandEnd::TimedOut(patience),
            status = child.wait() => {
                group.release();
                break end_of(status);
            }
            Some(piece) = read.recv() => report(piece, &mut room, &mut left_out, reports).await,
        }
    };
    // Kills the group, unless its leader has ended.
    drop(group);
    let rest = async {
        while let Some(piece) = read.recv().await {
            report(piece, &mut room, &mut left_out, reports).await;
        }
    };
    let _ = timeout(REST_OF_OUTPUT, rest).await;
    (end, left_out)
}

/// Reports a piece of output as far as there is room for it.
async fn report(mut piece: Vec<u8>, room: &mut usize, left_out: &mut u64, reports: &mpsc::Sender<Event>) {
    let kept = piece.len().min(*room);
    *left_out += (piece.len() - kept) as u64;
    *room -= kept;
    piece.truncate(kept);
    if !piece.is_empty() {
        // Fails when the console has ended.
        let _ = reports.send(event(CommandReport::Output(piece))).await;
    }
}

/// Sends what is read in whole lines, so that two streams do not mix within a line.
async fn read_lines(mut from: impl AsyncRead + Unpin, lines: mpsc::Sender<Vec<u8>>) {
    let mut kept: Vec<u8> = Vec::with_capacity(2 * PIECE);
    let mut piece = vec![0; PIECE];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        kept.extend_from_slice(&piece[..length]);
        let whole = kept.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let whole = if whole == 0 && kept.len() >= PIECE { kept.len() } else { whole };
        let rest = kept.split_off(whole);
        let ready = std::mem::replace(&mut kept, rest);
        if !ready.is_empty() && lines.send(ready).await.is_err() {
            return;
        }
    }
    if !kept.is_empty() {
        // Fails when nobody reads any more.
        let _ = lines.send(kept).await;
    }
}

/// Runs a program with this input until it ends, or is killed with its whole group after its
/// timeout. Its output goes to standard error. Dropping the future kills the group, too.
pub async fn run_with_input(command: &PreparedCommand, input: &[u8]) -> CommandEnd {
    let mut process = process(command);
    let mut child = match process.stdin(Stdio::piped()).stdout(io::stderr()).process_group(0).spawn() {
        Ok(child) => child,
        Err(error) => return not_started(&error),
    };
    let mut group = ProcessGroup::of(&child);
    let stdin = child.stdin.take();
    let fed = async move {
        if let Some(mut stdin) = stdin {
            // Fails when the program does not read all of it.
            let _ = stdin.write_all(input).await;
        }
        std::future::pending().await
    };
    let ended = async {
        tokio::select! {
            status = child.wait() => status,
            never = fed => never,
        }
    };
    match timeout(command.timeout, ended).await {
        Ok(status) => {
            group.release();
            end_of(status)
        }
        Err(_) => CommandEnd::TimedOut(command.timeout),
    }
}

/// A program that has the terminal.
pub struct Lent {
    name: String,
    child: io::Result<Child>,
}

impl Lent {
    /// Starts a program with the terminal's input and output, in the console's own process group,
    /// so that the terminal's keys for signals reach it.
    pub fn start(command: &PreparedCommand) -> Self {
        Self { name: command.name.clone(), child: process(command).spawn() }
    }

    /// Waits until the program ends, and returns its name and how it ended. Cancel safe.
    pub async fn end(&mut self) -> (String, CommandEnd) {
        let end = match &mut self.child {
            Ok(child) => end_of(child.wait().await),
            Err(error) => not_started(error),
        };
        (self.name.clone(), end)
    }
}
