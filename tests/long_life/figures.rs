//! The figures of a run, and the check whether the run succeeded.

use std::fmt::Write;
use std::time::Duration;

use bytesize::ByteSize;

use crate::clock::seconds;
use crate::faults::Faults;
use crate::holds::Holds;
use crate::knowledge::Difference;
use crate::quiet::{ASKED, QuietPoint};
use crate::usage::Usage;

/// The time of the first memory measurement. By then all lasting memory is allocated.
const SETTLED: Duration = Duration::from_secs(5 * 60);

/// Memory is checked only in runs longer than this.
const LONG: Duration = Duration::from_secs(10 * 60);

/// The memory growth allowed after [`SETTLED`], in percent.
const MORE: u64 = 10;

/// The results of all quiet points.
#[derive(Debug)]
pub struct Figures {
    /// The size limit of the recording, in KiB.
    max_file: u64,
    points: Vec<(Duration, QuietPoint)>,
}

/// The time span of each memory measurement, whose median is used. The memory of occasional writes
/// comes and goes.
const SPAN: Duration = Duration::from_secs(2 * 60);

/// The resources of one program, when they had settled and at the end.
struct Memory {
    settled: Usage,
    end: Usage,
    /// The medians of the memory in the two time spans, in KiB.
    settled_kib: u64,
    end_kib: u64,
}

impl Memory {
    fn percent(&self) -> u64 {
        self.end_kib * 100 / self.settled_kib.max(1)
    }
}

impl Figures {
    pub fn new(max_file: ByteSize) -> Self {
        Self { max_file: max_file.as_u64() / 1024, points: Vec::new() }
    }

    /// Returns the largest size of the recording at a quiet point, in KiB.
    fn largest_file(&self) -> u64 {
        self.points.iter().map(|(_, point)| point.file).max().unwrap_or_default()
    }

    pub fn add(&mut self, at: Duration, point: QuietPoint) {
        self.points.push((at, point));
    }

    fn sum(&self, of: impl Fn(&QuietPoint) -> usize) -> usize {
        self.points.iter().map(|(_, point)| of(point)).sum()
    }

    fn memory(&self, program: usize) -> Option<Memory> {
        let settled = self.points.iter().position(|(at, _)| *at >= SETTLED).unwrap_or_default();
        let until = self.points.get(settled)?.0 + SPAN;
        let from = self.points.last()?.0.saturating_sub(SPAN);
        let median = |counts: &dyn Fn(Duration) -> bool| {
            let points = self.points[settled..].iter().filter(|(at, _)| counts(*at));
            let mut kib: Vec<u64> = points.filter_map(|(_, point)| Some(point.usage[program]?.resident)).collect();
            kib.sort_unstable();
            kib.get(kib.len() / 2).copied()
        };
        Some(Memory {
            settled: self.points[settled].1.usage[program]?,
            end: self.points.last()?.1.usage[program]?,
            settled_kib: median(&|at| at <= until)?,
            end_kib: median(&|at| at >= from)?,
        })
    }

    /// Returns the reasons why the run failed; empty if it succeeded.
    pub fn failures(&self, ran: Duration, holds: &Holds, ended: &[String]) -> Vec<String> {
        let mut failures = ended.to_vec();
        let wrong = self.points.iter().filter(|(_, point)| !point.is_well()).count();
        if wrong > 0 {
            failures.push(format!("{wrong} quiet points at which something was wrong"));
        }
        if holds.violations > 0 {
            failures.push(format!("{} violations", holds.violations));
        }
        if self.sum(|point| point.contenders) == 0 {
            failures.push("nothing was compared".to_owned());
        }
        if self.largest_file() > self.max_file {
            failures.push(format!("the recording takes {} KiB", self.largest_file()));
        }
        for (program, name) in ASKED.iter().enumerate() {
            let grown = self.memory(program).filter(|memory| ran > LONG && memory.percent() > 100 + MORE);
            if let Some(memory) = grown {
                let percent = memory.percent();
                failures.push(format!("{name} takes {percent} % of the memory that it took after five minutes"));
            }
        }
        failures
    }

    /// Returns all figures as a table for people.
    pub fn table(&self, faults: &Faults, ran: Duration, ended: &[String]) -> String {
        let (holds, done) = (&faults.clients.holds, &faults.done);
        let slowest = self.points.iter().map(|(_, point)| point.after).max().unwrap_or_default();
        let mut text = String::new();
        let mut row = |name: &str, value: String| {
            let _ = writeln!(text, "{name:34} {value}");
        };
        row("minutes", format!("{:.1}", ran.as_secs_f64() / 60.0));
        row("members killed, stopped", format!("{}, {}", done.members_killed, done.members_stopped));
        row("connections cut, held up", format!("{}, {}", done.cuts, done.hold_ups));
        row("client processes killed, frozen", format!("{}, {}", done.clients_killed, done.clients_frozen));
        row("acquisitions", holds.acquisitions.to_string());
        row("quiet points", self.points.len().to_string());
        row("compared contenders", self.sum(|point| point.contenders).to_string());
        row("slowest agreement after a change", format!("{:.1} s", slowest.as_secs_f64()));
        for (program, name) in ASKED.iter().enumerate() {
            let sum = |of: fn(&Difference) -> usize| self.sum(|point| of(&point.differences[program])).to_string();
            let sums = [sum(|one| one.missed), sum(|one| one.invented), sum(|one| one.wrong)];
            row(&format!("{name}: missed, invented, wrong"), sums.join(", "));
        }
        row("violations", holds.violations.to_string());
        row("overlaps with a frozen client", holds.outlived.to_string());
        row("restarts or panics", ended.len().to_string());
        for (program, name) in ASKED.iter().enumerate() {
            let Some(memory) = self.memory(program) else { continue };
            let Memory { settled, end, .. } = &memory;
            row(
                &format!("{name}: memory settled, end, ratio"),
                format!("{} KiB, {} KiB, {} %", memory.settled_kib, memory.end_kib, memory.percent()),
            );
            row(&format!("{name}: memory at the most"), format!("{} KiB", end.most_resident));
            let cpu = 100.0 * (end.cpu - settled.cpu) / seconds(settled.at, end.at).max(1.0);
            row(&format!("{name}: CPU"), format!("{cpu:.1} % of a core"));
            let (first, last) = (settled.descriptors, end.descriptors);
            row(&format!("{name}: file descriptors settled, end"), format!("{first}, {last}"));
        }
        let (end, most) = (self.points.last().map_or(0, |(_, point)| point.file), self.largest_file());
        row("file at the end, at the most, bound", format!("{end} KiB, {most} KiB, {} KiB", self.max_file));
        for failure in self.failures(ran, holds, ended) {
            row("FAILED", failure);
        }
        text
    }
}
