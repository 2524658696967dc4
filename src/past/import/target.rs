//! Where an import goes: into a new recording, or into one that it completes.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::Path;

use lockscope_files::{FileError, NewFile, ScratchFile};

use super::ImportError;
use super::files::ServerFiles;
use super::importer::import_into;
use super::options::ImportOptions;
use super::summary::{Imported, Progress};
use crate::record::{FILES_BESIDE, LogCoverage, MergeTarget, Store, StoreError};

/// Imports files into a new recording, which appears complete or not at all, or completes the
/// recording that is there, as a whole or not at all. `goes_on` is told about the progress and
/// returns whether to go on. Blocks the thread meanwhile.
pub fn import(
    mut files: ServerFiles,
    target: &Path,
    options: &ImportOptions,
    goes_on: &mut dyn FnMut(Progress) -> bool,
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
    goes_on: &mut dyn FnMut(Progress) -> bool,
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
    goes_on: &mut dyn FnMut(Progress) -> bool,
) -> Result<Imported, ImportError> {
    refuse_others(target)?;
    let recording = MergeTarget::open(target)?;
    let scratch = ScratchFile::beside(target, &FILES_BESIDE).map_err(|error| of_file(target, error))?;
    let (goes_on, last) = (RefCell::new(goes_on), Cell::new(Progress::default()));
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
