//! Reads the values of a frame, within bounds.

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
}
