//! The random ids within names, which lie behind the entries of a chunk.

use uuid::Uuid;

use super::Damage;
use crate::record::decode::Decoder;

/// Bytes of the length that a chunk begins with.
const LENGTH_BYTES: u64 = 8;

/// Reads ids, in order.
pub(super) struct Ids<'p> {
    packed: &'p [u8],
    /// Bytes of the entries before them.
    entries: u64,
    /// Unpacks the chunk a second time: so the entries need not lie in memory to come to what is behind them. `None` until an id is read.
    decoder: Option<Decoder<'p>>,
}

impl<'p> Ids<'p> {
    /// Of a chunk whose entries have so many bytes.
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
