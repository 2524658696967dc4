//! Early ends of a run: on request, or when nobody reads the output any more.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::time::interval;
use tokio_util::sync::CancellationToken;

/// How often to check whether standard output still has a reader.
const READER_CHECK_INTERVAL: Duration = Duration::from_millis(250);

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
