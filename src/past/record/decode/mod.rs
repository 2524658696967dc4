//! Decodes what a piece of a recording says while it is unpacked, into no more memory than a budget allows.
//!
//! A recording may come from somebody else, and few bytes of it can say very much: zstd makes a gigabyte of a hundred kilobytes, and a
//! byte of that can stand for an element of a hundred bytes. So nothing is unpacked as a whole: values are decoded from a [stream](stream),
//! and what they take in memory is [charged](metered) to a [`Budget`] before it is taken.

mod budget;
mod metered;
mod stream;

use serde::de::DeserializeOwned;

pub(super) use budget::Budget;
use metered::Metered;
use stream::{Bytes, Source, Stream};

use super::Damage;

/// What a value takes in memory that was written as these bytes; `None` where they are none, or where it is more than `most`.
pub(super) fn memory_of<T: DeserializeOwned>(mut bytes: &[u8], most: u64) -> Option<u64> {
    let budget = Budget::new(most);
    decode::<T, _>(&mut bytes, &budget).ok().filter(|_| budget.settle())?;
    Some(most - budget.left())
}

fn decode<T: DeserializeOwned, B: Bytes>(bytes: &mut B, budget: &Budget) -> postcard::Result<T> {
    let mut inner = postcard::Deserializer::from_flavor(Source::new(bytes, budget));
    T::deserialize(Metered::new(&mut inner, budget))
}

/// Reads values out of one compressed piece.
pub(super) struct Decoder<'p> {
    stream: Stream<'p>,
}

impl<'p> Decoder<'p> {
    /// Of a piece that [`frame::pack`](super::frame::pack) made.
    pub fn new(packed: &'p [u8]) -> Result<Self, Damage> {
        Ok(Self { stream: Stream::new(packed).map_err(|_| Damage::Checksum)? })
    }

    /// The next value. `malformed` is what is wrong where the bytes are those that were written, and are no such value.
    pub fn next<T: DeserializeOwned>(&mut self, budget: &Budget, malformed: Damage) -> Result<T, Damage> {
        match decode(&mut self.stream, budget) {
            Ok(value) if budget.settle() => Ok(value),
            Ok(_) => Err(Damage::TooLarge),
            Err(_) => Err(self.what_is_wrong(budget, malformed)),
        }
    }

    /// The next bytes, as many as the array has.
    pub fn array<const N: usize>(&mut self, malformed: Damage) -> Result<[u8; N], Damage> {
        let mut array = [0; N];
        if self.stream.read(&mut array) { Ok(array) } else { Err(self.damage(malformed)) }
    }

    /// Leaves out bytes.
    pub fn skip(&mut self, bytes: u64, malformed: Damage) -> Result<(), Damage> {
        if self.stream.skip(bytes) { Ok(()) } else { Err(self.damage(malformed)) }
    }

    /// Values come from the next bytes only, as many as these.
    pub fn only_next(&mut self, bytes: u64) {
        self.stream.only_next(bytes);
    }

    /// Whether no byte is left of [those](Self::only_next) from which values come. Also true at damage, which
    /// [`finish`](Self::finish) tells.
    pub fn is_at_end(&mut self) -> bool {
        self.stream.is_at_end()
    }

    /// Reads the rest, which shows whether all bytes are those that were written.
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

    /// Bytes that are not those that were written may be any value: that is what is wrong then.
    fn damage(&mut self, malformed: Damage) -> Damage {
        self.stream.read_rest();
        self.stream.damage().unwrap_or(malformed)
    }
}

#[cfg(test)]
mod tests;
