//! `lockscope record` as a service: its messages to the service manager, and its exit when a
//! restart may help.

use sd_notify::NotifyState;

use lockscope_base::znode::escaped;
use lockscope_past::record::StoreError;

/// A temporary failure of a recorder, whose settings and file are valid: a restart may help.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct MayPass(String);

impl MayPass {
    /// The exit code of temporary failures, from `sysexits.h`.
    pub const CODE: u8 = 75;

    pub(super) fn of(error: impl Into<anyhow::Error>) -> anyhow::Error {
        Self(format!("{:#}", error.into())).into()
    }

    /// Wraps the error if it is temporary: a file in use, or a full disk.
    pub(super) fn of_store(error: StoreError) -> anyhow::Error {
        if error.may_pass() { Self::of(error) } else { error.into() }
    }
}

/// Reports that the recorder works, even if the ensemble is not there yet.
pub(super) fn ready(ensemble: &str) {
    let status = format!("recording {}", escaped(ensemble));
    notify(&[NotifyState::Ready, NotifyState::Status(&status)]);
}

/// Reports that the settings are read again; [`ready`] follows.
pub(super) fn reloading() {
    notify(&[NotifyState::Reloading]);
}

/// Reports that the recorder writes the rest and ends.
pub(super) fn stopping() {
    notify(&[NotifyState::Stopping]);
}

/// Does nothing without a service manager that asked for it. Errors are ignored: the service
/// manager has a time limit of its own.
fn notify(states: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(states);
}
