//! The bytes of a file around the place where it is read.

use std::io::{self, Read, Seek, SeekFrom};

/// The greatest number of bytes that are read at once.
const CHUNK: usize = 256 << 10;

/// The number of bytes that are read first at a new place: perhaps no more are needed.
const FIRST: usize = 4 << 10;

/// The bytes of a file from the place on where it is read, as far as they are needed.
#[derive(Debug)]
pub struct Window<R> {
    /// Stands behind the last byte of `bytes[..end]`.
    from: R,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Where `bytes[0]` stands in the file.
    base: u64,
    /// The number of bytes that are read next.
    at_once: usize,
}

impl<R: Read + Seek> Window<R> {
    /// Creates a window at this offset, where the reader stands.
    pub fn new(from: R, offset: u64) -> Self {
        Self { from, bytes: Vec::new(), start: 0, end: 0, base: offset, at_once: FIRST }
    }

    /// Returns the place in the file.
    pub fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Returns all bytes that are there; at least this many, unless the file ends before.
    pub fn fill(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.end - self.start < count {
            self.make_room(count);
            let room = self.bytes.len().min(self.end + self.at_once);
            self.at_once = CHUNK.min(self.at_once * 2);
            match self.from.read(&mut self.bytes[self.end..room]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.bytes[self.start..self.end])
    }

    /// Makes room behind the bytes. It moves them to the front when at least as many were taken
    /// since they were last moved, and else grows, so that the work stays linear.
    fn make_room(&mut self, count: usize) {
        let kept = self.end - self.start;
        if self.bytes.is_empty() {
            // Pages of zeros come from the system when they are written to.
            self.bytes = vec![0; CHUNK];
        }
        if self.bytes.len() - self.end >= CHUNK / 2 {
            return;
        }
        if kept <= self.start {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.base, self.start, self.end) = (self.offset(), 0, kept);
        }
        if self.end == self.bytes.len() {
            let enough = (self.start + count).max(self.end + CHUNK);
            self.bytes.resize(enough.min(self.end * 2), 0);
        }
    }

    /// Takes bytes that [`fill`](Self::fill) returned.
    pub fn take(&mut self, count: usize) -> &[u8] {
        let start = self.start;
        self.start += count;
        &self.bytes[start..self.start]
    }

    /// Returns the byte this far ahead, without reading what stands before it; `None` behind the
    /// end of the file.
    pub fn byte_at(&mut self, ahead: usize) -> io::Result<Option<u8>> {
        if ahead < CHUNK {
            return Ok(self.fill(ahead + 1)?.get(ahead).copied());
        }
        if let Some(byte) = self.bytes[self.start..self.end].get(ahead) {
            return Ok(Some(*byte));
        }
        let mut byte = [0];
        self.from.seek(SeekFrom::Start(self.offset() + ahead as u64))?;
        let read = self.from.read_exact(&mut byte);
        self.from.seek(SeekFrom::Start(self.base + self.end as u64))?;
        match read {
            Ok(()) => Ok(Some(byte[0])),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns how much memory the bytes take up.
    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Goes to an offset; reads nothing again that is there.
    pub fn seek(&mut self, offset: u64) -> io::Result<()> {
        let inside = offset.checked_sub(self.base).and_then(|ahead| usize::try_from(ahead).ok());
        if let Some(start) = inside.filter(|start| *start <= self.end) {
            self.start = start;
            return Ok(());
        }
        (self.base, self.start, self.end) = (offset, 0, 0);
        self.forget()
    }

    /// Forgets the bytes, and stays. They are read again.
    pub fn forget(&mut self) -> io::Result<()> {
        (self.base, self.start, self.end) = (self.offset(), 0, 0);
        self.at_once = FIRST;
        self.from.seek(SeekFrom::Start(self.base)).map(drop)
    }
}
