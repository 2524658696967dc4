//! Reads the segments of a recording in sequence, as one continuous stream.

use super::past::WholeSegment;
use super::{Damage, Past, ReadError, RecordedState, SegmentInfo, StoreError, TimedEntry};

/// The result of reading a segment.
#[derive(Debug)]
pub(super) enum SegmentRead {
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
    Damaged(Damage),
    /// The segment was deleted meanwhile because of its age, which is no damage.
    Deleted,
}

/// A recording whose segments are read in sequence.
#[derive(Debug)]
pub(super) struct SegmentReader {
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
