//! `lockscope record` as a service: what it tells the service manager, and how it ends when it is to be started again.

use sd_notify::NotifyState;

use lockscope_base::znode::escaped;
use lockscope_past::record::StoreError;

/// Why a recorder ended though nothing is wrong with its settings and its file: it may work when it is started again.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct MayPass(String);

impl MayPass {
    /// The exit code: that of `sysexits.h` for what fails for a time.
    pub const CODE: u8 = 75;

    pub(super) fn of(error: impl Into<anyhow::Error>) -> anyhow::Error {
        Self(format!("{:#}", error.into())).into()
    }

    /// Of a file that is in use, or a disk that is full.
    pub(super) fn of_store(error: StoreError) -> anyhow::Error {
        if error.may_pass() { Self::of(error) } else { error.into() }
    }
}

/// It records this ensemble, or will as soon as it is there.
pub(super) fn ready(ensemble: &str) {
    let status = format!("recording {}", escaped(ensemble));
    tell(&[NotifyState::Ready, NotifyState::Status(&status)]);
}

/// It reads its settings again; [`ready`] follows.
pub(super) fn reloading() {
    tell(&[NotifyState::Reloading]);
}

/// It writes what is left, and ends.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Does nothing where no service manager has asked for it. One that cannot be told has a time limit of its own.
fn tell(states: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(states);
}
