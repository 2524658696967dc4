//! The scenarios that the tests run, and the limits that each may meet.

use crate::program::Program;
use crate::rules::Limit;
use crate::scenario::Scenario;

/// The programs of random schedules: 3 to 6 clients of each algorithm, alone and mixed.
const RANDOM: [&str; 40] = [
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
    "herd+watches-loss,chain-ahead+watches-loss,herd+watches-loss",
    "semaphore:1+watches-loss,semaphore:1+watches-loss",
    "chain,curator,chain-ahead,curator",
    "chain@kazoo,kazoo,chain-ahead@kazoo,kazoo",
    "mutex,mutex,delete",
    "chain,chain,delete",
    "chain@named:x,chain@named:x,delete",
    "mutex,mutex,observe",
    "herd,herd,observe",
    "chain,chain,chain,observe",
];

/// What else deletions and observers meet: servers that permit less, know less or refuse, and work on
/// whole queues.
const OTHERS: [&str; 16] = [
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
    "programs=chain,chain,observe rounds=2 faults=4 waits=4 members=2 strangers refusals",
    "programs=herd,herd,observe rounds=2 faults=4 waits=4 members=3 strangers old-servers",
    "programs=chain,chain,observe rounds=2 faults=4 waits=4 members=2 private",
    "programs=herd,herd,herd,observe+small rounds=2 faults=4 waits=4 members=3 strangers",
    "programs=mutex,mutex,observe+root rounds=2 faults=4 waits=4 members=3 strangers",
    "programs=chain,chain,observe+root rounds=2 faults=4 waits=4 members=3 strangers",
];

/// The programs of which all schedules are taken.
const ALL: [&str; 13] = [
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
];

/// The number of scenarios of each programs.
pub const BOUNDS: usize = 5;

/// Returns the scenarios of random schedules: with faults alone, with strangers, with servers that
/// refuse and a parent that is missing, with nodes that others may not read, and with numbers near the
/// last one.
pub fn random() -> Vec<Scenario> {
    let bounds: [&str; BOUNDS] = [
        "rounds=2 faults=6 waits=4 members=3",
        "rounds=2 faults=4 waits=4 members=3 strangers",
        "rounds=2 faults=4 waits=3 members=2 new-parent refusals",
        "rounds=2 faults=4 waits=4 members=2 private strangers",
        "rounds=3 faults=2 waits=2 members=1 first=2147483642",
    ];
    let of = |programs: &str| bounds.map(|bounds| scenario(&format!("programs={programs} {bounds}")));
    // Other libraries do not notice that the numbers are used up.
    let all_locks = |scenario: &Scenario| scenario.programs.iter().all(Program::may_give_up);
    let is_sound = |scenario: &Scenario| {
        let is_odd = scenario.first != 0 || scenario.permits.private;
        !is_odd || all_locks(scenario)
    };
    let others = OTHERS.iter().map(|text| scenario(text));
    RANDOM.iter().flat_map(|programs| of(programs)).filter(is_sound).chain(others).collect()
}

/// Returns the scenarios of which all schedules are taken: 2 clients and 2 rounds, 3 clients and 1
/// round, and 2 clients with lagging members and strangers.
pub fn all() -> Vec<Scenario> {
    let of = |program: &&str| {
        [
            scenario(&format!("programs={program},{program} rounds=2 faults=2")),
            scenario(&format!("programs={program},{program},{program} faults=2")),
            scenario(&format!("programs={program},{program} faults=2 waits=1 members=2 strangers")),
        ]
    };
    ALL.iter().flat_map(of).collect()
}

fn scenario(text: &str) -> Scenario {
    text.parse().expect("the suite's scenarios are valid")
}

/// Returns whether a scenario may meet a documented limit.
pub fn may_meet(scenario: &Scenario, limit: Limit) -> bool {
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
