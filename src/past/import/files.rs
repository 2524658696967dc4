//! The files of a server: finds, sorts and opens them. Nothing is written beside them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use super::ImportError;
use super::snappy::SnappyReader;
use lockscope_base::disk::{Compression, FileKind, FileName, HeadError, LogItem, LogReader, SnapshotReader};
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
