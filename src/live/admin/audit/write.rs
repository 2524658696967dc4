//! Appends to an audit log, synced to the disk.

use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::timeout;

use super::super::{Action, Who};
use super::{AuditError, AuditLine, Subject};
use lockscope_files::{self as files, FileError, Sensitivity};
use lockscope_model::report::json;

/// The time limit for writing one line to the disk.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// A writable audit log. Several programs may write to one log: each line is appended in one piece.
#[derive(Clone, Debug)]
pub struct Audit {
    path: PathBuf,
}

impl Audit {
    /// Creates the file and missing folders above it for the owner only, and checks that the file
    /// can be written. Blocks the thread.
    pub fn open(path: &Path) -> Result<Self, AuditError> {
        let audit = Self { path: path.to_owned() };
        match files::append(path, Sensitivity::Evidence) {
            Ok(_) => Ok(audit),
            Err(error) => Err(audit.failed(error)),
        }
    }

    /// Returns the path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records that a requested change was not tried, and why. Returns once the line is on the
    /// disk.
    pub async fn not_tried(
        &self,
        action: Action,
        subject: Subject,
        who: &Who,
        result: &str,
        reason: String,
    ) -> Result<(), AuditError> {
        let mut line = AuditLine::intent(action, subject, who, "").outcome(result, reason);
        line.confirmed_by = None;
        self.write(&line).await
    }

    /// Appends a line and returns once it is on the disk. If the future is dropped or the disk
    /// takes too long, the line may or may not be written.
    pub(in crate::admin) async fn write(&self, line: &AuditLine) -> Result<(), AuditError> {
        let path = self.path.clone();
        let text = json::to_string(line).map_err(|error| self.failed(io::Error::from(error)))?.into_bytes();
        let written = tokio::task::spawn_blocking(move || append(&path, text));
        match timeout(WRITE_TIMEOUT, written).await {
            Ok(Ok(written)) => written.map_err(|error| self.failed(error)),
            Ok(Err(ended)) => Err(self.failed(io::Error::other(ended))),
            Err(_) => Err(self.failed(io::Error::new(io::ErrorKind::TimedOut, "the disk takes too long"))),
        }
    }

    fn failed(&self, error: impl Into<FileError>) -> AuditError {
        AuditError { path: self.path.clone(), error: error.into() }
    }
}

/// Appends a line. The file is opened for each line, so that a log that was moved or deleted
/// meanwhile is created again.
fn append(path: &Path, mut line: Vec<u8>) -> Result<(), FileError> {
    let mut file = files::append(path, Sensitivity::Evidence)?;
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    // A program that was killed, or found the disk full, may have left a torn line. The new line
    // must not be joined to it.
    if last != [b'\n'] {
        line.insert(0, b'\n');
    }
    line.push(b'\n');
    file.write_all(&line)?;
    Ok(file.sync_data()?)
}
