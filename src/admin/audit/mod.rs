//! The audit log: JSON Lines of what was meant to be changed and what came of it.
//!
//! One line with the intent, synced to the disk before anything is sent that changes the ensemble; one with the outcome after it.
//! Each line stands for itself, and both bear one id. An intent without an outcome is a deletion of which nobody wrote what came of it:
//! the program was killed, or is at it.

mod entry;
mod read;
mod write;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use etcetera::BaseStrategy;

pub(super) use entry::AuditLine;
pub use entry::{AuditEntry, AuditOutcome, Subject};
pub use read::{AuditHistory, HistoryLimits, read};
pub use write::Audit;

use crate::files::FileError;

/// Why nothing can be written down, and so nothing be changed.
#[derive(Debug, thiserror::Error)]
#[error(
    "the audit log {path} cannot be written: {error}; nothing is changed without it: make it writable, or name another \
     one with --audit-log"
)]
pub struct AuditError {
    /// Which file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub error: FileError,
}

/// Where the log is when nobody says otherwise: `$XDG_STATE_HOME/lockscope/audit.jsonl`. `None` for a user without a home.
pub fn usual_path() -> Option<PathBuf> {
    let folders = etcetera::choose_base_strategy().ok()?;
    Some(folders.state_dir()?.join("lockscope").join("audit.jsonl"))
}
