//! Whether the file of a recording is still the one that its recorder opened, as the recorder left
//! it.
//!
//! `SQLite` opens the file, its write-ahead log (`-wal`) and the log's index (`-shm`) once, and
//! goes on with what it has open wherever that is by now. A file that was moved, removed, replaced
//! or truncated is so written without an error, and nobody can read it. Worse, both files beside it
//! are found by name: another recorder at the same path, or a reader, would take those of the moved
//! file for its own.
//!
//! The main file is written only when the log is moved into it. A change of its size or its time
//! that no such move explains comes from elsewhere, and a sample of its bytes tells whether it
//! matters.

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::hash::Hasher;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use chrono::DateTime;
use rusqlite::Connection;
use rustc_hash::FxHasher;

use lockscope_base::znode::Timestamp;

/// What became of a file while it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFate {
    /// It has another name now, and everything in it can still be reached.
    Moved,
    /// It has no name any more.
    Removed,
    /// It was truncated, or written by others.
    Overwritten,
    /// The log or its index was removed or replaced. The recorder still has both open.
    LogRemoved,
    /// The log was truncated: what was not moved into the main file yet is lost.
    LogTruncated,
    /// The index of the log was truncated, and must not be looked into: that would kill the
    /// process. `SQLite` makes it anew.
    IndexTruncated,
}

impl FileFate {
    /// Returns whether the recording can go on in the same file.
    pub fn leaves_the_file(self) -> bool {
        matches!(self, Self::LogRemoved | Self::LogTruncated | Self::IndexTruncated)
    }
}

/// A file, whatever its name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub fn of(found: &Metadata) -> Self {
        Self { device: found.dev(), inode: found.ino() }
    }

    /// Returns the file at a path, and how large it is; `None` where there is none.
    pub fn at(path: &Path) -> io::Result<Option<(Self, u64)>> {
        match fs::symlink_metadata(path) {
            Ok(found) => Ok(Some((Self::of(&found), found.len()))),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The file as the recorder left it.
#[derive(Debug)]
pub struct FileIdentity {
    id: FileId,
    /// The log and its index.
    beside: [Option<FileId>; 2],
    main: MainFile,
    log: LogFrames,
    page: u64,
}

/// The size of the smallest index, in bytes. `SQLite` maps it in parts of this size.
const MIN_INDEX: u64 = 32 << 10;

/// The head of a log and that of each page in it, in bytes.
const LOG_HEAD: u64 = 32;
const FRAME_HEAD: u64 = 24;

impl FileIdentity {
    /// Remembers an open file that was just written. Costs a few reads of a page.
    pub fn new(path: &Path, file: &File, sql: &Connection) -> rusqlite::Result<Self> {
        let page = sql.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let found = file.metadata().map_err(unreadable)?;
        let mut identity = Self {
            id: FileId::of(&found),
            beside: [None; 2],
            main: MainFile::of(file).map_err(unreadable)?,
            log: LogFrames::of(sql)?,
            page,
        };
        identity.know_files_beside(path);
        Ok(identity)
    }

    /// Remembers the file after its recorder wrote. Costs three looks at a file, and where the log
    /// was moved a few reads of a page.
    pub fn written(&mut self, path: &Path, file: &File, sql: &Connection) -> rusqlite::Result<()> {
        self.log = LogFrames::of(sql)?;
        if !self.main.is_untouched(file).map_err(unreadable)? {
            self.main = MainFile::of(file).map_err(unreadable)?;
        }
        self.know_files_beside(path);
        Ok(())
    }

    fn know_files_beside(&mut self, path: &Path) {
        for (known, end) in self.beside.iter_mut().zip(["-wal", "-shm"]) {
            if known.is_none() {
                *known = FileId::at(&beside(path, end)).ok().flatten().map(|(id, _)| id);
            }
        }
    }

    /// Returns the file's id.
    pub fn id(&self) -> FileId {
        self.id
    }

    /// Looks whether the file is as it was left. A path that cannot be looked at proves nothing.
    pub fn look(&mut self, path: &Path, file: &File, sql: &Connection) -> Option<FileFate> {
        let at_path = FileId::at(path).ok()?;
        if at_path.is_none_or(|(id, _)| id != self.id) {
            let is_nameless = file.metadata().is_ok_and(|found| found.nlink() == 0);
            return Some(if is_nameless { FileFate::Removed } else { FileFate::Moved });
        }
        let [log, index] = ["-wal", "-shm"].map(|end| FileId::at(&beside(path, end)).ok().flatten());
        let same = |known: Option<FileId>, found: Option<(FileId, u64)>| {
            known.is_none_or(|known| found.is_some_and(|(id, _)| id == known))
        };
        if same(self.beside[1], index) && index.is_some_and(|(_, bytes)| bytes < MIN_INDEX) {
            return Some(FileFate::IndexTruncated);
        }
        // Nothing is known of the log where another program has locked it: look again in a second.
        let frames = LogFrames::of(sql).ok()?;
        if !self.main.is_untouched(file).ok()? {
            let now = MainFile::of(file).ok()?;
            // Only this recorder adds to the log, so another number means that others moved it.
            let is_explained = frames != self.log && now.is_whole(self.page);
            if !is_explained && now.sample != self.main.sample {
                return Some(FileFate::Overwritten);
            }
            (self.main, self.log) = (now, frames);
        }
        if !same(self.beside[0], log) || !same(self.beside[1], index) {
            return Some(FileFate::LogRemoved);
        }
        let is_short = log.is_some_and(|(_, bytes)| bytes < frames.bytes(self.page));
        (frames.all > 0 && (is_short || has_no_head(&beside(path, "-wal")))).then_some(FileFate::LogTruncated)
    }

    /// Takes the log and its index from the path of a file that they do not belong to any more.
    /// Those of others stay. Returns the new path of a log with content.
    pub fn take_log_away(&self, path: &Path, now: Timestamp) -> io::Result<Option<PathBuf>> {
        let [log, index] = self.beside;
        let is_ours = |end, id: Option<FileId>| {
            id.is_some() && FileId::at(&beside(path, end)).is_ok_and(|at| at.map(|(at, _)| at) == id)
        };
        if is_ours("-shm", index) {
            fs::remove_file(beside(path, "-shm"))?;
        }
        if is_ours("-wal", log) { set_log_aside(path, now) } else { Ok(None) }
    }
}

/// Gives the log at a path another name, for it belongs to another file. Returns that name; an
/// empty log is deleted.
pub fn set_log_aside(path: &Path, now: Timestamp) -> io::Result<Option<PathBuf>> {
    let log = beside(path, "-wal");
    match FileId::at(&log)? {
        None => Ok(None),
        Some((_, 0)) => fs::remove_file(log).map(|()| None),
        Some(_) => {
            let aside = free_name(|number| beside(path, &format!("-wal-{}{number}", compact(now))))?;
            fs::rename(log, &aside).map(|()| Some(aside))
        }
    }
}

/// Returns a path for the part of a recording that begins at `from`, in the folder of the first
/// part: `locks.db` and `locks-20261128T120000Z.db`. Nothing is there yet.
pub fn dated_beside(path: &Path, from: Timestamp) -> io::Result<PathBuf> {
    let (stem, end) = stem_and_end(path);
    free_name(|number| path.with_file_name(format!("{stem}-{}{number}{end}", compact(from))))
}

/// Returns when the part of a recording begins that has this name, and its number among those of the
/// same second; `None` if it is not the name of a part.
pub fn dated(path: &Path, name: &str) -> Option<(String, u32)> {
    let (stem, end) = stem_and_end(path);
    let rest = name.strip_prefix(&*stem)?.strip_suffix(&end)?.strip_prefix('-')?;
    let (time, number) = rest.split_at_checked(COMPACT.len())?;
    let is_like = |(sign, like): (u8, u8)| if like == b'0' { sign.is_ascii_digit() } else { sign == like };
    let is_time = time.bytes().zip(COMPACT.bytes()).all(is_like);
    let number = if number.is_empty() { 1 } else { number.strip_prefix('-')?.parse().ok()? };
    is_time.then(|| (time.to_owned(), number))
}

/// Returns the name of a file without its extension, and the extension with its dot.
fn stem_and_end(path: &Path) -> (Cow<'_, str>, String) {
    let end = path.extension().map(|end| format!(".{}", end.to_string_lossy())).unwrap_or_default();
    (path.file_stem().unwrap_or_default().to_string_lossy(), end)
}

/// The most names that are tried for a file.
const MAX_NAMES: u32 = 100;

/// Returns the first path that nothing has, of those with nothing, `-2`, `-3` and so on.
fn free_name(name: impl Fn(&str) -> PathBuf) -> io::Result<PathBuf> {
    for number in 1..=MAX_NAMES {
        let path = name(&if number == 1 { String::new() } else { format!("-{number}") });
        if FileId::at(&path)?.is_none() {
            return Ok(path);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// How a time looks in the name of a file; each 0 is a digit.
const COMPACT: &str = "00000000T000000Z";

/// Returns a time as a part of a file's name, as in `20261128T120000Z`.
fn compact(time: Timestamp) -> String {
    DateTime::from_timestamp_millis(time.0).unwrap_or_default().format("%Y%m%dT%H%M%SZ").to_string()
}

/// Returns whether a log begins with zeros: it was truncated, and written again behind its head.
fn has_no_head(log: &Path) -> bool {
    let mut head = [0; 4];
    File::open(log).and_then(|log| log.read_exact_at(&mut head, 0)).is_ok() && head == [0; 4]
}

fn unreadable(error: io::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(error.into())
}

/// How much of the log was moved into the main file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LogFrames {
    /// The pages in the log, -1 before it is first used.
    all: i64,
    /// Those that are in the main file as well.
    moved: i64,
}

/// Returns whether the main file has all that is in the log.
pub fn is_log_moved(sql: &Connection) -> rusqlite::Result<bool> {
    LogFrames::of(sql).map(|log| log.all == log.moved)
}

impl LogFrames {
    fn of(sql: &Connection) -> rusqlite::Result<Self> {
        sql.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| Ok(Self { all: row.get(1)?, moved: row.get(2)? }))
    }

    /// Returns the least size of the log's file.
    fn bytes(self, page: u64) -> u64 {
        u64::try_from(self.all).map_or(0, |all| LOG_HEAD + all * (FRAME_HEAD + page))
    }
}

/// The main file at one time.
#[derive(Debug)]
struct MainFile {
    bytes: u64,
    modified: SystemTime,
    sample: u64,
    /// The size according to the file's head, in pages.
    pages: u32,
}

/// The most parts of a sample, and the size of each in bytes.
const SAMPLES: u64 = 16;
const SAMPLE: usize = 4096;

/// Where the head of a file has the number of its pages.
const PAGES_AT: usize = 28;

impl MainFile {
    fn of(file: &File) -> io::Result<Self> {
        let found = file.metadata()?;
        let (mut hasher, mut pages, mut part) = (FxHasher::default(), 0, [0; SAMPLE]);
        let step = (found.len() / SAMPLES).next_multiple_of(SAMPLE as u64).max(SAMPLE as u64);
        for at in (0..found.len()).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
            let read = file.read_at(&mut part, at)?;
            hasher.write(&part[..read]);
            if at == 0
                && let Some(head) = part.get(PAGES_AT..PAGES_AT + 4).and_then(|head| head.try_into().ok())
            {
                pages = u32::from_be_bytes(head);
            }
        }
        Ok(Self { bytes: found.len(), modified: found.modified()?, sample: hasher.finish(), pages })
    }

    fn is_untouched(&self, file: &File) -> io::Result<bool> {
        let found = file.metadata()?;
        Ok((found.len(), found.modified()?) == (self.bytes, self.modified))
    }

    /// Returns whether the file has at least the pages that its head counts.
    fn is_whole(&self, page: u64) -> bool {
        self.pages > 0 && self.bytes >= u64::from(self.pages) * page
    }
}

/// Returns the path of a file that `SQLite` keeps beside a file, given its suffix.
pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
