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

/// How long the disk may take to write a line.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// An audit log that can be written. Several programs may write one log: each line is appended in one piece.
#[derive(Clone, Debug)]
pub struct Audit {
    path: PathBuf,
}

impl Audit {
    /// Makes the file, for its owner only, and the folders above it where they are missing, and checks that it can be written.
    /// Blocks the thread.
    pub fn open(path: &Path) -> Result<Self, AuditError> {
        let audit = Self { path: path.to_owned() };
        match files::append(path, Sensitivity::Evidence) {
            Ok(_) => Ok(audit),
            Err(error) => Err(audit.failed(error)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes down that a change was asked for and not tried, and why. Returns when the line is on the disk.
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

    /// Appends a line and returns when it is on the disk. When this is cancelled, or the disk takes too long, the line may be
    /// written or not.
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

/// Opened for each line, so that a log that was moved away or deleted meanwhile is made again.
fn append(path: &Path, mut line: Vec<u8>) -> Result<(), FileError> {
    let mut file = files::append(path, Sensitivity::Evidence)?;
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    // A program that was killed, or found the disk full, left a torn line: this one must not be joined to it.
    if last != [b'\n'] {
        line.insert(0, b'\n');
    }
    line.push(b'\n');
    file.write_all(&line)?;
    Ok(file.sync_data()?)
}
