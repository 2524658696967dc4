//! What is explored: programs, servers, and the bounds of faults. Each scenario has a text, such as
//! `programs=chain,chain rounds=1 faults=2 waits=0 members=1 strangers`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::ensemble::{Create, Ensemble, Permits, WriteOp};
use crate::program::{LOCK, Program, RESOURCE};

/// What is explored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// One program for each process.
    pub programs: Vec<Program>,
    /// The number of acquisitions of each program.
    pub rounds: u32,
    /// The number of servers. The first is the leader.
    pub members: u32,
    /// The maximum number of faults of a run.
    pub faults: u32,
    /// The maximum number of times that time passes although something else could happen.
    pub waits: u32,
    /// Whether a stranger may delete and overwrite nodes.
    pub strangers: bool,
    /// Whether the lock parent is missing at first.
    pub new_parent: bool,
    /// The first sequential number of each parent.
    pub first: i32,
    /// Whether members may refuse requests, and spoil replies.
    pub refusals: bool,
    /// What the servers permit and know.
    pub permits: Permits,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            programs: Vec::new(),
            rounds: 1,
            members: 1,
            faults: 0,
            waits: 0,
            strangers: false,
            new_parent: false,
            first: 0,
            refusals: false,
            permits: Permits::default(),
        }
    }
}

impl Scenario {
    /// Returns whether the servers' replies may hold no more than what the lock library reads.
    pub fn masks(&self) -> bool {
        self.programs.iter().all(Program::reads_little)
    }

    /// Makes the nodes that the programs expect.
    pub fn prepare(&self, ensemble: &mut Ensemble) {
        ensemble.permits = self.permits;
        let node = |path: &str| {
            let (path, data) = (path.into(), Arc::new([]));
            WriteOp::Create(Create { path, data, ephemeral: false, sequential: false, container: true })
        };
        ensemble.stranger(&[node(RESOURCE)]);
        if !self.new_parent && self.programs.iter().all(Program::has_parent) {
            ensemble.stranger(&[node(LOCK)]);
        }
        ensemble.take_fresh();
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let programs: Vec<String> = self.programs.iter().map(ToString::to_string).collect();
        let Self { rounds, faults, waits, members, .. } = self;
        write!(f, "programs={} rounds={rounds} faults={faults} waits={waits} members={members}", programs.join(","))?;
        if self.first != 0 {
            write!(f, " first={}", self.first)?;
        }
        let Permits { private, fixed, old_servers } = self.permits;
        let words = [
            (self.strangers, " strangers"),
            (self.new_parent, " new-parent"),
            (self.refusals, " refusals"),
            (private, " private"),
            (fixed.is_some(), " fixed-parent"),
            (old_servers, " old-servers"),
        ];
        words.into_iter().filter(|(has, _)| *has).try_for_each(|(_, word)| f.write_str(word))
    }
}

impl FromStr for Scenario {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut scenario = Self::default();
        for word in text.split_whitespace() {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let number = || value.parse::<u32>().map_err(|_| format!("not a number: {word}"));
            match key {
                "programs" => {
                    scenario.programs = value.split(',').map(str::parse).collect::<Result<_, String>>()?;
                }
                "rounds" => scenario.rounds = number()?,
                "faults" => scenario.faults = number()?,
                "waits" => scenario.waits = number()?,
                "members" => scenario.members = number()?.max(1),
                "first" => scenario.first = value.parse().map_err(|_| format!("not a number: {word}"))?,
                "strangers" => scenario.strangers = true,
                "new-parent" => scenario.new_parent = true,
                "refusals" => scenario.refusals = true,
                "private" => scenario.permits.private = true,
                "fixed-parent" => scenario.permits.fixed = Some(LOCK),
                "old-servers" => scenario.permits.old_servers = true,
                _ => return Err(format!("not a part of a scenario: {word}")),
            }
        }
        if scenario.programs.is_empty() {
            return Err("a scenario needs programs, such as `programs=chain,chain`".to_owned());
        }
        Ok(scenario)
    }
}
