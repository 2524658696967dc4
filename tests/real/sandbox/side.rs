//! One of the two servers of a scenario, and the report of its answers.

use std::fmt::Write;

use crate::harness::raw::{ANYONE, Body, Frame, Raw, Request, Stat};

/// The default session timeout of a scenario's sessions, in milliseconds.
const TIMEOUT: i32 = 30_000;

/// The opcode that closes a session.
const CLOSE: i32 = -11;

/// A server and a scenario's sessions on it.
pub struct Side {
    pub port: u16,
    pub sessions: Vec<Option<Raw>>,
    /// The session ids in the order of creation.
    ids: Vec<i64>,
    /// The zxid at the start; the report counts zxids from here.
    base: i64,
    pub report: Vec<String>,
}

impl Side {
    /// Starts with `sessions` sessions.
    pub fn new(port: u16, sessions: usize) -> Self {
        let mut side = Self { port, sessions: Vec::new(), ids: Vec::new(), base: 0, report: Vec::new() };
        for _ in 0..sessions {
            side.connect(TIMEOUT);
        }
        if let Some(Some(first)) = side.sessions.first_mut() {
            side.base = first.zxid();
        }
        side
    }

    /// Opens another session. Returns its number.
    pub fn connect(&mut self, timeout: i32) -> usize {
        let raw = Raw::connect(self.port, timeout);
        self.note(format!("session with a timeout of {}", raw.greeting.timeout));
        self.ids.push(raw.greeting.session);
        self.sessions.push(Some(raw));
        self.sessions.len() - 1
    }

    /// Returns the number of a session.
    pub fn place(&self, id: i64) -> Option<usize> {
        self.ids.iter().position(|known| *known == id)
    }

    pub fn raw(&mut self, session: usize) -> &mut Raw {
        self.sessions[session].as_mut().expect("the session is open")
    }

    pub fn note(&mut self, line: impl Into<String>) {
        self.report.push(line.into());
    }

    /// Sends a request and reports everything up to its reply.
    pub fn ask(&mut self, session: usize, request: &Request) -> Vec<Frame> {
        let frames = self.raw(session).ask(request);
        let mut lines = vec![format!("{session} {}", request.name)];
        lines.extend(frames.iter().map(|frame| format!("    {}", self.shown(request.op, frame))));
        if request.op == CLOSE {
            // A session's nodes are deleted in an unspecified order. Events come before the reply.
            let count = lines.len();
            lines[1..count - 1].sort();
        }
        let replied = frames.last().is_some_and(|frame| !frame.is_event());
        if !replied || request.op == CLOSE {
            lines.push("    closed".to_owned());
        }
        self.report.append(&mut lines);
        frames
    }

    /// Sends several requests in a row.
    pub fn ask_all(&mut self, session: usize, requests: &[Request]) {
        for request in requests {
            self.ask(session, request);
        }
    }

    /// Reports the events of a session.
    pub fn events(&mut self, session: usize) {
        let mut lines = self.received(session);
        self.report.append(&mut lines);
    }

    /// Reports the events after the end of a session, whose nodes are deleted in an unspecified
    /// order.
    pub fn events_in_any_order(&mut self, session: usize) {
        let mut lines = self.received(session);
        lines.sort();
        self.report.append(&mut lines);
    }

    fn received(&mut self, session: usize) -> Vec<String> {
        let frames = self.raw(session).drain();
        frames.iter().map(|frame| format!("{session} receives {}", self.shown(0, frame))).collect()
    }

    /// Reports the server's present zxid.
    pub fn zxid(&mut self, session: usize) {
        let zxid = self.raw(session).zxid();
        let line = format!("zxid {}", self.shown_zxid(zxid));
        self.note(line);
    }

    /// Closes a session, reports what it still receives, and puts a new session in its place.
    pub fn renew(&mut self, session: usize) {
        self.ask(session, &Request::close());
        let raw = Raw::connect(self.port, TIMEOUT);
        self.ids.push(raw.greeting.session);
        self.sessions[session] = Some(raw);
    }

    /// Closes every session, and deletes a node with all nodes below it, whatever their ACLs are.
    pub fn raze(&mut self, path: &str) {
        self.end();
        let mut raw = Raw::connect(self.port, TIMEOUT);
        raw.ask(&Request::auth("digest", "ann:secret"));
        raze(&mut raw, path);
        raw.close();
    }

    /// Closes every open session without a report.
    pub fn end(&mut self) {
        for raw in self.sessions.drain(..).flatten() {
            raw.close();
        }
    }

    fn shown(&self, op: i32, frame: &Frame) -> String {
        let mut body = Body(&frame.body);
        if frame.is_event() {
            let (kind, state) = (body.int(), body.int());
            return format!("event {kind} state {state} at {:?} zxid {}", body.text(), frame.zxid);
        }
        let mut text = format!("{} error {} zxid {}: ", frame.xid, frame.error, self.shown_zxid(frame.zxid));
        if !frame.body.is_empty() {
            text += &self.body(op, &mut body);
        }
        let _ = write!(text, " {:?}", body.0);
        text
    }

    fn body(&self, op: i32, body: &mut Body<'_>) -> String {
        match op {
            1 | 9 => body.text(),
            15 | 19 | 21 => format!("{} {}", body.text(), self.stat(body.stat())),
            3 | 5 | 7 | 13 => self.stat(body.stat()),
            4 => {
                let data = body.buffer().map(<[u8]>::to_vec);
                format!("{data:?} {}", self.stat(body.stat()))
            }
            6 => {
                let acls = body.list(|acl| (acl.int(), acl.text(), acl.text()));
                format!("{acls:?} {}", self.stat(body.stat()))
            }
            8 | 103 => sorted(body),
            12 => format!("{} {}", sorted(body), self.stat(body.stat())),
            104 | 106 => body.int().to_string(),
            107 => {
                // The order is unspecified.
                let mut who = body.list(|who| (who.text(), who.text()));
                who.sort();
                format!("{who:?}")
            }
            14 | 22 => self.results(body),
            _ => String::new(),
        }
    }

    /// Formats the results of a multi.
    fn results(&self, body: &mut Body<'_>) -> String {
        let mut text = String::new();
        loop {
            let (op, done, error) = (body.int(), body.bool(), body.int());
            let _ = write!(text, "\n        op {op} done {done} error {error}: ");
            match op {
                _ if done => return text,
                -1 => text += &body.int().to_string(),
                2 | 13 => {}
                op => text += &self.body(op, body),
            }
        }
    }

    fn stat(&self, stat: Stat) -> String {
        let owner = match self.place(stat.ephemeral_owner) {
            Some(session) => format!("session {session}"),
            None => stat.ephemeral_owner.to_string(),
        };
        format!(
            "czxid {} mzxid {} pzxid {} times {:?} versions {:?} owner {owner} data {} children {}",
            self.shown_zxid(stat.czxid),
            self.shown_zxid(stat.mzxid),
            self.shown_zxid(stat.pzxid),
            (stat.ctime != 0, stat.mtime != 0, stat.mtime >= stat.ctime),
            (stat.version, stat.cversion, stat.aversion),
            stat.data_length,
            stat.num_children,
        )
    }

    /// Formats a zxid: zero stays, all others count from the beginning of the scenario.
    fn shown_zxid(&self, zxid: i64) -> String {
        if zxid <= 0 { zxid.to_string() } else { format!("+{}", zxid - self.base) }
    }
}

fn raze(raw: &mut Raw, path: &str) {
    raw.ask(&Request::set_acl(path, &[ANYONE], -1));
    let listing = raw.ask(&Request::get_children(path, false)).pop().expect("a reply");
    if listing.error == 0 {
        let mut names = Body(&listing.body).list(Body::text);
        // A node that nobody may delete stays for the next case, with the transaction of its last
        // child's deletion: the order must not be the server's own.
        names.sort();
        for name in names {
            raze(raw, &format!("{path}/{name}"));
        }
    }
    raw.ask(&Request::delete(path, -1));
}

/// Formats a list of names, sorted because its order is unspecified.
fn sorted(body: &mut Body<'_>) -> String {
    let mut names = body.list(Body::text);
    names.sort();
    format!("{names:?}")
}
