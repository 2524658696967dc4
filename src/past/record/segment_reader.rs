//! Reads the segments of a recording one after the other, as one stream that goes on over their ends.

use super::past::WholeSegment;
use super::{Damage, Past, ReadError, RecordedState, SegmentInfo, StoreError, TimedEntry};

/// What became of reading a segment.
#[derive(Debug)]
pub(super) enum SegmentRead {
    /// Its entries follow those before them.
    Follows {
        /// The state before the first one, where it had to be read again. It is the same that was played.
        state: Option<Box<RecordedState>>,
        entries: Vec<TimedEntry>,
    },
    /// It is the first one, or something is missing before it.
    Begins { state: Box<RecordedState>, entries: Vec<TimedEntry> },
    /// It is left out, and the next one begins anew.
    Damaged(Damage),
    /// It was deleted meanwhile because it is too old, which is no damage.
    Deleted,
}

/// A recording whose segments are read one after the other.
#[derive(Debug)]
pub(super) struct SegmentReader {
    pub past: Past,
    /// The run that goes on in the next segment, unless something is missing between them.
    run: Option<i64>,
    /// What the state takes of the memory at most, once the entries are played, in bytes.
    memory: u64,
}

impl SegmentReader {
    pub fn new(past: Past) -> Self {
        Self { past, run: None, memory: 0 }
    }

    /// Reads a segment from its keyframe on, whatever was read before.
    pub fn begin(&mut self, segment: &SegmentInfo) -> Result<WholeSegment, ReadError> {
        let read = self.past.whole_segment(segment)?;
        (self.run, self.memory) = (Some(segment.run), read.memory);
        Ok(read)
    }

    /// Reads a segment that is later than the one before. `drop_state` is called before a whole state is read, for who plays the state:
    /// two of the largest ones take more memory than is given.
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
                // The state that is played takes less than all that was ever added to it: how much less, the keyframe shows.
                Err(ReadError::Damaged(Damage::TooLarge)) => {}
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
