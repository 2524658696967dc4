//! Early ends of a run: by a signal, or when nobody reads the output any more.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

use super::super::exit_answer::ExitAnswer;
use super::super::signals::Signals;

/// How often to check whether standard output still has a reader.
const READER_CHECK_INTERVAL: Duration = Duration::from_millis(250);

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

/// Waits until the token is cancelled or nobody reads standard output any more.
pub(super) async fn requested(token: &CancellationToken) {
    let mut checks = interval(READER_CHECK_INTERVAL);
    let gone = async {
        while !reader_is_gone(io::stdout()) {
            checks.tick().await;
        }
    };
    tokio::select! {
        () = token.cancelled() => {}
        () = gone => {}
    }
}

/// Returns whether a pipe has lost its reader, or a terminal was closed.
fn reader_is_gone(out: impl AsFd) -> bool {
    // Errors and hang-ups are always reported.
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    let gone = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
    poll(&mut polled, Some(&Timespec::default())).is_ok() && polled[0].revents().intersects(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_without_a_reader_is_noticed_without_writing_to_it() {
        let (reader, writer) = io::pipe().expect("a pipe");
        assert!(!reader_is_gone(&writer));
        drop(reader);
        assert!(reader_is_gone(&writer));
    }
}
