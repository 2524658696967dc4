//! The files of servers: finds, sorts, opens and unpacks them.
//!
//! Nothing is written beside the files. Snapshots may be packed by Java's `SnappyOutputStream`: a
//! head, then blocks with their lengths.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use flate2::read::GzDecoder;

use super::ImportError;
use lockscope_base::disk::{Compression, Damage, FileKind, FileName, HeadError, LogItem, LogReader, SnapshotReader};
use lockscope_base::znode::{Timestamp, Zxid};

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
    /// kept, so that most holders of that time are seen to acquire, and one snapshot more, in case
    /// the last one cannot be read. Each member needs its own: their files begin at other
    /// transactions.
    pub(super) fn leave_out_before(&mut self, time: Timestamp) -> Result<(), ImportError> {
        if time == Timestamp(i64::MIN) {
            return Ok(());
        }
        let mut first = None;
        for folder in self.folders().into_iter().map(Path::to_owned).collect::<Vec<_>>() {
            let logs: Vec<&ServerFile> = self.logs.iter().filter(|log| log.is_in(&folder)).collect();
            let mut began_before = 0_usize;
            for log in &logs {
                match log.first_time()? {
                    Some(first) if first <= time => began_before += 1,
                    Some(_) => break,
                    None => {}
                }
            }
            let of_member = logs.get(began_before.saturating_sub(2)).map(|log| log.name.zxid);
            first = [first, of_member].into_iter().flatten().min();
        }
        let Some(first) = first else { return Ok(()) };
        let mut earlier: Vec<Zxid> = self.snapshots.iter().map(|one| one.name.zxid).filter(|at| *at < first).collect();
        earlier.dedup();
        let base = earlier.iter().rev().nth(1).or(earlier.first()).copied().unwrap_or(first);
        self.snapshots.retain(|snapshot| snapshot.name.zxid >= base);
        // The logs are needed from the snapshot on, where none begins at its end.
        let from = first.min(Zxid(base.0.saturating_add(1)));
        let needed: Vec<ServerFile> =
            self.folders().into_iter().flat_map(|folder| self.logs_from(folder, from)).collect();
        self.logs.retain(|log| needed.contains(log));
        Ok(())
    }

    /// Returns the logs of a member that may have a transaction from this one on.
    pub(super) fn logs_from(&self, folder: &Path, from: Zxid) -> Vec<ServerFile> {
        let logs: Vec<&ServerFile> = self.logs.iter().filter(|log| log.is_in(folder)).collect();
        let base = logs.iter().rposition(|log| log.name.zxid <= from).unwrap_or(0);
        logs[base..].iter().copied().cloned().collect()
    }

    /// Returns whether a member got a snapshot between two transactions, in place of its log; also
    /// if it is not known, because no snapshot of the member from before is there. With `dataLogDir`
    /// its snapshots lie elsewhere: then any count that lie without logs.
    pub(super) fn may_skip(&self, folder: &Path, last: Zxid, next: Zxid) -> bool {
        let is_alone =
            |snapshot: &&ServerFile| !self.logs.iter().any(|log| log.path.parent() == snapshot.path.parent());
        let has_own = self.snapshots.iter().any(|snapshot| snapshot.is_in(folder));
        let own = self.snapshots.iter().filter(|one| if has_own { one.is_in(folder) } else { is_alone(one) });
        let names: Vec<Zxid> = own.map(|snapshot| snapshot.name.zxid).collect();
        let is_known = names.iter().any(|at| *at <= last);
        !is_known || names.iter().any(|at| last < *at && *at < next && at.counter() != 0)
    }
}

/// A log, and what is wrong with its head.
pub type OpenedLog = (LogReader<File>, Option<HeadError>);

impl ServerFile {
    fn open_file(&self) -> Result<File, ImportError> {
        File::open(&self.path).map_err(|error| self.unreadable(error))
    }

    fn is_in(&self, folder: &Path) -> bool {
        self.path.parent() == Some(folder)
    }

    pub fn unreadable(&self, error: io::Error) -> ImportError {
        ImportError::Unreadable { path: self.path.clone(), error }
    }

    /// Opens a log; `None` if a server has just begun it. Each record has a checksum of its own, so a
    /// log can be read whose head is damaged.
    pub fn open_log(&self) -> Result<Option<OpenedLog>, ImportError> {
        match LogReader::open(self.open_file()?) {
            Ok(log) => Ok(Some((log, None))),
            Err(HeadError::Io(error)) => Err(self.unreadable(error)),
            Err(error) => {
                let log = LogReader::behind_head(self.open_file()?).map_err(|error| self.unreadable(error))?;
                Ok(log.map(|log| (log, Some(error))))
            }
        }
    }

    /// Returns the time of a log's first transaction; `None` if it has none that can be read.
    fn first_time(&self) -> Result<Option<Timestamp>, ImportError> {
        let Some((mut log, _)) = self.open_log()? else { return Ok(None) };
        loop {
            match log.read().map_err(|error| self.unreadable(error))? {
                LogItem::Record(record) => return Ok(Some(record.entry.header.time)),
                LogItem::Damage(_) => {}
                LogItem::End(_) => return Ok(None),
            }
        }
    }

    /// Opens a snapshot, packed or not; `None` if its head is not whole. A snapshot has one checksum
    /// for all of it.
    pub fn open_snapshot(&self) -> Result<Option<SnapshotReader<Box<dyn Read>>>, ImportError> {
        let file = self.open_file()?;
        let unpacked: Box<dyn Read> = match self.name.compression {
            None => Box::new(file),
            Some(Compression::Gzip) => Box::new(Unpacked::of(self.bytes, GzDecoder::new(file))),
            Some(Compression::Snappy) => Box::new(Unpacked::of(self.bytes, SnappyReader::new(file))),
        };
        match SnapshotReader::open(unpacked) {
            Ok(reader) => Ok(Some(reader)),
            Err(HeadError::Io(error)) if !is_of_packing(&error) => Err(self.unreadable(error)),
            Err(_) => Ok(None),
        }
    }
}

/// Returns whether an error says that packed bytes are damaged.
pub fn is_of_packing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::InvalidInput)
}

/// The most defects that are named. Further ones are only counted.
const MAX_DEFECTS: usize = 100;

/// Keeps a defect; of too many, counts it.
pub fn note(defects: &mut Vec<Defect>, defect: Defect) {
    let by = if let Defect::Others(others) = defect { others } else { 1 };
    let is_named = defects.len() < MAX_DEFECTS;
    match defects.last_mut() {
        Some(Defect::Others(others)) => *others += by,
        _ => defects.push(if is_named { defect } else { Defect::Others(by) }),
    }
}

/// What is wrong with the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defect {
    /// So many other defects, and gaps, that are not named.
    Others(u64),
    /// Bytes within a log cannot be read. Good transactions follow.
    Damaged {
        /// The log.
        file: PathBuf,
        /// The bytes, and the transactions around them.
        damage: Damage,
    },
    /// The head of a log is damaged. Its transactions are read.
    BadHead {
        /// The log.
        file: PathBuf,
    },
    /// A file has the name of a log, and no transaction can be read in it.
    NotALog {
        /// The file.
        file: PathBuf,
        /// What is wrong with its head.
        reason: String,
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
    /// A transaction that a leader wrote and lost before a majority had it: another member's log
    /// goes on with the next epoch in its place. It is not used.
    NeverCommitted {
        /// The log that has it.
        file: PathBuf,
        /// The transaction.
        zxid: Zxid,
    },
    /// The time of a transaction is before that of the last one: the leader's clock was set back, or
    /// another leader's clock differs.
    ClockSetBack {
        /// The transaction.
        zxid: Zxid,
        /// By how much.
        by: Duration,
    },
    /// Two members' transactions with the same id and time differ in what they do. The first one is
    /// used.
    Differs {
        /// The log whose transaction is not used.
        file: PathBuf,
        /// The transaction.
        zxid: Zxid,
    },
}

/// The most unpacked bytes for each packed one, beyond [`MIN_UNPACKED`]. A million nodes with
/// consecutive names take a ninth of their size, and gzip packs zeros to a thousandth.
const MAX_RATIO: u64 = 100;

/// The unpacked bytes that every file may have.
const MIN_UNPACKED: u64 = 64 << 20;

/// Unpacked bytes, which end with an error where they are far more than a snapshot packs into.
struct Unpacked<R> {
    from: R,
    left: u64,
}

impl<R> Unpacked<R> {
    pub fn of(packed: u64, from: R) -> Self {
        Self { from, left: packed.saturating_mul(MAX_RATIO).saturating_add(MIN_UNPACKED) }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| bad("it is far larger than what it packs"))?;
        Ok(read)
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
    fn a_file_that_unpacks_to_far_more_than_a_snapshot_is_damaged() {
        let read = |bytes, packed| io::copy(&mut Unpacked::of(packed, io::repeat(0).take(bytes)), &mut io::sink());
        assert_eq!(read(MIN_UNPACKED + 1_000, 10).unwrap(), MIN_UNPACKED + 1_000);
        assert!(is_of_packing(&read(MIN_UNPACKED + 1_001, 10).unwrap_err()));
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
