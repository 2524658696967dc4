//! Plays a recording: entry by entry across segments, or one segment at any of its moments.
//!
//! All segments are read in sequence, as one continuous stream. A segment that was read and played
//! as a whole keeps its events, and intermediate states, so that each of its moments is near one of
//! them.

use super::past::WholeSegment;
use super::{Past, PlayedEntry, ReadError, RecordedState, SegmentDamage, SegmentInfo, StoreError, TimedEntry};
use lockscope_base::znode::{TimeRange, Timestamp};
use lockscope_model::queue::{LockName, LockTable};

/// The result of reading a segment.
#[derive(Debug)]
pub enum SegmentRead {
    /// The entries continue those before them.
    Follows {
        /// The state before the first entry, if it had to be read again. It equals the played
        /// state.
        state: Option<Box<RecordedState>>,
        entries: Vec<TimedEntry>,
    },
    /// The segment is the first one, or something is missing before it.
    Begins { state: Box<RecordedState>, entries: Vec<TimedEntry> },
    /// The segment is left out, and the next one starts anew.
    Damaged(SegmentDamage),
    /// The segment was deleted meanwhile because of its age, which is no damage.
    Deleted,
}

/// A recording whose segments are read in sequence.
#[derive(Debug)]
pub struct SegmentReader {
    pub past: Past,
    /// The run that continues in the next segment, unless something is missing in between.
    run: Option<i64>,
    /// The upper bound of the state's memory once the entries are played, in bytes.
    memory: u64,
}

impl SegmentReader {
    pub fn new(past: Past) -> Self {
        Self { past, run: None, memory: 0 }
    }

    /// Reads a segment with its keyframe, independent of earlier reads.
    pub fn begin(&mut self, segment: &SegmentInfo) -> Result<WholeSegment, ReadError> {
        let read = self.past.whole_segment(segment)?;
        (self.run, self.memory) = (Some(segment.run), read.memory);
        Ok(read)
    }

    /// Reads a segment that is later than the previous one. `drop_state` is called before a whole
    /// state is read, so that the caller frees the state that it plays: two of the largest states
    /// exceed the memory bound.
    pub fn read(&mut self, segment: &SegmentInfo, drop_state: impl FnOnce()) -> Result<SegmentRead, StoreError> {
        match self.read_part(segment, drop_state) {
            Ok(read) => Ok(read),
            Err(ReadError::Store(error)) => Err(error),
            Err(ReadError::Damaged(damage)) => {
                let is_there = self.past.segment(segment.id)?.is_some();
                Ok(if is_there { SegmentRead::Damaged(damage) } else { SegmentRead::Deleted })
            }
        }
    }

    fn read_part(&mut self, segment: &SegmentInfo, drop_state: impl FnOnce()) -> Result<SegmentRead, ReadError> {
        let follows = self.run.take() == Some(segment.run);
        if follows {
            match self.past.measured_entries(segment, self.memory) {
                // The played state may be smaller than everything that was ever added to it; the
                // keyframe gives its actual size.
                Err(ReadError::Damaged(SegmentDamage::TooLarge | SegmentDamage::NeedsMemory(_))) => {}
                read => {
                    let (entries, memory) = read?;
                    (self.run, self.memory) = (Some(segment.run), memory);
                    return Ok(SegmentRead::Follows { state: None, entries });
                }
            }
        }
        drop_state();
        let WholeSegment { state, entries, .. } = self.begin(segment)?;
        let state = Box::new(state);
        Ok(if follows {
            SegmentRead::Follows { state: Some(state), entries }
        } else {
            SegmentRead::Begins { state, entries }
        })
    }
}

/// The next step in a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaybackStep {
    /// An entry was taken in.
    Entry {
        /// The time of the entry, by the recorder's clock.
        at: Timestamp,
        /// The effect of the entry.
        played: PlayedEntry,
        /// Whether the entry completes a reading of everything.
        is_synced: bool,
    },
    /// Nothing was recorded between two times, or it is damaged. The state is the one known at the
    /// end of the gap. Without a length it is a seam: a log goes on where a recorder ended, or the
    /// other way round, and both know different things of the same contenders.
    Gap {
        /// The last moment at which everything is known.
        from: Timestamp,
        /// The time at which the recording continues.
        until: Timestamp,
    },
    /// A segment cannot be read and is left out. A gap follows when a later segment can be read.
    Damaged {
        /// The damaged segment.
        segment: SegmentInfo,
        /// The kind of damage.
        damage: SegmentDamage,
    },
}

/// A recording at one moment, which can be played from there. Blocks the thread during disk access.
#[derive(Debug)]
pub struct Playback {
    reader: SegmentReader,
    segment: SegmentInfo,
    /// The segment's entries that were not played yet, in reverse.
    left: Vec<TimedEntry>,
    /// The number of entries that were played.
    played: usize,
    state: RecordedState,
    /// The last moment before a damaged segment, until an intact one is read.
    broken_since: Option<Timestamp>,
}

impl Playback {
    /// Starts with the state of a moment, exactly as it was known then; `None` when nothing was
    /// recorded then.
    pub fn start(mut past: Past, at: Timestamp) -> Result<Option<Self>, ReadError> {
        let Some(segment) = past.segment_at(at)? else { return Ok(None) };
        let mut playback = Self::read(past, segment)?;
        while playback.left.last().is_some_and(|next| next.at <= at) {
            playback.play();
        }
        Ok(Some(playback))
    }

    /// Returns the state at the end of a recording, with its time; `None` if it is empty.
    pub fn last_state(mut past: Past) -> Result<Option<(Timestamp, RecordedState)>, ReadError> {
        let Some(TimeRange { to: end, .. }) = past.span()? else { return Ok(None) };
        Ok(Self::start(past, end)?.map(|playback| (end, playback.state)))
    }

    /// Starts like [`start`](Self::start), or, when nothing was recorded then, at the beginning of
    /// the next recorded time; `None` when there is none.
    pub fn start_or_next(mut past: Past, at: Timestamp) -> Result<Option<Self>, ReadError> {
        if past.segment_at(at)?.is_some() {
            return Self::start(past, at);
        }
        let Some(next) = past.segment_from(at)? else { return Ok(None) };
        Self::read(past, next).map(Some)
    }

    fn read(past: Past, segment: SegmentInfo) -> Result<Self, ReadError> {
        let mut reader = SegmentReader::new(past);
        let WholeSegment { state, mut entries, .. } = reader.begin(&segment)?;
        entries.reverse();
        Ok(Self { reader, segment, left: entries, played: 0, state, broken_since: None })
    }

    /// Returns the current state.
    pub fn state(&self) -> &RecordedState {
        &self.state
    }

    /// Returns the current state, and the recording itself.
    pub fn into_parts(self) -> (RecordedState, Past) {
        (self.state, self.reader.past)
    }

    /// Returns the segment of the last entry that was played.
    pub fn segment(&self) -> &SegmentInfo {
        &self.segment
    }

    /// Returns the time of the next entry, or the beginning of the next segment; `None` at the end
    /// of what is recorded so far.
    pub fn next_at(&mut self) -> Result<Option<Timestamp>, StoreError> {
        match self.left.last() {
            Some(next) => Ok(Some(next.at)),
            None => Ok(self.reader.past.segment_after(self.segment.id)?.map(|next| next.from)),
        }
    }

    /// Takes in the next entry; `None` at the end of what is recorded so far.
    pub fn step(&mut self) -> Result<Option<PlaybackStep>, StoreError> {
        loop {
            if let Some(step) = self.play() {
                return Ok(Some(step));
            }
            let next = self.reader.past.segment_after(self.segment.id)?.filter(|next| next.id > self.segment.id);
            // Entries that were written between the last read and the end of the segment.
            self.read_more()?;
            if let Some(step) = self.play() {
                return Ok(Some(step));
            }
            let Some(next) = next else { return Ok(None) };
            if let Some(step) = self.enter(next)? {
                return Ok(Some(step));
            }
        }
    }

    /// Goes to the beginning of another segment. Returns no step if it continues the previous
    /// segment.
    fn enter(&mut self, next: SegmentInfo) -> Result<Option<PlaybackStep>, StoreError> {
        let before = std::mem::replace(&mut self.segment, next);
        (self.left, self.played) = (Vec::new(), 0);
        let state = &mut self.state;
        let read = self.reader.read(&next, || {
            *state = RecordedState::new(LockTable::new([]), *state.diagnosis.thresholds());
        })?;
        let (anew, entries, step) = match read {
            SegmentRead::Follows { state, entries } => (state, entries, None),
            SegmentRead::Begins { state, entries } => {
                // A clock that was set back can make the gap negative.
                let from = self.broken_since.take().unwrap_or(before.until);
                (Some(state), entries, Some(PlaybackStep::Gap { from, until: next.from }))
            }
            SegmentRead::Damaged(_) | SegmentRead::Deleted => {
                self.played = usize::try_from(next.entries).unwrap_or(usize::MAX);
                self.broken_since.get_or_insert(before.until);
                let SegmentRead::Damaged(damage) = read else { return Ok(None) };
                return Ok(Some(PlaybackStep::Damaged { segment: next, damage }));
            }
        };
        if let Some(anew) = anew {
            self.state = *anew;
        }
        self.left = entries;
        self.left.reverse();
        Ok(step)
    }

    fn play(&mut self) -> Option<PlaybackStep> {
        let TimedEntry { at, entry } = self.left.pop()?;
        self.played += 1;
        let is_synced = entry.is_synced();
        let played = self.state.play(at, entry);
        Some(PlaybackStep::Entry { at, played, is_synced })
    }

    /// Reads the entries that were added to the segment since it was read.
    fn read_more(&mut self) -> Result<(), StoreError> {
        let past = &mut self.reader.past;
        let Some(segment) = past.segment(self.segment.id)? else { return Ok(()) };
        if segment.entries <= self.played as u64 {
            return Ok(());
        }
        self.segment = segment;
        if let Some(mut entries) = ReadError::skip_damage(past.entries(&segment))? {
            self.left = entries.split_off(self.played.min(entries.len()));
            self.left.reverse();
        }
        Ok(())
    }
}

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
                PlayedEntry::Happenings(happenings) => {
                    events.extend(happenings.into_iter().map(|happening| (*at, happening.lock)));
                }
                PlayedEntry::Findings(found) => {
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
    use crate::record::batch::SegmentBounds;
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
