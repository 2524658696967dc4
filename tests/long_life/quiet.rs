//! A quiet point: nothing changes any more, and everybody is asked.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::clients::Clients;
use crate::console::Console;
use crate::knowledge::{Difference, Knowledge};
use crate::listing;
use crate::recorder::Recorder;
use crate::usage::Usage;
use crate::watcher::Watcher;

/// How long it may take until nothing changes and everybody knows what is true: the sessions of the dead end meanwhile.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long everybody may know something else while nothing changes.
const LATE: Duration = Duration::from_secs(20);

const LOOK: Duration = Duration::from_millis(300);

/// The programs that are observed.
pub struct Observers {
    pub console: Console,
    pub watcher: Watcher,
    pub recorder: Recorder,
}

/// Who is asked, in this order.
pub const ASKED: [&str; 3] = ["console", "watch", "record"];

/// Its lines tell no order.
const WATCH: usize = 1;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct QuietPoint {
    /// Contenders, and locks that have some.
    pub contenders: usize,
    pub locks: usize,
    /// By the order of [`ASKED`].
    pub differences: [Difference; 3],
    /// What the metrics say otherwise, and who could not be asked.
    pub complaints: Vec<String>,
    pub violations: Vec<String>,
    /// How long after the last change everybody knew.
    pub after: Duration,
    /// In KiB.
    pub file: u64,
    pub usage: [Option<Usage>; 3],
}

impl Observers {
    pub fn all_run(&self) -> bool {
        self.ended().is_empty()
    }

    /// Those that have ended, which none of them should.
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

    /// What each knows, or why it cannot be said.
    fn ask(&mut self) -> [Result<Knowledge, String>; 3] {
        [self.console.knows(), self.watcher.knows(), self.recorder.knows()]
    }
}

impl QuietPoint {
    pub fn is_well(&self) -> bool {
        self.complaints.is_empty() && self.violations.is_empty() && self.differences.iter().all(Difference::is_none)
    }

    /// In a line, and with all that is wrong in lines of their own.
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

/// Pauses the clients, waits until everybody agrees with a member of the ensemble or time is up, and lets them go on.
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
        // What was asked between two listings that are the same was asked while that was true.
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
