//! Recordings: the stream of changes in a file, written live and played back as the same stream.
//!
//! A [`Recorder`] writes what a table takes in. A [`Past`] reads it, and reconstructs the state of
//! any moment ([`RecordedState`]) exactly as it was known then. Nothing is invented: between two
//! runs of a recorder there is a gap.
//!
//! The file is a `SQLite` database. The stream is stored in compressed *segments*, each with a
//! *keyframe*: the whole state at its beginning. To show a moment, one keyframe is read and the
//! entries after it are played.
//!
//! A recording may come from others. Defects of a part are reported as [`SegmentDamage`], and the
//! part is skipped. Reading takes a bounded amount of memory for any content: `memory.rs` has the
//! bounds. A recorder writes any state; a reader that needs more memory for it than is allowed says
//! how much.

mod batch;
mod batch_recorder;
mod batch_writer;
mod beside;
mod bounds;
mod cut;
mod decode;
mod entry;
mod file_identity;
pub mod history;
mod keyframe;
mod live_state;
mod memory;
mod merge;
mod parts;
mod past;
mod past_time;
mod playback;
mod store;
mod store_check;
pub mod tables;
#[cfg(test)]
mod tests;

pub use batch::Batch;
pub use batch_recorder::{BatchRecorder, without_data};
pub use batch_writer::{BatchWriter, LostBatches};
pub use bounds::{Bounds, RecordOptions};
pub use cut::{CutError, CutOptions, DamagedSegment, cut};
pub use decode::SegmentDamage;
pub use entry::{PlayedEntry, RecordedState, StoreEntry, TimedEntry};
pub use live_state::{LiveState, LookOutcome, Recorder, RecordingEnd};
pub use memory::ReadMemory;
pub use merge::{MergeError, Merged};
pub use parts::{Combined, Rotation, combine, parts_of, recording_of};
pub use past::{Past, ReadError, SegmentInfo};
pub use past_time::PastTime;
pub use playback::{Playback, PlaybackStep, ReadSegment};
pub use store::{Store, StoreError};
pub use store_check::{CheckedParts, CheckedRun, StoreCheck, StoreDefect, check_store};

pub(crate) use merge::{LogCoverage, MergeTarget};
pub(crate) use store::FILES_BESIDE;
