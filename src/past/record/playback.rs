//! Plays a recording from a moment on, entry by entry, across segments.

use super::entry::TimedEntry;
use super::past::WholeSegment;
use super::segment_reader::{SegmentRead, SegmentReader};
use super::{Damage, Past, Played, ReadError, RecordedState, SegmentInfo, StoreError};
use lockscope_base::znode::{TimeRange, Timestamp};
use lockscope_model::queue::LockTable;

/// The next step in a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaybackStep {
    /// An entry was taken in.
    Entry {
        /// The time of the entry, by the recorder's clock.
        at: Timestamp,
        /// The effect of the entry.
        played: Played,
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
        damage: Damage,
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
