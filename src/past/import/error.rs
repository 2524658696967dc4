//! Why an import fails.

use std::io;
use std::path::PathBuf;

use lockscope_base::disk::HeadError;
use lockscope_files::FileError;

use crate::record::{MergeError, StoreError};

/// Why nothing was imported. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A named place has no files of a server.
    #[error("{} has no transaction log and no snapshot: name a server's dataDir, its folder version-2, or files named log.* or snapshot.*", .0.display())]
    NoFiles(PathBuf),
    /// A file or a folder cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The path of the file or folder.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A file has the name of a log or a snapshot, but not the content.
    #[error("{} is no file of a ZooKeeper server: {error}; leave it out", path.display())]
    NotAServersFile {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong.
        error: HeadError,
    },
    /// The files hold nothing of the time.
    #[error(
        "the files have no transaction of that time, and no snapshot tells what stood: name another time, or the folder of another server"
    )]
    Nothing,
    /// The file exists already, and is no recording.
    #[error("{} exists already, and is not replaced: name another file with --store, or delete it", .0.display())]
    Exists(PathBuf),
    /// The recording cannot be created.
    #[error("cannot write {}: {error}; name another file with --store", path.display())]
    File {
        /// The path of the recording.
        path: PathBuf,
        /// The reason.
        error: FileError,
    },
    /// The recording cannot be written.
    #[error("cannot write {}: {reason}", path.display())]
    NotWritten {
        /// The path of the recording.
        path: PathBuf,
        /// The reason, as a sentence.
        reason: String,
    },
    /// The recording cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The recording that is there cannot be completed.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// The caller cancelled the import.
    #[error("interrupted: nothing was written")]
    Interrupted,
}
