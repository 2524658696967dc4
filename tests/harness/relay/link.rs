//! A connection through a relay: for each direction a reader and a writer, and between them a queue
//! that applies the delay.

use std::collections::HashMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::fault::{Fault, Place, Then};
use super::session::Credentials;
use super::wire::{self, Answer, Opening};
use super::{Asked, Conditions, Passed, Shared, lock};

/// A packet in transit.
struct Packet {
    due: Instant,
    bytes: Vec<u8>,
    passed: Option<Passed>,
}

type Sender = mpsc::UnboundedSender<Packet>;

/// The state that both directions of a connection share.
struct Link<'a> {
    shared: &'a Shared,
    conditions: watch::Receiver<Conditions>,
    state: Mutex<State>,
    /// Notified once the client's first bytes were read and classified.
    opened: Notify,
    /// Notified when nothing more is to be read from the server.
    ending: Notify,
}

#[derive(Default)]
struct State {
    raw: bool,
    session: Option<Credentials>,
    /// The requests without a reply, by xid.
    outstanding: HashMap<i32, Asked>,
    struck: Option<Struck>,
}

/// A fault that has struck, until the connection ends.
#[derive(Clone, Copy)]
struct Struck {
    then: Then,
    /// The request whose reply is to be lost.
    loses: Option<i32>,
}

/// Forwards both directions until one side or the relay ends the connection. Returns the session
/// that must end before new connections are accepted.
pub async fn serve(
    shared: &Shared,
    client: TcpStream,
    age: u64,
    conditions: watch::Receiver<Conditions>,
) -> io::Result<Option<Credentials>> {
    let server = connect(shared).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let mut cut = conditions.clone();
    let state = Mutex::default();
    let link = Link { shared, conditions, state, opened: Notify::new(), ending: Notify::new() };
    let (up, going_up) = mpsc::unbounded_channel();
    let (down, going_down) = mpsc::unbounded_channel();
    // Each direction ends once its reader has ended and all bytes read are written.
    let upwards = async {
        let written = link.write(going_up, to_server, &shared.traffic.to_server);
        tokio::join!(link.read_client(from_client, up), written)
    };
    let downwards = async {
        let written = link.write(going_down, to_client, &shared.traffic.to_client);
        tokio::join!(link.read_server(from_server, down), written)
    };
    let expires = tokio::select! {
        _ = upwards => false,
        _ = downwards => false,
        conditions = cut.wait_for(|conditions| conditions.age != age) => conditions.is_ok_and(|conditions| conditions.expires),
    };
    let State { session, struck, .. } = link.state.into_inner().map_err(|_| io::Error::other("a panic"))?;
    Ok(session.filter(|_| expires || struck.is_some_and(|struck| struck.then == Then::Expire)))
}

async fn connect(shared: &Shared) -> io::Result<TcpStream> {
    let target = lookup_host(&shared.target).await?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
    let Some(from) = shared.from else { return TcpStream::connect(target).await };
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    socket.connect(target).await
}

impl Link<'_> {
    /// Reads the frames of the client. The first frame is the handshake; every later one starts
    /// with an xid and an operation.
    async fn read_client(&self, mut from: impl AsyncRead + Unpin, up: Sender) -> io::Result<()> {
        let opening = wire::opening(&mut from).await?;
        lock(&self.state).raw = matches!(opening, Opening::Raw(_));
        self.opened.notify_one();
        match opening {
            Opening::Raw(first) => {
                self.send(&up, first, None);
                return self.copy(from, up).await;
            }
            Opening::Frame(handshake) => self.send(&up, handshake, None),
        }
        loop {
            let mut frame = wire::frame(&mut from).await?;
            if lock(&self.state).struck.is_some() {
                // Read and dropped: unread bytes would reset the connection and discard the answers
                // sent before.
                continue;
            }
            let asked = wire::asked(&frame).filter(|asked| !wire::op::is_housekeeping(asked.op));
            self.shared.note(&mut frame, asked);
            if self.passes(wire::xid(&frame).zip(asked)) {
                self.send(&up, frame, None);
            }
        }
    }

    /// Notes a counted request and the fault that strikes at it. Returns whether the request goes
    /// on to the server.
    fn passes(&self, request: Option<(i32, Asked)>) -> bool {
        let Some((xid, asked)) = request else { return true };
        // Locked until everything is held up, so that a hold-up never begins after `disarm` has
        // returned.
        let mut plan = lock(&self.shared.plan);
        let mut fault = plan.request();
        if let Some(stall) = fault.take_if(|fault| fault.then == Then::Stall) {
            match stall.place {
                Place::AfterRequest(_) => plan.stall_reply(xid),
                _ => self.shared.set_paused(true),
            }
        }
        drop(plan);
        let mut state = lock(&self.state);
        if let Some(Fault { then: Then::StallAndLose, .. }) = fault {
            self.shared.set_paused(true);
            state.outstanding.insert(xid, asked);
            self.strike(&mut state, Struck { then: Then::Cut, loses: Some(xid) });
            return true;
        }
        if let Some(Fault { place: Place::BeforeRequest(_), then }) = fault {
            self.strike(&mut state, Struck { then, loses: None });
            return false;
        }
        state.outstanding.insert(xid, asked);
        if let Some(Fault { then, .. }) = fault {
            self.strike(&mut state, Struck { then, loses: Some(xid) });
        }
        true
    }

    fn strike(&self, state: &mut State, struck: Struck) {
        if matches!(struck.then, Then::Expire | Then::Bar) {
            self.shared.refuse_new();
        }
        state.struck = Some(struck);
        if state.outstanding.is_empty() {
            self.ending.notify_one();
        }
    }

    async fn read_server(&self, mut from: impl AsyncRead + Unpin, down: Sender) -> io::Result<()> {
        self.opened.notified().await;
        if lock(&self.state).raw {
            return self.copy(from, down).await;
        }
        let granted = wire::frame(&mut from).await?;
        lock(&self.state).session = Credentials::granted(&granted);
        self.send(&down, granted, None);
        loop {
            let frame = tokio::select! {
                frame = wire::frame(&mut from) => frame?,
                () = self.ending.notified() => return Ok(()),
            };
            let ends = match wire::answer(&frame) {
                Answer::Housekeeping => {
                    self.send(&down, frame, None);
                    false
                }
                Answer::Event => self.event(&down, frame),
                Answer::Reply { xid, ok } => self.reply(&down, frame, xid, ok),
            };
            if ends {
                return Ok(());
            }
        }
    }

    /// Forwards an event or loses it. Returns whether the connection ends here.
    fn event(&self, down: &Sender, frame: Vec<u8>) -> bool {
        let mut plan = lock(&self.shared.plan);
        let then = match plan.event() {
            Some(Fault { then: then @ (Then::Cut | Then::Bar | Then::Expire), .. }) => then,
            fault => {
                if fault.is_some() {
                    self.shared.set_paused(true);
                }
                self.send(down, frame, Some(Passed::Event));
                return false;
            }
        };
        drop(plan);
        let mut state = lock(&self.state);
        state.outstanding.clear();
        self.strike(&mut state, Struck { then, loses: None });
        true
    }

    /// Forwards a reply or loses it. Returns whether the connection ends here.
    fn reply(&self, down: &Sender, frame: Vec<u8>, xid: i32, ok: bool) -> bool {
        let mut plan = lock(&self.shared.plan);
        if plan.reply_stalls(xid) {
            self.shared.set_paused(true);
        }
        drop(plan);
        let mut state = lock(&self.state);
        let asked = state.outstanding.remove(&xid);
        let lost = state.struck.is_some_and(|struck| struck.loses == Some(xid));
        let ends = lost || state.struck.is_some() && state.outstanding.is_empty();
        drop(state);
        if !lost {
            self.send(down, frame, asked.map(|to| Passed::Reply { to, ok }));
        }
        ends
    }

    async fn copy(&self, mut from: impl AsyncRead + Unpin, to: Sender) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let length = from.read(&mut buffer).await?;
            if length == 0 {
                return Ok(());
            }
            self.send(&to, buffer[..length].to_vec(), None);
        }
    }

    fn send(&self, to: &Sender, bytes: Vec<u8>, passed: Option<Passed>) {
        let due = Instant::now() + self.conditions.borrow().delay;
        // Fails only when the writer has failed, which ends the connection.
        let _ = to.send(Packet { due, bytes, passed });
    }

    /// Writes the due packets and counts them.
    async fn write(
        &self,
        mut from: mpsc::UnboundedReceiver<Packet>,
        mut to: impl AsyncWrite + Unpin,
        count: &AtomicU64,
    ) -> io::Result<()> {
        let mut conditions = self.conditions.clone();
        while let Some(Packet { due, bytes, passed }) = from.recv().await {
            if due > Instant::now() {
                sleep_until(due).await;
            }
            conditions.wait_for(|conditions| !conditions.paused).await.map_err(io::Error::other)?;
            // Counted before the write: a receiver then finds its packet counted.
            count.fetch_add(bytes.len() as u64, Ordering::SeqCst);
            if let Some(passed) = passed {
                self.shared.traffic.write_down(passed);
            }
            to.write_all(&bytes).await?;
        }
        Ok(())
    }
}
