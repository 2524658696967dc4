//! The steps that are possible in a state.

use super::{Explored, LinkId, Step, World};
use crate::ensemble::{LEADER, Refusal, Request, WriteOp, session_of};
use crate::program::{LOCK, Stage};

/// The seconds that a run may wait at once: for a check after one second, for a check after five,
/// for the end of a session that nobody hears from.
const WAITS: [u32; 3] = [1, 6, 30];

/// The seconds without faults and without anybody who holds after which a waiter waits forever: six
/// session timeouts.
const MAX_CALM: u32 = 120;

impl World {
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
    pub(super) fn must_happen(&self, explored: &Explored, steps: &mut Vec<Step>) {
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
    pub(super) fn only_time_is_left(&self, explored: &Explored) -> bool {
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
