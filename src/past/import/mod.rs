//! Imports the transaction logs and snapshots of ZooKeeper servers as a recording, a new one or one
//! that it completes.
//!
//! A server keeps every write of the last hours or days: who created which node when, who deleted
//! it, and how each session ended. [`import`] rebuilds the tree from them, transaction by
//! transaction, and records the changes that an observer would have seen, at the leader's times.
//! Where an observer must guess, a log is certain: how a contender ended ([`Deleter`]), and when.
//!
//! A create that was refused because the node existed is a failed attempt. The log names its
//! session and not the node: the lock is named where only one can be meant.
//!
//! Not in the files: reads, watches, the addresses of clients, and whether a client was alive.
//!
//! # Beginnings and gaps
//!
//! A recording begins with the tree of a snapshot, with an empty one before the first transaction
//! of a new server, or within a log. Within a log, the nodes that stood are those of the next
//! snapshot that are older, and those that were deleted in between. Nothing describes the latter:
//! the locks are read once the last contender among them is gone, because one may be a holder. The
//! same holds behind missing transactions, and while a snapshot was written. Where no later
//! snapshot exists, a beginning follows only locks whose parents were created later, and a gap
//! lasts to the end; behind a few missing transactions, the known nodes are taken to stand still.
//!
//! # Files
//!
//! - `files` finds the files, and unpacks snapshots.
//! - `transactions` merges the logs into one stream of transactions.
//! - `importer` finds the way through them, and `bridge` what stood before a transaction.
//! - `digest` proves by the servers' own sums that nothing is missing.
//! - `tree` is the tree; it turns transactions into changes, and tells which lock a refused create
//!   was for.
//! - `player` plays transactions, finds what they tell of the ensemble, and records both; `writing`
//!   writes that into the file.
//!
//! Input is untrusted: memory grows with the nodes that stand, never with a length in a file. Nodes
//! that are no contenders take about a hundred bytes each until a transaction names them, and a packed
//! snapshot may unpack to a hundred times its size, not more.
//!
//! [`Deleter`]: lockscope_model::queue::Deleter

mod bridge;
mod digest;
mod files;
mod importer;
mod player;
mod transactions;
mod tree;
mod writing;

use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};

use crate::record::{FILES_BESIDE, LogCoverage, MergeError, MergeTarget, Merged, Store, StoreError};
use importer::import_into;
use lockscope_base::recipe::OwnRecipe;
use lockscope_base::znode::{TimeRange, Timestamp, ZnodePath, Zxid};
use lockscope_files::{FileError, NewFile, ScratchFile};
use lockscope_model::diagnose::Thresholds;
use lockscope_model::queue::Expectation;

pub use files::{Defect, ServerFiles};

#[cfg(test)]
mod tests;

/// Imports files into a new recording, which appears complete or not at all, or completes the
/// recording that is there, as a whole or not at all. `goes_on` is told about the progress and
/// returns whether to go on. Blocks the thread meanwhile.
pub fn import(
    mut files: ServerFiles,
    target: &Path,
    options: &ImportOptions,
    goes_on: &mut dyn FnMut(ImportProgress) -> bool,
) -> Result<Imported, ImportError> {
    files.leave_out_before(options.time.from)?;
    if target.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        import_new(&files, target, options, goes_on)
    } else {
        complete(&files, target, options, goes_on)
    }
}

fn import_new(
    files: &ServerFiles,
    target: &Path,
    options: &ImportOptions,
    goes_on: &mut dyn FnMut(ImportProgress) -> bool,
) -> Result<Imported, ImportError> {
    let file = NewFile::beside(target, &FILES_BESIDE).map_err(|error| of_file(target, error))?;
    let done = import_into(files, file.temporary(), target, options, goes_on)?;
    file.put().map_err(|error| of_file(target, error))?;
    Ok(done)
}

/// Imports into a temporary recording, and completes the one that is there with it.
fn complete(
    files: &ServerFiles,
    target: &Path,
    options: &ImportOptions,
    goes_on: &mut dyn FnMut(ImportProgress) -> bool,
) -> Result<Imported, ImportError> {
    refuse_others(target)?;
    let recording = MergeTarget::open(target)?;
    let scratch = ScratchFile::beside(target, &FILES_BESIDE).map_err(|error| of_file(target, error))?;
    let (goes_on, last) = (RefCell::new(goes_on), Cell::new(ImportProgress::default()));
    let mut reports = |progress| {
        last.set(progress);
        (goes_on.borrow_mut())(progress)
    };
    let mut done = import_into(files, scratch.path(), target, options, &mut reports)?;
    let roots = options.roots();
    let covered = LogCoverage {
        time: options.time,
        roots: &roots,
        zxids: done.zxids.ok_or(ImportError::Nothing)?,
        missing: done.missing.iter().map(|missing| (missing.after, missing.before)).collect(),
    };
    let should_stop = || !(goes_on.borrow_mut())(last.get());
    done.merged = Some(recording.complete(scratch.path(), &covered, &should_stop)?);
    Ok(done)
}

/// Refuses what is no recording.
fn refuse_others(target: &Path) -> Result<(), ImportError> {
    match Store::open(target) {
        Ok(_) => Ok(()),
        Err(StoreError::NotARecording(_)) => Err(ImportError::Exists(target.to_owned())),
        Err(error) => Err(error.into()),
    }
}

fn of_file(target: &Path, error: FileError) -> ImportError {
    match error {
        FileError::Io(error) if error.kind() == io::ErrorKind::AlreadyExists => ImportError::Exists(target.to_owned()),
        error => ImportError::File { path: target.to_owned(), error },
    }
}

/// What to import.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The nodes below which locks are followed; none for all.
    pub roots: Vec<ZnodePath>,
    /// The nodes that are locks by themselves, whatever their names.
    pub named: Vec<ZnodePath>,
    /// The user's own recipes.
    pub recipes: Vec<OwnRecipe>,
    /// What the user expects of elections.
    pub expected: Vec<Expectation>,
    /// When to report findings.
    pub thresholds: Thresholds,
    /// The time to cover. Files that are needed for none of it are left out. The recording may begin
    /// earlier, with the state from which that time follows.
    pub time: TimeRange,
    /// Whether the data of contenders are recorded; they may hold secrets.
    pub with_data: bool,
}

impl Default for ImportOptions {
    /// Asks for everything.
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            named: Vec::new(),
            recipes: Vec::new(),
            expected: Vec::new(),
            thresholds: Thresholds::default(),
            time: TimeRange { from: Timestamp(i64::MIN), to: Timestamp(i64::MAX) },
            with_data: true,
        }
    }
}

impl ImportOptions {
    /// Returns the nodes below which locks are followed.
    fn roots(&self) -> Vec<ZnodePath> {
        if self.roots.is_empty() { vec![ZnodePath::root()] } else { self.roots.clone() }
    }
}

/// A stretch of transactions without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Covered {
    /// The first transaction, and its time.
    pub from: (Zxid, Timestamp),
    /// The last transaction, and its time.
    pub to: (Zxid, Timestamp),
    /// What proves that none is missing; of several epochs, the weakest proof.
    pub proof: Proof,
    /// Whether it has the locks that are older. It lacks them where no snapshot tells what stood at
    /// its beginning.
    pub has_older: bool,
}

/// What proves that no transaction is missing before another that changed a node, the strongest
/// first. Refused requests and sessions may be missing where an epoch ends: they change none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Proof {
    /// The numbers of an epoch, which count without a hole.
    Numbers,
    /// The servers' digests of the tree.
    Digests,
    /// A log that goes on into the next epoch in the same file.
    Log,
    /// A snapshot from the beginning of the next epoch.
    Snapshot,
}

impl Proof {
    /// Returns the name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Numbers => "numbers",
            Self::Digests => "digests",
            Self::Log => "log",
            Self::Snapshot => "snapshot",
        }
    }
}

/// How certain it is that transactions are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// Some are: a number or a digest of the servers shows it.
    Certain,
    /// Perhaps none are: nothing proves where an epoch ended.
    Possible,
}

/// Transactions that no file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingTransactions {
    /// The last transaction before them.
    pub after: Zxid,
    /// The first transaction behind them.
    pub before: Zxid,
    /// The time of the transaction before them.
    pub from: Timestamp,
    /// The time of the transaction behind them.
    pub to: Timestamp,
    /// Whether they are missing for certain.
    pub certainty: Certainty,
}

/// What an import has read and written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// The number of logs and snapshots that were read.
    pub files: usize,
    /// The number of transactions.
    pub transactions: u64,
    /// The time of the first and of the last moment in the recording.
    pub time: Option<(Timestamp, Timestamp)>,
    /// The first and the last transaction in the recording.
    pub zxids: Option<(Zxid, Zxid)>,
    /// The number of changes that were recorded.
    pub changes: u64,
    /// The number of contenders that held.
    pub holds: u64,
    /// The number of contenders that did not hold.
    pub waits: u64,
    /// The number of attempts in vain at locks that are single nodes.
    pub attempts: u64,
    /// What the recording covers.
    pub covered: Vec<Covered>,
    /// The transactions that no file has.
    pub missing: Vec<MissingTransactions>,
    /// What is wrong with the files.
    pub defects: Vec<Defect>,
    /// What became of a recording that was completed; `None` for a new one.
    pub merged: Option<Merged>,
}

/// How far an import is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportProgress {
    /// The bytes of logs that were read.
    pub bytes: u64,
    /// The bytes of all logs.
    pub all_bytes: u64,
    /// The number of transactions so far.
    pub transactions: u64,
    /// The time that the import has reached.
    pub at: Timestamp,
}

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
    #[error("{} is no file of a ZooKeeper server: {reason}; leave it out", path.display())]
    NotAServersFile {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The files are of several ensembles.
    #[error(
        "{} and {} are of different ensembles: at the same time, both have other transactions; import each ensemble into a recording of its own",
        one.display(),
        other.display()
    )]
    OtherEnsemble {
        /// A file or folder of the one.
        one: PathBuf,
        /// A file or folder of the other.
        other: PathBuf,
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
