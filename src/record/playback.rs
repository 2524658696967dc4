//! Plays a recording from a moment on, entry by entry, over the ends of its segments.

use super::entry::TimedEntry;
use super::store::StoreError;
use super::{Damage, Entry, Past, Played, RecordedState, SegmentInfo};
use crate::queue::Change;
use crate::znode::Timestamp;

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
    /// Nothing was recorded from here until then. The state is that of a console which was just started.
    Gap {
        /// The last moment of which everything is known.
        from: Timestamp,
        /// When recording went on.
        until: Timestamp,
    },
    /// A segment cannot be read: it is left out.
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
        let (keyframe, entries) = (past.keyframe(segment.id)?, past.entries(&segment)?);
        Ok(keyframe.and_then(|state| {
            let mut left = entries?;
            left.reverse();
            Ok(Self { past, segment, left, played: 0, state })
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
        if let Some(step) = self.play() {
            return Ok(Some(step));
        }
        let Some(next) = self.past.segment_after(self.segment.id)? else {
            self.read_more()?;
            return Ok(self.play());
        };
        // What was written between the last look and the end of the segment.
        self.read_more()?;
        if let Some(step) = self.play() {
            return Ok(Some(step));
        }
        let (keyframe, entries) = (self.past.keyframe(next.id)?, self.past.entries(&next)?);
        let before = std::mem::replace(&mut self.segment, next);
        (self.left, self.played) = (Vec::new(), 0);
        let damaged = |damage| Ok(Some(PlaybackStep::Damaged { segment: next, damage }));
        match entries {
            Ok(entries) => self.left = entries.into_iter().rev().collect(),
            Err(damage) => return damaged(damage),
        }
        if before.run == next.run {
            return self.step();
        }
        match keyframe {
            Ok(state) => self.state = state,
            Err(damage) => return damaged(damage),
        }
        // A clock that was set back made the gap negative.
        Ok(Some(PlaybackStep::Gap { from: before.until, until: next.from }))
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
        if let Ok(entries) = self.past.entries(&segment)? {
            self.left = entries.into_iter().skip(self.played).rev().collect();
        }
        Ok(())
    }
}
