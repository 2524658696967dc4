//! The files of servers: finds, sorts, opens and unpacks them, and reads the transactions of all
//! logs as one stream, in the order of their ids.
//!
//! Nothing is written beside the files. Snapshots may be packed by Java's `SnappyOutputStream`: a
//! head, then blocks with their lengths.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::{fs, io};

use flate2::read::GzDecoder;

use super::ImportError;
use lockscope_base::disk::{
    Compression, Damage, Entry, FileKind, FileName, HeadError, LogEnd, LogItem, LogReader, SnapshotReader, Txn,
};
use lockscope_base::znode::{SessionId, Timestamp, Zxid};

/// The folder below a server's `dataDir` and `dataLogDir` that has the files.
const VERSION_FOLDER: &str = "version-2";

/// A file of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerFile {
    pub path: PathBuf,
    pub name: FileName,
    /// The size when it was found, in bytes.
    pub bytes: u64,
}

/// The files of one server, or of several members of one ensemble. Both lists are sorted by their
/// first transaction.
#[derive(Clone, Debug, Default)]
pub struct ServerFiles {
    pub(super) logs: Vec<ServerFile>,
    pub(super) snapshots: Vec<ServerFile>,
}

impl ServerFiles {
    /// Finds the files at these places: single files, `version-2` folders, and folders that have
    /// one.
    pub fn find(places: &[PathBuf]) -> Result<Self, ImportError> {
        let mut found = Self::default();
        for place in places {
            let before = found.len();
            let unreadable = |error| ImportError::Unreadable { path: place.clone(), error };
            if fs::metadata(place).map_err(unreadable)?.is_dir() {
                let below = place.join(VERSION_FOLDER);
                let folder = if below.is_dir() { &below } else { place };
                for entry in fs::read_dir(folder).map_err(unreadable)? {
                    found.add(&entry.map_err(unreadable)?.path())?;
                }
            } else {
                found.add(place)?;
            }
            if found.len() == before {
                return Err(ImportError::NoFiles(place.clone()));
            }
        }
        found.logs.sort_by(|one, other| (one.name.zxid, &one.path).cmp(&(other.name.zxid, &other.path)));
        found.snapshots.sort_by(|one, other| (one.name.zxid, &one.path).cmp(&(other.name.zxid, &other.path)));
        Ok(found)
    }

    /// Returns the folders of the files, as the name of the recorded ensemble.
    pub(super) fn name(&self) -> String {
        self.folders().into_iter().map(Path::to_string_lossy).collect::<Vec<_>>().join(", ")
    }

    /// Returns the folders of the files: one for each member.
    pub(super) fn folders(&self) -> BTreeSet<&Path> {
        self.logs.iter().chain(&self.snapshots).filter_map(|file| file.path.parent()).collect()
    }

    fn len(&self) -> usize {
        self.logs.len() + self.snapshots.len()
    }

    /// Adds a file if its name is that of a log or of a snapshot.
    fn add(&mut self, path: &Path) -> Result<(), ImportError> {
        let Some(name) = path.file_name().and_then(|name| FileName::parse(name.to_str()?)) else { return Ok(()) };
        let found = fs::metadata(path).map_err(|error| ImportError::Unreadable { path: path.to_owned(), error })?;
        if found.is_file() && found.len() > 0 {
            let file = ServerFile { path: path.to_owned(), name, bytes: found.len() };
            match name.kind {
                FileKind::Log => self.logs.push(file),
                FileKind::Snapshot => self.snapshots.push(file),
            }
        }
        Ok(())
    }

    /// Leaves out the files that nobody needs for what happened from `time` on. One log more is
    /// kept, so that most holders of that time are seen to acquire.
    pub(super) fn leave_out_before(&mut self, time: Timestamp) -> Result<(), ImportError> {
        let mut began_before = 0_usize;
        for log in &self.logs {
            match log.first_time()? {
                Some(first) if first <= time => began_before += 1,
                _ => break,
            }
        }
        let Some(first) = self.logs.get(began_before.saturating_sub(2)).map(|log| log.name.zxid) else { return Ok(()) };
        // The log before is needed from the snapshot on, where none was taken at its end.
        let base = self.snapshots.iter().rposition(|snapshot| snapshot.name.zxid < first).unwrap_or(0);
        self.snapshots.drain(..base);
        let from =
            self.snapshots.first().map_or(first, |snapshot| first.min(Zxid(snapshot.name.zxid.0.saturating_add(1))));
        let base = self.logs.iter().rposition(|log| log.name.zxid <= from).unwrap_or(0);
        self.logs.drain(..base);
        Ok(())
    }
}

impl ServerFile {
    fn open_file(&self) -> Result<File, ImportError> {
        File::open(&self.path).map_err(|error| self.unreadable(error))
    }

    pub fn unreadable(&self, error: io::Error) -> ImportError {
        ImportError::Unreadable { path: self.path.clone(), error }
    }

    /// Opens a log; `None` if a server has just begun it.
    pub fn open_log(&self) -> Result<Option<LogReader<File>>, ImportError> {
        self.begun(LogReader::open(self.open_file()?))
    }

    fn begun<T>(&self, opened: Result<T, HeadError>) -> Result<Option<T>, ImportError> {
        match opened {
            Ok(opened) => Ok(Some(opened)),
            Err(HeadError::Short) => Ok(None),
            Err(error) => Err(ImportError::NotAServersFile { path: self.path.clone(), error }),
        }
    }

    /// Returns the time of a log's first transaction; `None` if it has none that can be read.
    fn first_time(&self) -> Result<Option<Timestamp>, ImportError> {
        let Some(mut log) = self.open_log()? else { return Ok(None) };
        loop {
            match log.read().map_err(|error| self.unreadable(error))? {
                LogItem::Record(record) => return Ok(Some(record.entry.header.time)),
                LogItem::Damage(_) => {}
                LogItem::End(_) => return Ok(None),
            }
        }
    }

    /// Opens a snapshot, packed or not; `None` if a server has just begun it.
    pub fn open_snapshot(&self) -> Result<Option<SnapshotReader<Box<dyn Read>>>, ImportError> {
        let file = self.open_file()?;
        let unpacked: Box<dyn Read> = match self.name.compression {
            None => Box::new(file),
            Some(Compression::Gzip) => Box::new(GzDecoder::new(file)),
            Some(Compression::Snappy) => Box::new(SnappyReader::new(file)),
        };
        self.begun(SnapshotReader::open(unpacked))
    }
}

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
struct FileCursor {
    file: ServerFile,
    log: LogReader<File>,
    zxid: Zxid,
    /// The bytes of the transaction.
    entry: Vec<u8>,
}

/// Reads logs of one or more members of an ensemble. Each transaction comes once, even if several
/// logs have it. Memory is bounded by one transaction for each log that covers the same time.
pub struct Transactions {
    /// The logs that are not open yet, the earliest first.
    waiting: VecDeque<ServerFile>,
    open: Vec<FileCursor>,
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
        self.open.push(FileCursor { file, log, zxid: Zxid(i64::MIN), entry: Vec::new() });
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

impl FileCursor {
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

/// The beginning of the format.
const MAGIC: &[u8; 8] = b"\x82SNAPPY\0";

/// The size of the head: the magic bytes, the version, and the oldest version that reads it.
const HEAD: usize = 8 + 4 + 4;

/// The largest block, in bytes, packed or unpacked. Servers write blocks of 32 KiB.
const MAX_BLOCK: usize = 16 << 20;

/// Reads packed bytes as what they were. Memory is bounded by two blocks.
struct SnappyReader<R> {
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
