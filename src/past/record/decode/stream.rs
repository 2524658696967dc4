//! The bytes of a compressed piece, decompressed as they are read.

use std::io::{self, Read};

use postcard::de_flavors::Flavor;

use super::Budget;
use crate::record::Damage;

/// The most bytes decompressed from one piece. Decoding ends earlier by its budget; this bounds the
/// time to read bytes that nobody decodes.
const MAX_UNPACKED: u64 = 256 << 20;

/// The largest window of zstd, as a power of two: zstd keeps that much decompressed data in memory.
/// [`frame::pack`](crate::record::frame::pack) needs a window of 2 MiB.
const MAX_WINDOW_LOG: u32 = 23;

/// How many bytes are decompressed at once.
const BUFFER_BYTES: usize = 32 << 10;

/// The extra memory of a text or an array of bytes: the rounding of the allocator, and the counts
/// of an `Arc`.
const TEXT_OVERHEAD: u64 = 32;

/// Decompresses a piece, forward only.
pub(super) struct Stream<'p> {
    unpacked: zstd::Decoder<'static, &'p [u8]>,
    buffer: Box<[u8]>,
    /// The unread part of the buffer.
    at: usize,
    end: usize,
    /// How many bytes may be read.
    readable: u64,
    /// Whether `readable` excludes some of the bytes.
    is_limited: bool,
    unpacked_bytes: u64,
    damage: Option<Damage>,
    /// The last bytes taken, when they do not lie in the buffer.
    taken: Vec<u8>,
}

impl<'p> Stream<'p> {
    pub fn new(packed: &'p [u8]) -> io::Result<Self> {
        let mut unpacked = zstd::Decoder::with_buffer(packed)?;
        unpacked.window_log_max(MAX_WINDOW_LOG)?;
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        let (at, end, readable) = (0, 0, u64::MAX);
        let (is_limited, unpacked_bytes, damage, taken) = (false, 0, None, Vec::new());
        Ok(Self { unpacked, buffer, at, end, readable, is_limited, unpacked_bytes, damage, taken })
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

    pub fn damage(&self) -> Option<Damage> {
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
            Err(_) => self.damage = Some(Damage::Checksum),
        }
        self.unpacked_bytes += self.end as u64;
        if self.unpacked_bytes > MAX_UNPACKED {
            (self.damage, self.end) = (Some(Damage::TooLarge), 0);
        }
        self.end > 0
    }
}

/// A source of bytes that are read once, in order.
pub(super) trait Bytes {
    /// Returns the next byte.
    fn pop(&mut self) -> Option<u8>;

    /// Returns the next `bytes` bytes; `None` if there are fewer.
    fn take(&mut self, bytes: usize) -> Option<&[u8]>;
}

impl Bytes for Stream<'_> {
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
pub(super) struct Source<'s, B> {
    bytes: &'s mut B,
    budget: &'s Budget,
}

impl<'s, B: Bytes> Source<'s, B> {
    pub fn new(bytes: &'s mut B, budget: &'s Budget) -> Self {
        Self { bytes, budget }
    }
}

impl<'de, 's: 'de, B: Bytes + 'de> Flavor<'de> for Source<'s, B> {
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
