//! An input read as what a server sends: one step after the other, over all connections.
//!
//! Without a twist the server answers as `ZooKeeper` does, from a small tree. So the steps reach what
//! comes only after many right answers.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use lockscope_base::wire::{ConnectResponse, EventKind, PING_XID, Reader, RequestHead, Writer, event, frame, op};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::peer_answers::{PeerNode, Twist, answer};

/// The nodes that the server may have. The first four are there at the beginning.
pub const PATHS: [&str; 10] = [
    "/locks",
    "/locks/orders",
    "/locks/orders/lock-0000000001",
    "/locks/orders/_c_00000000-0000-4000-8000-000000000002-lock-0000000002",
    "/locks/held",
    "/locks/orders/lock-0000000003",
    "/locks/pool",
    "/locks/pool/leases",
    "/locks/pool/leases/_c_00000000-0000-4000-8000-000000000004-lease-0000000000",
    "/",
];

/// Paths of events beside those of the nodes.
const ODD_PATHS: [&str; 6] = ["/elsewhere", "/locks/", "//", "/locks/orders/\u{1f512}", "/locks/../x", "locks"];

/// Errors that servers send, and numbers that they do not.
const ERRORS: [i32; 20] =
    [-101, -101, -102, -103, -110, -111, -112, -118, -4, -6, -5, -8, -13, -114, -115, -121, -124, 1, -300, i32::MIN];

/// Numbers of times, sessions and lengths at the ends of their types.
const NUMBERS: [i32; 8] = [0, 1, 2, 10, 40, 3_000, i32::MAX, -1];

/// Requests that are answered after the end of the script, and in all.
const MAX_ANSWERED: (usize, usize) = (14, 600);

/// What a server does next.
pub enum PeerAct {
    Send(Vec<u8>),
    Wait(Duration),
    /// Closes the connection.
    Close,
    /// Reads on, and answers nothing on this connection.
    FallSilent,
}

/// What a server does after the end of its script.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AfterScript {
    Answers,
    Closes,
    IsSilent,
}

/// The state of the server, which outlives its connections.
pub struct PeerState {
    rest: Vec<u8>,
    after: AfterScript,
    pub nodes: BTreeMap<&'static str, PeerNode>,
    pub zxid: i64,
    /// The operations that change something, and their paths.
    pub writes: Vec<(i32, String)>,
    answered: usize,
    /// The requests that came after the end of the script.
    answered_after: usize,
}

/// A server on loopback, which ends with the runtime.
#[derive(Clone)]
pub struct ScriptedPeer {
    state: Arc<Mutex<PeerState>>,
    /// Notified once enough is answered.
    pub done: Arc<Notify>,
    /// How much has happened.
    activity: Arc<AtomicU64>,
    /// The open connections.
    open: Arc<AtomicU64>,
}

impl ScriptedPeer {
    /// Starts the server. Returns it and its address.
    pub async fn start(kind: u8, script: &[u8]) -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let peer = Self {
            state: Arc::new(Mutex::new(PeerState::new(kind, script))),
            done: Arc::default(),
            activity: Arc::default(),
            open: Arc::default(),
        };
        let accepting = peer.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let peer = accepting.clone();
                tokio::spawn(async move {
                    peer.open.fetch_add(1, Ordering::Relaxed);
                    let _ = peer.converse(stream).await;
                    peer.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        (peer, address)
    }

    pub fn state(&self) -> MutexGuard<'_, PeerState> {
        self.state.lock().expect("no panic")
    }

    pub fn is_connected(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    /// Returns a number that changes whenever the server gets or sends something.
    pub fn activity(&self) -> u64 {
        self.activity.load(Ordering::Relaxed)
    }

    async fn converse(&self, mut stream: TcpStream) -> io::Result<()> {
        self.activity.fetch_add(1, Ordering::Relaxed);
        // Sends small frames without delay: time passes meanwhile.
        stream.set_nodelay(true)?;
        let length = stream.read_u32().await?;
        if length > 1 << 16 {
            // One of the words of four letters.
            let text = self.state().some().to_vec();
            return stream.write_all(&text).await;
        }
        let mut asked = vec![0; length as usize];
        stream.read_exact(&mut asked).await?;
        let Some(greeting) = self.state().greeting() else { return Ok(()) };
        stream.write_all(&greeting).await?;
        loop {
            let length = stream.read_u32().await?;
            let mut request = vec![0; length as usize];
            stream.read_exact(&mut request).await?;
            self.activity.fetch_add(1, Ordering::Relaxed);
            let acts = self.state().acts(&request);
            if self.state().is_done() {
                self.done.notify_one();
            }
            for act in acts {
                self.activity.fetch_add(1, Ordering::Relaxed);
                match act {
                    PeerAct::Send(bytes) => stream.write_all(&bytes).await?,
                    PeerAct::Wait(time) => sleep(time).await,
                    PeerAct::Close => return Ok(()),
                    PeerAct::FallSilent => {
                        let mut unread = [0; 4096];
                        while stream.read(&mut unread).await? > 0 {}
                        return Ok(());
                    }
                }
            }
        }
    }
}

impl PeerState {
    fn new(kind: u8, script: &[u8]) -> Self {
        let after = match kind % 4 {
            0 | 1 => AfterScript::Answers,
            2 => AfterScript::Closes,
            _ => AfterScript::IsSilent,
        };
        let nodes = (1..).zip(PATHS).filter(|(at, path)| *at <= 5 || *path == "/");
        Self {
            rest: script.to_vec(),
            after,
            nodes: nodes.map(|(czxid, path)| (path, PeerNode::new(path, czxid))).collect(),
            zxid: 100,
            writes: Vec::new(),
            answered: 0,
            answered_after: 0,
        }
    }

    fn is_done(&self) -> bool {
        self.answered_after >= MAX_ANSWERED.0 || self.answered >= MAX_ANSWERED.1
    }

    fn byte(&mut self) -> u8 {
        if self.rest.is_empty() { 0 } else { self.rest.remove(0) }
    }

    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[usize::from(self.byte()) % list.len()]
    }

    fn number(&mut self) -> i32 {
        match self.byte() {
            choice @ ..128 => NUMBERS[usize::from(choice) % NUMBERS.len()],
            _ => i32::from_be_bytes([self.byte(), self.byte(), self.byte(), self.byte()]),
        }
    }

    /// Returns as many bytes as the next byte says, or all that are left.
    fn some(&mut self) -> Vec<u8> {
        let count = usize::from(self.byte()).min(self.rest.len());
        self.rest.drain(..count).collect()
    }

    /// Returns the answer to a handshake; `None` closes the connection.
    fn greeting(&mut self) -> Option<Vec<u8>> {
        if self.rest.is_empty() && self.after != AfterScript::Answers {
            return (self.after == AfterScript::IsSilent).then(Vec::new);
        }
        let right = ConnectResponse { timeout: 6_000, session: 9, password: vec![1; 16], read_only: Some(false) };
        let greeting = match self.byte() % 16 {
            0..10 => right,
            10 => ConnectResponse { timeout: self.number(), ..right },
            11 => ConnectResponse { session: self.number().into(), ..right },
            12 => ConnectResponse::expired(),
            13 => {
                let password = vec![2; usize::from(self.byte() % 40)];
                ConnectResponse { password, read_only: self.one_of(&[None, Some(true)]), ..right }
            }
            14 => return Some(self.some()),
            _ => return None,
        };
        Some(greeting.to_frame())
    }

    /// Returns what the server does on a request: steps up to the first that answers, or ends.
    fn acts(&mut self, request: &[u8]) -> Vec<PeerAct> {
        self.answered += 1;
        let mut acts = Vec::new();
        let Ok(head) = RequestHead::read(&mut Reader::new(request)) else { return acts };
        let body = &request[RequestHead::BYTES..];
        loop {
            if self.rest.is_empty() {
                self.answered_after += 1;
                match self.after {
                    AfterScript::Answers => acts.push(self.answer(head, body, Twist::default())),
                    AfterScript::Closes => acts.push(PeerAct::Close),
                    AfterScript::IsSilent => acts.push(PeerAct::FallSilent),
                }
                return acts;
            }
            if self.step(head, body, &mut acts) {
                return acts;
            }
        }
    }

    /// Takes one step. Returns whether it was the last on this request.
    fn step(&mut self, head: RequestHead, body: &[u8], acts: &mut Vec<PeerAct>) -> bool {
        match self.byte() % 32 {
            0..10 => acts.push(self.answer(head, body, Twist::default())),
            10..16 => {
                let twist = self.twist();
                acts.push(self.answer(head, body, twist));
            }
            16 => acts.push(self.raw_reply(head)),
            17 => {
                let other = RequestHead { op: self.number() % 108, ..head };
                let written = self.writes.len();
                acts.push(self.answer(other, body, Twist::default()));
                // Nobody asked for it.
                self.writes.truncate(written);
            }
            18 => {
                let other = RequestHead { xid: head.xid.wrapping_add(self.number()), ..head };
                acts.push(self.answer(other, body, Twist::default()));
            }
            19 => return self.half(head, body, acts),
            20 => acts.push(PeerAct::Close),
            21 => acts.push(PeerAct::FallSilent),
            22 => return false,
            23 => return self.also(acts, |state| state.some()),
            24 => return self.also(acts, Self::odd_event),
            25 => {
                let time = Duration::from_millis(u64::from(self.byte()) * 100);
                acts.push(PeerAct::Wait(time));
                return false;
            }
            26 => return self.also(acts, |state| state.reply_to(PING_XID)),
            27..30 => return self.also(acts, Self::events),
            _ => return self.also(acts, Self::change),
        }
        true
    }

    /// Sends something besides the answer.
    fn also(&mut self, acts: &mut Vec<PeerAct>, bytes: impl FnOnce(&mut Self) -> Vec<u8>) -> bool {
        acts.push(PeerAct::Send(bytes(self)));
        false
    }

    fn answer(&mut self, head: RequestHead, body: &[u8], twist: Twist) -> PeerAct {
        if head.op == op::CLOSE_SESSION && twist.is_none() {
            let mut out = Vec::new();
            put_reply(&mut out, head.xid, self.zxid, 0, &[]);
            return PeerAct::Send(out);
        }
        let xid = if head.op == op::PING { PING_XID } else { head.xid };
        let (error, body) = answer(self, head.op, body, &twist);
        let mut out = Vec::new();
        put_reply(&mut out, xid, self.zxid, error, &body);
        PeerAct::Send(out)
    }

    /// Chooses in what an answer differs from the right one.
    fn twist(&mut self) -> Twist {
        match self.byte() % 8 {
            0..3 => Twist::Error(self.one_of(&ERRORS)),
            3 => Twist::Stat(self.byte(), self.number()),
            4 => Twist::Names(self.byte(), self.some()),
            5 => Twist::Data(usize::from(self.byte()) * 40),
            6 => Twist::Results(self.byte()),
            _ => Twist::Trailing(self.some()),
        }
    }

    fn raw_reply(&mut self, head: RequestHead) -> PeerAct {
        let (error, body) = (self.one_of(&[0, 0, 0, -101, -112]), self.some());
        let mut out = Vec::new();
        put_reply(&mut out, head.xid, self.zxid, error, &body);
        PeerAct::Send(out)
    }

    fn reply_to(&mut self, xid: i32) -> Vec<u8> {
        let mut out = Vec::new();
        put_reply(&mut out, xid, self.zxid, 0, &[]);
        out
    }

    /// Sends an answer in two parts, or only the first.
    fn half(&mut self, head: RequestHead, body: &[u8], acts: &mut Vec<PeerAct>) -> bool {
        let (at, choice) = (usize::from(self.byte()), self.byte());
        let PeerAct::Send(whole) = self.answer(head, body, Twist::default()) else { return true };
        let (first, second) = whole.split_at(at.min(whole.len()));
        acts.push(PeerAct::Send(first.to_vec()));
        match choice % 4 {
            0 => acts.push(PeerAct::Close),
            1 => acts.push(PeerAct::FallSilent),
            _ => {
                acts.push(PeerAct::Wait(Duration::from_millis(u64::from(choice) * 20)));
                acts.push(PeerAct::Send(second.to_vec()));
            }
        }
        true
    }

    /// Returns an event of a node, up to 510 times, or of all kinds.
    fn events(&mut self) -> Vec<u8> {
        const KINDS: [EventKind; 4] =
            [EventKind::Created, EventKind::DataChanged, EventKind::Deleted, EventKind::ChildrenChanged];
        let (kind, path) = (self.one_of(&KINDS), self.one_of(&PATHS));
        let count = match self.byte() {
            count @ 128.. => (usize::from(count) - 127) * 4,
            _ => 1,
        };
        let mut out = Vec::new();
        (0..count).for_each(|_| event(&mut out, kind, path));
        out
    }

    /// Returns an event with numbers and a path that may be none.
    fn odd_event(&mut self) -> Vec<u8> {
        let (kind, state) = (self.number(), self.one_of(&[3, 3, 3, 0, 1, 5, -112]));
        let path = match self.byte() {
            choice @ ..128 => ODD_PATHS[usize::from(choice) % ODD_PATHS.len()].as_bytes().to_vec(),
            choice @ 128..200 => "/n".repeat(usize::from(choice) * 8).into_bytes(),
            _ => self.some(),
        };
        let mut body = Vec::new();
        body.put_int(kind % 6);
        body.put_int(state);
        body.put_buffer(Some(&path));
        let mut out = Vec::new();
        put_reply(&mut out, -1, -1, 0, &body);
        out
    }

    /// Creates or deletes a node, or changes it, with the events of it or without.
    fn change(&mut self) -> Vec<u8> {
        let (path, choice) = (self.one_of(&PATHS[1..9]), self.byte());
        self.zxid += 1;
        let zxid = self.zxid;
        let kind = match (self.nodes.get_mut(path), choice % 4) {
            (None, _) => {
                self.nodes.insert(path, PeerNode::new(path, zxid));
                EventKind::Created
            }
            (Some(_), 0) => {
                self.nodes.remove(path);
                EventKind::Deleted
            }
            (Some(node), 1) => {
                *node = PeerNode::new(path, zxid);
                EventKind::Created
            }
            (Some(node), _) => {
                node.write(&[choice; 3], zxid);
                EventKind::DataChanged
            }
        };
        let mut out = Vec::new();
        if choice & 4 == 0 {
            event(&mut out, kind, path);
        }
        if choice & 8 == 0 {
            event(&mut out, EventKind::ChildrenChanged, path.rsplit_once('/').expect("a parent").0);
        }
        out
    }
}

/// Appends a reply with any error and any body.
fn put_reply(out: &mut Vec<u8>, xid: i32, zxid: i64, error: i32, body: &[u8]) {
    frame(out, |out| {
        out.put_int(xid);
        out.put_long(zxid);
        out.put_int(error);
        out.extend(body);
    });
}
