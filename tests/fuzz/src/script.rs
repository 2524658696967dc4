//! An input read as what clients do, one after the other.

use std::time::Duration;

use crate::check::check;
use crate::config::SandboxConfig;
use crate::machine::{CloseReason, Machine};

const NOW: i64 = 1_714_574_467_250;

/// Connections at most.
const CONNECTIONS: usize = 4;

/// Operations that clients ask for; those that make and watch nodes more often than others.
const OPS: [i32; 32] = [
    1, 1, 1, 15, 15, 19, 21, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 8, 12, 13, 14, 14, 17, 18, 22, 100, 101, 105, 106, -11,
];

const PATHS: [&str; 10] = ["/", "/a", "/b", "/a/x", "/a/x/y", "/a/n-", "/b/n-", "/n-", "/a/n-0000000000", "/a//"];

pub struct Script<'a> {
    rest: &'a [u8],
    machine: Machine,
    now: i64,
    links: [Option<Link>; CONNECTIONS],
}

/// A connection's bytes that are not done with, and the session that it was greeted with.
#[derive(Default)]
struct Link {
    id: usize,
    waiting: Vec<u8>,
    greeting: Option<Vec<u8>>,
}

impl<'a> Script<'a> {
    pub fn new(input: &'a [u8]) -> Self {
        let config = SandboxConfig {
            max_frame: 512,
            max_connections: CONNECTIONS - 1,
            max_sessions: 3,
            max_memory: 8 << 10,
            max_unread: 4 << 10,
            sweep: Duration::from_millis(300),
            ..SandboxConfig::default()
        };
        let links = [const { None }; CONNECTIONS];
        Self { rest: input, machine: Machine::new(config, [7; 16], NOW), now: NOW, links }
    }

    pub fn run(mut self) {
        while let Some(step) = self.byte() {
            self.step(step);
            check(&self.machine);
        }
    }

    /// Runs one step. The lower half of the byte selects the action, the upper half the connection.
    /// The following bytes are the arguments.
    fn step(&mut self, step: u8) {
        let who = usize::from(step >> 4) % CONNECTIONS;
        match step & 15 {
            0 => self.open(who),
            1 => self.greet(who),
            2 => {
                let bytes = self.some();
                self.send(who, bytes);
            }
            3 | 4 => self.request(who),
            5 => {
                let later = self.byte().unwrap_or_default();
                self.now += i64::from(later) * 20;
                self.machine.tick(self.now);
            }
            6 => self.resume(who),
            7 => self.lose(who),
            _ => self.good(who),
        }
        self.deliver();
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// Returns as many bytes as the next byte says, or all that are left.
    fn some(&mut self) -> &'a [u8] {
        let count = usize::from(self.byte().unwrap_or_default()).min(self.rest.len());
        let (some, rest) = self.rest.split_at(count);
        self.rest = rest;
        some
    }

    fn open(&mut self, who: usize) {
        self.lose(who);
        let peer = ([127, 0, 0, 1], 40_000).into();
        self.links[who] = self.machine.open(peer, self.now).map(|id| Link { id, ..Link::default() });
    }

    /// Opens, and asks for a new session.
    fn greet(&mut self, who: usize) {
        let timeout = i32::from(self.byte().unwrap_or_default()) * 20;
        self.open(who);
        self.handshake(who, timeout, 0, &[0; 16]);
    }

    /// Opens, and goes on with the session of the next connection.
    fn resume(&mut self, who: usize) {
        let other = self.links[(who + 1) % CONNECTIONS].as_ref().and_then(|link| link.greeting.clone());
        let Some(greeting) = other else { return };
        self.open(who);
        let session = i64::from_be_bytes(greeting[12..20].try_into().expect("eight bytes"));
        self.handshake(who, 1000, session, &greeting[24..40]);
    }

    fn handshake(&mut self, who: usize, timeout: i32, session: i64, password: &[u8]) {
        let mut body = vec![0; 12];
        body.extend(timeout.to_be_bytes());
        body.extend(session.to_be_bytes());
        body.extend(16_u32.to_be_bytes());
        body.extend(password);
        body.push(0);
        self.frame(who, &body);
    }

    /// Sends a frame with an xid, an arbitrary operation and arbitrary bytes.
    fn request(&mut self, who: usize) {
        let op = i32::from(self.byte().unwrap_or_default().cast_signed());
        let mut body = vec![0, 0, 0, 9];
        body.extend(op.to_be_bytes());
        body.extend(self.some());
        self.frame(who, &body);
    }

    /// Sends a valid request, or a multi of several valid operations.
    fn good(&mut self, who: usize) {
        let op = OPS[usize::from(self.byte().unwrap_or_default()) % OPS.len()];
        let mut body = [9, op].map(i32::to_be_bytes).concat();
        if op == 14 || op == 22 {
            for _ in 0..self.byte().unwrap_or_default() % 5 {
                let op = OPS[usize::from(self.byte().unwrap_or_default()) % OPS.len()];
                body.extend([op.to_be_bytes().as_slice(), &[0; 5]].concat());
                self.fields(op, &mut body);
            }
            body.extend([[0xff; 4].as_slice(), &[1], &[0xff; 4]].concat());
        } else {
            self.fields(op, &mut body);
        }
        self.frame(who, &body);
    }

    /// Writes the body of a request: a path, and the fields of the operation.
    fn fields(&mut self, op: i32, body: &mut Vec<u8>) {
        let path = PATHS[usize::from(self.byte().unwrap_or_default()) % PATHS.len()];
        let choice = self.byte().unwrap_or_default();
        let number = (i32::from(choice % 8) - 1).to_be_bytes();
        let text = |body: &mut Vec<u8>, text: &str| {
            body.extend(u32::try_from(text.len()).expect("a short one").to_be_bytes());
            body.extend(text.as_bytes());
        };
        let lists = |body: &mut Vec<u8>, count: usize| {
            for _ in 0..count {
                body.extend([0, 0, 0, 1]);
                text(body, path);
            }
        };
        match op {
            101 | 105 => {
                body.extend(i64::from(choice).to_be_bytes());
                return lists(body, if op == 101 { 3 } else { 5 });
            }
            100 => {
                body.extend([0; 4]);
                text(body, "digest");
                return text(body, path);
            }
            _ => text(body, path),
        }
        match op {
            1 | 15 | 19 | 21 | 7 => {
                if op != 7 {
                    text(body, &"d".repeat(usize::from(choice)));
                }
                body.extend([0, 0, 0, 1, 0, 0, 0, if choice > 250 { choice } else { 31 }]);
                let (scheme, id) = if choice % 16 == 9 { ("auth", "") } else { ("world", "anyone") };
                text(body, scheme);
                text(body, id);
                body.extend(number);
                if op == 21 {
                    body.extend(i64::from(choice).to_be_bytes());
                }
            }
            5 => {
                text(body, &"d".repeat(usize::from(choice)));
                body.extend(number);
            }
            3 | 4 | 8 | 12 => body.push(choice & 1),
            2 | 13 | 17 | 18 | 106 => body.extend(number),
            _ => {}
        }
    }

    fn frame(&mut self, who: usize, body: &[u8]) {
        let length = u32::try_from(body.len()).expect("a short one").to_be_bytes();
        self.send(who, &[&length, body].concat());
    }

    fn send(&mut self, who: usize, bytes: &[u8]) {
        let Some(link) = &mut self.links[who] else { return };
        link.waiting.extend_from_slice(bytes);
        loop {
            let done = self.machine.receive(link.id, &link.waiting, self.now);
            link.waiting.drain(..done);
            if done == 0 || !self.machine.has_frame(&link.waiting) {
                return;
            }
        }
    }

    fn lose(&mut self, who: usize) {
        if let Some(link) = self.links[who].take() {
            self.machine.forget(link.id);
        }
    }

    /// Takes the output of the connections that have some, and closes those that must be closed.
    fn deliver(&mut self) {
        let mut ready = Vec::new();
        self.machine.ready(&mut ready);
        for who in 0..CONNECTIONS {
            let Some(link) = self.links[who].as_mut().filter(|link| ready.contains(&link.id)) else { continue };
            let mut sent = Vec::new();
            let end = self.machine.take_output(link.id, &mut sent);
            if end != Some(CloseReason::Word) {
                whole(&sent, link);
            }
            if end.is_some() {
                self.lose(who);
            }
        }
    }
}

/// Panics unless it is whole frames, each with a header.
fn whole(mut sent: &[u8], link: &mut Link) {
    while let Some((length, rest)) = sent.split_first_chunk() {
        let length = usize::try_from(u32::from_be_bytes(*length)).expect("a length");
        let (frame, rest) = rest.split_at_checked(length).expect("a whole frame");
        assert!(length >= 16, "a header");
        if link.greeting.is_none() {
            link.greeting = Some([&[0; 4], frame].concat());
        }
        sent = rest;
    }
    assert!(sent.is_empty(), "a length");
}
