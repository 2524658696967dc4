//! A segment that was read and played: its events, and intermediate states, so that each moment is
//! near one of them.

use super::past::WholeSegment;
use super::{Past, Played, ReadError, RecordedState, SegmentInfo, TimedEntry};
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::LockName;

/// The number of entries between two kept states; more when the states are large.
const STATE_INTERVAL: usize = 1_024;

/// The most contenders in all kept states together, so that they fit into memory.
const MAX_KEPT_CONTENDERS: usize = 500_000;

/// The most memory of all kept states, in bytes as [decoded](super::decode): of the largest states
/// only one is kept.
const MAX_KEPT_MEMORY: u64 = 128 << 20;

/// A segment with all its events.
#[derive(Debug)]
pub struct ReadSegment {
    info: SegmentInfo,
    /// The memory of the keyframe and the entries, in bytes.
    memory: u64,
    entries: Vec<TimedEntry>,
    /// Kept states, each with the number of entries before it; the first is the keyframe.
    states: Vec<(usize, RecordedState)>,
    /// The times of events and their locks, oldest first.
    events: Vec<(Timestamp, Option<LockName>)>,
}

impl ReadSegment {
    /// Reads a segment and plays it once. Blocks the thread during disk access.
    pub fn read(past: &mut Past, info: SegmentInfo) -> Result<Self, ReadError> {
        let WholeSegment { state, before, entries, memory } = past.whole_segment(&info)?;
        let fitting = usize::try_from(MAX_KEPT_MEMORY / before.max(1)).unwrap_or(usize::MAX);
        Ok(Self::new(info, state, entries, memory, fitting))
    }

    /// Creates a segment that keeps at most a given number of states.
    fn new(
        info: SegmentInfo,
        keyframe: RecordedState,
        entries: Vec<TimedEntry>,
        memory: u64,
        most_states: usize,
    ) -> Self {
        let most_states = (MAX_KEPT_CONTENDERS / keyframe.table.contender_count().max(1)).min(most_states).max(1);
        let interval = STATE_INTERVAL.max(entries.len().div_ceil(most_states));
        let (mut states, mut events) = (Vec::new(), Vec::new());
        let mut state = keyframe;
        for (number, TimedEntry { at, entry }) in entries.iter().enumerate() {
            if number % interval == 0 {
                states.push((number, state.clone()));
            }
            let was_reporting = state.table.is_reporting();
            match state.play(*at, entry.clone()) {
                Played::Happenings(happenings) => {
                    events.extend(happenings.into_iter().map(|happening| (*at, happening.lock)));
                }
                Played::Findings(found) => {
                    let findings = found.raised.iter().chain(&found.cleared);
                    events.extend(findings.map(|finding| (*at, Some(finding.lock.clone()))));
                }
            }
            if !was_reporting && state.table.is_reporting() {
                // After the first complete reading, each lock that was there is known.
                events.extend(state.table.locks().map(|lock| (*at, Some(lock.lock_name()))));
            }
        }
        if states.is_empty() {
            states.push((0, state));
        }
        Self { info, memory, entries, states, events }
    }

    /// Returns the first moment at which everything was read; `None` if there is none.
    pub fn first_known(&self) -> Option<Timestamp> {
        let (_, first) = self.states.first()?;
        if first.table.is_live() {
            return Some(self.info.from);
        }
        self.entries.iter().find(|timed| timed.entry.is_synced()).map(|timed| timed.at)
    }

    /// Returns the least memory of the segment, in bytes.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Returns the segment, as of when it was read.
    pub fn info(&self) -> &SegmentInfo {
        &self.info
    }

    /// Returns the time of the next event after a moment, or of the last one before it; of all
    /// locks, or of one.
    pub fn event_beside(&self, at: Timestamp, forward: bool, lock: Option<&LockName>) -> Option<Timestamp> {
        let is_wanted = |of: &Option<LockName>| {
            lock.is_none_or(|lock| of.as_ref().is_some_and(|of| of.path == lock.path && of.name == lock.name))
        };
        let wanted = |(at, of): &(Timestamp, Option<LockName>)| is_wanted(of).then_some(*at);
        if forward {
            let after = self.events.partition_point(|(then, _)| *then <= at);
            self.events[after..].iter().find_map(wanted)
        } else {
            let before = self.events.partition_point(|(then, _)| *then < at);
            self.events[..before].iter().rev().find_map(wanted)
        }
    }

    /// Returns the number of entries up to a moment, and after it.
    pub fn entries_around(&self, at: Timestamp) -> (usize, usize) {
        let before = self.entries.partition_point(|timed| timed.at <= at);
        (before, self.entries.len() - before)
    }

    /// Returns a state before a moment, and the entries from there to that moment: at least
    /// `least_entries`, where the segment has them.
    pub fn state_before(&self, at: Timestamp, least_entries: usize) -> (RecordedState, Vec<TimedEntry>) {
        let end = self.entries.partition_point(|timed| timed.at <= at);
        let before = self.states.partition_point(|(number, _)| *number <= end.saturating_sub(least_entries));
        let (number, state) = &self.states[before.saturating_sub(1)];
        (state.clone(), self.entries.get(*number..end).unwrap_or_default().to_vec())
    }

    /// Returns the entries after one moment, up to another.
    pub fn entries_between(&self, after: Timestamp, until: Timestamp) -> &[TimedEntry] {
        let begin = self.entries.partition_point(|timed| timed.at <= after);
        let end = self.entries.partition_point(|timed| timed.at <= until);
        self.entries.get(begin..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::segment::SegmentBounds;
    use crate::record::tests::fixture::{ALL, ConsoleFixture};

    /// Returns a segment with several intermediate states.
    fn segment() -> (ConsoleFixture, ReadSegment) {
        let mut fixture = ConsoleFixture::new(ALL, SegmentBounds::default());
        for number in 0..3 * i64::try_from(STATE_INTERVAL).unwrap() / 2 {
            let path = fixture.ensemble.put_numbered(&format!("/{}/lock-", number % 5), 1);
            fixture.apply(fixture.ensemble.observed(&path));
            fixture.delete(&path);
            if number % 400 == 0 {
                fixture.remember();
            }
        }
        fixture.stop();
        let mut past = fixture.past();
        let info = past.segments().unwrap()[0];
        let segment = ReadSegment::read(&mut past, info).unwrap();
        (fixture, segment)
    }

    #[test]
    fn any_moment_is_near_a_kept_state_and_read_as_it_was_shown() {
        let (fixture, segment) = segment();
        assert!(segment.states.len() >= 3);
        for (at, expected) in &fixture.shown {
            let (mut state, entries) = segment.state_before(*at, 0);
            assert!(entries.len() <= STATE_INTERVAL);
            for TimedEntry { at, entry } in entries {
                drop(state.play(at, entry));
            }
            assert_eq!(&crate::record::tests::fixture::json(&state.table, &state.diagnosis, *at), expected);
            let (_, entries) = segment.state_before(*at, 500);
            let before = segment.entries.partition_point(|timed| timed.at <= *at);
            assert!(entries.len() >= before.min(500), "{} of {before}", entries.len());
        }
    }

    #[test]
    fn the_events_beside_a_moment_are_the_nearest_ones_of_the_lock() {
        let (_fixture, segment) = segment();
        let lock = segment.events.iter().rev().find_map(|(_, lock)| lock.clone());
        for lock in [None, lock] {
            let is_wanted = |of: &Option<LockName>| lock.is_none() || *of == lock;
            let all: Vec<Timestamp> =
                segment.events.iter().filter(|(_, of)| is_wanted(of)).map(|(at, _)| *at).collect();
            assert!(all.len() > 100);
            for at in all.iter().step_by(37).flat_map(|at| [at.0 - 1, at.0, at.0 + 1]).map(Timestamp) {
                let beside = |forward| segment.event_beside(at, forward, lock.as_ref());
                assert_eq!(beside(true), all.iter().copied().find(|then| *then > at));
                assert_eq!(beside(false), all.iter().copied().rfind(|then| *then < at));
            }
        }
    }
}
