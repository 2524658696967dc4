//! What is explored: programs, servers, and the bounds of faults; and the scenarios that the tests
//! run.
//!
//! Each scenario has a text, such as `programs=chain,chain rounds=1 faults=2 waits=0 members=1
//! strangers`. The suite also says which documented limits each scenario may meet.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::ensemble::{CreatedNode, Permits, SimulatedEnsemble, WriteOp};
use crate::program::{GUARDED, LOCK, Program, RESOURCE, Use};
use crate::rules::Limit;

/// What is explored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedScenario {
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

impl Default for SimulatedScenario {
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

impl SimulatedScenario {
    /// Returns whether the servers' replies may hold no more than what the lock library reads.
    pub fn masks(&self) -> bool {
        self.programs.iter().all(Program::reads_little)
    }

    /// Makes the nodes that the programs expect.
    pub fn prepare(&self, ensemble: &mut SimulatedEnsemble) {
        ensemble.permits = self.permits;
        let node = |path: &str| {
            let (path, data) = (path.into(), Arc::new([]));
            WriteOp::Create(CreatedNode { path, data, ephemeral: false, sequential: false, container: true })
        };
        ensemble.stranger(&[node(RESOURCE)]);
        if self.programs.iter().any(|program| matches!(program, Program::Lock(lock) if lock.used == Use::Guarded)) {
            ensemble.stranger(&[node(GUARDED)]);
        }
        if !self.new_parent && self.programs.iter().all(Program::has_parent) {
            ensemble.stranger(&[node(LOCK)]);
        }
        ensemble.take_fresh();
    }
}

impl fmt::Display for SimulatedScenario {
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

impl FromStr for SimulatedScenario {
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

/// The programs of random schedules: 3 to 6 clients of each algorithm, alone and mixed.
const RANDOM: [&str; 47] = [
    "mutex,mutex,mutex",
    "mutex+writes,mutex+writes,mutex+tries,mutex+writes",
    "mutex-parent,mutex-parent,mutex-parent",
    "herd,herd,herd,herd",
    "chain,chain,chain,chain",
    "chain,chain,chain,chain,chain,chain",
    "chain-ahead,chain-ahead,chain-ahead,chain-ahead,chain-ahead",
    "chain,herd,chain-ahead,chain+tries",
    "chain@named:x,chain@named:x,chain@named:x,chain@named:x",
    "chain-ahead@named:x,chain-ahead@named:x,chain-ahead@named:x,chain-ahead@named:x",
    "chain@write-lock,chain@write-lock,chain@write-lock",
    "chain@session,chain@session,chain@session",
    "shared-chain:write,shared-chain:read,shared-chain:read,shared-chain:write",
    "shared-herd:write,shared-herd:read,shared-herd:read,shared-herd:write",
    "shared-chain:write+downgrade,shared-chain:read,shared-chain:write+downgrade,shared-chain:write",
    "semaphore:2,semaphore:2,semaphore:2",
    "semaphore:1,semaphore:1,semaphore:1",
    "chain+multi,chain+multi,chain+multi",
    "chain+reentrant,chain+reentrant,chain",
    "chain+writes,chain+watches-loss,chain+writes,chain+watches-loss",
    "chain+tries,chain+tries,herd+tries",
    "chain+within,chain+within,chain+within",
    "mutex+within,mutex+within,mutex+within",
    "semaphore:2+within,semaphore:2+tries,semaphore:2",
    "herd+multi-tries,chain+multi-within,chain+multi",
    "shared-chain:write+enters,shared-chain:read+enters,shared-chain:write+enters",
    "shared-herd:read+two,shared-herd:write+two",
    "chain+two,chain-ahead+two",
    "mutex+two,mutex",
    "semaphore:2+two,semaphore:2",
    "semaphore:2+many,semaphore:2+many,semaphore:2",
    "herd+watches-loss,chain-ahead+watches-loss,herd+watches-loss",
    "semaphore:1+watches-loss,semaphore:1+watches-loss",
    "chain+guarded,chain+guarded,chain-ahead+guarded",
    "mutex+guarded,mutex+guarded,mutex+guarded",
    "chain+guarded@named:x,chain+guarded@named:x",
    "shared-chain:write+guarded,shared-herd:read+guarded,shared-chain:read+guarded",
    "semaphore:2+guarded,semaphore:2+guarded,semaphore:2+guarded",
    "chain,curator,chain-ahead,curator",
    "chain@kazoo,kazoo,chain-ahead@kazoo,kazoo",
    "chain@latch,chain+watches-loss@latch,chain+guarded@latch",
    "mutex,mutex,delete",
    "chain,chain,delete",
    "chain@named:x,chain@named:x,delete",
    "mutex,mutex,observe",
    "herd,herd,observe",
    "chain,chain,chain,observe",
];

/// What else deletions and observers meet: servers that permit less, know less or refuse, and work on
/// whole queues.
const OTHERS: [&str; 18] = [
    "programs=chain,chain,delete+reads rounds=2 faults=4 waits=4 members=2 strangers refusals",
    "programs=mutex,mutex,delete+reads rounds=2 faults=4 waits=4 members=2 refusals",
    "programs=chain@named:x,chain@named:x,delete rounds=2 faults=4 waits=4 members=2 strangers fixed-parent",
    "programs=chain@named:x,chain@named:x,delete rounds=2 faults=4 waits=4 members=2 fixed-parent private strangers",
    "programs=mutex,mutex,delete rounds=2 faults=4 waits=4 members=2 private strangers",
    "programs=chain,chain,chain,delete+changes rounds=2 faults=4 waits=4 members=3 strangers",
    "programs=chain@named:x,chain@named:x,chain@named:x,delete+all rounds=2 faults=4 waits=4 members=3 strangers",
    "programs=chain,chain,chain,delete+unlogged rounds=2 faults=4 waits=4 members=3",
    "programs=chain,chain,revoke rounds=2 faults=4 waits=4 members=3 strangers",
    "programs=chain,chain,revoke rounds=2 faults=4 waits=4 members=2 private",
    "programs=chain+yields,herd+yields,revoke rounds=2 faults=4 waits=4 members=3 strangers refusals",
    "programs=mutex+yields,mutex+yields,revoke rounds=2 faults=4 waits=4 members=2 private refusals",
    "programs=chain,chain,observe rounds=2 faults=4 waits=4 members=2 strangers refusals",
    "programs=herd,herd,observe rounds=2 faults=4 waits=4 members=3 strangers old-servers",
    "programs=chain,chain,observe rounds=2 faults=4 waits=4 members=2 private",
    "programs=herd,herd,herd,observe+small rounds=2 faults=4 waits=4 members=3 strangers",
    "programs=mutex,mutex,observe+root rounds=2 faults=4 waits=4 members=3 strangers",
    "programs=chain,chain,observe+root rounds=2 faults=4 waits=4 members=3 strangers",
];

/// The programs of which all schedules are taken.
const ALL: [&str; 15] = [
    "mutex",
    "mutex-parent",
    "herd",
    "chain",
    "chain-ahead",
    "chain@named:x",
    "shared-chain:write",
    "shared-chain:read",
    "shared-herd:write",
    "chain+reentrant",
    "chain+writes",
    "chain+tries",
    "chain+watches-loss",
    "chain+guarded",
    "mutex+guarded",
];

/// The number of scenarios of each programs.
pub const BOUNDS: usize = 5;

/// Returns the scenarios of random schedules: with faults alone, with strangers, with servers that
/// refuse and a parent that is missing, with nodes that others may not read, and with numbers near the
/// last one.
pub fn random() -> Vec<SimulatedScenario> {
    let bounds: [&str; BOUNDS] = [
        "rounds=2 faults=6 waits=4 members=3",
        "rounds=2 faults=4 waits=4 members=3 strangers",
        "rounds=2 faults=4 waits=3 members=2 new-parent refusals",
        "rounds=2 faults=4 waits=4 members=2 private strangers",
        "rounds=3 faults=2 waits=2 members=1 first=2147483642",
    ];
    let of = |programs: &str| bounds.map(|bounds| scenario(&format!("programs={programs} {bounds}")));
    // Other libraries do not notice that the numbers are used up.
    let all_locks = |scenario: &SimulatedScenario| scenario.programs.iter().all(Program::may_give_up);
    let is_sound = |scenario: &SimulatedScenario| {
        let is_odd = scenario.first != 0 || scenario.permits.private;
        !is_odd || all_locks(scenario)
    };
    let others = OTHERS.iter().map(|text| scenario(text));
    RANDOM.iter().flat_map(|programs| of(programs)).filter(is_sound).chain(others).collect()
}

/// Returns the scenarios of which all schedules are taken: 2 clients and 2 rounds, 3 clients and 1
/// round, and 2 clients with lagging members and strangers.
pub fn all() -> Vec<SimulatedScenario> {
    let of = |program: &&str| {
        [
            scenario(&format!("programs={program},{program} rounds=2 faults=2")),
            scenario(&format!("programs={program},{program},{program} faults=2")),
            scenario(&format!("programs={program},{program} faults=2 waits=1 members=2 strangers")),
        ]
    };
    ALL.iter().flat_map(of).collect()
}

fn scenario(text: &str) -> SimulatedScenario {
    text.parse().expect("the suite's scenarios are valid")
}

/// Returns whether a scenario may meet a documented limit.
pub fn may_meet(scenario: &SimulatedScenario, limit: Limit) -> bool {
    let has = |is: fn(&Program) -> bool| scenario.programs.iter().any(is);
    match limit {
        Limit::NodeDeleted | Limit::Stopped | Limit::EndedEarly => true,
        Limit::LeftByOthers | Limit::HeldByOthers => has(|program| matches!(program, Program::Foreign(_))),
        Limit::DeletedOther => has(|program| matches!(program, Program::Delete(_))),
        Limit::ReplacedMeanwhile | Limit::LateDeletion | Limit::Overwritten => {
            has(|program| matches!(program, Program::Lock(lock) if lock.path_returns()))
        }
    }
}
