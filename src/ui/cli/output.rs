//! What commands print: facts on standard output, and sentences on standard error.

use std::fmt::Display;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use anyhow::{Context, anyhow};
use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use lockscope_base::znode::escaped;
use lockscope_model::report;

/// What stands before the reason when standard output takes no more.
const CANNOT_WRITE: &str = "cannot write the output";

/// How much is written at a time: a snapshot of tens of thousands of contenders has tens of megabytes.
const OUTPUT_BUFFER: usize = 64 << 10;

/// Writes all of an output.
pub(super) fn print<W: Write>(
    out: &mut W,
    write: impl FnOnce(&mut BufWriter<&mut W>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = BufWriter::with_capacity(OUTPUT_BUFFER, out);
    write(&mut out).and_then(|()| out.flush()).context(CANNOT_WRITE)
}

/// Writes a text while other work goes on.
pub(super) async fn send(out: &mut (impl AsyncWrite + Unpin), text: &str) -> anyhow::Result<()> {
    let sent = async {
        out.write_all(text.as_bytes()).await?;
        out.flush().await
    };
    sent.await.context(CANNOT_WRITE)
}

/// Writes facts as a line of JSON.
pub(super) fn write_json(out: &mut impl Write, facts: &impl Serialize) -> io::Result<()> {
    report::json::to_writer(out, facts)?;
    writeln!(out)
}

/// Facts as a line of JSON.
pub(super) fn json(facts: &impl Serialize) -> io::Result<String> {
    Ok(report::json::to_string(facts)? + "\n")
}

/// Whether a command failed because nobody reads its output any more.
pub(super) fn reader_left(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// A sentence as it stands on standard error, which a terminal only prints.
pub(super) fn line(sentence: &str) -> String {
    format!("lockscope: {}\n", escaped(sentence))
}

/// Says something on standard error. Whoever closed that does not care.
pub fn note(sentence: &str) {
    let _ = io::stderr().write_all(line(sentence).as_bytes());
}

/// That the ensemble did not answer in time; the reason names who was asked, and what came of it.
pub(super) fn no_answer(waited: Duration, reason: impl Display) -> anyhow::Error {
    let waited = humantime::format_duration(waited);
    anyhow!("gave up after {waited}: {reason}; allow more time with --timeout")
}
