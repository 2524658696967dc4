//! Reads a transaction log from its beginning to its end, and finds the next good record behind a
//! damage.
//!
//! [`LogItem`] is what reading yields, and [`LogReader`] reads. [`FoundRecord`] recognizes a record
//! in a [`LogWindow`] of the file. A [`RecordSearch`] looks for the next good record, and a
//! [`Budget`] limits its work: a file can be made so that bytes look like long records at every
//! place.

use std::io;
use std::io::{Read, Seek, SeekFrom};

use adler2::Adler32;

use crate::disk::file::{FileHead, HeadError};
use crate::disk::txn::{Entry, TxnHeader};
use crate::wire::{Malformed, Reader, op};
use crate::znode::Zxid;

#[cfg(test)]
mod tests;

/// What stands in a log.
#[derive(Clone, Debug)]
pub enum LogItem<'a> {
    /// A record.
    Record(Record<'a>),
    /// Bytes that were passed over. Good records follow.
    Damage(Damage),
    /// Nothing more, for now.
    End(LogEnd),
}

/// A good record.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// Where it begins in the file.
    pub offset: u64,
    /// Its contents, undecoded.
    pub bytes: &'a [u8],
    /// Its contents.
    pub entry: Entry<'a>,
}

/// Bytes between good records that cannot be read. One damage can hold several records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where the first damaged record begins in the file.
    pub offset: u64,
    /// The number of bytes up to the next good record.
    pub bytes: u64,
    /// The last good transaction before, if there is one.
    pub after: Option<Zxid>,
    /// The next good transaction.
    pub next: Zxid,
    /// Whether the next good record begins within the bytes that the damaged one claims. Then
    /// either the length is damaged, or a part of a node's data looks like a record, which a client
    /// can bring about on purpose.
    pub is_next_inside: bool,
    /// What is wrong with the first damaged record.
    pub why: Why,
}

/// How a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEnd {
    /// Behind a whole record: zeros follow up to the end of the file, as servers allocate them, or
    /// nothing.
    Whole {
        /// Where the next record will be written.
        offset: u64,
    },
    /// With a record that is not whole, and no good one behind it. A server is writing it, was
    /// killed while it wrote, or the last record is damaged.
    Torn {
        /// Where the record begins.
        offset: u64,
        /// What is wrong with it.
        why: Why,
    },
}

/// What is wrong with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The file ends within it.
    #[error("the file ends within the record")]
    Cut,
    /// Zeros stand in its place, and other bytes behind them.
    #[error("zeros stand in place of the record, and other bytes behind them")]
    Zeros,
    /// Its length is out of bounds.
    #[error("the record's length is out of bounds")]
    Length,
    /// Its last byte is missing.
    #[error("the record's last byte is missing")]
    NoLastByte,
    /// Its checksum is wrong.
    #[error("the record's checksum is wrong")]
    Checksum,
    /// Its checksum is right, but it cannot be decoded.
    #[error("the record cannot be decoded, although its checksum is right: {0}")]
    Entry(#[from] Malformed),
}

/// Reads one file of a transaction log, record by record.
///
/// Memory stays near 256 KiB, or twice the longest record that is really there.
///
/// A server may write the file meanwhile: [`read`](Self::read) after the end looks again at what
/// stands there now.
///
/// ```no_run
/// use lockscope_base::disk::{LogItem, LogReader, Txn};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut log = LogReader::open(std::fs::File::open("version-2/log.1")?)?;
/// loop {
///     match log.read()? {
///         LogItem::Record(record) => {
///             if let Txn::Create(create) = record.entry.txn {
///                 println!("{} creates {}", record.entry.header.zxid, create.path);
///             }
///         }
///         LogItem::Damage(damage) => println!("{} bytes are lost", damage.bytes),
///         LogItem::End(_) => break,
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct LogReader<R> {
    window: LogWindow<R>,
    last: Option<Zxid>,
    budget: Budget,
}

impl<R: Read + Seek> LogReader<R> {
    /// Reads the head. The reader needs no buffer of its own, and is read from where it stands.
    pub fn open(mut from: R) -> Result<Self, HeadError> {
        let start = from.stream_position()?;
        FileHead::read(&mut from, "ZKLG")?;
        let window = LogWindow::new(from, start + FileHead::BYTES as u64);
        Ok(Self { window, last: None, budget: Budget::default() })
    }

    /// Reads a log whatever its head is: each record has a checksum of its own. `None` for a file
    /// that ends within its head.
    pub fn behind_head(mut from: R) -> io::Result<Option<Self>> {
        let start = from.stream_position()? + FileHead::BYTES as u64;
        if from.seek(SeekFrom::End(0))? < start {
            return Ok(None);
        }
        from.seek(SeekFrom::Start(start))?;
        Ok(Some(Self { window: LogWindow::new(from, start), last: None, budget: Budget::default() }))
    }

    /// Returns where the next record begins.
    pub fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// Returns the last good transaction.
    pub fn last_zxid(&self) -> Option<Zxid> {
        self.last
    }

    /// Goes on at this offset, where a record began or ended when the file was read before, behind
    /// that transaction.
    pub fn resume(&mut self, offset: u64, last: Option<Zxid>) -> io::Result<()> {
        self.last = last;
        self.window.seek(offset)?;
        self.window.forget()
    }

    /// Reads the next record, passes over the next damage, or tells how the file ends.
    pub fn read(&mut self) -> io::Result<LogItem<'_>> {
        let mut found = FoundRecord::here(&mut self.window)?;
        if !matches!(found, FoundRecord::Record(_)) {
            // Some bytes were perhaps read before a server wrote them.
            self.window.forget()?;
            found = FoundRecord::here(&mut self.window)?;
        }
        match found {
            FoundRecord::Record(length) => Ok(LogItem::Record(self.take(length))),
            FoundRecord::Nothing => self.pass_zeros(),
            FoundRecord::Bad(why, claimed) => self.recover(why, claimed),
        }
    }

    /// Tells zeros up to the end of the file from a hole.
    fn pass_zeros(&mut self) -> io::Result<LogItem<'_>> {
        let offset = self.offset();
        if !self.window.skip_zeros()? {
            self.window.seek(offset)?;
            return Ok(LogItem::End(LogEnd::Whole { offset }));
        }
        // A server may have written meanwhile: what stands behind was written later than what stands
        // here.
        self.window.seek(offset)?;
        self.window.forget()?;
        match FoundRecord::here(&mut self.window)? {
            FoundRecord::Record(length) => Ok(LogItem::Record(self.take(length))),
            FoundRecord::Nothing => self.recover(Why::Zeros, None),
            FoundRecord::Bad(why, claimed) => self.recover(why, claimed),
        }
    }

    /// Takes the record that stands here.
    fn take(&mut self, length: usize) -> Record<'_> {
        let offset = self.offset();
        let bytes = &self.window.take(HEAD + length + 1)[HEAD..HEAD + length];
        let entry = Entry::read(bytes).expect("the entry was decoded before");
        self.last = Some(entry.header.zxid);
        Record { offset, bytes, entry }
    }

    /// Goes from a damaged record to the next good one. Stays if there is none.
    fn recover(&mut self, why: Why, claimed: Option<usize>) -> io::Result<LogItem<'static>> {
        let offset = self.offset();
        let mut search = RecordSearch { window: &mut self.window, budget: &mut self.budget, last: self.last };
        match search.next_good(why, claimed)? {
            Some(damage) => Ok(LogItem::Damage(damage)),
            None => Ok(LogItem::End(LogEnd::Torn { offset, why })),
        }
    }
}

/// The longest entry of a record, in bytes. Servers refuse requests above `jute.maxbuffer`, 1 MiB
/// unless it is set; a longer length is taken for damage.
pub const MAX_RECORD: usize = 64 << 20;

/// The size of a record's checksum and length, in bytes.
pub const HEAD: usize = 8 + 4;

/// The byte behind each entry.
pub const LAST: u8 = b'B';

/// What stands at an offset.
#[derive(Clone, Copy, Debug)]
pub enum FoundRecord {
    /// A record with an entry of this length.
    Record(usize),
    /// Nothing but zeros, or the end of the file.
    Nothing,
    /// Something else. It claims this length, if that is within bounds.
    Bad(Why, Option<usize>),
}

impl FoundRecord {
    /// Looks at what stands here, and takes nothing.
    pub fn here<R: Read + Seek>(window: &mut LogWindow<R>) -> io::Result<Self> {
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

/// The greatest number of bytes that are read at once.
const CHUNK: usize = 256 << 10;

/// The number of bytes that are read first at a new place: perhaps no more are needed.
const FIRST: usize = 4 << 10;

/// The bytes of a file from the place on where it is read, as far as they are needed.
#[derive(Debug)]
pub struct LogWindow<R> {
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

impl<R: Read + Seek> LogWindow<R> {
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

    /// Goes to the next byte that is not zero, or to the end. Returns whether there is one.
    pub fn skip_zeros(&mut self) -> io::Result<bool> {
        loop {
            let bytes = self.fill(1)?;
            let zeros = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
            let (is_found, is_end) = (zeros < bytes.len(), bytes.is_empty());
            self.take(zeros);
            if is_found || is_end {
                return Ok(is_found);
            }
        }
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

/// The number of bytes that a candidate needs to be judged by its head.
const JUDGED: usize = HEAD + TxnHeader::BYTES;

/// Where the next good record is.
enum NextRecord {
    At(u64),
    Unknown,
    Nowhere,
}

/// A search for the next good record.
pub struct RecordSearch<'s, R> {
    /// The file, at the damaged record.
    pub window: &'s mut LogWindow<R>,
    /// What the search may cost.
    pub budget: &'s mut Budget,
    /// The last good transaction.
    pub last: Option<Zxid>,
}

impl<R: Read + Seek> RecordSearch<'_, R> {
    /// Goes to the next good record, and returns what was passed over. Stays and returns `None` if
    /// there is none.
    pub fn next_good(&mut self, why: Why, claimed: Option<usize>) -> io::Result<Option<Damage>> {
        let offset = self.window.offset();
        let claimed_end = claimed.map(|length| offset + (HEAD + length + 1) as u64);
        let next = match claimed_end {
            Some(end) => self.skip(why, end)?,
            None => NextRecord::Unknown,
        };
        let is_found = match next {
            NextRecord::At(at) => self.window.seek(at).map(|()| true)?,
            NextRecord::Unknown => self.scan(u64::MAX)?,
            NextRecord::Nowhere => false,
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
    fn skip(&mut self, why: Why, end: u64) -> io::Result<NextRecord> {
        let here = self.window.offset();
        let damaged = self.zxid()?;
        self.window.seek(end)?;
        let (found, zxid) = (self.found()?, self.zxid()?);
        self.window.seek(here)?;
        let has_last_byte = matches!(why, Why::Checksum | Why::Entry(_));
        match found {
            FoundRecord::Record(length) => {
                let is_next = follows(zxid, damaged, 1) || follows(zxid, self.last, 2);
                if !is_next && self.scan(end)? {
                    return Ok(NextRecord::At(self.window.offset()));
                }
                self.budget.repay(length);
                Ok(NextRecord::At(end))
            }
            FoundRecord::Nothing if has_last_byte && !self.is_more_behind(end)? => Ok(NextRecord::Nowhere),
            FoundRecord::Nothing | FoundRecord::Bad(..) => Ok(NextRecord::Unknown),
        }
    }

    /// Returns whether anything but zeros stands behind an offset. Stays.
    fn is_more_behind(&mut self, offset: u64) -> io::Result<bool> {
        let here = self.window.offset();
        self.window.seek(offset)?;
        let is_more = self.window.skip_zeros()?;
        self.window.seek(here)?;
        Ok(is_more)
    }

    /// Looks at what stands here, if its checksum may be computed.
    fn found(&mut self) -> io::Result<FoundRecord> {
        let head = self.window.fill(HEAD)?.first_chunk().copied();
        match head.and_then(parse_head) {
            Some((_, length)) if !self.budget.pay(length) => Ok(FoundRecord::Bad(Why::Checksum, Some(length))),
            _ => FoundRecord::here(self.window),
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
        let is_good = matches!(self.found()?, FoundRecord::Record(_));
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

/// The bytes whose checksum a scan may compute for each byte that it passes.
const CHECKED_PER_BYTE: u64 = 16;

/// Limits the work that a file which is made on purpose can cause: bytes that begin like long
/// records at every place. When it is used up, such candidates are passed over. The few that chance
/// makes never use it up.
#[derive(Debug)]
pub struct Budget(pub u64);

impl Default for Budget {
    fn default() -> Self {
        Self(2 * MAX_RECORD as u64)
    }
}

impl Budget {
    /// Counts bytes that were passed.
    pub fn earn(&mut self, passed: usize) {
        self.0 = self.0.saturating_add(CHECKED_PER_BYTE * passed as u64);
    }

    /// Returns whether the checksum of this many bytes may be computed.
    pub fn pay(&mut self, length: usize) -> bool {
        let left = self.0.checked_sub(length as u64);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }

    /// Gives back what was paid for a record that is read next.
    pub fn repay(&mut self, length: usize) {
        self.0 = self.0.saturating_add(length as u64);
    }
}
