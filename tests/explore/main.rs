//! The command of the exploration.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use clap::{Parser, Subcommand};

use lockscope_explore::scenario;
use lockscope_explore::scenario::SimulatedScenario;
use lockscope_explore::search::{FailedSchedule, LimitsMet, Walk, run_random, shorten};
use lockscope_explore::story::{Story, tell};
use lockscope_explore::world::Explored;

/// The maximum number of states of a scenario: some 12 GB of memory.
const MAX_STATES: usize = 400_000_000;

/// Explores the schedules of lockscope's locks on a simulated ensemble.
///
/// A scenario is a text such as `programs=chain,chain rounds=1 faults=2 waits=1 members=1 strangers`.
#[derive(Parser)]
struct ExploreArguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Takes all schedules of each scenario, and prints their number.
    All {
        /// The scenarios.
        scenarios: Vec<String>,
        /// Prints the first schedule that meets each documented limit.
        #[arg(long)]
        limits: bool,
        /// The maximum number of states of a scenario.
        #[arg(long, default_value_t = MAX_STATES)]
        max_states: usize,
    },
    /// Takes random schedules of each scenario.
    Random {
        /// The scenarios.
        scenarios: Vec<String>,
        /// The number of schedules of each scenario.
        #[arg(long, default_value_t = 20_000)]
        runs: u64,
        /// The seed of the first schedule; each later one has the next.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Prints the first schedule that meets each documented limit.
        #[arg(long)]
        limits: bool,
    },
    /// Runs the suite: random schedules of each algorithm, alone and mixed, with faults of all kinds.
    Check {
        /// Takes 1,000,000 random schedules of each scenario, and all schedules of the smaller ones.
        /// Takes hours.
        #[arg(long)]
        long: bool,
        /// The number of random schedules of each algorithm.
        #[arg(long)]
        runs: Option<u64>,
        /// Ends at the first failure.
        #[arg(long)]
        first: bool,
        /// Takes the scenarios alone whose text contains this, or one of these.
        #[arg(long)]
        with: Vec<String>,
    },
    /// Prints the scenarios of the suite.
    Suite,
    /// Runs kept schedules again, and compares what happens with what is written.
    Story {
        /// The files.
        files: Vec<PathBuf>,
        /// Writes what happens now into the files.
        #[arg(long)]
        update: bool,
    },
}

fn main() -> ExitCode {
    let done = match ExploreArguments::parse().command {
        Task::All { scenarios, limits, max_states } => each(&scenarios, |scenario| all(scenario, limits, max_states)),
        Task::Random { scenarios, runs, seed, limits } => {
            each(&scenarios, |scenario| random(scenario, runs, seed, limits))
        }
        Task::Check { long, runs, first, with } => check(long, runs, first, &with),
        Task::Suite => {
            for scenario in scenario::random() {
                println!("{scenario}");
            }
            Ok(())
        }
        Task::Story { files, update } => files.iter().try_for_each(|file| story(file, update)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the suite on all cores.
fn check(long: bool, runs: Option<u64>, first: bool, with: &[String]) -> Result<(), String> {
    let runs = runs.unwrap_or(if long { 1_000_000 } else { 10_000 });
    let random_scenarios = scenario::random();
    // Each algorithm has several scenarios, which share its runs.
    let of_each = runs.div_ceil(scenario::BOUNDS as u64);
    let mut jobs: Vec<(SimulatedScenario, Option<u64>)> =
        random_scenarios.into_iter().map(|scenario| (scenario, Some(of_each))).collect();
    if long {
        jobs.extend(scenario::all().into_iter().map(|scenario| (scenario, None)));
    }
    let is_wanted = |scenario: &SimulatedScenario| {
        let text = scenario.to_string();
        with.is_empty() || with.iter().any(|part| text.contains(part.as_str()))
    };
    jobs.retain(|(scenario, _)| is_wanted(scenario));
    let jobs = Mutex::new(jobs.into_iter());
    let failures = Mutex::new(Vec::new());
    let next = || jobs.lock().expect("no job panics while it is locked").next();
    let work = || {
        while let Some((scenario, runs)) = next() {
            if first && !failures.lock().expect("no job panics while it is locked").is_empty() {
                return;
            }
            let done = match runs {
                Some(runs) => random(scenario, runs, 0, false),
                None => all(scenario, false, MAX_STATES),
            };
            if let Err(failure) = done {
                failures.lock().expect("no job panics while it is locked").push(failure);
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    let failures = failures.into_inner().expect("no job panics while it is locked");
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

fn each(scenarios: &[String], run: impl Fn(SimulatedScenario) -> Result<(), String>) -> Result<(), String> {
    scenarios.iter().try_for_each(|scenario| run(scenario.parse()?))
}

fn all(scenario: SimulatedScenario, shows_limits: bool, max_states: usize) -> Result<(), String> {
    let (name, began) = (scenario.to_string(), Instant::now());
    let mut walk = Walk { max_states, ..Walk::new(scenario) };
    let met = walk.run();
    let all = if met.complete { "all" } else { "not all" };
    println!(
        "{name}: {all} schedules, {} states, {} steps, {} ends, {} behaviours, {:.1} s{}",
        met.states,
        met.steps,
        met.end_states,
        met.behaviours,
        began.elapsed().as_secs_f64(),
        limits_text(&met.limits),
    );
    report(&mut walk.explored, &met.limits, shows_limits, met.failure)
}

fn random(scenario: SimulatedScenario, runs: u64, seed: u64, shows_limits: bool) -> Result<(), String> {
    let (name, began) = (scenario.to_string(), Instant::now());
    let mut explored = Explored::new(scenario);
    let met = run_random(&mut explored, seed..seed + runs);
    let spent = began.elapsed();
    println!(
        "{name}: {} schedules, {} steps, {:.1} s, {} schedules/s{}",
        met.runs,
        met.steps,
        spent.as_secs_f64(),
        u128::from(met.runs) * 1000 / spent.as_millis().max(1),
        limits_text(&met.limits),
    );
    if let Some((seed, _)) = &met.failure {
        println!("seed {seed} fails");
    }
    report(&mut explored, &met.limits, shows_limits, met.failure.map(|(_, failure)| failure))
}

fn limits_text(limits: &LimitsMet) -> String {
    let texts: Vec<String> = limits.0.iter().map(|(limit, (count, _))| format!(", {count} meet {limit}")).collect();
    texts.concat()
}

/// Prints the stories of limits and of the failure, which is made as short as possible.
fn report(
    explored: &mut Explored,
    limits: &LimitsMet,
    shows_limits: bool,
    failure: Option<FailedSchedule>,
) -> Result<(), String> {
    if shows_limits {
        for (_, steps) in limits.0.values() {
            println!("\n{}", tell(explored, steps, &[]).1);
        }
    }
    let unknown = limits.0.iter().find(|(limit, _)| !scenario::may_meet(&explored.scenario, **limit));
    if let Some((limit, (_, steps))) = unknown {
        return Err(format!("the limit {limit} is not documented here\n\n{}", tell(explored, steps, &[]).1));
    }
    match failure {
        None => Ok(()),
        Some(failure) => {
            let failure = shorten(explored, failure);
            Err(format!("\n{}", tell(explored, &failure.steps, &[]).1))
        }
    }
}

fn story(file: &PathBuf, update: bool) -> Result<(), String> {
    let in_file = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let kept = std::fs::read_to_string(file).map_err(|error| in_file(&error))?;
    let (_, now) = Story::read(&kept).and_then(|story| story.run()).map_err(|error| in_file(&error))?;
    if now == kept {
        return Ok(());
    }
    if update {
        return std::fs::write(file, now).map_err(|error| in_file(&error));
    }
    Err(in_file(&format!("something else happens now:\n\n{now}")))
}
