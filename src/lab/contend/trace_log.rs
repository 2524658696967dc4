//! The trace between two statuses. Pure.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::{ClientId, MAX_TRACE, TraceEntry, TraceStep};

/// The trace since it was last taken: at most the last [`MAX_TRACE`] entries.
#[derive(Debug, Default)]
pub(super) struct TraceLog {
    entries: VecDeque<TraceEntry>,
    missed: u64,
    is_on: bool,
    /// Whether there is news since the trace was last taken.
    is_new: bool,
    /// Notified about news that a status should report soon.
    news: Arc<Notify>,
}

impl TraceLog {
    /// Starts or stops to keep entries.
    pub(super) fn keep(&mut self, is_on: bool) {
        self.is_on = is_on;
        self.announce();
    }

    /// Returns the handle that is notified about news while the trace is kept, and when that starts
    /// or stops.
    pub(super) fn news(&self) -> Arc<Notify> {
        Arc::clone(&self.news)
    }

    /// Announces news other than an entry.
    pub(super) fn has_news(&mut self) {
        if self.is_on {
            self.announce();
        }
    }

    fn announce(&mut self) {
        self.is_new = true;
        self.news.notify_one();
    }

    /// Returns whether there is news since the trace was last taken.
    pub(super) fn is_new(&self) -> bool {
        self.is_new
    }

    pub(super) fn push(&mut self, client: ClientId, step: TraceStep, at: Duration) {
        if self.is_on {
            self.entries.push_back(TraceEntry { at, client, step });
            self.missed += drop_oldest(&mut self.entries);
            self.announce();
        }
    }

    /// Takes the entries since the last call, and the number of missing ones before them.
    pub(super) fn take(&mut self) -> (Arc<[TraceEntry]>, u64) {
        self.is_new = false;
        (self.entries.drain(..).collect(), std::mem::take(&mut self.missed))
    }
}

/// Joins two traces, the earlier first. Returns the entries and the number of missing ones before
/// them.
pub(super) fn joined(
    earlier: &[TraceEntry],
    missed: u64,
    later: &[TraceEntry],
    missed_between: u64,
) -> (Arc<[TraceEntry]>, u64) {
    // Entries between the two can only be missing if the later trace is full, and then no entry of
    // the earlier one is kept.
    let all = earlier.len() + later.len();
    let dropped = all.saturating_sub(MAX_TRACE);
    let kept = earlier.iter().chain(later).skip(dropped).cloned().collect();
    (kept, missed + missed_between + dropped as u64)
}

/// Drops the oldest entries beyond the maximum, and returns their number.
fn drop_oldest(entries: &mut VecDeque<TraceEntry>) -> u64 {
    let excess = entries.len().saturating_sub(MAX_TRACE);
    entries.drain(..excess);
    excess as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(log: &mut TraceLog, times: std::ops::Range<usize>) {
        for n in times {
            log.push(ClientId(1), TraceStep::Releases, Duration::from_micros(n as u64));
        }
    }

    /// Returns the times of the first and the last entry, in microseconds.
    fn ends(trace: &[TraceEntry]) -> Option<(u128, u128)> {
        Some((trace.first()?.at.as_micros(), trace.last()?.at.as_micros()))
    }

    #[test]
    fn entries_are_kept_only_while_asked_and_taken_once() {
        let mut log = TraceLog::default();
        pushed(&mut log, 0..3);
        log.keep(true);
        pushed(&mut log, 3..5);
        log.keep(false);
        pushed(&mut log, 5..6);
        let (trace, missed) = log.take();
        assert_eq!((ends(&trace), missed), (Some((3, 4)), 0));
        assert_eq!(log.take(), (Arc::default(), 0));
    }

    #[test]
    fn the_oldest_of_too_many_entries_are_dropped_and_counted() {
        let mut log = TraceLog::default();
        log.keep(true);
        pushed(&mut log, 0..MAX_TRACE + 10);
        let (trace, missed) = log.take();
        assert_eq!((ends(&trace), missed), (Some((10, MAX_TRACE as u128 + 9)), 10));
    }

    #[test]
    fn a_trace_that_was_not_taken_precedes_the_next_one() {
        let mut log = TraceLog::default();
        log.keep(true);
        pushed(&mut log, 0..10);
        let (first, _) = log.take();
        pushed(&mut log, 10..15);
        let (second, _) = log.take();
        let (trace, missed) = joined(&first, 2, &second, 0);
        assert_eq!((ends(&trace), trace.len(), missed), (Some((0, 14)), 15, 2));
        pushed(&mut log, 15..MAX_TRACE + 20);
        let (third, third_missed) = log.take();
        let (trace, missed) = joined(&trace, missed, &third, third_missed);
        assert_eq!((trace.len(), missed), (MAX_TRACE, 2 + 20), "each entry is either there or counted");
    }
}
