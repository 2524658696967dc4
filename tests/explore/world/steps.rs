//! Which steps are possible in a state, and what each of them does.

use std::sync::Arc;

use super::{Explored, LinkId, SimulatedRun, Step};
use crate::ensemble::{LEADER, Refusal, Request, SimulatedMessage, WriteOp, session_of};
use crate::library::{NOTICES_SILENCE_AFTER, TIMEOUT};
use crate::process::ProcessInput;
use crate::program::{LOCK, Stage};
use crate::rules::{Reach, Violation};

/// The seconds that a run may wait at once: for a check after one second, for a check after five,
/// for the end of a session that nobody hears from.
const WAITS: [u32; 3] = [1, 6, 30];

/// The seconds without faults and without anybody who holds after which a waiter waits forever: six
/// session timeouts.
const MAX_CALM: u32 = 120;

impl SimulatedRun {
    /// Returns the steps that are possible now, in an order that depends on the state alone.
    ///
    /// Reduced, only steps that differ in their effects are given: while a client has a message to
    /// receive, the steps of the first such client alone. All other steps commute with them.
    pub fn steps(&self, explored: &Explored, reduced: bool) -> Vec<Step> {
        let mut steps = Vec::new();
        for client in 0..self.places.len() {
            if self.has_message(client) {
                steps.push(Step::Receive(client));
                if reduced {
                    self.own_steps(explored, client, &mut steps);
                    return steps;
                }
            }
        }
        self.orders(explored, &mut steps);
        if !steps.is_empty() {
            self.faults(explored, &mut steps);
        }
        steps
    }

    /// Returns the steps that are possible now and are no faults: none at the end of a run.
    pub fn plain_steps(&self, explored: &Explored) -> Vec<Step> {
        let mut steps: Vec<Step> =
            (0..self.places.len()).filter(|client| self.has_message(*client)).map(Step::Receive).collect();
        self.orders(explored, &mut steps);
        steps
    }

    /// Adds the steps that are no faults, beside the messages that clients receive.
    fn orders(&self, explored: &Explored, steps: &mut Vec<Step>) {
        self.must_happen(explored, steps);
        let is_quiet = steps.is_empty();
        self.may_happen(explored, is_quiet, steps);
        if is_quiet {
            self.pass(explored, steps);
        }
    }

    /// Adds the faults that are possible now.
    pub fn faults(&self, explored: &Explored, steps: &mut Vec<Step>) {
        if !self.is_over(explored) {
            for client in 0..self.places.len() {
                self.faults_of(explored, client, steps);
            }
            self.faults_of_servers(explored, steps);
        }
    }

    /// Returns whether all programs have ended, and nothing of theirs is left.
    fn is_over(&self, explored: &Explored) -> bool {
        (0..self.places.len()).all(|client| self.has_ended(explored, client)) && !self.has_own_nodes()
    }

    fn has_message(&self, client: usize) -> bool {
        let place = &self.places[client];
        let link = place.link.filter(|_| !place.stalled && !place.stopped).and_then(|link| self.ensemble.link(link));
        link.is_some_and(|link| !link.messages.is_empty())
    }

    /// Adds the steps that reach a client beside its next message.
    fn own_steps(&self, explored: &Explored, client: usize, steps: &mut Vec<Step>) {
        if self.is_holding(explored, client) {
            steps.push(Step::Continue(client));
        }
        self.faults_of(explored, client, steps);
    }

    fn is_holding(&self, explored: &Explored, client: usize) -> bool {
        self.output(explored, client).facts.stage == Stage::Holds && !self.places[client].stopped
    }

    /// Adds the steps that need no time.
    fn must_happen(&self, explored: &Explored, steps: &mut Vec<Step>) {
        for (client, place) in self.places.iter().enumerate() {
            if place.stalled {
                continue;
            }
            match place.link {
                Some(id) if self.ensemble.link(id).is_some_and(|link| !link.requests.is_empty()) => {
                    steps.push(Step::CarryOut(id));
                }
                None if !place.stopped && !self.output(explored, client).session_over => {
                    let members = if self.ensemble.lives(session_of(client)) { self.ensemble.members() } else { 1 };
                    steps.extend((0..members).map(|member| Step::Connect(client, member)));
                }
                _ => {}
            }
        }
    }

    /// Adds the steps that can wait for any time.
    fn may_happen(&self, explored: &Explored, is_quiet: bool, steps: &mut Vec<Step>) {
        steps.extend(self.late.iter().map(|(id, _)| Step::CarryOut(*id)));
        // A member may lack a transaction for as long as it hears its leader.
        let lags = |member: &usize| self.ensemble.lag_of(*member) == (true, true);
        steps.extend((0..self.ensemble.members()).filter(lags).map(Step::Apply));
        for (client, place) in self.places.iter().enumerate() {
            if self.is_holding(explored, client) {
                steps.push(Step::Continue(client));
            }
            if place.stopped && is_quiet {
                steps.push(Step::Resume(client));
            }
            if place.stalled && is_quiet {
                steps.push(Step::Unstall(client));
            }
        }
    }

    /// Returns whether nothing can happen but that time passes.
    fn only_time_is_left(&self, explored: &Explored) -> bool {
        let mut steps = Vec::new();
        self.must_happen(explored, &mut steps);
        self.may_happen(explored, true, &mut steps);
        steps.is_empty()
    }

    /// Adds the steps in which time passes: for free if nothing else can happen.
    fn pass(&self, explored: &Explored, steps: &mut Vec<Step>) {
        if !steps.is_empty() {
            let seconds = WAITS.iter().filter(|_| self.waits_left > 0);
            steps.extend(seconds.map(|seconds| Step::Wait(*seconds)));
        } else if !self.is_over(explored) && self.calm < MAX_CALM {
            steps.push(Step::Wait(WAITS[2]));
        }
    }

    fn faults_of(&self, explored: &Explored, client: usize, steps: &mut Vec<Step>) {
        if self.faults_left == 0 || self.has_ended(explored, client) && self.output(explored, client).is_done {
            return;
        }
        let place = &self.places[client];
        let lives = self.ensemble.lives(session_of(client));
        if lives {
            steps.push(Step::Expire(client));
            if !place.lingers && place.silent > 0 {
                steps.push(Step::Linger(client));
            }
        }
        if place.stopped {
            return;
        }
        steps.push(Step::Stop(client));
        if !place.stalled && !self.output(explored, client).session_over {
            steps.push(Step::Stall(client));
        }
        if let Some(link) = place.link.and_then(|link| self.ensemble.link(link)) {
            steps.extend((0..=link.requests.len()).map(|arrived| Step::Break(client, arrived)));
            if explored.scenario.refusals {
                self.refusals_of(client, steps);
            }
        }
        if !place.gave_up && !self.has_ended(explored, client) && explored.scenario.programs[client].may_give_up() {
            steps.push(Step::GiveUp(client));
        }
    }

    /// Adds the refusals of a client's oldest request. The request that sets the watches of a new
    /// connection is part of the connection.
    fn refusals_of(&self, client: usize, steps: &mut Vec<Step>) {
        let Some(id) = self.places[client].link.filter(|_| !self.places[client].stalled) else { return };
        let request = self.ensemble.link(id).and_then(|link| link.requests.front());
        let Some((_, request)) = request.filter(|(_, request)| !matches!(request, Request::SetWatches { .. })) else {
            return;
        };
        steps.push(Step::Refuse(id, Refusal::Throttled));
        // A library that can read no reply at all can clean up nothing.
        if !self.judge.is_refused(client) {
            steps.push(Step::Refuse(id, Refusal::Garbled));
        }
        if matches!(request, Request::Write(WriteOp::Create(_) | WriteOp::SetData { .. }) | Request::Multi(_)) {
            steps.push(Step::Refuse(id, Refusal::Quota));
        }
    }

    fn faults_of_servers(&self, explored: &Explored, steps: &mut Vec<Step>) {
        if self.faults_left == 0 {
            return;
        }
        if self.ensemble.is_reapable(LOCK) {
            steps.push(Step::Reap);
        }
        let members = (0..self.ensemble.members()).filter(|member| *member != LEADER);
        steps.extend(members.filter(|member| !self.ensemble.lag_of(*member).0).map(Step::Lag));
        let is_elsewhere = |id: &LinkId| self.ensemble.is_elsewhere(*id);
        steps.extend(self.late.iter().map(|(id, _)| *id).filter(is_elsewhere).map(Step::MoveBack));
        if explored.scenario.strangers {
            for client in 0..self.places.len() {
                let nodes = self.ensemble.tree().ephemerals_of(session_of(client)).count();
                steps.extend(
                    (0..nodes).flat_map(|node| [Step::DeleteNode(client, node), Step::Overwrite(client, node)]),
                );
            }
            if self.ensemble.tree().node(LOCK).is_ok() {
                steps.push(Step::Raze);
            }
        }
    }
}

/// The seconds of silence after which the servers end a session, at the earliest: they may have
/// heard from its client last a fifth of the timeout before the silence.
const ENDS_SESSION_AFTER: u32 = TIMEOUT * 4 / 5;

/// The same, at the latest: they look a fifth of the timeout late.
const ENDS_SESSION_WITHIN: u32 = TIMEOUT * 6 / 5;

impl SimulatedRun {
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
                let is_event = matches!(self.next_message(client), Some(SimulatedMessage::Event { .. }));
                by_event = Some(client).filter(|_| is_event);
                if let Some(message) = self.receive(client) {
                    self.give(explored, client, ProcessInput::Message(message));
                }
            }
            Step::Continue(client) => self.give(explored, client, ProcessInput::Continue),
            Step::Connect(client, member) => self.connect(explored, client, member),
            Step::Apply(member) => self.ensemble.advance(member),
            Step::Wait(seconds) => return self.wait(explored, seconds),
            Step::Unstall(client) => self.unstall(client),
            Step::Resume(client) => self.resume(explored, client),
            Step::Break(client, arrived) => {
                self.break_link(client, arrived);
                self.give(explored, client, ProcessInput::Broken);
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
                self.give(explored, client, ProcessInput::GiveUp);
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
    fn receive(&mut self, client: usize) -> Option<SimulatedMessage> {
        let (zxid, message) = self.ensemble.receive(self.places[client].link?)?;
        self.places[client].seen = self.places[client].seen.max(zxid);
        Some(message)
    }

    /// Gives an input to a process, and sends its requests.
    fn give(&mut self, explored: &mut Explored, client: usize, input: ProcessInput) {
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
            self.give(explored, client, ProcessInput::Connected);
        } else {
            self.give(explored, client, ProcessInput::Expired);
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
        self.give(explored, client, ProcessInput::Resumed { second: self.second, messages });
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
                    self.give(explored, client, ProcessInput::Second(self.second));
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
            self.give(explored, client, ProcessInput::Silent);
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
