//! The transactions of several logs as one stream, in the order of their ids.

use std::collections::VecDeque;
use std::fs::File;
use std::path::PathBuf;

use super::ImportError;
use super::files::{ServerFile, ServerFiles};
use lockscope_base::disk::{Damage, Entry, LogEnd, LogItem, LogReader, Txn};
use lockscope_base::znode::{SessionId, Timestamp, Zxid};

/// The most defects that are named. Further ones are only counted.
const MAX_DEFECTS: usize = 100;

/// What is wrong with the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Bytes within a log cannot be read. Good transactions follow.
    Damaged {
        /// The log.
        file: PathBuf,
        /// The bytes, and the transactions around them.
        damage: Damage,
    },
    /// A log ends within a transaction: a server is writing it, or was killed while it wrote.
    Torn {
        /// The log.
        file: PathBuf,
        /// Where the transaction begins in the file.
        offset: u64,
    },
    /// A snapshot is not whole, or cannot be unpacked: a server is writing it, was killed while it
    /// wrote, or it is damaged. It is not used.
    BadSnapshot {
        /// The snapshot.
        file: PathBuf,
    },
    /// No snapshot tells what stood before the first transaction: locks that are older are left out.
    NoSnapshot {
        /// The first transaction.
        zxid: Zxid,
    },
    /// Two members have different transactions with the same id. The first one is used.
    Differs {
        /// The log whose transaction is not used.
        file: PathBuf,
        /// The transaction.
        zxid: Zxid,
    },
}

/// A log that is read, at its next transaction.
struct Cursor {
    file: ServerFile,
    log: LogReader<File>,
    zxid: Zxid,
    /// The bytes of the transaction.
    entry: Vec<u8>,
}

/// Reads logs of one or more members of an ensemble. Each transaction comes once, even if several
/// logs have it. Memory is bounded by one transaction for each log that covers the same time.
pub(super) struct Transactions {
    /// The logs that are not open yet, the earliest first.
    waiting: VecDeque<ServerFile>,
    open: Vec<Cursor>,
    last: Option<Zxid>,
    defects: Vec<Defect>,
    /// The bytes of the logs that were read to their end.
    finished_bytes: u64,
}

impl Transactions {
    /// Starts with the first transaction of these logs.
    pub fn of(logs: &[ServerFile]) -> Self {
        Self {
            waiting: logs.iter().cloned().collect(),
            open: Vec::new(),
            last: None,
            defects: Vec::new(),
            finished_bytes: 0,
        }
    }

    /// Starts behind a transaction. Logs that cannot have a later one are not opened.
    pub fn after(logs: &[ServerFile], last: Zxid) -> Self {
        let first = logs.iter().rposition(|log| log.name.zxid.0 <= last.0.saturating_add(1)).unwrap_or(0);
        // Several members may have a log with that first transaction.
        let first = logs[..first].iter().rposition(|log| log.name.zxid < logs[first].name.zxid).map_or(0, |at| at + 1);
        Self { last: Some(last), ..Self::of(&logs[first..]) }
    }

    /// Takes the defects found so far.
    pub fn take_defects(&mut self) -> Vec<Defect> {
        std::mem::take(&mut self.defects)
    }

    /// Returns how many bytes of the logs were read.
    pub fn bytes(&self) -> u64 {
        self.finished_bytes + self.open.iter().map(|cursor| cursor.log.offset()).sum::<u64>()
    }

    /// Returns the next transaction; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Entry<'_>>, ImportError> {
        self.pass(self.last)?;
        loop {
            let next = self.open.iter().map(|cursor| cursor.zxid).min();
            match self.waiting.front() {
                Some(log) if next.is_none_or(|next| log.name.zxid <= next) => self.open_next()?,
                _ => break,
            }
        }
        let Some(next) = (0..self.open.len()).min_by_key(|at| self.open[*at].zxid) else { return Ok(None) };
        self.last = Some(self.open[next].zxid);
        self.compare(next);
        Ok(Some(self.open[next].entry()))
    }

    /// Opens the next log at its first transaction behind the last one.
    fn open_next(&mut self) -> Result<(), ImportError> {
        let Some(file) = self.waiting.pop_front() else { return Ok(()) };
        let Some(log) = file.open_log()? else { return Ok(()) };
        self.open.push(Cursor { file, log, zxid: Zxid(i64::MIN), entry: Vec::new() });
        self.pass(self.last.or(Some(Zxid(i64::MIN))))
    }

    /// Moves each log behind a transaction. Logs without a later one are closed.
    fn pass(&mut self, last: Option<Zxid>) -> Result<(), ImportError> {
        let Some(last) = last else { return Ok(()) };
        let mut at = 0;
        while let Some(cursor) = self.open.get_mut(at) {
            if cursor.pass(last, &mut self.defects)? {
                at += 1;
            } else {
                self.finished_bytes += cursor.log.offset();
                self.open.remove(at);
            }
        }
        Ok(())
    }

    /// Compares the transaction with those of the same id in other logs. A server of another
    /// version may write more or less behind it.
    fn compare(&mut self, at: usize) {
        let (used, zxid) = (&self.open[at].entry, self.open[at].zxid);
        for other in self.open.iter().filter(|other| other.zxid == zxid) {
            let common = used.len().min(other.entry.len());
            if used[..common] != other.entry[..common] && self.defects.len() < MAX_DEFECTS {
                self.defects.push(Defect::Differs { file: other.file.path.clone(), zxid });
            }
        }
    }
}

impl ServerFiles {
    /// Returns whether these are the logs of an ensemble that began this session.
    pub fn know_session(&self, session: SessionId) -> Result<bool, ImportError> {
        for log in self.logs.iter().rev() {
            let mut transactions = Transactions::of(std::slice::from_ref(log));
            while let Some(entry) = transactions.next()? {
                if entry.header.session == session && matches!(entry.txn, Txn::CreateSession { .. }) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns the time of the last transaction; the current time if there are no logs.
    pub fn latest_time(&self) -> Result<Timestamp, ImportError> {
        let mut latest = None;
        for log in self.logs.iter().rev() {
            let mut transactions = Transactions::of(std::slice::from_ref(log));
            while let Some(entry) = transactions.next()? {
                latest = latest.max(Some(entry.header.time));
            }
            if latest.is_some() {
                break;
            }
        }
        Ok(latest.unwrap_or_else(lockscope_base::time::now))
    }
}

impl Cursor {
    fn entry(&self) -> Entry<'_> {
        Entry::read(&self.entry).expect("the log's reader has decoded it")
    }

    /// Moves behind a transaction. Returns whether there is a later one.
    fn pass(&mut self, last: Zxid, defects: &mut Vec<Defect>) -> Result<bool, ImportError> {
        while self.zxid <= last {
            let defect = match self.log.read().map_err(|error| self.file.unreadable(error))? {
                LogItem::Record(record) => {
                    self.zxid = record.entry.header.zxid;
                    if self.zxid > last {
                        self.entry.clear();
                        self.entry.extend_from_slice(record.bytes);
                    }
                    continue;
                }
                LogItem::Damage(damage) => Defect::Damaged { file: self.file.path.clone(), damage },
                LogItem::End(LogEnd::Whole { .. }) => return Ok(false),
                LogItem::End(LogEnd::Torn { offset, .. }) => Defect::Torn { file: self.file.path.clone(), offset },
            };
            let is_end = matches!(defect, Defect::Torn { .. });
            if defects.len() < MAX_DEFECTS {
                defects.push(defect);
            }
            if is_end {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
