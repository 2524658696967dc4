//! Finds the next good record behind a damage.

use std::io::{self, Read, Seek};

use super::budget::Budget;
use super::item::{Damage, Why};
use super::record::{Found, HEAD, LAST, parse_head};
use super::window::Window;
use crate::disk::txn::TxnHeader;
use crate::wire::{Reader, op};
use crate::znode::Zxid;

/// The number of bytes that a candidate needs to be judged by its head.
const JUDGED: usize = HEAD + TxnHeader::BYTES;

/// Where the next good record is.
enum Next {
    At(u64),
    Unknown,
    Nowhere,
}

/// A search for the next good record.
pub struct Search<'s, R> {
    /// The file, at the damaged record.
    pub window: &'s mut Window<R>,
    /// What the search may cost.
    pub budget: &'s mut Budget,
    /// The last good transaction.
    pub last: Option<Zxid>,
}

impl<R: Read + Seek> Search<'_, R> {
    /// Goes to the next good record, and returns what was passed over. Stays and returns `None` if
    /// there is none.
    pub fn next_good(&mut self, why: Why, claimed: Option<usize>) -> io::Result<Option<Damage>> {
        let offset = self.window.offset();
        let claimed_end = claimed.map(|length| offset + (HEAD + length + 1) as u64);
        let next = match claimed_end {
            Some(end) => self.skip(why, end)?,
            None => Next::Unknown,
        };
        let is_found = match next {
            Next::At(at) => self.window.seek(at).map(|()| true)?,
            Next::Unknown => self.scan(u64::MAX)?,
            Next::Nowhere => false,
        };
        if !is_found {
            return self.window.seek(offset).map(|()| None);
        }
        // The file can have become shorter meanwhile.
        let Some(next) = self.zxid()? else { return self.window.seek(offset).map(|()| None) };
        let is_next_inside = claimed_end.is_some_and(|end| self.window.offset() < end);
        let bytes = self.window.offset() - offset;
        Ok(Some(Damage { offset, bytes, after: self.last, next, is_next_inside, why }))
    }

    /// Looks for the next good record where the length says that the damaged one ends.
    ///
    /// A wrong length can lead to a record further on. Then transactions are missing between, and
    /// the bytes up to there are searched for them.
    fn skip(&mut self, why: Why, end: u64) -> io::Result<Next> {
        let here = self.window.offset();
        let damaged = self.zxid()?;
        self.window.seek(end)?;
        let (found, zxid) = (self.found()?, self.zxid()?);
        self.window.seek(here)?;
        let has_last_byte = matches!(why, Why::Checksum | Why::Entry(_));
        match found {
            Found::Record(length) => {
                let is_next = follows(zxid, damaged, 1) || follows(zxid, self.last, 2);
                if !is_next && self.scan(end)? {
                    return Ok(Next::At(self.window.offset()));
                }
                self.budget.repay(length);
                Ok(Next::At(end))
            }
            Found::Nothing if has_last_byte => Ok(Next::Nowhere),
            Found::Nothing | Found::Bad(..) => Ok(Next::Unknown),
        }
    }

    /// Looks at what stands here, if its checksum may be computed.
    fn found(&mut self) -> io::Result<Found> {
        let head = self.window.fill(HEAD)?.first_chunk().copied();
        match head.and_then(parse_head) {
            Some((_, length)) if !self.budget.pay(length) => Ok(Found::Bad(Why::Checksum, Some(length))),
            _ => Found::here(self.window),
        }
    }

    /// Returns the zxid of the record that stands here, good or not.
    fn zxid(&mut self) -> io::Result<Option<Zxid>> {
        Ok(header(self.window.fill(JUDGED)?).map(|header| header.zxid))
    }

    /// Goes to the first good record behind this place that ends by an offset, byte by byte.
    /// Returns whether there is one.
    fn scan(&mut self, before: u64) -> io::Result<bool> {
        let mut passed = 1;
        while self.window.offset() < before && self.window.fill(JUDGED)?.len() >= JUDGED {
            self.window.take(passed);
            self.budget.earn(passed);
            let bytes = self.window.fill(JUDGED)?;
            passed = match next_candidate(bytes, self.last) {
                (0, Some(length)) if self.is_good(length, before)? => return Ok(true),
                (0, Some(_)) => 1,
                (ahead, _) => ahead,
            };
        }
        Ok(false)
    }

    /// Returns whether a candidate with an entry of this length is a good record that ends by
    /// an offset.
    fn is_good(&mut self, length: usize, before: u64) -> io::Result<bool> {
        let end = self.window.offset() + (HEAD + length + 1) as u64;
        if end > before || self.window.byte_at(HEAD + length)? != Some(LAST) {
            return Ok(false);
        }
        let is_good = matches!(self.found()?, Found::Record(_));
        if is_good {
            self.budget.repay(length);
        }
        Ok(is_good)
    }
}

/// Returns whether a transaction is as many behind another.
fn follows(zxid: Option<Zxid>, before: Option<Zxid>, by: i64) -> bool {
    zxid.zip(before).is_some_and(|(zxid, before)| before.0.checked_add(by) == Some(zxid.0))
}

/// Returns how far ahead the first candidate is, and the length of its entry; without one, how far
/// ahead it can be at the least. There are at least [`JUDGED`] bytes.
fn next_candidate(bytes: &[u8], after: Option<Zxid>) -> (usize, Option<usize>) {
    let mut at = 0;
    while let Some(judged) = bytes.get(at..at + JUDGED) {
        // An Adler-32 leaves the upper half of its eight bytes zero, and no length is zero.
        if let Some(nonzero) = judged[..4].iter().rposition(|byte| *byte != 0) {
            at += nonzero + 1;
        } else if judged[4..HEAD].iter().all(|byte| *byte == 0) {
            let zeros = bytes[at..].iter().position(|byte| *byte != 0).unwrap_or(bytes.len() - at);
            at += zeros + 1 - HEAD;
        } else if let Some(length) = candidate(judged, after) {
            return (at, Some(length));
        } else {
            at += 1;
        }
    }
    (at, None)
}

/// Returns the length of the entry if these bytes can be the beginning of a record.
fn candidate(judged: &[u8], after: Option<Zxid>) -> Option<usize> {
    let (checksum, length) = parse_head(*judged.first_chunk()?)?;
    let header = header(judged)?;
    let is_known = matches!(
        header.op,
        op::CREATE..=op::DELETE
            | op::SET_DATA
            | op::SET_ACL
            | op::MULTI..=op::RECONFIG
            | op::CREATE_CONTAINER..=op::CREATE_TTL
            | op::CLOSE_SESSION..=op::CREATE_SESSION
            | op::ERROR
    );
    let is_later = after.is_none_or(|after| header.zxid > after);
    (u32::try_from(checksum).is_ok() && is_known && is_later).then_some(length)
}

fn header(record: &[u8]) -> Option<TxnHeader> {
    TxnHeader::read(&mut Reader::new(record.get(HEAD..)?)).ok()
}
