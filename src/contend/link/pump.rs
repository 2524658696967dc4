use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::frames::Frames;
use super::{Flow, Meter};

/// What is read at once.
const PIECE: usize = 4096;

/// What may be kept for its delay, in bytes; then nothing more is read until some of it has passed.
const MOST_KEPT: usize = 1 << 20;

/// Takes what one side says to the other, until one of them ends, or the link does.
pub(super) async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut flow: watch::Receiver<Flow>,
    meter: &Meter,
    mut frames: Frames,
) {
    let mut piece = vec![0; PIECE];
    let mut kept: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut size = 0;
    loop {
        let Flow { delay, paused, cut } = *flow.borrow_and_update();
        if cut {
            return;
        }
        let due = kept.front().map(|(due, _)| *due);
        tokio::select! {
            biased;
            changed = flow.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            () = at(due), if !paused => {
                let Some((_, bytes)) = kept.pop_front() else { continue };
                size -= bytes.len();
                if to.write_all(&bytes).await.is_err() {
                    return;
                }
                meter.count(&mut frames, &bytes);
            }
            read = from.read(&mut piece), if !paused && size < MOST_KEPT => {
                let Ok(length @ 1..) = read else { return };
                if delay.is_zero() && kept.is_empty() {
                    if to.write_all(&piece[..length]).await.is_err() {
                        return;
                    }
                    meter.count(&mut frames, &piece[..length]);
                } else {
                    size += length;
                    kept.push_back((Instant::now() + delay, piece[..length].to_vec()));
                }
            }
        }
    }
}

async fn at(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
