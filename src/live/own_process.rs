//! What this process uses of the machine, as Linux tells it in `/proc`. Elsewhere nothing is known.

use std::fs;
use std::sync::LazyLock;

use lockscope_model::metrics::ProcessUsage;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

/// The index of the start time in [`stat`], in clock ticks since the machine started.
const START: usize = 19;

/// The index of the resident memory in [`stat`], in pages.
const RESIDENT: usize = 21;

/// Reads what this process uses now. Blocks the thread for less than a millisecond.
pub fn usage() -> ProcessUsage {
    let resident = stat(RESIDENT).map(|pages| pages.saturating_mul(page_size() as u64));
    // The listing itself has a descriptor.
    let open_fds = fs::read_dir("/proc/self/fd").ok().map(|open| (open.count() as u64).saturating_sub(1));
    ProcessUsage {
        resident_bytes: resident,
        start_time_seconds: *START_TIME,
        open_fds,
        max_fds: open_fds.and_then(|_| getrlimit(Resource::Nofile).current),
        cpu_seconds: resident.map(|_| cpu_seconds()),
    }
}

/// When this process started, in Unix time. It is read once, because the wall clock may move.
static START_TIME: LazyLock<Option<f64>> = LazyLock::new(|| {
    let machine = fs::read_to_string("/proc/stat").ok()?;
    let booted: u32 = machine.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    let hundredths = stat(START)?.checked_mul(100)? / clock_ticks_per_second().max(1);
    Some(f64::from(booted) + std::time::Duration::from_millis(hundredths.checked_mul(10)?).as_secs_f64())
});

/// Returns a figure of `/proc/self/stat`, counted from the one after the program's name.
fn stat(index: usize) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    // The name may contain blanks and parentheses.
    text.rsplit_once(") ")?.1.split(' ').nth(index)?.parse().ok()
}

/// Returns the time for which processors worked for this process, for itself and in the kernel.
fn cpu_seconds() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    std::time::Duration::try_from(used).map_or(0.0, |used| used.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn usage_grows_with_what_the_process_does() {
        let before = usage();
        let files: Vec<_> = (0..50).map(|_| fs::File::open("/proc/self/stat").unwrap()).collect();
        let used = cpu_seconds();
        let mut work = 0_u64;
        while cpu_seconds() - used < 0.02 {
            work = std::hint::black_box(work + 1);
        }
        let after = usage();
        // Other tests of this process open and close files, too.
        assert!(
            after.open_fds.unwrap() >= 50 && after.open_fds <= after.max_fds,
            "{before:?} {after:?} {}",
            files.len()
        );
        assert!(after.cpu_seconds.unwrap() >= before.cpu_seconds.unwrap() + 0.02, "{before:?} {after:?}");
        assert!(after.resident_bytes.unwrap() > 1 << 20, "{after:?}");
        assert_eq!(before.start_time_seconds, after.start_time_seconds);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
        let age = now - after.start_time_seconds.unwrap();
        assert!((-2.0..600.0).contains(&age), "it started {age} seconds ago");
    }
}
