//! The log of lockscope's own work: written to a file, never to the screen.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use anyhow::anyhow;
use tracing_subscriber::EnvFilter;

use lockscope_base::znode::must_be_escaped;
use lockscope_files::append_log;

/// Starts to append the events that pass the filter to the file. An invalid filter counts as
/// `info`, and is reported in the log itself.
pub(super) fn start(path: &Path, filter: Option<&str>) -> anyhow::Result<()> {
    let file = append_log(path).map_err(|error| {
        anyhow!("cannot write the log file {}: {error}; name another one with --log-file", path.display())
    })?;
    let wanted = filter.unwrap_or("info");
    let (filter, mistake) = match EnvFilter::try_new(wanted) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new("info"), Some(error)),
    };
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        // Failed writes are dropped, because standard error may be the screen.
        .log_internal_errors(false)
        .with_writer(Mutex::new(EscapingWriter(file)))
        .finish();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_that_a_terminal_only_prints() {
        let mut log = EscapingWriter(Vec::new());
        log.write_all("INFO /a\u{9b}31m\u{202e}x\r\nforged \\x1b Größe\n".as_bytes()).expect("memory");
        assert_eq!(String::from_utf8_lossy(&log.0), "INFO /a\\u{9b}31m\\u{202e}x\\r\\nforged \\x1b Größe\n");
    }
}
