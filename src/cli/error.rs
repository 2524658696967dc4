//! How a command ends: well, with no for an answer, or not at all.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::auth::AuthError;
use super::config::ConfigError;
use super::contend::scenario::BadScenario;
use super::resolved::OptionsError;
use crate::admin::NoPlan;
use crate::admin::audit::AuditError;
use crate::contend::ContendError;
use crate::demo::NamespaceError;
use crate::sandbox::SandboxError;
use crate::tui::TuiError;
use crate::zk::ConnectError;

/// How a command ended that did what it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// It is done, and nothing speaks against it.
    Yes,
    /// It is done, and the answer is no.
    No,
    /// This signal came a second time, and ended it at once.
    Ended(u8),
}

impl Verdict {
    /// The program's exit code; that of a signal is what shells give to whom it killed.
    pub fn code(self) -> u8 {
        match self {
            Self::Yes => 0,
            Self::No => 1,
            Self::Ended(signal) => signal.saturating_add(128),
        }
    }
}

/// Why a command could not do what it was asked for. Each message is one sentence.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    #[error(transparent)]
    Settings(#[from] OptionsError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Auth(#[from] AuthError),
    #[error(transparent)]
    Scenario(#[from] BadScenario),
    #[error(transparent)]
    Contend(#[from] ContendError),
    #[error(transparent)]
    Screen(#[from] TuiError),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Demo(#[from] NamespaceError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// There is nothing that may be deleted.
    #[error(transparent)]
    NoPlan(#[from] NoPlan),
    #[error(transparent)]
    Audit(#[from] AuditError),
    #[error("cannot write the log file {path}: {error}; name another one with --log-file")]
    Log { path: PathBuf, error: io::Error },
    /// The ensemble did not answer in time; the reason names who was asked, and what came of it.
    #[error("gave up after {}: {reason}; allow more time with --timeout", humantime::format_duration(*waited))]
    NoAnswer { waited: Duration, reason: String },
    #[error("none of the roots can be read: {0}: name others with --root, or give an identity with --auth-file")]
    NothingReadable(String),
    #[error("not every root can be read: {0}: leave it out of --root, or give an identity with --auth-file")]
    UnreadableRoots(String),
    #[error("there is no home directory to keep the audit log in: name a file with --audit-log")]
    NoAuditPlace,
    #[error("there is no terminal to ask on: see what would be done with --dry-run, and confirm it with --yes")]
    NobodyToAsk,
    /// The ensemble refused, was lost, or could not do what it was asked for; the text says which, and what to do.
    #[error("{0}")]
    Failed(String),
    // Its source is printed behind it.
    #[error("cannot write the output")]
    Output(#[from] io::Error),
    #[error("cannot write the manual pages to {path}: {error}; name another directory with --out")]
    Man { path: PathBuf, error: io::Error },
}
