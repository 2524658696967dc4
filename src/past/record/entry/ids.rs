//! The random ids of names, which are stored behind the entries of a chunk.

use uuid::Uuid;

use super::Damage;
use crate::record::decode::Decoder;

/// The length of a chunk's prefix, in bytes; it holds the length of the entries.
const LENGTH_BYTES: u64 = 8;

/// Reads ids in order.
pub(super) struct Ids<'p> {
    packed: &'p [u8],
    /// The length of the entries before the ids, in bytes.
    entries: u64,
    /// A second decoder of the same chunk: it skips the entries, which therefore need not be kept
    /// in memory. `None` until an id is read.
    decoder: Option<Decoder<'p>>,
}

impl<'p> Ids<'p> {
    /// Creates a reader for a chunk with `entries` bytes of entries.
    pub fn new(packed: &'p [u8], entries: u64) -> Self {
        Self { packed, entries, decoder: None }
    }

    pub fn next(&mut self) -> Result<Uuid, Damage> {
        let decoder = match &mut self.decoder {
            Some(decoder) => decoder,
            none => {
                let mut decoder = Decoder::new(self.packed)?;
                decoder.skip(self.entries.saturating_add(LENGTH_BYTES), Damage::Entries)?;
                none.insert(decoder)
            }
        };
        Ok(Uuid::from_bytes(decoder.array(Damage::Entries)?))
    }
}
