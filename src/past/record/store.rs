//! The file of a recording: who may write it, what is in it, and what is wrong with one that cannot be used.

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

/// How long a read or a write waits for another program that has the file locked.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A file with a recording. Who made it with [`Store::create`] is the only one who writes it; others read it meanwhile.
#[derive(Debug)]
pub struct Store {
    // Dropped first: the lock is held until the last byte is written. What is in memory has one for all.
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
        /// The file.
        path: PathBuf,
        /// Why.
        error: FileError,
    },
    /// Somebody else records into it.
    #[error("{} is being recorded by another program: stop that one, or record into another file", .0.display())]
    InUse(PathBuf),
    /// It is something else.
    #[error("{} is not a recording of lockscope: name a file that `lockscope record` made, or one that is not there yet", .0.display())]
    NotARecording(PathBuf),
    /// It was made by a version that is not understood.
    #[error("{} has format {format}, and this version reads format {}: use the version of lockscope that recorded it", path.display(), schema::FORMAT)]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: i64,
    },
    /// It is damaged.
    #[error("{} is damaged ({error}): name a time that is not, or save what is left of it with sqlite3 and its command .recover", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What `SQLite` says.
        error: rusqlite::Error,
    },
    /// What was written last lies beside it, and cannot be read there.
    #[error("{} was not closed, and what was written last lies beside it, where nothing can be written: copy it with {}-wal to a folder that can be written", .0.display(), .0.display())]
    NotClosed(PathBuf),
    /// The locks are more than a keyframe holds.
    #[error("{}: the locks and their contenders are more than a recording holds, which is more than 100,000: record fewer of them (--root)", .0.display())]
    TooManyLocks(PathBuf),
    /// What was asked for is more than is read at once.
    #[error("{}: what is to be read takes more than {} MiB of memory: name a shorter time, or fewer rows", .0.display(), MAX_ROWS >> 20)]
    TooManyRows(PathBuf),
    /// There is no room for it.
    #[error("{}: there is no room for {bytes} more bytes: make room, or allow more (--max-size, --past-memory)", path.display())]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// How many bytes were to be written.
        bytes: u64,
    },
    /// Somebody reads without an end.
    #[error("another program has been reading {} for long, and what was written meanwhile cannot be put in its place: end that program", .0.display())]
    LongRead(PathBuf),
    /// What `SQLite` says.
    #[error("{}: {error}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Why.
        error: rusqlite::Error,
    },
}

impl Store {
    /// Opens a recording for writing, and makes it, for its owner only, where it is missing. Refused while another program does so.
    /// `group_reads`: from now on its group may read it too. Blocks the thread as long as the disk does.
    pub fn create(path: &Path, group_reads: bool) -> Result<Self, StoreError> {
        let file = files::append(path, Sensitivity::GroupSecret).map_err(|error| of_file(path, error))?;
        let is_new = file.metadata().map_err(|error| of_file(path, error.into()))?.len() == 0;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
            rustix::io::Errno::WOULDBLOCK => StoreError::InUse(path.to_owned()),
            error => of_file(path, io::Error::from(error).into()),
        })?;
        if group_reads {
            // SQLite gives what it makes beside the file the same rights; what a killed program left has those of before.
            for part in [path.to_owned(), beside(path, "-wal"), beside(path, "-shm")] {
                files::let_group_read(&part).map_err(|error| of_file(&part, error))?;
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut store = Self::connect(path, flags, Some(file))?;
        // Who was killed while it made the file left one without anything in it.
        if is_new || store.sql(|connection| Ok(schema::is_empty(connection)))? {
            store.sql(schema::create)?;
        } else {
            store.check_format()?;
            store.sql(|connection| schema::complete(connection))?;
        }
        store.sql(|connection| schema::prepare_to_write(connection))?;
        Ok(store)
    }

    /// Opens a recording for reading, also while it is written, and also where nothing can be written. Blocks the thread as long as
    /// the disk does.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        // The file is not opened to look at it: closing it would give up SQLite's locks of this process.
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
            // On a disk that cannot be written there is no room for what SQLite keeps beside the file for its readers.
            store = Self::connect(&immutable(path), read, None)?;
            path.clone_into(&mut store.path);
        }
        store.check_format()?;
        Ok(store)
    }

    /// Makes a recording in memory; it is gone with the last one who has it.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = Path::new("the memory of this program");
        let connection = Connection::open_in_memory().map_err(|error| StoreError::of(path, error))?;
        let connection = Arc::new(Mutex::new(connection));
        let mut store = Self { connection, path: path.to_owned(), in_memory: true, _lock: None };
        store.sql(schema::create)?;
        store.sql(|connection| schema::prepare_to_write(connection))?;
        Ok(store)
    }

    /// The same recording, for reading.
    pub(super) fn for_reading(&self) -> Result<Self, StoreError> {
        if self.in_memory {
            let connection = Arc::clone(&self.connection);
            return Ok(Self { connection, path: self.path.clone(), in_memory: true, _lock: None });
        }
        Self::open(&self.path)
    }

    fn connect(path: &Path, flags: OpenFlags, lock: Option<File>) -> Result<Self, StoreError> {
        let of_sqlite = |error| StoreError::Sqlite { path: path.to_owned(), error };
        let connection = Connection::open_with_flags(path, flags).map_err(of_sqlite)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(of_sqlite)?;
        schema::distrust(&connection).map_err(of_sqlite)?;
        let connection = Arc::new(Mutex::new(connection));
        Ok(Self { connection, path: path.to_owned(), in_memory: false, _lock: lock })
    }

    /// Whether it is in memory.
    pub(super) fn is_in_memory(&self) -> bool {
        self.in_memory
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was written and lies beside the file, in bytes.
    pub(super) fn log_bytes(&self) -> u64 {
        if self.in_memory { 0 } else { log_bytes(&self.path) }
    }

    /// Does something with the connection. What `SQLite` says of it names the file.
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

    /// Whether a disk that cannot be written would explain it.
    fn is_about_writing(&self) -> bool {
        let Self::Sqlite { error, .. } = self else { return false };
        matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
    }

    /// Whether it may work at another time though nobody mends anything: there is no room, or somebody reads for long.
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

    /// Whether the recording is another user's, or cannot be written by us: it may still be read.
    pub fn is_only_for_reading(&self) -> bool {
        let Self::File { error, .. } = self else { return false };
        match error {
            FileError::ForeignOwner { .. } => true,
            FileError::Io(error) => error.kind() == io::ErrorKind::PermissionDenied,
            _ => false,
        }
    }

    /// Whether the disk, or the file, is full.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Sqlite { error, .. } if error.sqlite_error_code() == Some(ErrorCode::DiskFull))
    }
}

/// Whether the file does not hold what was written into it.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TooBig))
        || matches!(
            error,
            FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..)
        )
}

fn of_file(path: &Path, error: FileError) -> StoreError {
    StoreError::File { path: path.to_owned(), error }
}

/// How many bytes of it lie beside the file.
fn log_bytes(path: &Path) -> u64 {
    fs::metadata(beside(path, "-wal")).map_or(0, |log| log.len())
}

/// What `SQLite` keeps beside a file, by the end of its name.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// The name under which `SQLite` reads a file that nobody changes.
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
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_recording_is_for_its_owner_only_and_for_one_writer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locks.db");
        let store = Store::create(&path, false).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(Store::create(&path, false), Err(StoreError::InUse(_))));
        Store::open(&path).unwrap();
        drop(store);
        Store::create(&path, false).unwrap();
    }

    #[test]
    fn a_group_reads_a_recording_and_what_lies_beside_it_when_it_may_and_from_then_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locks.db");
        let parts = || [path.clone(), beside(&path, "-wal"), beside(&path, "-shm")];
        let modes = || parts().map(|part| fs::metadata(part).map_or(0, |found| found.permissions().mode() & 0o777));
        let written = |group_reads| {
            let mut store = Store::create(&path, group_reads).unwrap();
            store.sql(|sql| sql.pragma_update(None, "user_version", schema::FORMAT)).unwrap();
            store
        };
        let store = written(false);
        assert_eq!(modes(), [0o600, 0o600, 0o600]);
        // What a killed recorder leaves.
        let left = parts().map(|part| fs::read(part).unwrap());
        drop(store);
        for (part, content) in parts().iter().zip(left) {
            fs::write(part, content).unwrap();
            fs::set_permissions(part, Permissions::from_mode(0o600)).unwrap();
        }
        for group_reads in [true, true, false] {
            let store = written(group_reads);
            assert_eq!(modes(), [0o640, 0o640, 0o640]);
            drop(store);
        }
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert!(Store::create(&path, true).unwrap_err().to_string().contains("chmod"), "others must not read it");
    }

    #[test]
    fn what_is_no_recording_is_named_and_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let (text, other) = (folder.path().join("text"), folder.path().join("other.db"));
        fs::write(
            &text,
            "not a database, but long enough to be taken for one by who reads no more than the first line of it.",
        )
        .unwrap();
        fs::set_permissions(&text, Permissions::from_mode(0o600)).unwrap();
        Connection::open(&other).unwrap().execute_batch("CREATE TABLE hold (id)").unwrap();
        fs::set_permissions(&other, Permissions::from_mode(0o600)).unwrap();
        for path in [&text, &other] {
            let before = fs::read(path).unwrap();
            assert!(matches!(Store::create(path, false), Err(StoreError::NotARecording(_))));
            assert!(matches!(Store::open(path), Err(StoreError::NotARecording(_))));
            assert_eq!(fs::read(path).unwrap(), before);
        }
        assert!(matches!(Store::open(&folder.path().join("none")), Err(StoreError::File { .. })));
    }

    #[test]
    fn a_recording_of_another_version_is_refused_with_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locks.db");
        drop(Store::create(&path, false).unwrap());
        Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 4711").unwrap();
        let sentence = Store::open(&path).unwrap_err().to_string();
        assert!(sentence.contains("has format 4711"), "{sentence}");
    }

    #[test]
    fn an_older_recording_is_read_and_who_goes_on_with_it_writes_the_format_of_today() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locks.db");
        drop(Store::create(&path, false).unwrap());
        let set = format!("PRAGMA user_version = {}", schema::OLDEST_FORMAT);
        Connection::open(&path).unwrap().execute_batch(&set).unwrap();
        drop(Store::open(&path).unwrap());
        let mut store = Store::create(&path, false).unwrap();
        assert_eq!(store.sql(|connection| schema::format(connection)).unwrap(), Some(schema::FORMAT));
    }
}
