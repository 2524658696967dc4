//! Decodes a piece of a recording while it is decompressed, within a budget of memory.
//!
//! Each piece of the file is compressed and contains a checksum. A recording may come from others,
//! and few of its bytes can expand to very much: zstd makes a gigabyte of a hundred kilobytes, and
//! one byte of that can stand for an element of a hundred bytes. So no piece that others may have
//! written is decompressed as a whole. Values are decoded from a stream of bytes, decompressed as
//! they are read, and their memory is charged to a budget before it is allocated.
//!
//! A defect of a part of a recording is a `SegmentDamage`.

mod metered;

use std::io;
use std::io::{BufRead, BufWriter, Read, Write};

use postcard::de_flavors::Flavor;
use serde::de::DeserializeOwned;

use metered::Metered;

pub use super::memory::DecodeBudget;

#[cfg(test)]
mod tests;

/// Returns the memory of a value that was written as these bytes. Returns `None` when they cannot
/// be decoded or take more than `most`.
pub fn memory_of<T: DeserializeOwned>(mut bytes: &[u8], most: u64) -> Option<u64> {
    let budget = DecodeBudget::new(most);
    decode::<T, _>(&mut bytes, &budget).ok().filter(|_| budget.charge_inline())?;
    Some(most - budget.left())
}

fn decode<T: DeserializeOwned, B: Bytes>(bytes: &mut B, budget: &DecodeBudget) -> postcard::Result<T> {
    let mut inner = postcard::Deserializer::from_flavor(PieceSource::new(bytes, budget));
    T::deserialize(Metered::new(&mut inner, budget))
}

/// Reads values from one compressed piece.
pub struct Decoder<R: BufRead> {
    stream: SegmentStream<R>,
}

impl<R: BufRead> Decoder<R> {
    /// Opens a piece made by [`pack`].
    pub fn new(packed: R) -> Result<Self, SegmentDamage> {
        Ok(Self { stream: SegmentStream::new(packed).map_err(|_| SegmentDamage::Checksum)? })
    }

    /// Lets the piece have more bytes than by default, where a value may take that much memory.
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.stream.most_unpacked = bytes.max(MAX_STREAMED);
        self
    }

    /// Reads the next value. `malformed` is the damage reported when intact bytes are no such
    /// value.
    pub fn next<T: DeserializeOwned>(
        &mut self,
        budget: &DecodeBudget,
        malformed: SegmentDamage,
    ) -> Result<T, SegmentDamage> {
        match decode(&mut self.stream, budget) {
            Ok(value) if budget.charge_inline() => Ok(value),
            Ok(_) => Err(SegmentDamage::TooLarge),
            Err(_) => Err(self.what_is_wrong(budget, malformed)),
        }
    }

    /// Reads the next bytes, as many as the array has.
    pub fn array<const N: usize>(&mut self, malformed: SegmentDamage) -> Result<[u8; N], SegmentDamage> {
        let mut array = [0; N];
        if self.stream.read(&mut array) { Ok(array) } else { Err(self.damage(malformed)) }
    }

    /// Skips bytes.
    pub fn skip(&mut self, bytes: u64, malformed: SegmentDamage) -> Result<(), SegmentDamage> {
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
    pub fn finish(mut self, malformed: SegmentDamage) -> Result<(), SegmentDamage> {
        let ended_early = self.stream.is_cut_short();
        self.stream.read_rest();
        match self.stream.damage() {
            Some(damage) => Err(damage),
            None if ended_early => Err(malformed),
            None => Ok(()),
        }
    }

    fn what_is_wrong(&mut self, budget: &DecodeBudget, malformed: SegmentDamage) -> SegmentDamage {
        if budget.is_exceeded() { SegmentDamage::TooLarge } else { self.damage(malformed) }
    }

    /// Returns the damage. Damaged bytes may decode to any value, so their damage takes precedence.
    fn damage(&mut self, malformed: SegmentDamage) -> SegmentDamage {
        self.stream.read_rest();
        self.stream.damage().unwrap_or(malformed)
    }
}

/// The damage to a segment, which is then skipped. Each text continues a sentence that names the
/// segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentDamage {
    /// The bytes differ from those that were written.
    #[error("its bytes are damaged")]
    Checksum,
    /// The part of the file that contains the segment is damaged.
    #[error("its part of the file is damaged")]
    Pages,
    /// The segment takes more memory than any recorded one.
    #[error("it holds more than any recording writes, and would fill the memory")]
    TooLarge,
    /// The segment takes more memory than is allowed: about so many bytes. No damage.
    #[error("it takes about {} MiB of memory: allow them with LOCKSCOPE_READ_MEMORY={}MiB", .0.div_ceil(1 << 20), .0.div_ceil(1 << 20))]
    NeedsMemory(u64),
    /// The initial state is missing, or its parts contradict each other.
    #[error("the state that it begins with cannot be read")]
    Keyframe,
    /// The entries cannot be decoded.
    #[error("its entries cannot be read")]
    Entries,
}

/// The largest piece decompressed as a whole, in bytes: twice the size at which a segment ends.
const MAX_UNPACKED: u64 = 64 << 20;

/// zstd's default: a higher level costs several times as much and saves a tenth.
const LEVEL: i32 = 3;

/// Compresses bytes and adds a checksum.
pub fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    pack_with(Some(bytes.len() as u64), |packer| packer.write_all(bytes))
}

/// Compresses what `write` writes, as one piece with a checksum. `length` is that of all bytes, if it
/// is known.
pub fn pack_with(
    length: Option<u64>,
    write: impl FnOnce(&mut BufWriter<zstd::Encoder<'static, Vec<u8>>>) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.set_pledged_src_size(length)?;
    let mut packer = BufWriter::with_capacity(BUFFER_BYTES, encoder);
    write(&mut packer)?;
    packer.into_inner()?.finish()
}

/// Decompresses a piece that this program has just written.
pub fn unpack(packed: &[u8]) -> Result<Vec<u8>, SegmentDamage> {
    let mut bytes = Vec::new();
    let decoder = zstd::Decoder::with_buffer(packed).map_err(|_| SegmentDamage::Checksum)?;
    decoder.take(MAX_UNPACKED + 1).read_to_end(&mut bytes).map_err(|_| SegmentDamage::Checksum)?;
    if bytes.len() as u64 > MAX_UNPACKED { Err(SegmentDamage::TooLarge) } else { Ok(bytes) }
}

/// The most bytes decompressed from one piece by default. Decoding ends earlier by its budget; this
/// bounds the time to read bytes that nobody decodes.
const MAX_STREAMED: u64 = 256 << 20;

/// The largest window of zstd, as a power of two: zstd keeps that much decompressed data in memory.
/// [`pack`] needs a window of 2 MiB.
const MAX_WINDOW_LOG: u32 = 23;

/// How many bytes are decompressed at once.
const BUFFER_BYTES: usize = 32 << 10;

/// The extra memory of a text or an array of bytes: the rounding of the allocator, and the counts
/// of an `Arc`.
const TEXT_OVERHEAD: u64 = 32;

/// Decompresses a piece, forward only.
struct SegmentStream<R: BufRead> {
    unpacked: zstd::Decoder<'static, R>,
    buffer: Box<[u8]>,
    /// The unread part of the buffer.
    at: usize,
    end: usize,
    /// How many bytes may be read.
    readable: u64,
    /// Whether `readable` excludes some of the bytes.
    is_limited: bool,
    unpacked_bytes: u64,
    most_unpacked: u64,
    damage: Option<SegmentDamage>,
    /// The last bytes taken, when they do not lie in the buffer.
    taken: Vec<u8>,
}

impl<R: BufRead> SegmentStream<R> {
    pub fn new(packed: R) -> io::Result<Self> {
        let mut unpacked = zstd::Decoder::with_buffer(packed)?;
        unpacked.window_log_max(MAX_WINDOW_LOG)?;
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        let (at, end, readable) = (0, 0, u64::MAX);
        let (is_limited, unpacked_bytes, most_unpacked) = (false, 0, MAX_STREAMED);
        let (damage, taken) = (None, Vec::new());
        Ok(Self { unpacked, buffer, at, end, readable, is_limited, unpacked_bytes, most_unpacked, damage, taken })
    }

    /// Limits reading to the next `bytes` bytes.
    pub fn only_next(&mut self, bytes: u64) {
        (self.readable, self.is_limited) = (bytes, true);
    }

    pub fn is_at_end(&mut self) -> bool {
        self.readable == 0 || !self.has_bytes()
    }

    /// Returns whether the piece ended before all readable bytes came.
    pub fn is_cut_short(&self) -> bool {
        self.is_limited && self.readable > 0
    }

    pub fn damage(&self) -> Option<SegmentDamage> {
        self.damage
    }

    /// Fills an array of bytes. Returns whether there were enough.
    pub fn read(&mut self, array: &mut [u8]) -> bool {
        let Some(bytes) = self.take(array.len()) else { return false };
        array.copy_from_slice(bytes);
        true
    }

    /// Skips bytes. Returns whether there were enough.
    pub fn skip(&mut self, mut bytes: u64) -> bool {
        while bytes > 0 {
            if self.is_at_end() {
                return false;
            }
            let part = self.available(bytes);
            self.advance(part);
            bytes -= part as u64;
        }
        true
    }

    /// Reads everything that is left, to find damage.
    pub fn read_rest(&mut self) {
        (self.readable, self.is_limited) = (u64::MAX, false);
        while self.has_bytes() {
            self.at = self.end;
        }
    }

    /// Returns how many of these bytes are in the buffer and may be read.
    fn available(&self, bytes: u64) -> usize {
        let part = bytes.min(self.readable).min((self.end - self.at) as u64);
        usize::try_from(part).unwrap_or(0)
    }

    fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        self.readable -= bytes as u64;
    }

    /// Returns whether there is a byte in the buffer; fills an empty buffer first.
    fn has_bytes(&mut self) -> bool {
        self.at < self.end || self.fill()
    }

    #[cold]
    fn fill(&mut self) -> bool {
        if self.damage.is_some() {
            return false;
        }
        (self.at, self.end) = (0, 0);
        match self.unpacked.read(&mut self.buffer) {
            Ok(bytes) => self.end = bytes,
            Err(_) => self.damage = Some(SegmentDamage::Checksum),
        }
        self.unpacked_bytes += self.end as u64;
        if self.unpacked_bytes > self.most_unpacked {
            (self.damage, self.end) = (Some(SegmentDamage::TooLarge), 0);
        }
        self.end > 0
    }
}

/// A source of bytes that are read once, in order.
trait Bytes {
    /// Returns the next byte.
    fn pop(&mut self) -> Option<u8>;

    /// Returns the next `bytes` bytes; `None` if there are fewer.
    fn take(&mut self, bytes: usize) -> Option<&[u8]>;
}

impl<R: BufRead> Bytes for SegmentStream<R> {
    #[inline]
    fn pop(&mut self) -> Option<u8> {
        if self.is_at_end() {
            return None;
        }
        let byte = self.buffer[self.at];
        self.advance(1);
        Some(byte)
    }

    fn take(&mut self, bytes: usize) -> Option<&[u8]> {
        if self.readable < bytes as u64 {
            return None;
        }
        if self.end - self.at >= bytes {
            let from = self.at;
            self.advance(bytes);
            return Some(&self.buffer[from..from + bytes]);
        }
        self.taken.clear();
        self.taken.shrink_to(BUFFER_BYTES);
        while self.taken.len() < bytes {
            if self.is_at_end() {
                return None;
            }
            let part = self.available((bytes - self.taken.len()) as u64);
            self.taken.extend_from_slice(&self.buffer[self.at..self.at + part]);
            self.advance(part);
        }
        Some(&self.taken)
    }
}

impl Bytes for &[u8] {
    fn pop(&mut self) -> Option<u8> {
        self.split_off_first().copied()
    }

    fn take(&mut self, bytes: usize) -> Option<&[u8]> {
        self.split_off(..bytes)
    }
}

/// The source from which postcard reads a value.
struct PieceSource<'s, B> {
    bytes: &'s mut B,
    budget: &'s DecodeBudget,
}

impl<'s, B: Bytes> PieceSource<'s, B> {
    pub fn new(bytes: &'s mut B, budget: &'s DecodeBudget) -> Self {
        Self { bytes, budget }
    }
}

impl<'de, 's: 'de, B: Bytes + 'de> Flavor<'de> for PieceSource<'s, B> {
    type Remainder = ();
    type Source = ();

    #[inline]
    fn pop(&mut self) -> postcard::Result<u8> {
        self.bytes.pop().ok_or(postcard::Error::DeserializeUnexpectedEnd)
    }

    /// Fails always: no bytes are kept that could be borrowed for the lifetime of a value.
    fn try_take_n(&mut self, _: usize) -> postcard::Result<&'de [u8]> {
        Err(postcard::Error::WontImplement)
    }

    fn try_take_n_temp<'a>(&'a mut self, bytes: usize) -> postcard::Result<&'a [u8]>
    where
        'de: 'a,
    {
        // The length is charged before anything is read, so a false length allocates nothing.
        if !self.budget.charge(bytes as u64 + TEXT_OVERHEAD) {
            return Err(postcard::Error::DeserializeUnexpectedEnd);
        }
        self.bytes.take(bytes).ok_or(postcard::Error::DeserializeUnexpectedEnd)
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}
