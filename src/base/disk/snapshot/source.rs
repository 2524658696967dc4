//! Reads values from a stream, and sums what was read.

use std::io::{self, Read};

use adler2::Adler32;

use super::item::{Fault, SnapshotEnd};
use super::stop::Stop;
use super::tail::{self, MAX_TAIL};

/// The number of bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// A stream with a buffer and the checksum of what was taken from it.
#[derive(Debug)]
pub struct Source<R> {
    from: R,
    bytes: Vec<u8>,
    /// The first byte that is not in the checksum.
    summed: usize,
    at: usize,
    end: usize,
    /// Where `bytes[0]` stands in the stream.
    base: u64,
    sum: Adler32,
}

impl<R: Read> Source<R> {
    /// Creates a source behind these first bytes.
    pub fn new(from: R, first: &[u8]) -> Self {
        let mut sum = Adler32::new();
        sum.write_slice(first);
        Self { from, bytes: vec![0; CHUNK], summed: 0, at: 0, end: 0, base: first.len() as u64, sum }
    }

    /// Returns the place in the stream.
    pub fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Returns the checksum of all bytes before this place.
    fn checksum(&mut self) -> Adler32 {
        self.sum.write_slice(&self.bytes[self.summed..self.at]);
        self.summed = self.at;
        self.sum
    }

    /// Reads more behind the bytes that are left, which move to the front. Returns whether there
    /// was more.
    fn more(&mut self) -> Result<bool, Stop> {
        self.checksum();
        self.bytes.copy_within(self.at..self.end, 0);
        self.base += self.at as u64;
        self.end -= self.at;
        (self.summed, self.at) = (0, 0);
        loop {
            match self.from.read(&mut self.bytes[self.end..]) {
                Ok(read) => {
                    self.end += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A packed file that is cut.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                Err(error) => return Err(Stop::Io(error)),
            }
        }
    }

    /// Takes the next bytes, some but at most this many; the count is not zero.
    fn some(&mut self, count: usize) -> Result<&[u8], Stop> {
        if self.at == self.end && !self.more()? {
            return Err(Stop::Torn);
        }
        let start = self.at;
        self.at = self.end.min(start + count);
        Ok(&self.bytes[start..self.at])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        while self.end - self.at < N {
            if !self.more()? {
                self.at = self.end;
                return Err(Stop::Torn);
            }
        }
        let bytes = self.bytes[self.at..self.end].first_chunk().expect("there are as many bytes");
        self.at += N;
        Ok(*bytes)
    }

    /// Reads a number of four bytes.
    pub fn int(&mut self) -> Result<i32, Stop> {
        self.array().map(i32::from_be_bytes)
    }

    /// Reads a number of eight bytes.
    pub fn long(&mut self) -> Result<i64, Stop> {
        self.array().map(i64::from_be_bytes)
    }

    /// Reads a length; -1 means `None`.
    pub fn length(&mut self) -> Result<Option<usize>, Stop> {
        match self.int()? {
            -1 => Ok(None),
            length => usize::try_from(length).map(Some).map_err(|_| Stop::Damaged(Fault::Length)),
        }
    }

    /// Passes over this many bytes.
    pub fn skip(&mut self, mut count: usize) -> Result<(), Stop> {
        while count > 0 {
            count -= self.some(count)?.len();
        }
        Ok(())
    }

    /// Reads this many bytes, in place of what is there.
    pub fn keep(&mut self, count: usize, into: &mut Vec<u8>) -> Result<(), Stop> {
        into.clear();
        while into.len() < count {
            let bytes = self.some(count - into.len())?;
            into.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Reads what stands behind the nodes, to the end of the stream.
    pub fn tail(&mut self) -> Result<SnapshotEnd, Stop> {
        let sum = self.checksum();
        while self.end - self.at < MAX_TAIL && self.more()? {}
        let start = self.at;
        self.at = self.end;
        tail::read(&self.bytes[start..self.end], sum)
    }
}
