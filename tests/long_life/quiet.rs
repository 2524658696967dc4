//! A quiet point: the clients pause, and the state that every program knows is compared.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::clients::Clients;
use crate::console::Console;
use crate::knowledge::{Difference, Knowledge};
use crate::listing;
use crate::recorder::Recorder;
use crate::usage::Usage;
use crate::watcher::Watcher;

/// The time limit until nothing changes and all programs agree. It includes the session timeout of
/// killed clients.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time for which programs may disagree with the servers while nothing changes.
const LATE: Duration = Duration::from_secs(20);

const LOOK: Duration = Duration::from_millis(300);

/// The programs that are observed.
pub struct Observers {
    pub console: Console,
    pub watcher: Watcher,
    pub recorder: Recorder,
}

/// The programs, in the order in which they are asked.
pub const ASKED: [&str; 3] = ["console", "watch", "record"];

/// The index of `watch`, whose lines do not show the order of the queues.
const WATCH: usize = 1;

/// The result of a quiet point.
#[derive(Clone, Debug, Default)]
pub struct QuietPoint {
    /// The contenders, and the locks that have any.
    pub contenders: usize,
    pub locks: usize,
    /// The differences, in the order of [`ASKED`].
    pub differences: [Difference; 3],
    /// Wrong metrics, and programs that could not be asked.
    pub complaints: Vec<String>,
    pub violations: Vec<String>,
    /// The time from the last change until all programs agreed.
    pub after: Duration,
    /// The size of the recording in KiB.
    pub file: u64,
    pub usage: [Option<Usage>; 3],
}

impl Observers {
    pub fn all_run(&self) -> bool {
        self.ended().is_empty()
    }

    /// Describes the programs that ended or panicked. None should.
    pub fn ended(&self) -> Vec<String> {
        let run = [self.console.runs(), self.watcher.runs(), self.recorder.runs()];
        let ended = ASKED.iter().zip(run).filter(|(_, runs)| !runs).map(|(name, _)| format!("{name} has ended"));
        let panicked = self.watcher.complaints.iter().chain(&self.recorder.complaints);
        let panicked = panicked.filter(|line| line.contains("panicked")).cloned();
        let screen = self.console.screen();
        ended.chain(panicked).chain(screen.contains("panicked").then_some(screen)).collect()
    }

    fn usage(&self) -> [Option<Usage>; 3] {
        [self.console.pid(), self.watcher.pid(), self.recorder.pid()].map(Usage::of)
    }

    /// Returns the knowledge of each program, or why it is unavailable.
    fn ask(&mut self) -> [Result<Knowledge, String>; 3] {
        [self.console.knows(), self.watcher.knows(), self.recorder.knows()]
    }
}

impl QuietPoint {
    pub fn is_well(&self) -> bool {
        self.complaints.is_empty() && self.violations.is_empty() && self.differences.iter().all(Difference::is_none)
    }

    /// Returns a summary in one line, followed by a line for each problem.
    pub fn line(&self) -> String {
        let [console, watch, record] = self.usage.map(|usage| usage.map_or(0, |usage| usage.resident));
        let mut text = format!(
            "{} contenders of {} locks; all agree {:.1}s after the last change; memory {console}, {watch}, {record} KiB; file {} KiB",
            self.contenders,
            self.locks,
            self.after.as_secs_f64(),
            self.file
        );
        for (name, difference) in ASKED.iter().zip(&self.differences) {
            text.extend(difference.lines.iter().map(|line| format!("\n  WRONG {name}: {line}")));
        }
        text.extend(self.complaints.iter().map(|line| format!("\n  WRONG {line}")));
        text.extend(self.violations.iter().map(|line| format!("\n  VIOLATION {line}")));
        text
    }
}

/// Pauses the clients, waits until all programs agree with a member of the ensemble or time is up,
/// and resumes the clients.
pub fn reach(runtime: &Runtime, observers: &mut Observers, clients: &mut Clients, member: &str) -> QuietPoint {
    clients.pause();
    let mut point = compared(runtime, observers, member);
    point.violations = clients.judge();
    point.file = observers.recorder.size();
    point.usage = observers.usage();
    clients.go_on();
    point
}

fn compared(runtime: &Runtime, observers: &mut Observers, member: &str) -> QuietPoint {
    let deadline = Instant::now() + PATIENCE;
    let mut before: Option<(Knowledge, Instant)> = None;
    loop {
        let asked = observers.ask();
        let truth = match runtime.block_on(listing::read(member)) {
            Ok(truth) => truth,
            Err(why) if Instant::now() < deadline => {
                eprintln!("{why}");
                continue;
            }
            Err(why) => return QuietPoint { complaints: vec![why], ..QuietPoint::default() },
        };
        // Between two equal listings nothing changed, so the answers are compared with the state
        // that they were given in.
        let since = before.as_ref().filter(|(listed, _)| *listed == truth).map(|(_, since)| *since);
        let metrics = observers.recorder.metrics_differ(&truth);
        let point = judged(&truth, asked, metrics);
        let waited = since.map_or(Duration::ZERO, |since| since.elapsed());
        if since.is_some() && (point.is_well() || waited > LATE) {
            return QuietPoint { after: waited, ..point };
        }
        if Instant::now() > deadline {
            let restless = format!("no quiet in {PATIENCE:?}");
            let complaints = point.complaints.into_iter().chain([restless]).collect();
            return QuietPoint { complaints, ..point };
        }
        before = Some((truth, since.unwrap_or_else(Instant::now)));
        std::thread::sleep(LOOK);
    }
}

fn judged(
    truth: &Knowledge,
    asked: [Result<Knowledge, String>; 3],
    metrics: Result<Vec<String>, String>,
) -> QuietPoint {
    let mut point = QuietPoint { contenders: truth.contenders(), locks: truth.0.len(), ..QuietPoint::default() };
    for (place, asked) in asked.into_iter().enumerate() {
        match asked {
            Ok(account) => {
                let (truth, account) =
                    if place == WATCH { (&truth.unordered(), &account.unordered()) } else { (truth, &account) };
                point.differences[place] = truth.compare(account);
            }
            Err(why) => point.complaints.push(format!("{}: {why}", ASKED[place])),
        }
    }
    match metrics {
        Ok(lines) => point.complaints.extend(lines),
        Err(why) => point.complaints.push(format!("metrics: {why}")),
    }
    point
}
