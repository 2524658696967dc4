//! Pieces of a segment: what a segment has of some times, as segments of their own.

use crate::record::entry::EntryWriter;
use crate::record::past::WholeSegment;
use crate::record::state;
use crate::record::{Damage, RecordedState, SegmentInfo, TimedEntry, frame};
use lockscope_base::znode::TimeRange;

/// A part of a segment.
#[derive(Debug)]
pub(super) struct Piece {
    pub time: TimeRange,
    /// The state at the beginning, compressed.
    pub state: Vec<u8>,
    /// The entries as a chunk, compressed.
    pub entries: Vec<u8>,
    /// The number of entries.
    pub count: u64,
}

/// Returns the pieces of a segment for some times within it, which are in order. What happens at
/// the first moment of a later piece is a part of its state.
pub(super) fn cut(
    segment: &SegmentInfo,
    WholeSegment { mut state, entries, .. }: WholeSegment,
    times: &[TimeRange],
) -> Result<Vec<Piece>, Damage> {
    let mut entries = entries.into_iter().peekable();
    let mut pieces = Vec::new();
    for time in times {
        if time.from > segment.from {
            while let Some(TimedEntry { at, entry }) = entries.next_if(|timed| timed.at <= time.from) {
                state.play(at, entry);
            }
        }
        let before = keyframe(&state)?;
        let (mut writer, mut count) = (EntryWriter::new(time.from), 0);
        while let Some(TimedEntry { at, entry }) = entries.next_if(|timed| timed.at <= time.to) {
            writer.write(at, &entry).map_err(|_| Damage::Entries)?;
            state.play(at, entry);
            count += 1;
        }
        let entries = pack(&writer.take_chunk().to_bytes())?;
        pieces.push(Piece { time: *time, state: before, entries, count });
    }
    Ok(pieces)
}

fn keyframe(RecordedState { table, diagnosis }: &RecordedState) -> Result<Vec<u8>, Damage> {
    let bytes = state::write(table, diagnosis).map_err(|_| Damage::Keyframe)?;
    if state::is_readable(&bytes) { pack(&bytes) } else { Err(Damage::TooLarge) }
}

fn pack(bytes: &[u8]) -> Result<Vec<u8>, Damage> {
    frame::pack(bytes).map_err(|_| Damage::Entries)
}
