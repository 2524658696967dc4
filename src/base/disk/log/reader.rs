//! Reads a log from its beginning to its end.

use std::io::{self, Read, Seek};

use super::budget::Budget;
use super::item::{LogEnd, LogItem, Record, Why};
use super::record::{Found, HEAD};
use super::scan::Search;
use super::window::Window;
use crate::disk::head::{FileHead, HeadError};
use crate::disk::txn::Entry;
use crate::znode::Zxid;

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
    pub(super) window: Window<R>,
    head: FileHead,
    pub(super) last: Option<Zxid>,
    pub(super) budget: Budget,
}

impl<R: Read + Seek> LogReader<R> {
    /// Reads the head. The reader needs no buffer of its own, and is read from where it stands.
    pub fn open(mut from: R) -> Result<Self, HeadError> {
        let start = from.stream_position()?;
        let (_, head) = FileHead::read(&mut from, "ZKLG")?;
        let window = Window::new(from, start + FileHead::BYTES as u64);
        Ok(Self { window, head, last: None, budget: Budget::default() })
    }

    /// Returns the head.
    pub fn head(&self) -> FileHead {
        self.head
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
        let mut found = Found::here(&mut self.window)?;
        if !matches!(found, Found::Record(_)) {
            // Some bytes were perhaps read before a server wrote them.
            self.window.forget()?;
            found = Found::here(&mut self.window)?;
        }
        match found {
            Found::Record(length) => Ok(LogItem::Record(self.take(length))),
            Found::Nothing => Ok(LogItem::End(LogEnd::Whole { offset: self.offset() })),
            Found::Bad(why, claimed) => self.recover(why, claimed),
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
        let mut search = Search { window: &mut self.window, budget: &mut self.budget, last: self.last };
        match search.next_good(why, claimed)? {
            Some(damage) => Ok(LogItem::Damage(damage)),
            None => Ok(LogItem::End(LogEnd::Torn { offset, why })),
        }
    }
}
