//! Damage to a part of a recording.

/// The damage to a segment, which is then skipped. Each text continues a sentence that names the
/// segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The bytes differ from those that were written.
    #[error("its bytes are damaged")]
    Checksum,
    /// The part of the file that contains the segment is damaged.
    #[error("its part of the file is damaged")]
    Pages,
    /// The segment takes more memory than any recorded one.
    #[error("it holds more than any recording writes, and would fill the memory")]
    TooLarge,
    /// The initial state is missing, or its parts contradict each other.
    #[error("the state that it begins with cannot be read")]
    Keyframe,
    /// The entries cannot be decoded.
    #[error("its entries cannot be read")]
    Entries,
}
