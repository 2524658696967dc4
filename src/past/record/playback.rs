//! Plays a recording from a moment on, entry by entry, over the ends of its segments.

use super::entry::TimedEntry;
use super::past::WholeSegment;
use super::store::StoreError;
use super::{Damage, Entry, Past, Played, RecordedState, SegmentInfo};
use lockscope_base::znode::Timestamp;
use lockscope_model::queue::{Change, LockTable};

/// What comes next in a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaybackStep {
    /// An entry was taken in.
    Entry {
        /// When that was, by the recorder's clock.
        at: Timestamp,
        /// What it changed.
        played: Played,
        /// Whether it was the end of a reading of everything.
        is_synced: bool,
    },
    /// From here until then nothing was recorded, or it is damaged. The state is what was known then.
    Gap {
        /// The last moment of which everything is known.
        from: Timestamp,
        /// When recording went on.
        until: Timestamp,
    },
    /// A segment cannot be read: it is left out. The gap follows, when a segment after it can be read.
    Damaged {
        /// The segment.
        segment: SegmentInfo,
        /// What is wrong with it.
        damage: Damage,
    },
}

/// A recording at one moment, which can go on from there. Blocks the thread as long as the disk does.
#[derive(Debug)]
pub struct Playback {
    past: Past,
    segment: SegmentInfo,
    /// The entries of the segment, in reverse, that were not played.
    left: Vec<TimedEntry>,
    /// How many were played.
    played: usize,
    state: RecordedState,
    /// What the state takes of the memory at most, once the entries are played, in bytes.
    memory: u64,
    /// The last moment before a damaged segment, until one was read that is not.
    broken_since: Option<Timestamp>,
}

impl Playback {
    /// The state of a moment, exactly as it was known then; `None` when nothing was recorded then.
    pub fn start(mut past: Past, at: Timestamp) -> Result<Option<Result<Self, Damage>>, StoreError> {
        let Some(segment) = past.segment_at(at)? else { return Ok(None) };
        Ok(Some(Self::read(past, segment)?.map(|mut playback| {
            while playback.left.last().is_some_and(|(next, _)| *next <= at) {
                playback.play();
            }
            playback
        })))
    }

    /// As [`start`](Self::start), or where nothing was recorded then, the beginning of what was recorded next; `None` when there is nothing.
    pub fn start_or_next(mut past: Past, at: Timestamp) -> Result<Option<Result<Self, Damage>>, StoreError> {
        if past.segment_at(at)?.is_some() {
            return Self::start(past, at);
        }
        let Some(next) = past.segment_from(at)? else { return Ok(None) };
        Ok(Some(Self::read(past, next)?))
    }

    fn read(mut past: Past, segment: SegmentInfo) -> Result<Result<Self, Damage>, StoreError> {
        Ok(past.whole_segment(&segment)?.map(|WholeSegment { state, mut entries, memory }| {
            entries.reverse();
            Self { past, segment, left: entries, played: 0, state, memory, broken_since: None }
        }))
    }

    /// The state now.
    pub fn state(&self) -> &RecordedState {
        &self.state
    }

    /// The state now, and the recording itself.
    pub fn into_parts(self) -> (RecordedState, Past) {
        (self.state, self.past)
    }

    /// The segment of the last entry that was played.
    pub fn segment(&self) -> &SegmentInfo {
        &self.segment
    }

    /// When the next entry of this segment was; `None` at its end.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.left.last().map(|(at, _)| *at)
    }

    /// Takes in the next entry; `None` at the end of what is recorded so far.
    pub fn step(&mut self) -> Result<Option<PlaybackStep>, StoreError> {
        loop {
            if let Some(step) = self.play() {
                return Ok(Some(step));
            }
            let next = self.past.segment_after(self.segment.id)?.filter(|next| next.id > self.segment.id);
            // What was written between the last look and the end of the segment.
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

    /// Goes to the beginning of another segment. Where it goes on from the one before, nothing is to be said of that.
    fn enter(&mut self, next: SegmentInfo) -> Result<Option<PlaybackStep>, StoreError> {
        let goes_on = self.segment.run == next.run && self.broken_since.is_none();
        let before = std::mem::replace(&mut self.segment, next);
        (self.left, self.played) = (Vec::new(), 0);
        let read = if goes_on { Some(self.past.measured_entries(&next, self.memory)?) } else { None };
        let read = match read {
            Some(Ok((entries, memory))) => {
                (self.left, self.memory) = (entries, memory);
                self.left.reverse();
                return Ok(None);
            }
            Some(Err(damage)) if damage != Damage::TooLarge => Err(damage),
            // The state that is played takes less than all that was ever added to it: how much less, the keyframe shows. It is the same.
            Some(Err(_)) | None => {
                // Two of the largest states at once are more than is read.
                self.state = RecordedState::new(LockTable::new([]), *self.state.diagnosis.thresholds());
                self.past.whole_segment(&next)?
            }
        };
        match read {
            Ok(WholeSegment { state, entries, memory }) => {
                (self.state, self.left, self.memory) = (state, entries, memory);
                self.left.reverse();
                if goes_on {
                    return Ok(None);
                }
                // A clock that was set back made the gap negative.
                let from = self.broken_since.take().unwrap_or(before.until);
                Ok(Some(PlaybackStep::Gap { from, until: next.from }))
            }
            Err(damage) => {
                self.played = usize::try_from(next.entries).unwrap_or(usize::MAX);
                self.broken_since.get_or_insert(before.until);
                // It may have been deleted meanwhile, which is no damage.
                let is_there = self.past.segment(next.id)?.is_some();
                Ok(is_there.then_some(PlaybackStep::Damaged { segment: next, damage }))
            }
        }
    }

    fn play(&mut self) -> Option<PlaybackStep> {
        let (at, entry) = self.left.pop()?;
        self.played += 1;
        let is_synced = matches!(&entry, Entry::Change(change) if **change == Change::Synced);
        let played = self.state.play(at, entry);
        Some(PlaybackStep::Entry { at, played, is_synced })
    }

    /// Reads what was added to the segment since it was read.
    fn read_more(&mut self) -> Result<(), StoreError> {
        let Some(segment) = self.past.segment(self.segment.id)? else { return Ok(()) };
        if segment.entries <= self.played as u64 {
            return Ok(());
        }
        self.segment = segment;
        if let Ok(mut entries) = self.past.entries(&segment)? {
            self.left = entries.split_off(self.played.min(entries.len()));
            self.left.reverse();
        }
        Ok(())
    }
}
