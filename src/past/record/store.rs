//! The file of a recording: its single writer, its format, and the errors of unusable files.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{FlockOperation, flock};

use super::memory::MAX_ROWS;
use super::row_memory::RowMemory;
use super::schema;
use lockscope_files::{self as files, FileError, Sensitivity};

/// The suffixes of the files that `SQLite` may leave beside a file.
pub(crate) const FILES_BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// How long a read or a write waits for another program that has the file locked.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A file with a recording. Only its creator ([`Store::create`]) writes the file; others may read
/// it meanwhile.
#[derive(Debug)]
pub struct Store {
    // Dropped first, because the lock is held until the last byte is written. Recordings in memory
    // share one connection.
    connection: Arc<Mutex<Connection>>,
    path: PathBuf,
    in_memory: bool,
    _lock: Option<File>,
}

/// Why a recording cannot be written or read. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be used.
    #[error("cannot use {}: {error}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The reason.
        error: FileError,
    },
    /// Another program records into the file.
    #[error("{} is being recorded by another program: stop that one, or record into another file", .0.display())]
    InUse(PathBuf),
    /// The file is not a recording.
    #[error("{} is not a recording of lockscope: name a file that `lockscope record` made, or one that does not exist yet", .0.display())]
    NotARecording(PathBuf),
    /// The file has a format that this version cannot read.
    #[error("{} has format {format}, and this version reads format {}: use the version of lockscope that recorded it", path.display(), schema::FORMAT)]
    OtherFormat {
        /// The path of the file.
        path: PathBuf,
        /// The format of the file.
        format: i64,
    },
    /// The file is damaged.
    #[error("{} is damaged ({error}): name a time that is not damaged, or save what is left of it with sqlite3 and its command .recover", path.display())]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The error of `SQLite`.
        error: rusqlite::Error,
    },
    /// The latest entries are in a file beside the recording, and cannot be read there.
    #[error("{} was not closed, and its last entries lie beside it in a read-only folder: copy it with {}-wal to a writable folder", .0.display(), .0.display())]
    NotClosed(PathBuf),
    /// There are more locks than a keyframe holds.
    #[error("{}: there are more locks and contenders than a recording holds (over 100,000): record fewer of them (--root)", .0.display())]
    TooManyLocks(PathBuf),
    /// The requested rows exceed the memory bound.
    #[error("{}: the rows to read take more than {} MiB of memory: name a shorter time, or fewer rows", .0.display(), MAX_ROWS >> 20)]
    TooManyRows(PathBuf),
    /// The entries do not fit.
    #[error("{}: there is no room for {bytes} more bytes: make room, or allow more (--max-size, --past-memory)", path.display())]
    NoRoom {
        /// The path of the file.
        path: PathBuf,
        /// The number of bytes to be written.
        bytes: u64,
    },
    /// Another program reads without end.
    #[error("another program has been reading {} for too long, so later entries cannot be moved into it: end that program", .0.display())]
    LongRead(PathBuf),
    /// Another error of `SQLite`.
    #[error("{}: {error}", path.display())]
    Sqlite {
        /// The path of the file.
        path: PathBuf,
        /// The error.
        error: rusqlite::Error,
    },
}

impl Store {
    /// Opens a recording for writing, and creates it, readable for its owner only, if it is
    /// missing. Fails while another program records into it. With `group_reads` the file's group
    /// may read it from now on. Blocks the thread during disk access.
    pub fn create(path: &Path, group_reads: bool) -> Result<Self, StoreError> {
        let file = files::append(path, Sensitivity::GroupSecret).map_err(|error| of_file(path, error))?;
        let is_new = file.metadata().map_err(|error| of_file(path, error.into()))?.len() == 0;
        lock(&file, path)?;
        if group_reads {
            // SQLite gives new files beside the main one the same rights; files left by a killed
            // program have the old rights.
            for part in [path.to_owned(), beside(path, "-wal"), beside(path, "-shm")] {
                files::let_group_read(&part).map_err(|error| of_file(&part, error))?;
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut store = Self::connect(path, flags, Some(file))?;
        // A program that was killed while it created the file left it empty.
        if is_new || store.sql(|connection| Ok(schema::is_empty(connection)))? {
            store.sql(schema::create)?;
        } else {
            store.check_format()?;
            store.sql(|connection| schema::complete(connection))?;
        }
        store.sql(|connection| schema::prepare_to_write(connection))?;
        Ok(store)
    }

    /// Opens an existing recording that is to be completed. Nothing is written by this. Fails while
    /// another program records into it.
    pub(super) fn open_to_complete(path: &Path) -> Result<Self, StoreError> {
        let file = files::append(path, Sensitivity::GroupSecret).map_err(|error| of_file(path, error))?;
        lock(&file, path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut store = Self::connect(path, flags, Some(file))?;
        store.check_format()?;
        Ok(store)
    }

    /// Opens a recording for reading, even while it is being written or cannot be written. Blocks
    /// the thread during disk access.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        // The file is not opened here: closing it would release this process's SQLite locks.
        let found = fs::metadata(path).map_err(|error| of_file(path, error.into()))?;
        if !found.is_file() {
            return Err(StoreError::NotARecording(path.to_owned()));
        }
        let read = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let mut store = Self::connect(path, read, None)?;
        if let Err(error) = store.check_format() {
            if !error.is_about_writing() {
                return Err(error);
            }
            if log_bytes(path) > 0 {
                return Err(StoreError::NotClosed(path.to_owned()));
            }
            // On a read-only file system SQLite cannot create the files that its readers need.
            store = Self::connect(&immutable(path), read, None)?;
            path.clone_into(&mut store.path);
        }
        store.check_format()?;
        Ok(store)
    }

    /// Creates a recording in memory, which exists as long as one of its stores.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = Path::new("the memory of this program");
        let connection = Connection::open_in_memory().map_err(|error| StoreError::of(path, error))?;
        let connection = Arc::new(Mutex::new(connection));
        let mut store = Self { connection, path: path.to_owned(), in_memory: true, _lock: None };
        store.sql(schema::create)?;
        store.sql(|connection| schema::prepare_to_write(connection))?;
        Ok(store)
    }

    /// Opens the same recording for reading.
    pub(super) fn for_reading(&self) -> Result<Self, StoreError> {
        if self.in_memory { Ok(self.with_same_connection()) } else { Self::open(&self.path) }
    }

    /// Returns the same recording, read by the connection that writes it: so what is not committed
    /// yet can be read.
    pub(super) fn with_same_connection(&self) -> Self {
        let connection = Arc::clone(&self.connection);
        Self { connection, path: self.path.clone(), in_memory: self.in_memory, _lock: None }
    }

    fn connect(path: &Path, flags: OpenFlags, lock: Option<File>) -> Result<Self, StoreError> {
        let of_sqlite = |error| StoreError::Sqlite { path: path.to_owned(), error };
        let connection = Connection::open_with_flags(path, flags).map_err(of_sqlite)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(of_sqlite)?;
        schema::distrust(&connection).map_err(of_sqlite)?;
        let connection = Arc::new(Mutex::new(connection));
        Ok(Self { connection, path: path.to_owned(), in_memory: false, _lock: lock })
    }

    pub(super) fn is_in_memory(&self) -> bool {
        self.in_memory
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the bytes in the write-ahead log beside the file.
    pub(super) fn log_bytes(&self) -> u64 {
        if self.in_memory { 0 } else { log_bytes(&self.path) }
    }

    /// Runs `act` on the connection. Errors of `SQLite` get the path of the file.
    pub(super) fn sql<T>(&mut self, act: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut connection).map_err(|error| StoreError::of(&self.path, error))
    }

    fn check_format(&mut self) -> Result<(), StoreError> {
        let not_a_database = |error: &rusqlite::Error| error.sqlite_error_code() == Some(ErrorCode::NotADatabase);
        let format = schema::format(&self.connection.lock().unwrap_or_else(PoisonError::into_inner));
        match format {
            Ok(Some(schema::OLDEST_FORMAT..=schema::FORMAT)) => Ok(()),
            Ok(Some(format)) => Err(StoreError::OtherFormat { path: self.path.clone(), format }),
            Ok(None) => Err(StoreError::NotARecording(self.path.clone())),
            Err(error) if not_a_database(&error) => Err(StoreError::NotARecording(self.path.clone())),
            Err(error) => Err(StoreError::of(&self.path, error)),
        }
    }
}

impl StoreError {
    fn of(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error {
            error if RowMemory::is_exceeded(&error) => Self::TooManyRows(path),
            error if is_damage(&error) => Self::Damaged { path, error },
            error => Self::Sqlite { path, error },
        }
    }

    /// Returns whether a read-only file system would explain the error.
    fn is_about_writing(&self) -> bool {
        let Self::Sqlite { error, .. } = self else { return false };
        matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
    }

    /// Returns whether the error may pass without intervention: there is no room, or another
    /// program reads for long.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::NoRoom { .. } | Self::LongRead(_) => true,
            Self::Sqlite { error, .. } => {
                matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DiskFull))
            }
            Self::File { error: FileError::Io(error), .. } => error.kind() == io::ErrorKind::StorageFull,
            _ => false,
        }
    }

    /// Returns whether the recording belongs to another user or cannot be written by us: it may
    /// still be read.
    pub fn is_only_for_reading(&self) -> bool {
        let Self::File { error, .. } = self else { return false };
        match error {
            FileError::ForeignOwner { .. } => true,
            FileError::Io(error) => error.kind() == io::ErrorKind::PermissionDenied,
            _ => false,
        }
    }

    /// Returns whether the disk or the file is full.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Sqlite { error, .. } if error.sqlite_error_code() == Some(ErrorCode::DiskFull))
    }
}

/// Returns whether the file's content differs from what was written.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TooBig))
        || matches!(
            error,
            FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..)
        )
}

/// Locks a file for this writer, as long as it is open.
fn lock(file: &File, path: &Path) -> Result<(), StoreError> {
    flock(file, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
        rustix::io::Errno::WOULDBLOCK => StoreError::InUse(path.to_owned()),
        error => of_file(path, io::Error::from(error).into()),
    })
}

fn of_file(path: &Path, error: FileError) -> StoreError {
    StoreError::File { path: path.to_owned(), error }
}

fn log_bytes(path: &Path) -> u64 {
    fs::metadata(beside(path, "-wal")).map_or(0, |log| log.len())
}

/// Returns the path of a file that `SQLite` keeps beside a file, given its suffix.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Returns the URI by which `SQLite` reads a file that nobody changes.
fn immutable(path: &Path) -> PathBuf {
    let escaped: String = path
        .to_string_lossy()
        .chars()
        .map(|char| match char {
            '%' => "%25".to_owned(),
            '?' => "%3f".to_owned(),
            '#' => "%23".to_owned(),
            char => char.to_string(),
        })
        .collect();
    format!("file:{escaped}?immutable=1").into()
}

#[cfg(test)]
mod tests;
