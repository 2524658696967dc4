//! Classifies a server's answer from its whole content. Implements ZooKeeper's records
//! independently of the transport.

/// The kind of an answer to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A valid answer to the request.
    Right,
    /// A complete answer that violates the protocol.
    Malformed,
    /// A part of an answer, or nothing: the rest never arrives.
    Unfinished,
}

/// The largest frame, in bytes.
const LARGEST: usize = 64 << 20;

/// The longest list.
const LONGEST: usize = 1 << 20;

/// Returns the kind of the answer `said` to a request.
pub(super) fn kind_of(said: &[u8], xid: i32, operation: i32) -> Kind {
    let Some(head) = said.first_chunk::<4>() else { return Kind::Unfinished };
    let Ok(length) = usize::try_from(i32::from_be_bytes(*head)) else { return Kind::Malformed };
    if !(16..=LARGEST).contains(&length) {
        return Kind::Malformed;
    }
    let Some(frame) = said[4..].get(..length) else { return Kind::Unfinished };
    if said.len() > 4 + length || !answers(frame, xid, operation) { Kind::Malformed } else { Kind::Right }
}

/// Returns whether the frame, without its length, answers the request.
fn answers(frame: &[u8], xid: i32, operation: i32) -> bool {
    let mut header = Record(&frame[..16]);
    let (number, _zxid, error) = (header.int(), header.bytes(8), header.int());
    let mut body = Record(&frame[16..]);
    // Only this request is outstanding, and it sets no watch that could fire.
    number == Some(xid)
        && match error {
            Some(0) => body.answer(operation).is_some() && body.0.is_empty(),
            Some(error) => (-199..0).contains(&error),
            None => false,
        }
}

/// The rest of a record. Methods return `None` on invalid content.
struct Record<'a>(&'a [u8]);

impl<'a> Record<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn int(&mut self) -> Option<i32> {
        self.bytes(4)?.try_into().ok().map(i32::from_be_bytes)
    }

    /// Reads a count, where -1 stands for nothing.
    fn count(&mut self) -> Option<usize> {
        let count = self.int()?;
        usize::try_from(if count == -1 { 0 } else { count }).ok()
    }

    fn buffer(&mut self) -> Option<&'a [u8]> {
        let length = self.count()?;
        self.bytes(length)
    }

    fn text(&mut self) -> Option<()> {
        std::str::from_utf8(self.buffer()?).ok().map(drop)
    }

    fn stat(&mut self) -> Option<()> {
        self.bytes(68).map(drop)
    }

    fn list(&mut self, mut one: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        let count = self.count().filter(|count| *count <= LONGEST)?;
        (0..count).try_for_each(|_| one(self))
    }

    /// Reads the answer to an operation, given by its number in the protocol.
    fn answer(&mut self, operation: i32) -> Option<()> {
        match operation {
            1 => self.text(),
            15 | 19 | 21 => self.text().and_then(|()| self.stat()),
            3 => self.stat(),
            4 => self.buffer().and_then(|_| self.stat()),
            6 => self.list(Self::access).and_then(|()| self.stat()),
            8 => self.list(Self::text),
            12 => self.list(Self::text).and_then(|()| self.stat()),
            14 | 22 => self.results(),
            107 => self.list(|user| user.buffer().and_then(|_| user.buffer()).map(drop)),
            // Setting a watch has an empty answer.
            106 => self.bytes(self.0.len()).map(drop),
            other => panic!("the test does not ask for {other}"),
        }
    }

    fn access(&mut self) -> Option<()> {
        self.int().filter(|permissions| (0..=31).contains(permissions))?;
        self.buffer().and_then(|_| self.buffer()).map(drop)
    }

    /// Reads the results of a transaction or of several reads, up to the header that ends them.
    fn results(&mut self) -> Option<()> {
        loop {
            let (operation, done, _error) = (self.int()?, self.bytes(1)?, self.int()?);
            match done {
                [0] => {}
                [1] => return Some(()),
                _ => return None,
            }
            match operation {
                2 | 13 => {}
                1 => self.text()?,
                15 => self.text().and_then(|()| self.stat())?,
                5 => self.stat()?,
                4 => self.buffer().and_then(|_| self.stat())?,
                8 => self.list(Self::text)?,
                -1 => self.int().map(drop)?,
                _ => return None,
            }
        }
    }
}
