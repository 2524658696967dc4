//! Takes a step.

use std::sync::Arc;

use super::{Explored, LinkId, Step, World};
use crate::ensemble::{Message, Refusal, Request, WriteOp, session_of};
use crate::library::{NOTICES_SILENCE_AFTER, TIMEOUT};
use crate::process::Input;
use crate::program::LOCK;
use crate::rules::{Reach, Violation};

/// The seconds of silence after which the servers end a session, at the earliest: they may have
/// heard from its client last a fifth of the timeout before the silence.
const ENDS_SESSION_AFTER: u32 = TIMEOUT * 4 / 5;

/// The same, at the latest: they look a fifth of the timeout late.
const ENDS_SESSION_WITHIN: u32 = TIMEOUT * 6 / 5;

impl World {
    /// Takes a step. Returns what does not hold after it.
    pub fn take(&mut self, explored: &mut Explored, step: Step) -> Option<Violation> {
        self.faults_left -= u32::from(step.is_fault());
        let is_late = |id| self.late.iter().any(|(late, _)| *late == id);
        match step {
            Step::Wait(_) | Step::Receive(_) | Step::Apply(_) => {}
            Step::CarryOut(id) if !is_late(id) => {}
            _ => self.calm = 0,
        }
        let mut by_event = None;
        match step {
            Step::CarryOut(id) => self.carry_out(id),
            Step::Receive(client) => {
                let is_event = matches!(self.next_message(client), Some(Message::Event { .. }));
                by_event = Some(client).filter(|_| is_event);
                if let Some(message) = self.receive(client) {
                    self.give(explored, client, Input::Message(message));
                }
            }
            Step::Continue(client) => self.give(explored, client, Input::Continue),
            Step::Connect(client, member) => self.connect(explored, client, member),
            Step::Apply(member) => self.ensemble.advance(member),
            Step::Wait(seconds) => return self.wait(explored, seconds),
            Step::Unstall(client) => self.unstall(client),
            Step::Resume(client) => self.resume(explored, client),
            Step::Break(client, arrived) => {
                self.break_link(client, arrived);
                self.give(explored, client, Input::Broken);
            }
            Step::Stall(client) => {
                self.places[client].stalled = true;
                self.judge.stalls(client);
            }
            Step::Stop(client) => {
                self.places[client].stopped = true;
                self.judge.stops(client, self.second);
            }
            Step::Expire(client) => self.expire(client),
            Step::GiveUp(client) => {
                self.places[client].gave_up = true;
                self.give(explored, client, Input::GiveUp);
            }
            Step::Lag(member) => self.ensemble.lag(member),
            Step::MoveBack(id) => self.ensemble.move_back(id),
            Step::DeleteNode(client, node) => {
                self.stranger(client, node, |path| WriteOp::Delete { path, version: None });
            }
            Step::Overwrite(client, node) => {
                let data = (*b"stranger").into();
                self.stranger(client, node, |path| WriteOp::SetData { path, data, version: None });
            }
            Step::Refuse(id, why) => {
                self.judge.refuses(id.client);
                if why == Refusal::Garbled {
                    self.will_carry_out(id);
                }
                self.ensemble.refuse(id, why);
                self.forget_late();
            }
            Step::Linger(client) => self.places[client].lingers = true,
            Step::Reap => drop(self.ensemble.reap(LOCK)),
            Step::Raze => self.raze(),
        }
        self.check(explored, by_event)
    }

    fn check(&mut self, explored: &Explored, by_event: Option<usize>) -> Option<Violation> {
        let fresh = self.ensemble.take_fresh();
        let facts: Vec<_> = (0..self.places.len()).map(|client| &self.output(explored, client).facts).collect();
        let over: Vec<bool> = (0..self.places.len()).map(|client| self.output(explored, client).session_over).collect();
        let reach: Vec<Reach> = (0..self.places.len()).map(|client| self.reach_of(client)).collect();
        self.judge.check(&self.ensemble, &fresh, &facts, by_event, |client| reach[client], |client| over[client])
    }

    /// Returns how far a client has been told of everything.
    fn reach_of(&self, client: usize) -> Reach {
        let place = &self.places[client];
        let link = place.link.filter(|_| !place.stalled && !place.stopped).and_then(|id| self.ensemble.link(id));
        let Some(link) = link else { return Reach::Silent };
        let is_quiet = link.requests.is_empty() && link.messages.is_empty();
        if is_quiet && !self.ensemble.lag_of(link.member).1 { Reach::Current } else { Reach::Behind }
    }

    fn will_carry_out(&mut self, id: LinkId) {
        if let Some((_, request)) = self.ensemble.link(id).and_then(|link| link.requests.front()) {
            let request = request.clone();
            self.judge.carries_out(&self.ensemble, id, &request);
        }
    }

    fn carry_out(&mut self, id: LinkId) {
        self.will_carry_out(id);
        self.ensemble.carry_out(id);
        self.forget_late();
    }

    /// Takes the oldest message to a client from its connection.
    fn receive(&mut self, client: usize) -> Option<Message> {
        let (zxid, message) = self.ensemble.receive(self.places[client].link?)?;
        self.places[client].seen = self.places[client].seen.max(zxid);
        Some(message)
    }

    /// Gives an input to a process, and sends its requests.
    fn give(&mut self, explored: &mut Explored, client: usize, input: Input) {
        let place = &mut self.places[client];
        place.at = explored.behaviours[client].step(place.at, input);
        let output = self.output(explored, client);
        if !output.connected {
            // A client that closes its session sends its last requests before.
            let closes = output.session_over && self.ensemble.lives(session_of(client));
            self.break_link(client, if closes { usize::MAX } else { 0 });
        }
        self.send_requests(explored, client);
    }

    pub(super) fn send_requests(&mut self, explored: &Explored, client: usize) {
        let Some(link) = self.places[client].link else { return };
        let seen = self.places[client].seen;
        for (xid, request) in &self.output(explored, client).requests {
            let mut request = request.clone();
            if let Request::SetWatches { seen: since, .. } = &mut request {
                *since = seen;
            }
            self.ensemble.send(link, *xid, request);
        }
    }

    fn break_link(&mut self, client: usize, arrived: usize) {
        let Some(link) = self.places[client].link.take() else { return };
        self.judge.breaks(client);
        self.ensemble.break_link(link, arrived);
        self.late.push((link, 0));
        self.forget_late();
    }

    fn expire(&mut self, client: usize) {
        self.ensemble.expire(session_of(client));
        self.forget_late();
    }

    fn forget_late(&mut self) {
        self.late.retain(|(id, _)| self.ensemble.link(*id).is_some());
    }

    fn connect(&mut self, explored: &mut Explored, client: usize, member: usize) {
        let link = LinkId { client, number: self.places[client].links };
        let seen = self.places[client].seen;
        if self.ensemble.connect(link, member, seen) {
            self.places[client].links += 1;
            self.places[client].silent = 0;
            self.places[client].link = Some(link);
            self.judge.connects(client);
            self.give(explored, client, Input::Connected);
        } else {
            self.give(explored, client, Input::Expired);
        }
        self.forget_late();
    }

    fn unstall(&mut self, client: usize) {
        self.places[client].stalled = false;
        self.hear(client);
    }

    /// Lets the servers hear a client whose messages move again: a heartbeat is the first.
    fn hear(&mut self, client: usize) {
        let place = &mut self.places[client];
        if place.link.is_some() && !place.stalled && !place.stopped {
            place.silent = 0;
        }
    }

    fn resume(&mut self, explored: &mut Explored, client: usize) {
        self.places[client].stopped = false;
        self.judge.resumes(client, self.second, self.ensemble.lives(session_of(client)));
        self.hear(client);
        let mut messages = Vec::new();
        if !self.places[client].stalled {
            messages.extend(std::iter::from_fn(|| self.receive(client)));
        }
        self.give(explored, client, Input::Resumed { second: self.second, messages });
    }

    /// Lets seconds pass, until something must happen.
    fn wait(&mut self, explored: &mut Explored, seconds: u32) -> Option<Violation> {
        let is_free = self.only_time_is_left(explored);
        if !is_free {
            self.waits_left = self.waits_left.saturating_sub(1);
            self.calm = 0;
        }
        for _ in 0..seconds {
            self.second += 1;
            self.calm += 1;
            for client in 0..self.places.len() {
                if !self.places[client].stopped && !self.output(explored, client).is_done {
                    self.give(explored, client, Input::Second(self.second));
                }
                if !self.places[client].stopped {
                    let (lives, has_connection) =
                        (self.ensemble.lives(session_of(client)), self.places[client].link.is_some());
                    self.judge.runs(client, lives, has_connection, self.reach_of(client) == Reach::Current);
                }
                self.be_silent(explored, client);
            }
            self.close_late();
            let violation = self.check(explored, None);
            let mut must = Vec::new();
            self.must_happen(explored, &mut must);
            if violation.is_some() || !must.is_empty() || is_free && !self.only_time_is_left(explored) {
                return violation;
            }
        }
        None
    }

    /// Lets a second pass for a client that the servers do not hear: it notices the silence, and they
    /// end its session.
    fn be_silent(&mut self, explored: &mut Explored, client: usize) {
        let place = &mut self.places[client];
        if place.link.is_some() && !place.stalled && !place.stopped {
            place.silent = 0;
            return;
        }
        place.silent += 1;
        let silent = place.silent;
        if silent == NOTICES_SILENCE_AFTER && place.link.is_some() && !place.stopped {
            self.break_link(client, usize::MAX);
            self.give(explored, client, Input::Silent);
        }
        let ends_after = if self.places[client].lingers { ENDS_SESSION_WITHIN } else { ENDS_SESSION_AFTER };
        if silent == ends_after && self.ensemble.lives(session_of(client)) {
            self.judge.ends_by_silence(client);
            self.expire(client);
        }
    }

    /// Lets the servers close connections of which they have heard nothing for a session timeout.
    fn close_late(&mut self) {
        for (id, age) in &mut self.late {
            *age += 1;
            if *age > TIMEOUT {
                self.ensemble.break_link(*id, 0);
            }
        }
        self.forget_late();
    }

    /// Lets a stranger write to a client's node.
    fn stranger(&mut self, client: usize, node: usize, write: impl FnOnce(Arc<str>) -> WriteOp) {
        let mut paths: Vec<Arc<str>> = self.ensemble.tree().ephemerals_of(session_of(client)).cloned().collect();
        paths.reverse();
        let path = paths.into_iter().nth(node);
        path.map(|path| self.ensemble.stranger(&[write(path)]));
    }

    /// Lets a stranger delete the lock parent and all nodes below it.
    fn raze(&mut self) {
        let mut open = vec![Arc::from(LOCK)];
        let mut deletes = Vec::new();
        while let Some(path) = open.pop() {
            let Ok(node) = self.ensemble.tree().node(&path) else { continue };
            open.extend(node.children.iter().map(|name| format!("{path}/{name}").into()));
            deletes.push(WriteOp::Delete { path, version: None });
        }
        deletes.reverse();
        self.ensemble.stranger(&deletes);
    }
}
