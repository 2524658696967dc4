//! The audit log: JSON Lines of what was to be changed and what came of it.
//!
//! One line with the intent, synced to the disk before anything is sent that changes the ensemble; one with the outcome after it.
//! Each line can be read by itself, and both have the same id. An intent without an outcome is a deletion whose outcome nobody
//! wrote down: the program was killed, or is still at work.

mod entry;
mod follow;
mod read;
mod write;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use etcetera::BaseStrategy;

pub(super) use entry::AuditLine;
pub use entry::{AuditEntry, AuditOutcome, Subject};
pub use follow::AuditFollower;
pub use read::{AuditHistory, HistoryLimits, read};
pub use write::Audit;

use lockscope_files::FileError;

/// Why the audit log cannot be written. Nothing is changed then.
#[derive(Debug, thiserror::Error)]
#[error(
    "the audit log {path} cannot be written: {error}; nothing is changed without it: make it writable, or name another \
     one with --audit-log"
)]
pub struct AuditError {
    /// The log file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub error: FileError,
}

/// Where the log is when nobody says otherwise: `$XDG_STATE_HOME/lockscope/audit.jsonl`. `None` for a user without a home.
pub fn usual_path() -> Option<PathBuf> {
    let folders = etcetera::choose_base_strategy().ok()?;
    Some(folders.state_dir()?.join("lockscope").join("audit.jsonl"))
}
