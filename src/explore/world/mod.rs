//! The state of a run: the servers, the processes, and what is left of the bounds.

mod step;
mod steps;
mod take;

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::ensemble::{Ensemble, LinkId, Message, session_of};
use crate::process::{BehaviourId, Behaviours, Output};
use crate::program::{Program, Stage};
use crate::rules::{Judge, Limit, Violation};
use crate::scenario::Scenario;

pub use step::Step;

/// What is explored, and what its processes are known to do.
#[derive(Debug)]
pub struct Explored {
    /// The scenario.
    pub scenario: Scenario,
    /// The behaviours of each process.
    pub behaviours: Vec<Behaviours>,
}

/// The place of a process in a run.
#[derive(Clone, Debug, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact, and every combination occurs")]
struct Place {
    at: BehaviourId,
    /// The connection, while there is one.
    link: Option<LinkId>,
    /// The last zxid that it has seen.
    seen: i64,
    /// The number of connections so far.
    links: u32,
    /// Whether no message of it moves.
    stalled: bool,
    /// Whether it is stopped.
    stopped: bool,
    /// Whether it was told to give up.
    gave_up: bool,
    /// The seconds for which the servers have heard nothing of it.
    silent: u32,
    /// Whether the servers end its session as late as they may.
    lingers: bool,
}

/// The state of a run.
#[derive(Clone, Debug)]
pub struct World {
    /// The servers.
    pub ensemble: Ensemble,
    places: Vec<Place>,
    /// The seconds that have passed.
    second: u32,
    /// The seconds since the last step that the explorer was free to choose.
    calm: u32,
    faults_left: u32,
    waits_left: u32,
    /// The seconds for which each connection is given up whose late requests are left.
    late: Vec<(LinkId, u32)>,
    /// What must hold.
    pub judge: Judge,
}

impl Explored {
    /// Starts the processes of a scenario.
    pub fn new(scenario: Scenario) -> Self {
        let programs = scenario.programs.iter().cloned().enumerate();
        let behaviours = programs.map(|(index, program)| Behaviours::new(index, program, scenario.rounds)).collect();
        Self { scenario, behaviours }
    }
}

impl World {
    /// Creates the state at the start of a run: each process has a connection, to the members in
    /// turn.
    pub fn new(explored: &Explored) -> Self {
        let scenario = &explored.scenario;
        let mut ensemble = Ensemble::new(scenario.members as usize, scenario.first, scenario.masks());
        scenario.prepare(&mut ensemble);
        let mut places = Vec::new();
        for (client, behaviours) in explored.behaviours.iter().enumerate() {
            let link = Some(ensemble.start_session(client, client % scenario.members as usize));
            let at = behaviours.first();
            places.push(Place {
                at,
                link,
                seen: 0,
                links: 1,
                stalled: false,
                stopped: false,
                gave_up: false,
                silent: 0,
                lingers: false,
            });
        }
        let others = scenario.programs.iter().enumerate();
        let others = others.filter(|(_, program)| matches!(program, Program::Foreign(_))).map(|(client, _)| client);
        let patience = scenario.programs.iter().enumerate();
        let patience = patience.filter_map(|(client, program)| Some((client, program.patience()?)));
        let mut world = Self {
            ensemble,
            places,
            second: 0,
            calm: 0,
            faults_left: scenario.faults,
            waits_left: scenario.waits,
            late: Vec::new(),
            judge: Judge::new(others.collect(), scenario.first != 0, patience.collect()),
        };
        for client in 0..world.places.len() {
            world.send_requests(explored, client);
        }
        world
    }

    /// Returns the oldest message on its way to a client.
    pub fn next_message(&self, client: usize) -> Option<&Message> {
        let link = self.places[client].link.and_then(|link| self.ensemble.link(link))?;
        link.messages.front().map(|(_, message)| message)
    }

    /// Returns the member that a client is connected to.
    pub fn member_of(&self, client: usize) -> Option<usize> {
        Some(self.ensemble.link(self.places[client].link?)?.member)
    }

    /// Returns what a process has done last.
    pub fn output<'a>(&self, explored: &'a Explored, client: usize) -> &'a Output {
        explored.behaviours[client].output(self.places[client].at)
    }

    fn has_ended(&self, explored: &Explored, client: usize) -> bool {
        matches!(self.output(explored, client).facts.stage, Stage::Ended(_) | Stage::Idle)
    }

    /// Returns whether the servers have nodes of the programs' sessions.
    fn has_own_nodes(&self) -> bool {
        (0..self.places.len()).any(|client| self.ensemble.tree().ephemerals_of(session_of(client)).next().is_some())
    }

    /// Returns what does not hold at the end of a run: no step is possible any more.
    pub fn end(&self, explored: &Explored) -> Option<Violation> {
        for client in 0..self.places.len() {
            if !self.has_ended(explored, client) {
                let what = format!("client {client} waits forever");
                return Some(Violation { what, limit: self.why_blocked(explored) });
            }
            if let Some(path) = self.ensemble.tree().ephemerals_of(session_of(client)).next() {
                let what = format!("{path} is left behind");
                return Some(Violation { what, limit: self.why_blocked(explored) });
            }
        }
        None
    }

    /// Returns the limit that explains why a node of a living session still stands at the end.
    fn why_blocked(&self, explored: &Explored) -> Option<Limit> {
        let mut owners = (0..self.places.len())
            .filter(|client| self.ensemble.tree().ephemerals_of(session_of(*client)).next().is_some());
        if owners.any(|client| matches!(explored.scenario.programs[client], Program::Foreign(_))) {
            return Some(Limit::LeftByOthers);
        }
        self.judge.explain_blocked(&self.ensemble, self.places.len())
    }

    /// Returns the number of faults so far.
    pub fn faults_taken(&self, explored: &Explored) -> usize {
        (explored.scenario.faults - self.faults_left) as usize
    }

    /// Returns a hash of what the run has come to: the end of each program and of its rounds. What
    /// happens to the servers after all have ended does not matter, nor whether a lock was lost before
    /// or after its holder learned that it holds.
    pub fn final_state(&self, explored: &Explored) -> u64 {
        let mut hasher = DefaultHasher::new();
        for client in 0..self.places.len() {
            self.output(explored, client).facts.hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Returns a hash of the state. Two states with the same hash are taken for equal.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.ensemble, &self.places, self.second, self.calm, self.faults_left, self.waits_left, &self.late)
            .hash(&mut hasher);
        self.judge.hash(&mut hasher);
        hasher.finish()
    }
}
