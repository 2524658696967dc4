//! Real elections whose candidates are restarted in turn, beside `lockscope watch`. None of the
//! findings of elections may be raised until nobody leads in the end.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::time::sleep;

use crate::clients::Log;
use crate::harness::elections::{Elections, Ending, MACHINES};
use crate::harness::ensemble::{Ensemble, MEMBERS};
use crate::harness::process::Supervised;

/// The elections of each library.
const OF_EACH: usize = 4;

/// The findings that compare an election with what it was before.
const CODES: [&str; 5] = ["nobody-leads", "participant-missing", "two-leaders", "flapping", "stale-owner"];

/// The time after which an election without a leader is reported. A killed candidate is away for
/// less: its session timeout, the longest pause, and the start of its process.
const STUCK_AFTER: Duration = Duration::from_secs(30);

/// The longest pause between the end of a process and its next start.
const LONGEST_PAUSE_MS: u64 = 8_000;

/// From the start of one round of restarts to the next. A round changes each leader once, and six
/// changes in ten minutes would be flapping.
const ROUND: Duration = Duration::from_secs(130);

/// The time for the findings in the end, beyond [`STUCK_AFTER`].
const PATIENCE: Duration = Duration::from_secs(30);

/// `lockscope watch`, and the findings of elections in its lines.
struct Watch {
    process: Supervised,
    log: Log,
    raised: Vec<Value>,
}

impl Watch {
    fn start(connect: &str) -> Self {
        let log = Log::new("watch");
        let stuck_after = format!("{}s", STUCK_AFTER.as_secs());
        let program = env!("CARGO_BIN_EXE_lockscope");
        let command = [program, "watch", "--connect", connect, "--format", "json", "--stuck-after", &stuck_after];
        let command: Vec<String> = command.into_iter().map(str::to_owned).collect();
        Self { process: Supervised::start(log.folder(), &command), log, raised: Vec::new() }
    }

    /// Takes in the lines since the last call.
    fn take_in(&mut self) {
        for line in self.log.lines() {
            let line: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            let is_of_elections = line["code"].as_str().is_some_and(|code| CODES.contains(&code));
            if line["event"] == "finding-raised" && is_of_elections {
                self.raised.push(line);
            }
        }
    }

    /// Returns how many elections are without a leader.
    fn leaderless(&mut self) -> usize {
        self.take_in();
        self.raised.iter().filter(|line| line["code"] == "nobody-leads").count()
    }
}

/// Restarts all candidates in turn for a time. Returns whether nothing was reported but what
/// happened.
pub fn run(runtime: &Runtime, time: Duration, random: &mut fastrand::Rng) -> bool {
    let ensemble = Ensemble::start();
    let servers: Vec<String> = (0..MEMBERS).map(|member| ensemble.address(member)).collect();
    runtime.block_on(async {
        let mut elections = Elections::start(&servers, "/soak", OF_EACH, Ending::Killed).await;
        let mut watch = Watch::start(&ensemble.connect_string());
        let begin = Instant::now();
        // All leaders are on the first machine, which was started first.
        let (mut restarts, mut is_reversed) = (0, true);
        while begin.elapsed() < time && watch.process.runs() {
            let round = Instant::now();
            // The leaders are on the machine that the last round restarted first. It comes last.
            let mut order: Vec<usize> = (0..MACHINES).collect();
            if is_reversed {
                order.reverse();
            }
            is_reversed = !is_reversed;
            for machine in order {
                let ending = if random.bool() { Ending::Closed } else { Ending::Killed };
                elections.restart(machine, Duration::from_millis(random.u64(..LONGEST_PAUSE_MS)), ending).await;
                restarts += 1;
                if begin.elapsed() >= time {
                    break;
                }
            }
            watch.take_in();
            println!(
                "{:7.1}s  {restarts} restarts, {} false findings",
                begin.elapsed().as_secs_f64(),
                watch.raised.len()
            );
            sleep(ROUND.saturating_sub(round.elapsed()).min(time.saturating_sub(begin.elapsed()))).await;
        }
        watch.take_in();
        let candidates = restarts * elections.paths().len();
        let false_findings = std::mem::take(&mut watch.raised);
        let found = leave_all(&mut elections, &mut watch).await;
        println!(
            "\n{restarts} restarts of a machine, {candidates} of a candidate; false findings: {}",
            false_findings.len()
        );
        println!("in the end, {found} of {} elections were reported to be without a leader", elections.paths().len());
        for line in &false_findings {
            println!("FAILED: {line}");
        }
        false_findings.is_empty() && found == elections.paths().len() && watch.process.runs()
    })
}

/// Stops all machines. Returns how many elections are then reported to be without a leader.
async fn leave_all(elections: &mut Elections, watch: &mut Watch) -> usize {
    for machine in 0..MACHINES {
        elections.stop(machine).await;
    }
    let until = Instant::now() + STUCK_AFTER + PATIENCE;
    while Instant::now() < until && watch.leaderless() < elections.paths().len() {
        sleep(Duration::from_millis(200)).await;
    }
    watch.leaderless()
}
