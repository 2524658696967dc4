//! How a command ends: well, with no for an answer, or not at all.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::auth::AuthError;
use super::config::ConfigError;
use super::contend::scenario::BadScenario;
use super::settings::SettingsError;
use crate::admin::NoPlan;
use crate::admin::audit::AuditError;
use crate::contend::ContendError;
use crate::demo::NamespaceError;
use crate::sandbox::SandboxError;
use crate::tui::TuiError;

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
pub enum CliError {
    /// Options that do not go together.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The config file.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The identities.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// Test clients that cannot be.
    #[error(transparent)]
    Scenario(#[from] BadScenario),
    /// Test clients that could not contend.
    #[error(transparent)]
    Contend(#[from] ContendError),
    /// Test clients whose servers were lost; the text says why, and what may be left behind.
    #[error("{0}")]
    ServersLost(String),
    /// The screen ended with an error.
    #[error(transparent)]
    Screen(#[from] TuiError),
    /// The sandbox does not start.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The demo has no place on the ensemble, or could not leave it as it was.
    #[error(transparent)]
    Demo(#[from] NamespaceError),
    /// The log file cannot be opened.
    #[error("cannot write the log file {path}: {error}; name another one with --log-file")]
    Log {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Nobody answered in time.
    #[error("gave up after {}: {reason}; give it longer with --timeout", humantime::format_duration(*waited))]
    NoAnswer {
        /// For how long.
        waited: Duration,
        /// What is known of the reason: who was asked, and what came of it.
        reason: String,
    },
    /// The ensemble refused us; the text says why and what to do.
    #[error("{0}")]
    Refused(String),
    /// None of the roots can be read.
    #[error("none of the roots can be read: {0}: name others with --root, or an identity with --auth-file")]
    NothingReadable(String),
    /// Some of the roots cannot be read.
    #[error("not every root can be read: {0}: leave it out of --root, or give an identity with --auth-file")]
    UnreadableRoots(String),
    /// No session for a deletion.
    #[error(transparent)]
    Connect(#[from] crate::zk::ConnectError),
    /// There is nothing that may be deleted.
    #[error(transparent)]
    NoPlan(#[from] NoPlan),
    /// What is changed cannot be written down.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// Nobody says where the audit log is.
    #[error("there is no home directory to keep the audit log in: name a file with --audit-log")]
    NoAuditPlace,
    /// Nobody can be asked.
    #[error("there is no terminal to ask on: see what would be done with --dry-run, and confirm it with --yes")]
    NobodyToAsk,
    /// A request failed, or a deletion could not be carried out; the text says which, and what to do.
    #[error("{0}")]
    NotDeleted(String),
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// A page of the manual cannot be written.
    #[error("cannot write the manual pages to {path}: {error}; name another directory with --out")]
    Man {
        /// Which directory.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}
