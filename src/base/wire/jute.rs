//! Values and frames in `jute`, ZooKeeper's own encoding: reads them within bounds, writes them,
//! and gathers bytes that arrive in pieces.
//!
//! A frame is a length and that many bytes.

use std::borrow::Cow;

/// The bytes do not follow the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bytes are no {0}")]
pub struct Malformed(pub &'static str);

/// Reads jute, ZooKeeper's own encoding, from unchecked bytes. Every length is compared with the
/// remaining bytes before memory is allocated.
#[derive(Clone, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Creates a reader at the start of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes that are not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed(what))?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads `N` bytes. The error names them as `what`.
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed(what))?;
        self.0 = rest;
        Ok(*taken)
    }

    /// Reads a boolean. Zero is false and any other byte is true, as in Java.
    pub fn bool(&mut self) -> Result<bool, Malformed> {
        Ok(self.array::<1>("boolean")? != [0])
    }

    /// Reads a number of four bytes.
    pub fn int(&mut self) -> Result<i32, Malformed> {
        self.array("int").map(i32::from_be_bytes)
    }

    /// Reads a number of eight bytes.
    pub fn long(&mut self) -> Result<i64, Malformed> {
        self.array("long").map(i64::from_be_bytes)
    }

    /// Reads a length and that many bytes; a length of -1 means `None`.
    pub fn buffer(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        match self.int()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| Malformed("length"))?;
                self.take(length, "buffer").map(Some)
            }
        }
    }

    /// Reads a text. Invalid UTF-8 is replaced, as servers do.
    pub fn text(&mut self) -> Result<Option<Cow<'a, str>>, Malformed> {
        Ok(self.buffer()?.map(String::from_utf8_lossy))
    }

    /// Reads a text that must not be `None`.
    pub fn some_text(&mut self) -> Result<Cow<'a, str>, Malformed> {
        self.text()?.ok_or(Malformed("text"))
    }

    /// Reads a length and that many items; a length of -1 means an empty list. The allocation never
    /// exceeds the received bytes.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T, Malformed>) -> Result<Vec<T>, Malformed> {
        let count = match self.int()? {
            -1 => 0,
            count => usize::try_from(count).map_err(|_| Malformed("list"))?,
        };
        // Every item takes at least four bytes.
        let mut items = Vec::with_capacity(count.min(self.0.len() / 4));
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }
}

/// Writes jute, ZooKeeper's own encoding.
pub trait Writer {
    /// Appends a boolean, in one byte.
    fn put_bool(&mut self, value: bool);
    /// Appends a number of four bytes.
    fn put_int(&mut self, value: i32);
    /// Appends a number of eight bytes.
    fn put_long(&mut self, value: i64);
    /// Appends the number of bytes or items that follow.
    fn put_length(&mut self, length: usize);
    /// Appends a length and these bytes; `None` has the length -1.
    fn put_buffer(&mut self, bytes: Option<&[u8]>);
    /// Appends a length and this text.
    fn put_text(&mut self, text: &str);
}

impl Writer for Vec<u8> {
    fn put_bool(&mut self, value: bool) {
        self.push(u8::from(value));
    }

    fn put_int(&mut self, value: i32) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn put_long(&mut self, value: i64) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    /// Lengths stay below 2 GiB, because everything that is written arrived in frames.
    fn put_length(&mut self, length: usize) {
        self.put_int(i32::try_from(length).unwrap_or(i32::MAX));
    }

    fn put_buffer(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            None => self.put_int(-1),
            Some(bytes) => {
                self.put_length(bytes.len());
                self.extend_from_slice(bytes);
            }
        }
    }

    fn put_text(&mut self, text: &str) {
        self.put_buffer(Some(text.as_bytes()));
    }
}

/// The number of bytes of the length before each frame.
pub const LENGTH_BYTES: usize = 4;

/// The first frame in the received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The frame is incomplete.
    More,
    /// A whole frame of this many bytes, which follow its length.
    Frame(usize),
    /// The length is negative or above the limit.
    Bad(i32),
}

/// Returns the first frame in `received`, if it has at most `limit` bytes.
pub fn cut(received: &[u8], limit: usize) -> Cut {
    let Some(length) = received.first_chunk::<LENGTH_BYTES>() else { return Cut::More };
    let length = i32::from_be_bytes(*length);
    match usize::try_from(length) {
        Ok(count) if count <= limit && received.len() - LENGTH_BYTES >= count => Cut::Frame(count),
        Ok(count) if count <= limit => Cut::More,
        _ => Cut::Bad(length),
    }
}

/// Appends a frame: its length and the bytes that `body` writes.
pub fn frame(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.put_int(0);
    body(out);
    let length = i32::try_from(out.len() - start - LENGTH_BYTES).unwrap_or(i32::MAX);
    out[start..start + LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
}

/// Gathers `N` bytes that arrive in pieces, such as a length or a head.
#[derive(Clone, Copy, Debug)]
pub struct Gather<const N: usize> {
    kept: [u8; N],
    have: usize,
}

impl<const N: usize> Default for Gather<N> {
    fn default() -> Self {
        Self { kept: [0; N], have: 0 }
    }
}

impl<const N: usize> Gather<N> {
    /// Moves the missing bytes off the front of `bytes`. Returns all `N` bytes once they are
    /// complete, and starts over.
    pub fn take(&mut self, bytes: &mut &[u8]) -> Option<[u8; N]> {
        let (taken, rest) = bytes.split_at(self.missing().min(bytes.len()));
        self.kept[self.have..self.have + taken.len()].copy_from_slice(taken);
        (self.have, *bytes) = (self.have + taken.len(), rest);
        (self.have == N).then(|| {
            self.have = 0;
            self.kept
        })
    }

    /// Returns the number of missing bytes.
    pub fn missing(&self) -> usize {
        N - self.have
    }

    /// Returns whether some of the bytes have arrived, but not all.
    pub fn has_begun(&self) -> bool {
        self.have > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_beyond_the_end_is_refused_before_allocation() {
        assert_eq!(Reader::new(&[0x7f, 0xff, 0xff, 0xff, 1]).buffer(), Err(Malformed("buffer")));
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xfe]).buffer(), Err(Malformed("length")));
        assert_eq!(Reader::new(&[0x7f, 0xff, 0xff, 0xff]).list(Reader::text), Err(Malformed("int")));
        assert_eq!(Reader::new(&[0]).int(), Err(Malformed("int")));
    }

    #[test]
    fn a_length_of_minus_one_means_none() {
        assert_eq!(Reader::new(&[0xff; 4]).buffer(), Ok(None));
        assert_eq!(Reader::new(&[0xff; 4]).list(Reader::int), Ok(Vec::new()));
        assert_eq!(Reader::new(&[0xff; 4]).some_text(), Err(Malformed("text")));
    }

    #[test]
    fn a_frame_is_cut_once_it_is_complete() {
        assert_eq!(cut(&[0, 0, 0], 9), Cut::More);
        assert_eq!(cut(&[0, 0, 0, 2, 1], 9), Cut::More);
        assert_eq!(cut(&[0, 0, 0, 2, 1, 1, 1], 9), Cut::Frame(2));
        assert_eq!(cut(&[0, 0, 0, 0], 9), Cut::Frame(0));
    }

    #[test]
    fn a_length_above_the_limit_is_refused_before_the_bytes_arrive() {
        assert_eq!(cut(&[0, 0, 0, 10], 9), Cut::Bad(10));
        assert_eq!(cut(&[0xff, 0xff, 0xff, 0xff], 9), Cut::Bad(-1));
        assert_eq!(cut(&[0x7f, 0xff, 0xff, 0xff], 9), Cut::Bad(i32::MAX));
    }

    #[test]
    fn bytes_in_pieces_of_any_size_are_returned_once_they_are_complete() {
        let said: Vec<u8> = (0..12).collect();
        for size in 1..=said.len() {
            let (mut gather, mut found) = (Gather::<4>::default(), Vec::new());
            for mut piece in said.chunks(size) {
                while !piece.is_empty() {
                    found.extend(gather.take(&mut piece));
                }
            }
            assert_eq!(found, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], "{size}");
            assert!(!gather.has_begun());
            assert_eq!(gather.take(&mut &said[..3]), None);
            assert!(gather.has_begun() && gather.missing() == 1);
        }
    }
}
