//! The bytes of a compressed piece, unpacked as they are read.

use std::io::{self, Read};

use postcard::de_flavors::Flavor;

use super::Budget;
use crate::record::Damage;

/// More than this is never unpacked of one piece, in bytes. What is decoded of it ends sooner, by its budget: this bounds how long reading
/// what nobody decodes can take.
const MAX_UNPACKED: u64 = 256 << 20;

/// zstd unpacks with a window of what was unpacked before, in memory. [`frame::pack`](crate::record::frame::pack) needs one of 2 MiB: this
/// is the largest that is allowed, as a power of two.
const MAX_WINDOW_LOG: u32 = 23;

/// How much is unpacked at once, in bytes.
const BUFFER_BYTES: usize = 32 << 10;

/// What a text or an array of bytes takes besides its bytes: what the allocator rounds up to, and the counts of an `Arc`.
const TEXT_OVERHEAD: u64 = 32;

/// Unpacks a piece, forward only.
pub(super) struct Stream<'p> {
    unpacked: zstd::Decoder<'static, &'p [u8]>,
    buffer: Box<[u8]>,
    /// The part of the buffer that was not read.
    at: usize,
    end: usize,
    /// How many bytes may be read.
    readable: u64,
    /// Whether those are not all that there are.
    is_limited: bool,
    unpacked_bytes: u64,
    damage: Option<Damage>,
    /// What was taken last, where it does not lie in the buffer.
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

    /// Only so many more bytes are read.
    pub fn only_next(&mut self, bytes: u64) {
        (self.readable, self.is_limited) = (bytes, true);
    }

    pub fn is_at_end(&mut self) -> bool {
        self.readable == 0 || !self.has_bytes()
    }

    /// Whether it ended before all bytes came that were to be read.
    pub fn is_cut_short(&self) -> bool {
        self.is_limited && self.readable > 0
    }

    pub fn damage(&self) -> Option<Damage> {
        self.damage
    }

    /// Fills an array of bytes. Whether there were so many.
    pub fn read(&mut self, array: &mut [u8]) -> bool {
        let Some(bytes) = self.take(array.len()) else { return false };
        array.copy_from_slice(bytes);
        true
    }

    /// Leaves out bytes. Whether there were so many.
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

    /// Reads everything that is left, for what is wrong with it.
    pub fn read_rest(&mut self) {
        (self.readable, self.is_limited) = (u64::MAX, false);
        while self.has_bytes() {
            self.at = self.end;
        }
    }

    /// How many of these bytes are in the buffer, and may be read.
    fn available(&self, bytes: u64) -> usize {
        let part = bytes.min(self.readable).min((self.end - self.at) as u64);
        usize::try_from(part).unwrap_or(0)
    }

    fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        self.readable -= bytes as u64;
    }

    /// Whether there is a byte in the buffer, after filling it where it was empty.
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

/// Bytes that are read once, in order.
pub(super) trait Bytes {
    /// The next one.
    fn pop(&mut self) -> Option<u8>;

    /// So many; `None` where there are fewer.
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

/// What postcard reads a value from.
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

    /// Nothing is kept that could be lent for as long as a value lives.
    fn try_take_n(&mut self, _: usize) -> postcard::Result<&'de [u8]> {
        Err(postcard::Error::WontImplement)
    }

    fn try_take_n_temp<'a>(&'a mut self, bytes: usize) -> postcard::Result<&'a [u8]>
    where
        'de: 'a,
    {
        // A length that is only claimed takes nothing: it is charged before anything is read.
        if !self.budget.charge(bytes as u64 + TEXT_OVERHEAD) {
            return Err(postcard::Error::DeserializeUnexpectedEnd);
        }
        self.bytes.take(bytes).ok_or(postcard::Error::DeserializeUnexpectedEnd)
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}
