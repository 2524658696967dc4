//! The signals that ask a program to end, or to read its settings again.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

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
