//! A client, and what moves between it and the servers.

use std::sync::{Arc, Mutex};

use lockscope_explore::ensemble::{Link, LinkId, Request, SimulatedEnsemble};
use lockscope_explore::library::{Library, NOTICES_SILENCE_AFTER, SharedLibrary, lock};
use zookeeper_client::SessionState;

/// What is held up, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    Nothing,
    /// The next request, and everything after it.
    FromRequest,
    /// The next message of a server, and everything after it.
    FromMessage,
    Everything,
}

/// A client with its connection to one member.
#[derive(Debug)]
pub struct Client {
    pub library: SharedLibrary,
    pub hold: Hold,
    /// Whether new connections are refused.
    pub is_refused: bool,
    index: usize,
    member: usize,
    link: Option<LinkId>,
    /// The number of connections so far.
    links: u32,
    /// The last zxid that it has seen.
    seen: i64,
    /// The seconds for which its connection is silent.
    silent_for: u32,
}

impl Client {
    /// Starts a session on a member.
    pub fn start(ensemble: &mut SimulatedEnsemble, index: usize, member: usize) -> Self {
        let link = Some(ensemble.start_session(index, member));
        let library = Arc::new(Mutex::new(Library::new(index)));
        let hold = Hold::Nothing;
        Self { library, hold, is_refused: false, index, member, link, links: 1, seen: 0, silent_for: 0 }
    }

    /// Moves one thing that is not held up. Returns whether there was one.
    pub fn step(&mut self, ensemble: &mut SimulatedEnsemble) -> bool {
        let Some(link) = self.link else { return false };
        for (xid, mut request) in lock(&self.library).take_sent() {
            if let Request::SetWatches { seen, .. } = &mut request {
                *seen = self.seen;
            }
            ensemble.send(link, xid, request);
        }
        let has = |items: fn(&Link) -> bool| ensemble.link(link).is_some_and(items);
        let (sent, answered) = (has(|link| !link.requests.is_empty()), has(|link| !link.messages.is_empty()));
        match self.hold {
            Hold::FromRequest if sent => self.hold = Hold::Everything,
            Hold::FromMessage if answered => self.hold = Hold::Everything,
            _ => {}
        }
        if self.hold == Hold::Everything {
            return false;
        }
        if sent {
            ensemble.carry_out(link);
        } else if let Some((zxid, message)) = ensemble.receive(link) {
            self.seen = self.seen.max(zxid);
            lock(&self.library).receive(&message);
        }
        if !lock(&self.library).connected {
            self.break_link(ensemble);
        }
        sent || answered
    }

    /// Connects to the member, if there is no connection and none is held up.
    pub fn connect(&mut self, ensemble: &mut SimulatedEnsemble) {
        let mut library = lock(&self.library);
        if self.link.is_some() || self.is_refused || self.hold == Hold::Everything || library.is_over() {
            return;
        }
        let id = LinkId { client: self.index, number: self.links };
        if ensemble.connect(id, self.member, self.seen) {
            self.links += 1;
            self.link = Some(id);
            library.connect();
        } else {
            library.end(SessionState::Expired);
        }
    }

    /// Breaks the connection. What is under way is lost.
    fn break_link(&mut self, ensemble: &mut SimulatedEnsemble) {
        if let Some(link) = self.link.take() {
            ensemble.break_link(link, 0);
        }
    }

    /// Cuts the connection, and refuses new ones.
    pub fn cut(&mut self, ensemble: &mut SimulatedEnsemble) {
        (self.is_refused, self.hold) = (true, Hold::Nothing);
        self.break_link(ensemble);
        lock(&self.library).disconnect();
    }

    /// Lets a second pass.
    pub fn pass(&mut self, ensemble: &mut SimulatedEnsemble) {
        let is_silent = self.link.is_some() && self.hold == Hold::Everything;
        self.silent_for = if is_silent { self.silent_for + 1 } else { 0 };
        if self.silent_for == NOTICES_SILENCE_AFTER {
            self.break_link(ensemble);
            lock(&self.library).notice_silence();
        }
        lock(&self.library).pass();
    }
}
