//! The file of a recording: its schema and format, its single writer, and the errors of unusable
//! files.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::{FlockOperation, flock};

use super::file_identity::{FileFate, FileId, FileIdentity, beside, is_log_moved, set_log_aside};
use super::memory::{MAX_ROWS, MAX_VALUE, RowMemory};
use super::{keyframe, tables};
use lockscope_base::time::now;
use lockscope_base::znode::TimeRange;
use lockscope_files as files;
use lockscope_files::{FileError, Sensitivity};
use lockscope_model::report::rfc3339;

#[cfg(test)]
mod tests;

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
    /// The file as its writer left it; `None` where nobody else knows of the file yet.
    identity: Option<FileIdentity>,
    lock: Option<File>,
}

/// Which file a recorder may write into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileClaim {
    /// Any recording, or a new file.
    Any,
    /// A new file, or an empty one.
    Empty,
    /// This one.
    Same(FileId),
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
    /// The file went with a part of the recording, right before its end.
    #[error("{0}")]
    Gone(String),
    /// Another file stands where a recorder would go on.
    #[error("{} is another file now, which is left alone: move it away", .0.display())]
    Taken(PathBuf),
    /// The file is not a recording.
    #[error("{} is not a recording of lockscope: name a file that `lockscope record` made, or one that does not exist yet", .0.display())]
    NotARecording(PathBuf),
    /// The file has a format that this version cannot read.
    #[error("{} has format {format}, and this version reads format {}: use the version of lockscope that recorded it", path.display(), FORMAT)]
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
    /// A part of a recording that has ended was given up.
    #[error("{} lacks what happened between {} and {}: {reason}; where the servers' transaction logs still have it, `lockscope import` fills it in",
        path.display(), rfc3339(time.from).unwrap_or_default(), rfc3339(time.to).unwrap_or_default())]
    Lost {
        /// The path of the file.
        path: PathBuf,
        /// The time of the first and the last loss.
        time: TimeRange,
        /// The reason of the first loss, as a part of a sentence.
        reason: String,
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
        Self::claim(path, group_reads, FileClaim::Any)
    }

    /// Opens a recording for writing, as [`create`](Self::create) does, if the file is the one that
    /// is wanted.
    pub(super) fn claim(path: &Path, group_reads: bool, claim: FileClaim) -> Result<Self, StoreError> {
        let file = files::append(path, Sensitivity::GroupSecret).map_err(|error| of_file(path, error))?;
        lock(&file, path)?;
        let found = file.metadata().map_err(|error| of_file(path, error.into()))?;
        let is_new = found.len() == 0;
        let is_wanted = match claim {
            FileClaim::Any => true,
            FileClaim::Empty => is_new,
            FileClaim::Same(id) => FileId::of(&found) == id,
        };
        if !is_wanted {
            return Err(StoreError::Taken(path.to_owned()));
        }
        if is_new {
            // It belongs to a file that was moved, and SQLite would delete it.
            set_log_aside(path, now()).map_err(|error| of_file(path, error.into()))?;
            remove_index(path).map_err(|error| of_file(path, error.into()))?;
        }
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
        if is_new || store.sql(|connection| Ok(is_empty(connection)))? {
            store.sql(create)?;
        } else {
            store.check_format()?;
            store.sql(|connection| complete(connection))?;
        }
        store.sql(|connection| prepare_to_write(connection))?;
        if let Some(file) = &store.lock {
            let sql = store.connection.lock().unwrap_or_else(PoisonError::into_inner);
            store.identity = Some(FileIdentity::new(path, file, &sql).map_err(|error| StoreError::of(path, error))?);
        }
        // Between the first look at the path and SQLite's it may have got another file.
        if store.look().is_some() { Err(StoreError::Taken(path.to_owned())) } else { Ok(store) }
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
        let mut store = Self { connection, path: path.to_owned(), in_memory: true, identity: None, lock: None };
        store.sql(create)?;
        store.sql(|connection| prepare_to_write(connection))?;
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
        Self { connection, path: self.path.clone(), in_memory: self.in_memory, identity: None, lock: None }
    }

    fn connect(path: &Path, flags: OpenFlags, lock: Option<File>) -> Result<Self, StoreError> {
        let of_sqlite = |error| StoreError::Sqlite { path: path.to_owned(), error };
        let connection = Connection::open_with_flags(path, flags).map_err(of_sqlite)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(of_sqlite)?;
        distrust(&connection).map_err(of_sqlite)?;
        let connection = Arc::new(Mutex::new(connection));
        Ok(Self { connection, path: path.to_owned(), in_memory: false, identity: None, lock })
    }

    /// Looks whether the file is still the one that is written, as it was left.
    pub(super) fn look(&mut self) -> Option<FileFate> {
        let (identity, file) = (self.identity.as_mut()?, self.lock.as_ref()?);
        identity.look(&self.path, file, &self.connection.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Remembers the file as it is after a write.
    pub(super) fn remember(&mut self) -> Result<(), StoreError> {
        let (Some(identity), Some(file)) = (&mut self.identity, &self.lock) else { return Ok(()) };
        let sql = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        identity.written(&self.path, file, &sql).map_err(|error| StoreError::of(&self.path, error))
    }

    /// Returns the tables and indexes that a recording of this format has and this one lacks. Those
    /// of older formats are not known.
    pub(super) fn lacks_of_schema(&mut self) -> Result<Vec<String>, StoreError> {
        let names = |sql: &mut Connection| -> rusqlite::Result<Vec<String>> {
            let query = "SELECT type || ' ' || name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY 1";
            sql.prepare(query)?.query_map([], |row| row.get(0))?.collect()
        };
        if self.sql(|sql| format(sql))? != Some(FORMAT) {
            return Ok(Vec::new());
        }
        let (all, own) = (Self::in_memory()?.sql(names)?, self.sql(names)?);
        Ok(all.into_iter().filter(|name| !own.contains(name)).collect())
    }

    /// Stops looking after the file: it has no other readers, and will get another name.
    pub(super) fn is_for_nobody_else(&mut self) {
        self.identity = None;
    }

    /// Moves the log into the file, wherever both are by now.
    pub(super) fn move_log(&mut self) -> Result<(), StoreError> {
        let blocked: i64 = self.sql(|sql| sql.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)))?;
        if blocked == 0 { Ok(()) } else { Err(StoreError::LongRead(self.path.clone())) }
    }

    /// Moves the log into the file, and returns whether all of it is there. A reader of an old state
    /// prevents that.
    fn moves_whole_log(&mut self) -> bool {
        let frames: Result<(i64, i64), _> =
            self.sql(|sql| sql.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok((row.get(1)?, row.get(2)?))));
        frames.is_ok_and(|(all, moved)| all == moved)
    }

    /// Closes a file that is not ours any more, or whose log is not, and is an empty recording in
    /// memory from now on. Says what became of the file's content.
    ///
    /// `SQLite` would move the log into the file and delete what lies beside the path: it is told
    /// to leave both. A file that was moved, or lost its log, gets what the log has. Otherwise the
    /// log gets another name: the file at its path would take it for its own.
    pub(super) fn leave(&mut self, fate: FileFate) -> Result<LeftFile, StoreError> {
        let is_whole = match fate {
            FileFate::Moved | FileFate::LogRemoved => self.moves_whole_log(),
            FileFate::LogTruncated => self.sql(|sql| is_log_moved(sql))?,
            FileFate::IndexTruncated => true,
            FileFate::Removed | FileFate::Overwritten => false,
        };
        self.sql(|sql| sql.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true))?;
        let path = self.path.clone();
        let identity = std::mem::replace(self, Self { path: path.clone(), ..Self::in_memory()? }).identity;
        let kept_log = match (fate, &identity) {
            (FileFate::IndexTruncated, _) => remove_index(&path).map(|()| None),
            (FileFate::LogRemoved | FileFate::LogTruncated, _) => {
                remove_index(&path).and_then(|()| set_log_aside(&path, now()))
            }
            (_, Some(identity)) => identity.take_log_away(&path, now()),
            (_, None) => Ok(None),
        };
        let kept_log = kept_log.map_err(|error| of_file(&path, error.into()))?;
        Ok(LeftFile { id: identity.map(|identity| identity.id()), is_whole, kept_log })
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
        let format = format(&self.connection.lock().unwrap_or_else(PoisonError::into_inner));
        match format {
            Ok(Some(OLDEST_FORMAT..=FORMAT)) => Ok(()),
            Ok(Some(format)) => Err(StoreError::OtherFormat { path: self.path.clone(), format }),
            Ok(None) => Err(StoreError::NotARecording(self.path.clone())),
            Err(error) if not_a_database(&error) => Err(StoreError::NotARecording(self.path.clone())),
            Err(error) => Err(StoreError::of(&self.path, error)),
        }
    }
}

/// A file that its recorder does not write any more.
#[derive(Debug)]
pub(super) struct LeftFile {
    /// The file.
    pub id: Option<FileId>,
    /// Whether everything that was written is in the file.
    pub is_whole: bool,
    /// Where the log is kept.
    pub kept_log: Option<PathBuf>,
}

impl StoreError {
    fn of(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error {
            error if RowMemory::is_exceeded(&error) => Self::TooManyRows(path),
            // Every statement fits the schema, so the schema of the file is damaged.
            rusqlite::Error::SqlInputError { error, msg, .. } => {
                Self::Damaged { path, error: rusqlite::Error::SqliteFailure(error, Some(msg)) }
            }
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
pub fn is_damage(error: &rusqlite::Error) -> bool {
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

/// Removes the index of a log, which has no content of its own. Those who have it open keep it.
fn remove_index(path: &Path) -> io::Result<()> {
    match fs::remove_file(beside(path, "-shm")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn log_bytes(path: &Path) -> u64 {
    fs::metadata(beside(path, "-wal")).map_or(0, |log| log.len())
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

/// Marks a `SQLite` file as a recording: the bytes of `lksc` as a number.
const APPLICATION_ID: i64 = 0x6c6b_7363;

/// The version of the whole file. It changes when an older program would misread it.
const FORMAT: i64 = 9;

/// The oldest version that can be read. Facts that it lacks are unknown.
const OLDEST_FORMAT: i64 = 2;

/// The size of `SQLite`'s write-ahead log while nobody reads it, in bytes.
const MAX_LOG_BYTES: u32 = 4 << 20;

/// The largest page cache of the writing connection, in units of 1,024 bytes.
const MAX_CACHE_KILOBYTES: i64 = 8_192;

/// The cache is also at most this fraction of the largest file.
const CACHE_FRACTION: u64 = 8;

/// The stream of changes.
///
/// A segment covers the time from `from_ms` to `until_ms`, both by the recorder's clock. While it
/// grows, it has one chunk for each write; afterwards the chunks are merged into one. Keyframes and
/// chunks are zstd frames: `record::state` and `record::entry` describe their content. Other
/// programs find the events in the tables of `record::tables`.
const STREAM: &str = "
-- What was recorded without a gap.
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    -- The servers, and the node that stands for /.
    connect TEXT NOT NULL,
    -- The version of lockscope.
    version TEXT NOT NULL
);
CREATE TABLE segment (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL REFERENCES run (id),
    from_ms INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    entries INTEGER NOT NULL
);
CREATE INDEX segment_time ON segment (from_ms);
-- The state before the first entry of a segment, or the first piece of it.
CREATE TABLE keyframe (
    segment INTEGER PRIMARY KEY REFERENCES segment (id) ON DELETE CASCADE,
    state BLOB NOT NULL
);
CREATE TABLE chunk (
    segment INTEGER NOT NULL REFERENCES segment (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    entries BLOB NOT NULL,
    PRIMARY KEY (segment, number)
);
";

/// Creates the schema in an empty file.
fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    // Freed pages are returned to the file system in small steps, so that a bound can be kept
    // without copying the file.
    connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(STREAM)?;
    transaction.execute_batch(keyframe::PIECES)?;
    tables::create(&transaction)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

/// Protects a connection from the content of the file: nothing in it runs when it is read or
/// written, and no value fills the memory.
fn distrust(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA trusted_schema = OFF")?;
    // A view in place of a table could produce endless rows.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE)?;
    Ok(())
}

/// Adds what an older version lacks. From now on the file has the current version.
fn complete(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(keyframe::PIECES)?;
    tables::create(connection)?;
    connection.pragma_update(None, "user_version", FORMAT)
}

/// Adds what an older version lacks, within the caller's transaction. Returns whether the version
/// changed.
pub fn complete_older(connection: &Connection) -> rusqlite::Result<bool> {
    let is_older = format(connection)? != Some(FORMAT);
    connection.execute_batch(keyframe::PIECES)?;
    tables::create(connection)?;
    if is_older {
        connection.pragma_update(None, "user_version", FORMAT)?;
    }
    Ok(is_older)
}

/// Sets up the writing connection.
fn prepare_to_write(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "journal_size_limit", MAX_LOG_BYTES)?;
    // Written data survive the end of the program. After a power failure, only data moved into the
    // main file are certain.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Sets up the connection to a new file that nobody reads until [`complete_alone`]. What is only
/// needed for reading is left to that, and nothing waits for the disk: the caller does so once.
pub fn write_alone(connection: &Connection) -> rusqlite::Result<()> {
    let query = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'contender' AND sql IS NOT NULL";
    let indexes: Vec<String> =
        connection.prepare(query)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for index in indexes {
        connection.execute_batch(&format!("DROP INDEX {index}"))?;
    }
    // Else each replaced row is saved in a file first.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "synchronous", "OFF")
}

/// Completes a file, which then needs no other beside it.
pub fn complete_alone(connection: &Connection) -> rusqlite::Result<()> {
    // The rows are sorted in files, however many there are.
    connection.pragma_update(None, "temp_store", "FILE")?;
    tables::create(connection)?;
    connection.pragma_update(None, "journal_mode", "DELETE")
}

/// Sizes the cache so that pages changed every second stay in memory; `max_bytes` is the bound of
/// the file.
pub fn set_cache(connection: &Connection, max_bytes: Option<u64>) -> rusqlite::Result<()> {
    let part = max_bytes.and_then(|most| i64::try_from(most / CACHE_FRACTION / 1_024).ok());
    connection.pragma_update(None, "cache_size", -MAX_CACHE_KILOBYTES.min(part.unwrap_or(MAX_CACHE_KILOBYTES)))
}

/// Returns whether a database has no content at all.
pub fn is_empty(connection: &Connection) -> bool {
    let count = |query| connection.query_row(query, [], |row| row.get::<_, i64>(0)).ok();
    count("SELECT count(*) FROM sqlite_master") == Some(0) && count("PRAGMA application_id") == Some(0)
}

/// Deletes the file of a recording, with those beside it, unless another program records into it or it
/// is no recording. It must not be open in this process: closing it would release the locks of
/// `SQLite`. Returns whether it was deleted.
pub fn delete_unused(path: &Path) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    let mut head = [0; 72];
    let is_recording = io::Read::read_exact(&mut file, &mut head).is_ok()
        && head.starts_with(b"SQLite format 3\0")
        && head[68..] == APPLICATION_ID.to_be_bytes()[4..];
    // A recorder holds this lock for as long as it writes.
    if !is_recording || lock(&file, path).is_err() || fs::remove_file(path).is_err() {
        return false;
    }
    for end in FILES_BESIDE {
        _ = fs::remove_file(beside(path, end));
    }
    true
}

/// Returns the format of a recording; `None` when the file is none.
fn format(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let id: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let format = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok((id == APPLICATION_ID).then_some(format))
}
