//! A server that speaks ZooKeeper's protocol and floods its clients.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use lockscope_base::wire::{ConnectResponse, EventKind, PING_XID, Reader, RequestHead, Writer, event, op, reply};

/// What a server sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flood {
    /// Right answers, and with each 50 events for nodes that nobody watches.
    UnwatchedWithReplies,
    /// Events for nodes that nobody watches, and no answer at all.
    EventsAlone,
    /// Right answers, and events for watched nodes as fast as they are taken.
    Watched,
    /// Listings of more names than the program accepts.
    Huge,
    /// One more child with every answer.
    EndlessTree,
    /// The first bytes of an answer, and then one byte in a second.
    Drip,
}

/// The length of a `Stat`, in bytes.
const STAT_BYTES: usize = 68;

/// More names than the program accepts in one listing.
const TOO_MANY_NAMES: i32 = 1_100_000;

/// The events of one write.
const EVENTS: usize = 500;

/// A server on loopback, which ends with the process.
pub struct HostileServer {
    address: String,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    connections: AtomicU64,
    requests: AtomicU64,
    removals: AtomicU64,
    sent: AtomicU64,
    nodes: AtomicU64,
    /// The answers that wait for their turn among the events.
    waiting: AtomicU64,
}

impl std::fmt::Debug for HostileServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.counts.fmt(f)
    }
}

impl HostileServer {
    pub fn start(flood: Flood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let counts = Arc::<Counts>::default();
        let shared = Arc::clone(&counts);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counts = Arc::clone(&shared);
                thread::spawn(move || Connection { flood, counts }.serve(stream));
            }
        });
        Self { address, counts }
    }

    pub fn address(&self) -> String {
        self.address.clone()
    }

    /// Returns how many requests removed a watch.
    pub fn removals(&self) -> u64 {
        self.counts.removals.load(Ordering::Relaxed)
    }
}

struct Connection {
    flood: Flood,
    counts: Arc<Counts>,
}

impl Connection {
    fn serve(self, mut stream: TcpStream) -> std::io::Result<()> {
        self.counts.connections.fetch_add(1, Ordering::Relaxed);
        read_frame(&mut stream)?;
        let greeting = ConnectResponse { timeout: 10_000, session: 9, password: vec![1; 16], read_only: Some(false) };
        stream.write_all(&greeting.to_frame())?;
        let out = Arc::new(Mutex::new(stream.try_clone()?));
        if matches!(self.flood, Flood::EventsAlone) {
            return self.send_events(&out, "/elsewhere/node");
        }
        let mut is_flooding = false;
        loop {
            let request = read_frame(&mut stream)?;
            let mut from = Reader::new(&request);
            let Ok(head) = RequestHead::read(&mut from) else { return Ok(()) };
            self.counts.requests.fetch_add(1, Ordering::Relaxed);
            self.counts.removals.fetch_add(u64::from(head.op == op::REMOVE_WATCHES), Ordering::Relaxed);
            let mut answer = Vec::new();
            self.answer(head, &mut from, &mut answer);
            if self.flood == Flood::UnwatchedWithReplies {
                put_events(&mut answer, "/elsewhere/node", 50);
            }
            if self.flood == Flood::Drip && lists(head.op) {
                return self.drip(&out, &answer);
            }
            self.counts.waiting.fetch_add(1, Ordering::Relaxed);
            let sent = self.send(&out, &answer);
            self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
            sent?;
            if self.flood == Flood::Watched && lists(head.op) && !std::mem::replace(&mut is_flooding, true) {
                let (flood, counts, out) = (self.flood, Arc::clone(&self.counts), Arc::clone(&out));
                thread::spawn(move || Self { flood, counts }.send_events(&out, "/locks/orders/lock-00000"));
            }
        }
    }

    fn send(&self, out: &Mutex<TcpStream>, bytes: &[u8]) -> std::io::Result<()> {
        self.counts.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        out.lock().expect("no panic").write_all(bytes)
    }

    fn send_events(&self, out: &Mutex<TcpStream>, path: &str) -> std::io::Result<()> {
        let mut events = Vec::new();
        put_events(&mut events, path, EVENTS);
        loop {
            // The lock is not fair: without this the answers could wait for ever.
            while self.counts.waiting.load(Ordering::Relaxed) > 0 {
                thread::yield_now();
            }
            self.send(out, &events)?;
        }
    }

    fn drip(&self, out: &Mutex<TcpStream>, answer: &[u8]) -> std::io::Result<()> {
        for byte in answer {
            self.send(out, &[*byte])?;
            thread::sleep(Duration::from_secs(1));
        }
        Ok(())
    }

    /// Appends the answer to a request.
    fn answer(&self, head: RequestHead, from: &mut Reader<'_>, out: &mut Vec<u8>) {
        let xid = if head.op == op::PING { PING_XID } else { head.xid };
        if self.flood == Flood::Huge && head.op == op::GET_CHILDREN2 {
            return reply(out, xid, 7, |out| put_names(out, TOO_MANY_NAMES, 50));
        }
        reply(out, xid, 7, |out| match head.op {
            op::EXISTS => put_stat(out),
            op::GET_DATA => {
                out.put_buffer(Some(b"data"));
                put_stat(out);
            }
            op::GET_CHILDREN => self.put_children(from, out),
            op::GET_CHILDREN2 => {
                self.put_children(from, out);
                put_stat(out);
            }
            op::SYNC => out.put_buffer(Some(b"/")),
            op::GET_ALL_CHILDREN_NUMBER | op::ADD_WATCH | op::WHO_AM_I => out.put_int(0),
            op::MULTI_READ => self.put_results(from, out),
            _ => {}
        });
    }

    fn put_results(&self, from: &mut Reader<'_>, out: &mut Vec<u8>) {
        while let (Ok(operation), Ok(false), Ok(_)) = (from.int(), from.bool(), from.int()) {
            out.put_int(operation);
            out.put_bool(false);
            out.put_int(0);
            if operation == op::GET_CHILDREN {
                self.put_children(from, out);
            } else {
                let _ = (from.text(), from.bool());
                out.put_buffer(Some(b"data"));
                put_stat(out);
            }
        }
        out.put_int(op::ERROR);
        out.put_bool(true);
        out.put_int(0);
    }

    /// Appends the names of a node's children, and reads the path and the flag of the request.
    fn put_children(&self, from: &mut Reader<'_>, out: &mut Vec<u8>) {
        let path = from.text().ok().flatten().unwrap_or_default().into_owned();
        let _ = from.bool();
        let number = self.counts.nodes.fetch_add(1, Ordering::Relaxed);
        let names = match (self.flood, path.as_str()) {
            (Flood::EndlessTree, _) => vec![format!("n{number}"), format!("m{number}")],
            (_, "/locks") => vec!["orders".to_owned()],
            (_, "/locks/orders") => vec!["lock-0000000001".to_owned(), "lock-0000000002".to_owned()],
            _ => Vec::new(),
        };
        out.put_int(i32::try_from(names.len()).expect("a short list"));
        for name in names {
            out.put_buffer(Some(name.as_bytes()));
        }
    }
}

/// Returns whether a request lists children.
fn lists(operation: i32) -> bool {
    matches!(operation, op::GET_CHILDREN | op::GET_CHILDREN2 | op::MULTI_READ)
}

fn put_stat(out: &mut Vec<u8>) {
    out.extend([0; STAT_BYTES]);
}

fn put_names(out: &mut Vec<u8>, count: i32, length: usize) {
    out.put_int(count);
    for number in 0..count {
        let name = format!("node-{number:0width$}", width = length - 5);
        out.put_buffer(Some(name.as_bytes()));
    }
    put_stat(out);
}

/// Appends events of all kinds.
fn put_events(out: &mut Vec<u8>, path: &str, count: usize) {
    const KINDS: [EventKind; 3] = [EventKind::Created, EventKind::DataChanged, EventKind::Deleted];
    for number in 0..count {
        event(out, KINDS[number % KINDS.len()], &format!("{path}{number:05}"));
    }
}

fn read_frame(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut frame = Vec::new();
    stream.take(u32::from_be_bytes(length).into()).read_to_end(&mut frame)?;
    Ok(frame)
}
