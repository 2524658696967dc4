//! Reads the end of an audit log.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::AuditEntry;
use super::entry::{AuditLine, joined};
use lockscope_files::{self as files, FileError, Sensitivity};

/// The maximum part of a log that is read, from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// The maximum number of bytes.
    pub bytes: u64,
    /// The maximum number of entries.
    pub entries: usize,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { bytes: 8 << 20, entries: 10_000 }
    }
}

/// The entries that were read from a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditHistory {
    /// The newest entries, oldest first.
    pub entries: Vec<AuditEntry>,
    /// The number of lines that cannot be read, including the torn end of a write.
    pub damaged: usize,
    /// Whether the log has more than the limits allow.
    pub cut: bool,
}

/// Reads the end of a log; a missing log is empty. Blocks the thread.
pub fn read(path: &Path, limits: HistoryLimits) -> Result<AuditHistory, FileError> {
    let mut file = match files::open(path, Sensitivity::Evidence) {
        Ok(file) => file,
        Err(why) if why.is_absent() => return Ok(AuditHistory::default()),
        Err(why) => return Err(why),
    };
    let skipped = file.metadata()?.len().saturating_sub(limits.bytes);
    // The byte before is read too: if it ends a line, the first line is whole.
    file.seek(SeekFrom::Start(skipped.saturating_sub(1)))?;
    let mut bytes = Vec::new();
    file.take(limits.bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    let text = match (skipped, bytes.iter().position(|byte| *byte == b'\n')) {
        (0, _) => &bytes[..],
        (_, Some(end)) => &bytes[end + 1..],
        (_, None) => &[],
    };
    let mut history = parse(text, limits.entries);
    history.cut |= skipped > 0;
    Ok(history)
}

fn parse(text: &[u8], most: usize) -> AuditHistory {
    let mut damaged = 0;
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let lines = lines.filter_map(|line| {
        let line = serde_json::from_slice::<AuditLine>(line).ok();
        damaged += usize::from(line.is_none());
        line
    });
    let mut entries = joined(lines);
    let surplus = entries.len().saturating_sub(most);
    entries.drain(..surplus);
    AuditHistory { entries, damaged, cut: surplus > 0 }
}
