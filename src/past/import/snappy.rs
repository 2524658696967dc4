//! Unpacks what Java's `SnappyOutputStream` writes: a head, then blocks with their lengths.

use std::io::{self, ErrorKind, Read};

/// The beginning of the format.
const MAGIC: &[u8; 8] = b"\x82SNAPPY\0";

/// The size of the head: the magic bytes, the version, and the oldest version that reads it.
const HEAD: usize = 8 + 4 + 4;

/// The largest block, in bytes, packed or unpacked. Servers write blocks of 32 KiB.
const MAX_BLOCK: usize = 16 << 20;

/// Reads packed bytes as what they were. Memory is bounded by two blocks.
pub(super) struct SnappyReader<R> {
    from: R,
    has_begun: bool,
    packed: Vec<u8>,
    block: Vec<u8>,
    taken: usize,
}

fn bad(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("the packed snapshot is damaged: {what}"))
}

impl<R: Read> SnappyReader<R> {
    pub fn new(from: R) -> Self {
        Self { from, has_begun: false, packed: Vec::new(), block: Vec::new(), taken: 0 }
    }

    fn begin(&mut self) -> io::Result<()> {
        let mut head = [0; HEAD];
        self.from.read_exact(&mut head)?;
        if !head.starts_with(MAGIC) {
            return Err(bad("it does not begin as one"));
        }
        self.has_begun = true;
        Ok(())
    }

    /// Reads the next block; an empty one is the end.
    fn next_block(&mut self) -> io::Result<()> {
        (self.taken, self.block) = (0, Vec::new());
        let mut length = [0; 4];
        match self.from.read(&mut length)? {
            0 => return Ok(()),
            some => self.from.read_exact(&mut length[some..])?,
        }
        let length = u32::from_be_bytes(length) as usize;
        if length > MAX_BLOCK {
            return Err(bad("a block is too large"));
        }
        self.packed.clear();
        let read = (&mut self.from).take(length as u64).read_to_end(&mut self.packed)?;
        if read < length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if snap::raw::decompress_len(&self.packed).map_err(|_| bad("a block"))? > MAX_BLOCK {
            return Err(bad("a block is too large"));
        }
        self.block = snap::raw::Decoder::new().decompress_vec(&self.packed).map_err(|_| bad("a block"))?;
        Ok(())
    }
}

impl<R: Read> Read for SnappyReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if !self.has_begun {
            self.begin()?;
        }
        if self.taken == self.block.len() {
            self.next_block()?;
        }
        let left = &self.block[self.taken..];
        let count = left.len().min(into.len());
        into[..count].copy_from_slice(&left[..count]);
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(blocks: &[&[u8]]) -> Vec<u8> {
        let mut bytes = [MAGIC.as_slice(), &1_i32.to_be_bytes(), &1_i32.to_be_bytes()].concat();
        for block in blocks {
            let packed = snap::raw::Encoder::new().compress_vec(block).unwrap();
            bytes.extend(u32::try_from(packed.len()).unwrap().to_be_bytes());
            bytes.extend(packed);
        }
        bytes
    }

    #[test]
    fn blocks_are_unpacked_one_after_the_other() {
        let bytes = packed(&[b"one and ", &vec![b'x'; 40_000], b" three"]);
        let mut text = Vec::new();
        SnappyReader::new(bytes.as_slice()).read_to_end(&mut text).unwrap();
        assert!(text.starts_with(b"one and xxx") && text.ends_with(b"xxx three"));
        assert_eq!(text.len(), 40_014);
    }

    #[test]
    fn damage_is_an_error_at_every_byte() {
        let whole = packed(&[b"some text, some text, some text"]);
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x40;
            let _ = SnappyReader::new(bytes.as_slice()).read_to_end(&mut Vec::new());
            let read = SnappyReader::new(&whole[..at]).read_to_end(&mut Vec::new());
            assert!(read.is_err() || at == HEAD, "{at}");
        }
    }
}
