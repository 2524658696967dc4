//! Decodes a piece of a recording while it is decompressed, within a budget of memory.
//!
//! A recording may come from others, and few of its bytes can expand to very much: zstd makes a
//! gigabyte of a hundred kilobytes, and one byte of that can stand for an element of a hundred
//! bytes. So no piece is decompressed as a whole. Values are decoded from a [stream](stream), and
//! their memory is [charged](metered) to a [`Budget`] before it is allocated.

mod budget;
mod metered;
mod stream;

use serde::de::DeserializeOwned;

pub(super) use budget::Budget;
use metered::Metered;
use stream::{Bytes, Source, Stream};

use super::Damage;

/// Returns the memory of a value that was written as these bytes. Returns `None` when they cannot
/// be decoded or take more than `most`.
pub(super) fn memory_of<T: DeserializeOwned>(mut bytes: &[u8], most: u64) -> Option<u64> {
    let budget = Budget::new(most);
    decode::<T, _>(&mut bytes, &budget).ok().filter(|_| budget.charge_inline())?;
    Some(most - budget.left())
}

fn decode<T: DeserializeOwned, B: Bytes>(bytes: &mut B, budget: &Budget) -> postcard::Result<T> {
    let mut inner = postcard::Deserializer::from_flavor(Source::new(bytes, budget));
    T::deserialize(Metered::new(&mut inner, budget))
}

/// Reads values from one compressed piece.
pub(super) struct Decoder<'p> {
    stream: Stream<'p>,
}

impl<'p> Decoder<'p> {
    /// Opens a piece made by [`frame::pack`](super::frame::pack).
    pub fn new(packed: &'p [u8]) -> Result<Self, Damage> {
        Ok(Self { stream: Stream::new(packed).map_err(|_| Damage::Checksum)? })
    }

    /// Reads the next value. `malformed` is the damage reported when intact bytes are no such
    /// value.
    pub fn next<T: DeserializeOwned>(&mut self, budget: &Budget, malformed: Damage) -> Result<T, Damage> {
        match decode(&mut self.stream, budget) {
            Ok(value) if budget.charge_inline() => Ok(value),
            Ok(_) => Err(Damage::TooLarge),
            Err(_) => Err(self.what_is_wrong(budget, malformed)),
        }
    }

    /// Reads the next bytes, as many as the array has.
    pub fn array<const N: usize>(&mut self, malformed: Damage) -> Result<[u8; N], Damage> {
        let mut array = [0; N];
        if self.stream.read(&mut array) { Ok(array) } else { Err(self.damage(malformed)) }
    }

    /// Skips bytes.
    pub fn skip(&mut self, bytes: u64, malformed: Damage) -> Result<(), Damage> {
        if self.stream.skip(bytes) { Ok(()) } else { Err(self.damage(malformed)) }
    }

    /// Limits the following values to the next `bytes` bytes.
    pub fn only_next(&mut self, bytes: u64) {
        self.stream.only_next(bytes);
    }

    /// Returns whether the bytes of [`only_next`](Self::only_next) are used up. Also true at
    /// damage, which [`finish`](Self::finish) reports.
    pub fn is_at_end(&mut self) -> bool {
        self.stream.is_at_end()
    }

    /// Reads the rest, which checks that all bytes are intact.
    pub fn finish(mut self, malformed: Damage) -> Result<(), Damage> {
        let ended_early = self.stream.is_cut_short();
        self.stream.read_rest();
        match self.stream.damage() {
            Some(damage) => Err(damage),
            None if ended_early => Err(malformed),
            None => Ok(()),
        }
    }

    fn what_is_wrong(&mut self, budget: &Budget, malformed: Damage) -> Damage {
        if budget.is_exceeded() { Damage::TooLarge } else { self.damage(malformed) }
    }

    /// Returns the damage. Damaged bytes may decode to any value, so their damage takes precedence.
    fn damage(&mut self, malformed: Damage) -> Damage {
        self.stream.read_rest();
        self.stream.damage().unwrap_or(malformed)
    }
}

#[cfg(test)]
mod tests;
