//! A client without a library: it sends any request and returns every received frame.

mod jute;
mod request;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use super::wait::PATIENCE;
pub use jute::{Body, Jute, Stat};
pub use request::{ANYONE, Request, Watches};

/// The xid of a heartbeat and of its answer.
const PING: i32 = -2;

/// A frame from the server, after the handshake.
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

/// A server's answer to the handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The timeout in milliseconds; zero when the session was refused.
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
    /// Opens a new session.
    pub fn connect(port: u16, timeout: i32) -> Self {
        Self::connect_at(at(port), timeout)
    }

    /// Opens a new session with a server on another loopback address.
    pub fn connect_at(server: SocketAddr, timeout: i32) -> Self {
        Self::resume_at(server, timeout, 0, &[0; 16], 0).expect("a session")
    }

    /// Resumes a session. Fails when the server closes the connection without an answer.
    pub fn resume(port: u16, timeout: i32, session: i64, password: &[u8], zxid: i64) -> io::Result<Self> {
        Self::resume_at(at(port), timeout, session, password, zxid)
    }

    /// Resumes a session with a server on another loopback address.
    pub fn resume_at(server: SocketAddr, timeout: i32, session: i64, password: &[u8], zxid: i64) -> io::Result<Self> {
        let mut stream = open_at(server)?;
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

    /// Sends a request and returns its xid.
    pub fn send(&mut self, request: &Request) -> i32 {
        let xid = request.xid.unwrap_or_else(|| {
            self.next += 1;
            self.next
        });
        let mut frame = Vec::new();
        frame.put_int(xid).put_int(request.op).extend(&request.body);
        // A later read notices that the server closed the connection.
        let _ = write_frame(&mut self.stream, &frame);
        xid
    }

    /// Returns the next frame; `None` when the server has closed the connection.
    pub fn receive(&mut self) -> Option<Frame> {
        let frame = read_frame(&mut self.stream).ok()?;
        let mut from = Body(&frame);
        Some(Frame { xid: from.int(), zxid: from.long(), error: from.int(), body: from.0.to_vec() })
    }

    /// Sends a request. Returns all frames up to its reply; if the connection closes, the last
    /// frame is not the reply.
    pub fn ask(&mut self, request: &Request) -> Vec<Frame> {
        let xid = self.send(request);
        self.until(xid)
    }

    /// Returns all frames sent before now.
    pub fn drain(&mut self) -> Vec<Frame> {
        let mut frames = self.ask(&Request { xid: Some(PING), ..Request::new("ping", 11, Vec::new()) });
        frames.retain(|frame| frame.xid != PING);
        frames
    }

    /// Returns the server's present zxid.
    pub fn zxid(&mut self) -> i64 {
        let frames = self.ask(&Request { xid: Some(PING), ..Request::new("ping", 11, Vec::new()) });
        frames.last().expect("an answer").zxid
    }

    /// Closes the connection. The session can be resumed.
    pub fn cut(&self) {
        // Fails if the server has already closed the connection.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }

    /// Closes the session.
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

/// Opens a connection to a port of this machine. No operation on it waits forever.
pub fn open(port: u16) -> io::Result<TcpStream> {
    open_at(at(port))
}

fn at(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn open_at(server: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(server)?;
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
