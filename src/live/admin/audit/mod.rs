//! The audit log: JSON Lines with the intents and the outcomes of changes.
//!
//! A line with the intent is synced to the disk before any request that changes the ensemble is
//! sent. A line with the outcome follows. Each line can be read by itself, and both have the same
//! id. An intent without an outcome means that the program was killed or is still at work: the
//! outcome of the deletion is unknown.

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

/// The audit log cannot be written. No change is made without it.
#[derive(Debug, thiserror::Error)]
#[error(
    "the audit log {path} cannot be written: {error}; nothing is changed without it: make it writable, or name another \
     one with --audit-log"
)]
pub struct AuditError {
    /// The log file.
    pub path: PathBuf,
    /// The error.
    pub error: FileError,
}

/// Returns the default path of the log, `$XDG_STATE_HOME/lockscope/audit.jsonl`, or `None` for a
/// user without a home.
pub fn usual_path() -> Option<PathBuf> {
    let folders = etcetera::choose_base_strategy().ok()?;
    Some(folders.state_dir()?.join("lockscope").join("audit.jsonl"))
}
