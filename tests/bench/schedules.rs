//! How fast random schedules of three clients are taken.
//!
//! `cargo bench --package lockscope-explore --bench schedules` prints, for each algorithm, the
//! schedules and steps a second of CPU time, on one core.

use std::time::Duration;

use lockscope_explore::search::run_random;
use lockscope_explore::world::Explored;
use rustix::time::{ClockId, clock_gettime};

/// The number of schedules of each algorithm.
const SCHEDULES: u64 = 20_000;

const BOUNDS: &str = "rounds=1 faults=2 waits=1";

const PROGRAMS: [&str; 8] = [
    "mutex,mutex,mutex",
    "mutex-parent,mutex-parent,mutex-parent",
    "herd,herd,herd",
    "chain,chain,chain",
    "chain-ahead,chain-ahead,chain-ahead",
    "shared-herd:write,shared-herd:read,shared-herd:write",
    "shared-chain:write,shared-chain:read,shared-chain:write",
    "semaphore:1,semaphore:1,semaphore:1",
];

fn cpu_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().expect("a process has spent no negative time")
}

fn main() {
    println!("{SCHEDULES} schedules of 3 clients each, {BOUNDS}, per second of CPU time");
    for programs in PROGRAMS {
        let mut explored = Explored::new(format!("programs={programs} {BOUNDS}").parse().expect("a scenario"));
        let began = cpu_time();
        let met = run_random(&mut explored, 0..SCHEDULES);
        let spent = cpu_time().saturating_sub(began).as_secs_f64();
        assert!(met.failure.is_none(), "a schedule fails: `tests/schedules/run` tells its story");
        #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
        let [schedules, steps] = [met.runs, met.steps].map(|count| count as f64 / spent);
        println!("{programs:56} {schedules:8.0} schedules/s {steps:10.0} steps/s");
    }
}
