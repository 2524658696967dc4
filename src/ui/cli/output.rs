//! What a command writes, and how it ends.
//!
//! Facts go to standard output, sentences to standard error, and progress to a line of standard
//! error, if that is a terminal. The log of lockscope's own work goes to a file, never to the
//! screen.
//!
//! A command that did its work returns an [`ExitAnswer`]; a failure is an error instead. A signal
//! asks it to end, or to read its settings again. `lockscope record` may run as a service: it tells
//! the service manager how it is, and [`MayPass`] is its error when a restart may help.

use std::fmt::Display;
use std::io;
use std::io::{BufWriter, IsTerminal, Stderr, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, anyhow};
use sd_notify::NotifyState;
use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt;

use super::colour;
use super::colour::WordTone;
use lockscope_base::znode::{escaped, must_be_escaped};
use lockscope_files::append_log;
use lockscope_model::report;
use lockscope_model::report::ServiceStatus;
use lockscope_past::record::StoreError;

/// The start of the error when standard output cannot be written.
const CANNOT_WRITE: &str = "cannot write the output";

/// The size of the output buffer: a snapshot of tens of thousands of contenders has tens of
/// megabytes.
const OUTPUT_BUFFER: usize = 64 << 10;

/// Writes a whole output.
pub fn print<W: Write>(
    out: &mut W,
    write: impl FnOnce(&mut BufWriter<&mut W>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = BufWriter::with_capacity(OUTPUT_BUFFER, out);
    write(&mut out).and_then(|()| out.flush()).context(CANNOT_WRITE)
}

/// Writes a text without blocking other work.
pub async fn send(out: &mut (impl AsyncWrite + Unpin), text: &str) -> anyhow::Result<()> {
    let sent = async {
        out.write_all(text.as_bytes()).await?;
        out.flush().await
    };
    sent.await.context(CANNOT_WRITE)
}

/// Writes facts as one line of JSON.
pub fn write_json(out: &mut impl Write, facts: &impl Serialize) -> io::Result<()> {
    report::json::to_writer(out, facts)?;
    writeln!(out)
}

/// Returns facts as one line of JSON.
pub fn json(facts: &impl Serialize) -> io::Result<String> {
    Ok(report::json::to_string(facts)? + "\n")
}

/// Facts of one of several contexts.
#[derive(Serialize)]
struct Labelled<'a, T> {
    context: &'a str,
    #[serde(flatten)]
    facts: &'a T,
}

/// Writes facts as one line of JSON, with the context if there are several.
pub fn write_json_of(out: &mut impl Write, context: Option<&str>, facts: &impl Serialize) -> io::Result<()> {
    match context {
        Some(context) => write_json(out, &Labelled { context, facts }),
        None => write_json(out, facts),
    }
}

/// Returns facts as one line of JSON, with the context if there are several.
pub fn json_of(context: Option<&str>, facts: &impl Serialize) -> io::Result<String> {
    match context {
        Some(context) => json(&Labelled { context, facts }),
        None => json(facts),
    }
}

/// Returns whether a command failed because its output has no reader any more.
pub fn reader_left(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Accepts that what was printed at the very end has no reader any more: the outcome stays the
/// same, and the exit code reports it.
pub fn without_reader(printed: anyhow::Result<()>) -> anyhow::Result<()> {
    printed.or_else(|error| if reader_left(&error) { Ok(()) } else { Err(error) })
}

/// Returns a sentence for standard error, with unsafe characters escaped.
pub fn line(sentence: &str) -> String {
    format!("lockscope: {}\n", escaped(sentence))
}

/// Prints a sentence on standard error; a closed standard error is ignored.
pub fn note(sentence: &str) {
    let name = colour::on_stderr(WordTone::Bad, "lockscope:");
    let _ = io::stderr().write_all(line(sentence).replacen("lockscope:", &name, 1).as_bytes());
}

/// Returns the error that the ensemble did not answer in time; the reason names the servers and
/// their faults.
pub fn no_answer(waited: Duration, reason: impl Display) -> anyhow::Error {
    let waited = humantime::format_duration(waited);
    anyhow!("gave up after {waited}: {reason}; allow more time with --timeout")
}

/// The shortest time between two redraws.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

/// Returns to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[K";

/// The width of a terminal that does not report it.
const DEFAULT_COLUMNS: usize = 80;

/// The progress line. Dropping it clears the line.
pub struct ProgressLine<W: Write = Stderr> {
    /// `None` without a terminal.
    out: Option<W>,
    columns: usize,
    drawn: Option<Instant>,
}

impl ProgressLine {
    /// Writes to stderr if that is a terminal that can clear a line; otherwise nowhere.
    pub fn on_stderr() -> Self {
        let can_clear = std::env::var_os("TERM").is_some_and(|name| name != "dumb");
        let out = (io::stderr().is_terminal() && can_clear).then(io::stderr);
        let columns = crossterm::terminal::size().map_or(DEFAULT_COLUMNS, |(columns, _)| columns.into());
        Self { out, columns, drawn: None }
    }
}

impl<W: Write> ProgressLine<W> {
    /// Replaces the line by an ASCII text, unless it was drawn just now.
    pub fn show(&mut self, now: Instant, text: impl FnOnce() -> String) {
        if self.out.is_some() && self.drawn.is_none_or(|drawn| now.duration_since(drawn) >= REDRAW_INTERVAL) {
            self.drawn = Some(now);
            self.draw(text());
        }
    }

    /// Shows a last text regardless of the redraw interval.
    pub fn end(&mut self, text: &str) {
        if self.drawn.is_some() {
            self.draw(text.to_owned());
        }
    }

    fn draw(&mut self, mut text: String) {
        let Some(out) = &mut self.out else { return };
        // Some terminals wrap when the last column is used.
        text.truncate(self.columns.saturating_sub(1));
        // A closed terminal is noticed elsewhere.
        let _ = write!(out, "{CLEAR_LINE}{text}").and_then(|()| out.flush());
    }
}

impl<W: Write> Drop for ProgressLine<W> {
    fn drop(&mut self) {
        if let (Some(out), Some(_)) = (&mut self.out, self.drawn) {
            let _ = write!(out, "{CLEAR_LINE}").and_then(|()| out.flush());
        }
    }
}

/// Starts to append the events that pass the filter to the file. An invalid filter counts as
/// `info`, and is reported in the log itself.
pub fn start_log(path: &Path, filter: Option<&str>) -> anyhow::Result<()> {
    let file = append_log(path).map_err(|error| {
        anyhow!("cannot write the log file {}: {error}; name another one with --log-file", path.display())
    })?;
    let wanted = filter.unwrap_or("info");
    // A filter of spans would be taken for a target that never comes.
    let parsed = if wanted.contains(['[', '{']) {
        Err("it knows targets and levels only".to_owned())
    } else {
        wanted.parse().map_err(|error: ParseError| error.to_string())
    };
    let (filter, mistake) = match parsed {
        Ok(filter) => (filter, None),
        Err(error) => (Targets::new().with_default(LevelFilter::INFO), Some(error)),
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(false)
        // Failed writes are dropped, because standard error may be the screen.
        .log_internal_errors(false)
        .with_writer(Mutex::new(EscapingWriter(file)))
        .finish()
        .with(filter);
    // A second call in one process (a test) keeps the first log.
    let _ = tracing::subscriber::set_global_default(subscriber);
    if let Some(error) = mistake {
        tracing::warn!(%error, "LOCKSCOPE_LOG is no filter; logging at info");
    }
    Ok(())
}

/// Escapes characters that a terminal would obey or hide. Each write is one event, and becomes one
/// line.
struct EscapingWriter<W>(W);

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let (body, end) = event.strip_suffix(b"\n").map_or((event, ""), |body| (body, "\n"));
        let mut line = String::with_capacity(event.len());
        for character in String::from_utf8_lossy(body).chars() {
            match character {
                // Existing escapes are not escaped again.
                '\\' => line.push('\\'),
                _ if must_be_escaped(character) => line.extend(character.escape_default()),
                _ => line.push(character),
            }
        }
        line.push_str(end);
        self.0.write_all(line.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The answer of a command. A failure is an error instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum ExitAnswer {
    /// The work is done, and the answer is yes.
    Yes,
    /// The work is done, and the answer is no.
    No,
    /// The state of the locks, as a monitoring status.
    Monitored(ServiceStatus),
    /// The number of a signal that came a second time and ended the command at once.
    Ended(u8),
}

impl ExitAnswer {
    /// Returns the program's exit code; for a signal it is the one that shells report.
    pub fn code(self) -> u8 {
        match self {
            Self::Yes => 0,
            Self::No => 1,
            Self::Monitored(status) => status.code(),
            Self::Ended(signal) => signal.saturating_add(128),
        }
    }
}

/// A temporary failure of a recorder, whose settings and file are valid: a restart may help.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct MayPass(String);

impl MayPass {
    /// The exit code of temporary failures, from `sysexits.h`.
    pub const CODE: u8 = 75;

    pub(super) fn of(error: impl Into<anyhow::Error>) -> anyhow::Error {
        Self(format!("{:#}", error.into())).into()
    }

    /// Wraps the error if it is temporary: a file in use, or a full disk.
    pub(super) fn of_store(error: StoreError) -> anyhow::Error {
        if error.may_pass() { Self::of(error) } else { error.into() }
    }
}

/// Reports that the recorder works, even if the ensemble is not there yet.
pub fn ready(ensemble: &str) {
    let status = format!("recording {}", escaped(ensemble));
    notify(&[NotifyState::Ready, NotifyState::Status(&status)]);
}

/// Reports that the settings are read again; [`ready`] follows.
pub fn reloading() {
    notify(&[NotifyState::Reloading]);
}

/// Reports that the recorder writes the rest and ends.
pub fn stopping() {
    notify(&[NotifyState::Stopping]);
}

/// Does nothing without a service manager that asked for it. Errors are ignored: the service
/// manager has a time limit of its own.
fn notify(states: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(states);
}

/// Receives signals from its creation until it is dropped, so that no signal is lost in between.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    pub fn listen() -> io::Result<Self> {
        let [interrupt, terminate, hang_up] =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        Ok(Self { interrupt: interrupt?, terminate: terminate?, hang_up: hang_up? })
    }

    /// Waits for the next signal. A signal that ends the program comes before SIGHUP. Cancel safe.
    pub async fn next(&mut self) -> SignalKind {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hang_up.recv() => SignalKind::hangup(),
        }
    }
}

/// Waits for SIGINT or SIGTERM. Both are received from the call on, not only while the result is
/// awaited.
pub fn interrupted() -> io::Result<impl Future<Output = ()>> {
    let [interrupt, terminate] = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    let (mut interrupt, mut terminate) = (interrupt?, terminate?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Does work that blocks its thread. The work can ask whether SIGINT or SIGTERM has come.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce(&dyn Fn() -> bool) -> T + Send + 'static,
) -> anyhow::Result<T> {
    let interrupted = interrupted()?;
    let stops = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stops);
    let mut working = spawn_blocking(move || work(&|| asked.load(Ordering::Relaxed)));
    tokio::select! {
        done = &mut working => return Ok(done?),
        () = interrupted => stops.store(true, Ordering::Relaxed),
    }
    Ok(working.await?)
}

/// Runs the work until it is done. The first signal cancels the token, so that the work can finish
/// properly; the second one drops it.
pub async fn on_signal(
    work: impl AsyncFnOnce(CancellationToken) -> anyhow::Result<ExitAnswer>,
) -> anyhow::Result<ExitAnswer> {
    let mut signals = Signals::listen()?;
    let stop = CancellationToken::new();
    let mut work = std::pin::pin!(work(stop.clone()));
    tokio::select! {
        ended = &mut work => return ended,
        _ = signals.next() => stop.cancel(),
    }
    tokio::select! {
        ended = &mut work => ended,
        signal = signals.next() => Ok(ExitAnswer::Ended(u8::try_from(signal.as_raw_value()).unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_fits_is_drawn_ten_times_a_second_at_most_and_is_cleared_at_the_end() {
        let mut sent = Vec::new();
        let start = Instant::now();
        let mut line = ProgressLine { out: Some(&mut sent), columns: 10, drawn: None };
        for millis in [0, 99, 100, 150, 250] {
            line.show(start + Duration::from_millis(millis), || format!("{millis} clients"));
        }
        line.end("they leave");
        drop(line);
        let sent = String::from_utf8(sent).expect("text");
        let shown: Vec<&str> = sent.split(CLEAR_LINE).collect();
        assert_eq!(shown, ["", "0 clients", "100 clien", "250 clien", "they leav", ""]);
    }

    #[test]
    fn nothing_is_sent_where_nothing_was_shown() {
        let mut sent = Vec::new();
        drop(ProgressLine { out: Some(&mut sent), columns: 10, drawn: None });
        assert!(sent.is_empty());
    }

    #[test]
    fn an_event_is_one_line_that_a_terminal_only_prints() {
        let mut log = EscapingWriter(Vec::new());
        log.write_all("INFO /a\u{9b}31m\u{202e}x\r\nforged \\x1b Größe\n".as_bytes()).expect("memory");
        assert_eq!(String::from_utf8_lossy(&log.0), "INFO /a\\u{9b}31m\\u{202e}x\\r\\nforged \\x1b Größe\n");
    }
}
