//! The state of a run: the servers, the processes, and what is left of the bounds; and the steps
//! that lead from one state to the next.

mod steps;

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::str::FromStr;

use crate::ensemble::{LinkId, Refusal, SimulatedEnsemble, SimulatedMessage, session_of};
use crate::process::{BehaviourId, Behaviours, ProcessOutput};
use crate::program::{Program, Stage};
use crate::rules::{Judge, Limit, Violation};
use crate::scenario::SimulatedScenario;

/// What is explored, and what its processes are known to do.
#[derive(Debug)]
pub struct Explored {
    /// The scenario.
    pub scenario: SimulatedScenario,
    /// The behaviours of each process.
    pub behaviours: Vec<Behaviours>,
}

/// The place of a process in a run.
#[derive(Clone, Debug, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact, and every combination occurs")]
struct ProcessPlace {
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
pub struct SimulatedRun {
    /// The servers.
    pub ensemble: SimulatedEnsemble,
    places: Vec<ProcessPlace>,
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
    pub fn new(scenario: SimulatedScenario) -> Self {
        let programs = scenario.programs.iter().cloned().enumerate();
        let behaviours = programs.map(|(index, program)| Behaviours::new(index, program, scenario.rounds)).collect();
        Self { scenario, behaviours }
    }
}

impl SimulatedRun {
    /// Creates the state at the start of a run: each process has a connection, to the members in
    /// turn.
    pub fn new(explored: &Explored) -> Self {
        let scenario = &explored.scenario;
        let mut ensemble = SimulatedEnsemble::new(scenario.members as usize, scenario.first, scenario.masks());
        scenario.prepare(&mut ensemble);
        let mut places = Vec::new();
        for (client, behaviours) in explored.behaviours.iter().enumerate() {
            let link = Some(ensemble.start_session(client, client % scenario.members as usize));
            let at = behaviours.first();
            places.push(ProcessPlace {
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
    pub fn next_message(&self, client: usize) -> Option<&SimulatedMessage> {
        let link = self.places[client].link.and_then(|link| self.ensemble.link(link))?;
        link.messages.front().map(|(_, message)| message)
    }

    /// Returns the member that a client is connected to.
    pub fn member_of(&self, client: usize) -> Option<usize> {
        Some(self.ensemble.link(self.places[client].link?)?.member)
    }

    /// Returns what a process has done last.
    pub fn output<'a>(&self, explored: &'a Explored, client: usize) -> &'a ProcessOutput {
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
    /// happens to the servers after all have ended does not matter, nor whether a lock was lost
    /// before or after its holder learned that it holds.
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

/// A step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A member carries out the oldest request of a connection.
    CarryOut(LinkId),
    /// A client receives its oldest message.
    Receive(usize),
    /// A program that holds goes on, mostly to its release.
    Continue(usize),
    /// A client connects to this member.
    Connect(usize, usize),
    /// A lagging member applies one more transaction.
    Apply(usize),
    /// Seconds pass, as many or until something else must happen.
    Wait(u32),
    /// The messages of a connection move again.
    Unstall(usize),
    /// A stopped process goes on.
    Resume(usize),
    /// A fault: a client's connection breaks. Its member has received this many of the requests
    /// under way.
    Break(usize, usize),
    /// A fault: no message of a client moves, and it cannot connect.
    Stall(usize),
    /// A fault: a process is stopped.
    Stop(usize),
    /// A fault: the servers end a session.
    Expire(usize),
    /// A fault: a program drops its future or its guard, and ends.
    GiveUp(usize),
    /// A fault: a member lags from now on.
    Lag(usize),
    /// A fault: a member receives a late attempt of a client to connect.
    MoveBack(LinkId),
    /// A fault: a stranger deletes a node of a client. Counted from the greatest path down.
    DeleteNode(usize, usize),
    /// A fault: a stranger overwrites a node of a client. Counted as for a deletion.
    Overwrite(usize, usize),
    /// A fault: a member refuses the oldest request of a connection, or spoils its reply.
    Refuse(LinkId, Refusal),
    /// A fault: the servers end the next silent session of a client as late as they may.
    Linger(usize),
    /// A fault: the servers delete the lock parent, an empty container.
    Reap,
    /// A fault: a stranger deletes the lock parent and all nodes below it.
    Raze,
}

impl Step {
    /// Returns whether the step is a fault.
    pub fn is_fault(self) -> bool {
        matches!(
            self,
            Self::Break(..)
                | Self::Stall(_)
                | Self::Stop(_)
                | Self::Expire(_)
                | Self::GiveUp(_)
                | Self::Lag(_)
                | Self::MoveBack(_)
                | Self::DeleteNode(..)
                | Self::Overwrite(..)
                | Self::Refuse(..)
                | Self::Linger(_)
                | Self::Reap
                | Self::Raze
        )
    }

    /// Returns the client whose step it is.
    pub fn client(self) -> Option<usize> {
        match self {
            Self::CarryOut(link) | Self::MoveBack(link) | Self::Refuse(link, _) => Some(link.client),
            Self::Receive(client)
            | Self::Continue(client)
            | Self::Connect(client, _)
            | Self::Unstall(client)
            | Self::Resume(client)
            | Self::Break(client, _)
            | Self::Stall(client)
            | Self::Stop(client)
            | Self::Expire(client)
            | Self::GiveUp(client)
            | Self::Linger(client)
            | Self::DeleteNode(client, _)
            | Self::Overwrite(client, _) => Some(client),
            Self::Apply(_) | Self::Wait(_) | Self::Lag(_) | Self::Reap | Self::Raze => None,
        }
    }
}

fn refusal(why: Refusal) -> &'static str {
    match why {
        Refusal::Throttled => "throttle",
        Refusal::Quota => "exceed",
        Refusal::Garbled => "garble",
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CarryOut(link) => write!(f, "carry-out {}.{}", link.client, link.number),
            Self::Receive(client) => write!(f, "receive {client}"),
            Self::Continue(client) => write!(f, "continue {client}"),
            Self::Connect(client, member) => write!(f, "connect {client} {member}"),
            Self::Apply(member) => write!(f, "apply {member}"),
            Self::Wait(seconds) => write!(f, "wait {seconds}"),
            Self::Unstall(client) => write!(f, "unstall {client}"),
            Self::Resume(client) => write!(f, "resume {client}"),
            Self::Break(client, arrived) => write!(f, "break {client} {arrived}"),
            Self::Stall(client) => write!(f, "stall {client}"),
            Self::Stop(client) => write!(f, "stop {client}"),
            Self::Expire(client) => write!(f, "expire {client}"),
            Self::GiveUp(client) => write!(f, "give-up {client}"),
            Self::Lag(member) => write!(f, "lag {member}"),
            Self::MoveBack(link) => write!(f, "move-back {}.{}", link.client, link.number),
            Self::DeleteNode(client, 0) => write!(f, "delete-node {client}"),
            Self::DeleteNode(client, node) => write!(f, "delete-node {client} {node}"),
            Self::Overwrite(client, 0) => write!(f, "overwrite {client}"),
            Self::Overwrite(client, node) => write!(f, "overwrite {client} {node}"),
            Self::Refuse(link, why) => write!(f, "{} {}.{}", refusal(*why), link.client, link.number),
            Self::Linger(client) => write!(f, "linger {client}"),
            Self::Reap => f.write_str("reap"),
            Self::Raze => f.write_str("raze"),
        }
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let numbers: Vec<&str> = words.flat_map(|word| word.split('.')).collect();
        let number = |at: usize| {
            numbers.get(at).and_then(|number| number.parse::<u32>().ok()).ok_or_else(|| format!("not a step: {text}"))
        };
        let place = |at| number(at).map(|number| number as usize);
        let link = || Ok::<_, String>(LinkId { client: place(0)?, number: number(1)? });
        Ok(match name {
            "carry-out" => Self::CarryOut(link()?),
            "receive" => Self::Receive(place(0)?),
            "continue" => Self::Continue(place(0)?),
            "connect" => Self::Connect(place(0)?, place(1)?),
            "apply" => Self::Apply(place(0)?),
            "wait" => Self::Wait(number(0)?),
            "unstall" => Self::Unstall(place(0)?),
            "resume" => Self::Resume(place(0)?),
            "break" => Self::Break(place(0)?, place(1)?),
            "stall" => Self::Stall(place(0)?),
            "stop" => Self::Stop(place(0)?),
            "expire" => Self::Expire(place(0)?),
            "give-up" => Self::GiveUp(place(0)?),
            "lag" => Self::Lag(place(0)?),
            "move-back" => Self::MoveBack(link()?),
            "delete-node" => Self::DeleteNode(place(0)?, place(1).unwrap_or(0)),
            "overwrite" => Self::Overwrite(place(0)?, place(1).unwrap_or(0)),
            "throttle" => Self::Refuse(link()?, Refusal::Throttled),
            "exceed" => Self::Refuse(link()?, Refusal::Quota),
            "garble" => Self::Refuse(link()?, Refusal::Garbled),
            "linger" => Self::Linger(place(0)?),
            "reap" => Self::Reap,
            "raze" => Self::Raze,
            _ => return Err(format!("not a step: {text}")),
        })
    }
}
