//! What can be wrong with a part of a recording.

/// What is wrong with a segment, which is skipped then. Each text continues a sentence that names the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The bytes are not those that were written.
    #[error("its bytes are damaged")]
    Checksum,
    /// The part of the file in which it lies is damaged.
    #[error("the part of the file in which it lies is damaged")]
    Pages,
    /// It takes more memory than anything that is recorded does.
    #[error("it says more than any recording does, and would fill the memory")]
    TooLarge,
    /// It has no state to begin with, or one whose parts contradict each other.
    #[error("the state that it begins with cannot be read")]
    Keyframe,
    /// The entries cannot be decoded.
    #[error("its entries cannot be read")]
    Entries,
}
