//! The signals that ask a program to end, or to read its settings again.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::exit_answer::ExitAnswer;

/// Receives signals from its creation until it is dropped, so that no signal is lost in between.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        let [interrupt, terminate, hang_up] =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        Ok(Self { interrupt: interrupt?, terminate: terminate?, hang_up: hang_up? })
    }

    /// Waits for the next signal. A signal that ends the program comes before SIGHUP. Cancel safe.
    pub(super) async fn next(&mut self) -> SignalKind {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hang_up.recv() => SignalKind::hangup(),
        }
    }
}

/// Runs the work until it is done. The first signal cancels the token, so that the work can finish
/// properly; the second one drops it.
pub(super) async fn on_signal(
    work: impl AsyncFnOnce(CancellationToken) -> anyhow::Result<ExitAnswer>,
) -> anyhow::Result<ExitAnswer> {
    let mut signals = Signals::listen()?;
    let stop = CancellationToken::new();
    let mut work = std::pin::pin!(work(stop.clone()));
    tokio::select! {
        ended = &mut work => return ended,
        _ = signals.next() => stop.cancel(),
    }
    tokio::select! {
        ended = &mut work => ended,
        signal = signals.next() => Ok(ExitAnswer::Ended(u8::try_from(signal.as_raw_value()).unwrap_or_default())),
    }
}
