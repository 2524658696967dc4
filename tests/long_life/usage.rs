//! The resources that a process of this machine uses.

use std::fs;

use crate::clock::nanos;

/// Ticks per second in which the kernel counts CPU time: the same on all Linux systems.
const TICKS: f64 = 100.0;

/// The resources of a process at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    pub at: u64,
    /// Resident memory in KiB: the current value and the peak.
    pub resident: u64,
    pub most_resident: u64,
    /// Open file descriptors.
    pub descriptors: usize,
    /// CPU time since the process started, in seconds.
    pub cpu: f64,
}

impl Usage {
    /// Reads the figures from the kernel; `None` if the process does not exist.
    pub fn of(pid: u32) -> Option<Self> {
        let folder = format!("/proc/{pid}");
        let status = fs::read_to_string(format!("{folder}/status")).ok()?;
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
        // The fields before these are the id and, in parentheses, the name, which may contain
        // anything.
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let ticks = |place: usize| fields.get(place)?.parse::<u32>().ok().map(f64::from);
        Some(Self {
            at: nanos(),
            resident: kib("VmRSS")?,
            most_resident: kib("VmHWM")?,
            descriptors: fs::read_dir(format!("{folder}/fd")).ok()?.count(),
            cpu: (ticks(11)? + ticks(12)?) / TICKS,
        })
    }
}
