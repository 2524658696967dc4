//! Passes the bytes of one side of a connection to the other.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::Flow;
use super::flow::{Admission, Gate};
use crate::deadline::until;

/// The first and the largest read buffer, in bytes: it grows with the traffic.
const READ_BUFFER_SIZES: (usize, usize) = (4 << 10, 64 << 10);

/// The most bytes held for a delay; reading pauses above it.
const MAX_DELAYED_BYTES: usize = 1 << 20;

/// How long the connection lives after the first dropped byte: time for the client's requests to
/// take effect.
const CUT_AFTER_LOSS_DELAY: Duration = Duration::from_millis(300);

/// How a direction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The reading side closed.
    Closed,
    /// The writing side accepts no more bytes.
    Unwritable,
    /// The transport stopped it: a cut, a loss, or a fault in the bytes.
    Stopped,
}

/// One direction of a connection.
pub(super) trait Direction {
    /// Checks the bytes that are about to pass. Returns how many of them may.
    fn inspect(&mut self, bytes: &[u8]) -> usize;
    /// Returns whether the rest is held back for good.
    fn is_over(&self) -> bool;
    /// Records that `bytes` have passed.
    fn passed(&mut self, bytes: usize);
    /// Waits until more may be read. Cancel safe.
    fn ready(&self) -> impl Future<Output = ()> + Send;
    /// Resolves when the next bytes are awaited and must not be gathered. Cancel safe.
    fn awaited(&self) -> impl Future<Output = ()> + Send;
    /// Whether this is the direction from the server.
    const IS_DOWN: bool;
}

/// A writer to one side that works only while there is no cut.
pub(super) struct Gated<'a, W> {
    pub(super) to: W,
    pub(super) gate: &'a Gate,
    pub(super) admission: Admission,
}

impl<W: AsyncWrite + Unpin> Gated<'_, W> {
    /// Writes all bytes and passes them to the system.
    pub(super) async fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let cut = || io::Error::from(io::ErrorKind::ConnectionAborted);
        while !bytes.is_empty() {
            let written = poll_fn(|context| {
                let polled = self.gate.while_open(self.admission, || Pin::new(&mut self.to).poll_write(context, bytes));
                polled.unwrap_or_else(|| Err(cut()).into())
            });
            match written.await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => bytes = &bytes[written..],
            }
        }
        let flushed = poll_fn(|context| {
            let polled = self.gate.while_open(self.admission, || Pin::new(&mut self.to).poll_flush(context));
            polled.unwrap_or_else(|| Err(cut()).into())
        });
        flushed.await
    }
}

/// Copies from one side to the other until one of them ends, there is a cut, or the direction is
/// over. The error is one of the reading side.
pub(super) async fn pump<R: AsyncRead + Unpin, W: AsyncWrite + Unpin, D: Direction>(
    from: &mut R,
    to: &mut Gated<'_, W>,
    mut flow: watch::Receiver<Flow>,
    direction: &mut D,
) -> io::Result<Ended> {
    let mut piece = vec![0; READ_BUFFER_SIZES.0];
    let mut kept: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut size = 0;
    let mut gathers_until = None;
    loop {
        let Flow { delay, gather, paused, cut, .. } = *flow.borrow_and_update();
        if cut {
            return Ok(Ended::Stopped);
        }
        let due = kept.front().map(|(due, _)| *due);
        tokio::select! {
            biased;
            changed = flow.changed() => {
                if changed.is_err() {
                    return Ok(Ended::Stopped);
                }
            }
            () = until(due), if !paused => {
                let Some((_, bytes)) = kept.pop_front() else { continue };
                size -= bytes.len();
                if let Some(ended) = pass(to, &bytes, direction).await {
                    return Ok(ended);
                }
            }
            read = read(from, &mut piece, direction, gathers_until), if !paused && size < MAX_DELAYED_BYTES => {
                let length = read?;
                if length == 0 {
                    return Ok(Ended::Closed);
                }
                if D::IS_DOWN && flow.borrow().loses_replies {
                    // Reading continues, so that dropped bytes do not block the server.
                    let rest = async { while matches!(from.read(&mut piece).await, Ok(1..)) {} };
                    let _ = timeout(CUT_AFTER_LOSS_DELAY, rest).await;
                    return Ok(Ended::Stopped);
                }
                if delay.is_zero() && kept.is_empty() {
                    if let Some(ended) = pass(to, &piece[..length], direction).await {
                        return Ok(ended);
                    }
                } else {
                    size += length;
                    kept.push_back((Instant::now() + delay, piece[..length].to_vec()));
                }
                let is_full = length == piece.len();
                if is_full && length < READ_BUFFER_SIZES.1 {
                    piece.resize(length * 2, 0);
                }
                // A full buffer means that more is waiting: gathering would gain nothing.
                gathers_until = (D::IS_DOWN && !is_full && !gather.is_zero()).then(|| Instant::now() + gather);
            }
        }
    }
}

/// Reads the available bytes, but not before `from_then_on` unless they are awaited.
async fn read<R: AsyncRead + Unpin, D: Direction>(
    from: &mut R,
    piece: &mut [u8],
    direction: &D,
    from_then_on: Option<Instant>,
) -> io::Result<usize> {
    if let Some(time) = from_then_on {
        tokio::select! {
            () = sleep_until(time) => {}
            () = direction.awaited() => {}
        }
    }
    direction.ready().await;
    from.read(piece).await
}

/// Passes the bytes on. Returns `None` to continue.
async fn pass<W: AsyncWrite + Unpin, D: Direction>(
    to: &mut Gated<'_, W>,
    bytes: &[u8],
    direction: &mut D,
) -> Option<Ended> {
    let length = direction.inspect(bytes);
    if to.write(&bytes[..length]).await.is_err() {
        return Some(Ended::Unwritable);
    }
    direction.passed(length);
    direction.is_over().then_some(Ended::Stopped)
}
