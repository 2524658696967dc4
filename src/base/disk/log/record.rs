//! Recognizes a record.

use std::io::{self, Read, Seek};

use adler2::Adler32;

use super::item::Why;
use super::window::Window;
use crate::disk::txn::{Entry, TxnHeader};

/// The longest entry of a record, in bytes. Servers refuse requests above `jute.maxbuffer`, 1 MiB
/// unless it is set; a longer length is taken for damage.
pub const MAX_RECORD: usize = 64 << 20;

/// The size of a record's checksum and length, in bytes.
pub const HEAD: usize = 8 + 4;

/// The byte behind each entry.
pub const LAST: u8 = b'B';

/// What stands at an offset.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// A record with an entry of this length.
    Record(usize),
    /// Nothing but zeros, or the end of the file.
    Nothing,
    /// Something else. It claims this length, if that is within bounds.
    Bad(Why, Option<usize>),
}

impl Found {
    /// Looks at what stands here, and takes nothing.
    pub fn here<R: Read + Seek>(window: &mut Window<R>) -> io::Result<Self> {
        let bytes = window.fill(HEAD)?;
        if bytes[..bytes.len().min(HEAD)].iter().all(|byte| *byte == 0) {
            return Ok(Self::Nothing);
        }
        let Some((head, _)) = bytes.split_first_chunk() else { return Ok(Self::Bad(Why::Cut, None)) };
        let Some((checksum, length)) = parse_head(*head) else { return Ok(Self::Bad(Why::Length, None)) };
        let bad = |why| Ok(Self::Bad(why, Some(length)));
        match window.byte_at(HEAD + length)? {
            None => return bad(Why::Cut),
            Some(LAST) => {}
            Some(_) => return bad(Why::NoLastByte),
        }
        let bytes = window.fill(HEAD + length + 1)?;
        let Some(entry) = bytes.get(HEAD..HEAD + length) else { return bad(Why::Cut) };
        if checksum != u64::from(sum(entry)) {
            return bad(Why::Checksum);
        }
        match Entry::read(entry) {
            Ok(_) => Ok(Self::Record(length)),
            Err(malformed) => bad(Why::Entry(malformed)),
        }
    }
}

/// Reads a record's checksum and length; `None` if the length is out of bounds. Every entry has a
/// head.
pub fn parse_head(head: [u8; HEAD]) -> Option<(u64, usize)> {
    let [checksum @ .., l0, l1, l2, l3] = head;
    let length = usize::try_from(u32::from_be_bytes([l0, l1, l2, l3])).ok()?;
    let is_possible = (TxnHeader::BYTES..=MAX_RECORD).contains(&length);
    is_possible.then(|| (u64::from_be_bytes(checksum), length))
}

/// Returns an entry's checksum.
pub fn sum(entry: &[u8]) -> u32 {
    let mut sum = Adler32::new();
    sum.write_slice(entry);
    sum.checksum()
}
