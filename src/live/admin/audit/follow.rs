//! Follows an audit log: returns the outcomes that other programs append to it.

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::AuditEntry;
use super::entry::AuditLine;
use lockscope_files::{self as files, FileError, Sensitivity};

/// The maximum number of bytes in one read. The next read continues there.
const MAX_BYTES: u64 = 1 << 20;

/// A reader of what is appended to an audit log from now on. The log need not exist yet. A log that
/// is replaced or truncated is read from its beginning.
#[derive(Debug)]
pub struct AuditFollower {
    path: PathBuf,
    /// The inode of the file and the offset up to which it was read; `None` while there is no file.
    place: Option<(u64, u64)>,
}

impl AuditFollower {
    /// Starts at the end of the log: existing lines are skipped. Blocks the thread during disk I/O.
    pub fn start(path: &Path) -> Self {
        let place = std::fs::metadata(path).ok().map(|found| (found.ino(), found.len()));
        Self { path: path.to_owned(), place }
    }

    /// Returns the path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the changes whose outcomes were written since the last call, oldest first. Skips
    /// lines that cannot be read. Blocks the thread during disk I/O.
    pub fn take_new(&mut self) -> Result<Vec<AuditEntry>, FileError> {
        let mut file = match files::open(&self.path, Sensitivity::Evidence) {
            Ok(file) => file,
            Err(error) if error.is_absent() => {
                self.place = None;
                return Ok(Vec::new());
            }
            Err(error) => return Err(error),
        };
        let found = file.metadata()?;
        let from = match self.place {
            Some((file, from)) if file == found.ino() && from <= found.len() => from,
            _ => 0,
        };
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        file.take(MAX_BYTES).read_to_end(&mut bytes)?;
        let end = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            // A line of that length is invalid.
            None if bytes.len() as u64 == MAX_BYTES => bytes.len(),
            None => 0,
        };
        self.place = Some((found.ino(), from + end as u64));
        let lines = bytes[..end].split(|byte| *byte == b'\n');
        let entries = lines.filter_map(|line| serde_json::from_slice::<AuditLine>(line).ok()).map(AuditEntry::from);
        Ok(entries.filter(|entry| entry.outcome.is_some()).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    use super::*;

    fn append(path: &Path, text: &str) {
        OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn outcome(node: &str) -> String {
        format!(
            "{{\"schema\":1,\"entry\":\"outcome\",\"id\":\"{node}\",\"at\":\"2026-05-01T02:13:00.000Z\",\"action\":\"delete\",\
             \"lock\":\"/a\",\"path\":\"/a/{node}\",\"czxid\":7,\"result\":\"deleted\",\"reason\":\"It is gone.\"}}\n"
        )
    }

    fn next(follower: &mut AuditFollower) -> Vec<String> {
        follower.take_new().unwrap().into_iter().map(|entry| entry.subject.path).collect()
    }

    #[test]
    fn each_complete_appended_outcome_is_returned_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let mut missing = AuditFollower::start(&path);
        assert!(next(&mut missing).is_empty());
        append(&path, &outcome("old"));
        let mut follower = AuditFollower::start(&path);
        assert_eq!(next(&mut missing), ["/a/old"]);
        assert!(next(&mut follower).is_empty());
        let torn = outcome("torn");
        append(
            &path,
            &(outcome("new") + "no line\n" + &outcome("intent").replace("\"outcome\"", "\"intent\"") + &torn[..20]),
        );
        assert_eq!(next(&mut follower), ["/a/new"]);
        append(&path, &torn[20..]);
        assert_eq!(next(&mut follower), ["/a/torn"]);
        assert!(next(&mut follower).is_empty());
        fs::remove_file(&path).unwrap();
        assert!(next(&mut follower).is_empty());
        append(&path, &outcome("another"));
        assert_eq!(next(&mut follower), ["/a/another"]);
    }
}
