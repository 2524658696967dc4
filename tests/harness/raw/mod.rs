//! A client that sends whatever it is given, and shows every frame that comes back: no library between.

mod jute;
mod request;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use super::wait::PATIENCE;
pub use jute::{Body, Jute, Stat};
pub use request::{ANYONE, Request, Watches};

/// The number of a heartbeat, and of its answer.
const PING: i32 = -2;

/// One frame from the server, after the handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub xid: i32,
    pub zxid: i64,
    pub error: i32,
    pub body: Vec<u8>,
}

impl Frame {
    pub fn is_event(&self) -> bool {
        self.xid == -1
    }
}

/// What a server answers to a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// In milliseconds; zero when the session was refused.
    pub timeout: i32,
    pub session: i64,
    pub password: Vec<u8>,
}

/// A connection. Dropping it leaves its session to expire.
#[derive(Debug)]
pub struct Raw {
    stream: TcpStream,
    pub greeting: Greeting,
    next: i32,
}

impl Raw {
    /// A new session.
    pub fn connect(port: u16, timeout: i32) -> Self {
        Self::resume(port, timeout, 0, &[0; 16], 0).expect("a session")
    }

    /// A session that goes on; an error when the server closes the connection without a word.
    pub fn resume(port: u16, timeout: i32, session: i64, password: &[u8], zxid: i64) -> io::Result<Self> {
        let mut stream = open(port)?;
        let mut body = Vec::new();
        body.put_int(0).put_long(zxid).put_int(timeout).put_long(session).put_buffer(Some(password)).push(0);
        write_frame(&mut stream, &body)?;
        let answer = read_frame(&mut stream)?;
        let mut from = Body(&answer);
        from.int();
        let greeting = Greeting {
            timeout: from.int(),
            session: from.long(),
            password: from.buffer().unwrap_or_default().to_vec(),
        };
        Ok(Self { stream, greeting, next: 0 })
    }

    /// Sends a request; gives its number.
    pub fn send(&mut self, request: &Request) -> i32 {
        let xid = request.xid.unwrap_or_else(|| {
            self.next += 1;
            self.next
        });
        let mut frame = Vec::new();
        frame.put_int(xid).put_int(request.op).extend(&request.body);
        // A server that closes the connection is found out by reading.
        let _ = write_frame(&mut self.stream, &frame);
        xid
    }

    /// The next frame; `None` when the server has closed the connection.
    pub fn receive(&mut self) -> Option<Frame> {
        let frame = read_frame(&mut self.stream).ok()?;
        let mut from = Body(&frame);
        Some(Frame { xid: from.int(), zxid: from.long(), error: from.int(), body: from.0.to_vec() })
    }

    /// Sends a request, and gives all that comes up to its reply; the last is not the reply when the connection closes.
    pub fn ask(&mut self, request: &Request) -> Vec<Frame> {
        let xid = self.send(request);
        self.until(xid)
    }

    /// All that was sent before now.
    pub fn drain(&mut self) -> Vec<Frame> {
        let mut frames = self.ask(&Request { xid: Some(PING), ..Request::new("ping", 11, Vec::new()) });
        frames.retain(|frame| frame.xid != PING);
        frames
    }

    /// The zxid that the server has come to.
    pub fn zxid(&mut self) -> i64 {
        let frames = self.ask(&Request { xid: Some(PING), ..Request::new("ping", 11, Vec::new()) });
        frames.last().expect("an answer").zxid
    }

    /// Ends the connection; its session can go on.
    pub fn cut(&self) {
        // It is cut already when the server ended it.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }

    /// Ends the session.
    pub fn close(mut self) {
        self.ask(&Request::close());
    }

    fn until(&mut self, xid: i32) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.receive() {
            let is_reply = frame.xid == xid;
            frames.push(frame);
            if is_reply {
                break;
            }
        }
        frames
    }
}

/// A connection to a port of this machine, on which nothing waits for ever.
pub fn open(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn write_frame(stream: &mut TcpStream, body: &[u8]) -> io::Result<()> {
    let mut frame = Vec::with_capacity(body.len() + 4);
    frame.put_buffer(Some(body));
    stream.write_all(&frame)
}

fn read_frame(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut frame = vec![0; usize::try_from(i32::from_be_bytes(length)).expect("a length")];
    stream.read_exact(&mut frame)?;
    Ok(frame)
}
