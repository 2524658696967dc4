//! The output of commands: facts on standard output, sentences on standard error.

use std::fmt::Display;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use anyhow::{Context, anyhow};
use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use lockscope_base::znode::escaped;
use lockscope_model::report;

/// The start of the error when standard output cannot be written.
const CANNOT_WRITE: &str = "cannot write the output";

/// The size of the output buffer: a snapshot of tens of thousands of contenders has tens of
/// megabytes.
const OUTPUT_BUFFER: usize = 64 << 10;

/// Writes a whole output.
pub(super) fn print<W: Write>(
    out: &mut W,
    write: impl FnOnce(&mut BufWriter<&mut W>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = BufWriter::with_capacity(OUTPUT_BUFFER, out);
    write(&mut out).and_then(|()| out.flush()).context(CANNOT_WRITE)
}

/// Writes a text without blocking other work.
pub(super) async fn send(out: &mut (impl AsyncWrite + Unpin), text: &str) -> anyhow::Result<()> {
    let sent = async {
        out.write_all(text.as_bytes()).await?;
        out.flush().await
    };
    sent.await.context(CANNOT_WRITE)
}

/// Writes facts as one line of JSON.
pub(super) fn write_json(out: &mut impl Write, facts: &impl Serialize) -> io::Result<()> {
    report::json::to_writer(out, facts)?;
    writeln!(out)
}

/// Returns facts as one line of JSON.
pub(super) fn json(facts: &impl Serialize) -> io::Result<String> {
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
pub(super) fn write_json_of(out: &mut impl Write, context: Option<&str>, facts: &impl Serialize) -> io::Result<()> {
    match context {
        Some(context) => write_json(out, &Labelled { context, facts }),
        None => write_json(out, facts),
    }
}

/// Returns facts as one line of JSON, with the context if there are several.
pub(super) fn json_of(context: Option<&str>, facts: &impl Serialize) -> io::Result<String> {
    match context {
        Some(context) => json(&Labelled { context, facts }),
        None => json(facts),
    }
}

/// Returns whether a command failed because its output has no reader any more.
pub(super) fn reader_left(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Returns a sentence for standard error, with unsafe characters escaped.
pub(super) fn line(sentence: &str) -> String {
    format!("lockscope: {}\n", escaped(sentence))
}

/// Prints a sentence on standard error; a closed standard error is ignored.
pub fn note(sentence: &str) {
    let _ = io::stderr().write_all(line(sentence).as_bytes());
}

/// Returns the error that the ensemble did not answer in time; the reason names the servers and
/// their faults.
pub(super) fn no_answer(waited: Duration, reason: impl Display) -> anyhow::Error {
    let waited = humantime::format_duration(waited);
    anyhow!("gave up after {waited}: {reason}; allow more time with --timeout")
}
