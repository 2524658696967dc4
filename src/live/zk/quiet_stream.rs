//! A TCP connection that causes wake-ups only while somebody waits for data.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream as StdStream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A TCP connection that is registered with the runtime only while a read or a write waits.
///
/// A registered connection wakes a thread for every packet that arrives, even while reading pauses
/// to [gather](super::Flow::gather) data. A server sends each watch event as a packet of its own,
/// and waking a thread costs several times as much as handling an event. Here packets stay in the
/// system's buffer while nobody waits for them. A read that has to wait costs two more system
/// calls.
#[derive(Debug)]
pub(super) struct QuietStream {
    state: State,
    /// Whether a write waits for room.
    write_waits: bool,
}

#[derive(Debug)]
enum State {
    Unnoticed(StdStream),
    Noticed(TcpStream),
    /// The runtime could not register or release the socket.
    Lost,
}

/// The outcome of an attempt without waiting.
enum Tried<'a, T> {
    Done(T),
    /// The attempt has to wait; the connection is registered with the runtime from now on.
    Waits(&'a mut TcpStream),
}

impl QuietStream {
    /// Takes over a connection of the runtime.
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        Ok(Self { state: State::Unnoticed(stream.into_std()?), write_waits: false })
    }

    /// Tries without the runtime, unless something waits already.
    fn try_unnoticed<T>(
        &mut self,
        mut attempt: impl FnMut(&mut StdStream) -> io::Result<T>,
    ) -> io::Result<Tried<'_, T>> {
        if let State::Unnoticed(stream) = &mut self.state {
            loop {
                match attempt(stream) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    done => return done.map(Tried::Done),
                }
            }
        }
        match std::mem::replace(&mut self.state, State::Lost) {
            State::Unnoticed(stream) => self.state = State::Noticed(TcpStream::from_std(stream)?),
            other => self.state = other,
        }
        match &mut self.state {
            State::Noticed(stream) => Ok(Tried::Waits(stream)),
            _ => Err(ErrorKind::NotConnected.into()),
        }
    }

    /// Releases the connection from the runtime, because no read waits any more.
    fn rest(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.state, State::Lost) {
            State::Noticed(stream) if !self.write_waits => self.state = State::Unnoticed(stream.into_std()?),
            other => self.state = other,
        }
        Ok(())
    }
}

impl AsyncRead for QuietStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.try_unnoticed(|stream| stream.read(buffer.initialize_unfilled()))? {
            Tried::Done(length) => buffer.advance(length),
            Tried::Waits(stream) => {
                ready!(Pin::new(stream).poll_read(context, buffer))?;
                self.rest()?;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for QuietStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    /// Passes all pieces to the system at once. A TLS handshake ends with several: a server that
    /// refuses the first one and closes would reset the connection at the next, and its reason would
    /// be lost.
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.try_unnoticed(|stream| stream.write_vectored(pieces))? {
            Tried::Done(length) => Poll::Ready(Ok(length)),
            Tried::Waits(stream) => {
                let written = Pin::new(stream).poll_write_vectored(context, pieces);
                self.write_waits = written.is_pending();
                written
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does nothing: all written bytes have been passed to the system.
    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.state {
            State::Unnoticed(stream) => Poll::Ready(stream.shutdown(std::net::Shutdown::Write)),
            State::Noticed(stream) => Pin::new(stream).poll_shutdown(context),
            State::Lost => Poll::Ready(Ok(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    use super::*;

    async fn pair() -> (QuietStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
        (QuietStream::new(near.expect("a connection")).expect("a socket"), far.expect("a connection").0)
    }

    #[tokio::test]
    async fn data_before_during_and_after_a_read_is_read_in_order() {
        let (mut near, mut far) = pair().await;
        let mut three = [0; 3];
        far.write_all(b"one").await.expect("a reader");
        near.read_exact(&mut three).await.expect("written bytes");
        assert_eq!(&three, b"one");
        let (read, written) = tokio::join!(near.read_exact(&mut three), async {
            tokio::task::yield_now().await;
            far.write_all(b"two").await
        });
        read.and(written.map(|()| 3)).expect("no error");
        assert_eq!(&three, b"two");
        assert!(matches!(near.state, State::Unnoticed(_)), "nobody waits");
        far.write_all(b"end").await.expect("a reader");
        drop(far);
        let mut rest = Vec::new();
        near.read_to_end(&mut rest).await.expect("an end");
        assert_eq!(rest, b"end");
    }

    #[tokio::test]
    async fn the_pieces_of_one_message_leave_together() {
        let (mut near, _far) = pair().await;
        let pieces = [IoSlice::new(b"certificate"), IoSlice::new(b"finished")];
        assert_eq!(near.write_vectored(&pieces).await.expect("a reader"), 19);
    }

    #[tokio::test]
    async fn a_cancelled_read_loses_no_data() {
        let (mut near, mut far) = pair().await;
        let mut one = [0];
        assert!(timeout(Duration::from_millis(1), near.read_exact(&mut one)).await.is_err(), "there is nothing");
        far.write_all(b"x").await.expect("a reader");
        near.read_exact(&mut one).await.expect("written bytes");
        assert_eq!(&one, b"x");
    }

    #[tokio::test]
    async fn a_waiting_write_continues_while_the_other_side_reads() {
        let (near, mut far) = pair().await;
        let (mut reads, mut writes) = tokio::io::split(near);
        let much = vec![7; 16 << 20];
        let sends = async { writes.write_all(&much).await.expect("a reader") };
        let echoes = async {
            let mut piece = vec![0; 64 << 10];
            let mut left = much.len();
            while left > 0 {
                left -= far.read(&mut piece).await.expect("a writer");
                far.write_all(b"!").await.expect("a reader");
            }
            far.shutdown().await.expect("an open connection");
        };
        let mut answers = Vec::new();
        let ((), (), read) = tokio::join!(sends, echoes, reads.read_to_end(&mut answers));
        assert!(read.expect("an end") >= much.len() / (64 << 10));
    }
}
