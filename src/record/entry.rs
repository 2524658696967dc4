//! What the stream of a recording consists of, and how that becomes bytes.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Damage;
use crate::queue::Change;
use crate::znode::Timestamp;

/// One entry of the stream. New kinds are added at the end: their place is their number in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry<'a> {
    /// The table took in this change.
    Change(Cow<'a, Change>),
    /// The locks were examined for findings.
    Examined,
}

/// An entry of the stream, and when it was, by the recorder's clock.
pub type TimedEntry = (Timestamp, Entry<'static>);

/// Adds an entry to the bytes of a segment: the milliseconds since the one before it, and what it is.
///
/// # Errors
///
/// Where an entry cannot be written at all, which no entry is.
pub(super) fn write(bytes: &mut Vec<u8>, after_ms: u64, entry: &Entry<'_>) -> Result<(), postcard::Error> {
    *bytes = postcard::to_extend(&(after_ms, entry), std::mem::take(bytes))?;
    Ok(())
}

/// Reads the entries of a segment that begins at that time.
pub(super) fn read(mut bytes: &[u8], from: Timestamp) -> Result<Vec<TimedEntry>, Damage> {
    let mut entries = Vec::new();
    let mut at = from;
    while !bytes.is_empty() {
        let ((after_ms, entry), rest) =
            postcard::take_from_bytes::<(u64, Entry<'static>)>(bytes).map_err(|_| Damage::Entries)?;
        at = Timestamp(at.0.saturating_add_unsigned(after_ms));
        entries.push((at, entry));
        bytes = rest;
    }
    Ok(entries)
}
