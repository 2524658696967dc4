//! Opens files that hold secrets, settings that steer deletions, or evidence of deletions, and
//! writes files that appear whole or not at all.
//!
//! Before a file is used, its owner and its permissions are checked. All checks look at the opened
//! file rather than its path, which could mean another file by then. Nothing here waits: FIFOs,
//! devices and sockets are refused at once.
//!
//! # Symbolic links
//!
//! Files that are only read may be reached by links, since secrets are often mounted as links. The
//! owner and the mode of the link's target count.
//!
//! A file that is written is never reached through a link as the last part of its path: another
//! user could have put the link there to have one of our files overwritten. Folders above it may be
//! links.
//!
//! # Files that replace others
//!
//! A file that appears whole or not at all is written under a hidden name in the same folder,
//! synced, and then moved to its path.

use std::collections::hash_map::RandomState;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::hash::{BuildHasher, Hasher};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{OFlags, StatVfsMountFlags, statvfs};
use rustix::io::Errno;
use rustix::process::{Gid, getegid, geteuid, getgroups};

#[cfg(test)]
mod tests;

/// The use of a file, which decides who may own, read and change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitivity {
    /// A secret. The file belongs to the current user or root, and nobody else may read or change
    /// it. A group of this process may read a file of root: an orchestrator hands secrets to a
    /// process without privileges in this way.
    Secret,
    /// Like `Secret`, but a group may read the file.
    GroupSecret,
    /// Settings that steer actions. The file belongs to the current user or root, and neither a
    /// group nor others may change it.
    Steering,
    /// Evidence of past actions. Like `Steering`, but a group may change the file too.
    Evidence,
    /// Public content. Owner and mode do not matter.
    Public,
}

/// The reason why a file is refused. Each text continues a sentence that names the file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system's error.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The path is not a regular file.
    #[error("it is a {0} and not a file")]
    NotAFile(&'static str),
    /// The file belongs to another user.
    #[error("it belongs to user {uid}, who could change it at any time: it must be yours or root's")]
    ForeignOwner {
        /// The owner's user id.
        uid: u32,
    },
    /// Others than the owner may read or change the file.
    #[error(
        "it can be read or changed by others (mode {mode:04o}): run chmod 600 on it, or, if it is root's, chmod 640 with a group \
         of this process"
    )]
    Exposed {
        /// The file's permission bits.
        mode: u32,
    },
    /// Others than the owner may change the file.
    #[error("it can be changed by others (mode {mode:04o}): run chmod go-w on it")]
    Writable {
        /// The file's permission bits.
        mode: u32,
    },
    /// The file is larger than the limit.
    #[error("it is larger than {most} bytes")]
    TooLarge {
        /// The limit, in bytes.
        most: u64,
    },
}

impl FileError {
    /// Returns whether the file does not exist.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Io(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
    }
}

/// Reads a file of at most `most` bytes. Blocks the thread during disk I/O.
pub fn read(path: &Path, guard: Sensitivity, most: u64) -> Result<Vec<u8>, FileError> {
    let mut content = Vec::new();
    open(path, guard)?.take(most.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most { Err(FileError::TooLarge { most }) } else { Ok(content) }
}

/// Reads a UTF-8 text file, like [`read`].
pub fn read_text(path: &Path, guard: Sensitivity, most: u64) -> Result<String, FileError> {
    let text = String::from_utf8(read(path, guard, most)?);
    text.map_err(|error| FileError::Io(io::Error::new(io::ErrorKind::InvalidData, error.utf8_error())))
}

/// Opens a file for reading.
pub fn open(path: &Path, guard: Sensitivity) -> Result<File, FileError> {
    let file = OpenOptions::new().read(true).custom_flags(flags(OFlags::empty())).open(path).map_err(explain)?;
    checked(file, guard)
}

/// Opens a file for appending and for reading its end. Creates a missing file, and missing folders
/// above it, for its owner only. Returns once their names are on the disk.
pub fn append(path: &Path, guard: Sensitivity) -> Result<File, FileError> {
    let folder = folder(path);
    let changed = make_folders(folder)?;
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600).custom_flags(flags(OFlags::NOFOLLOW));
    let file = checked(options.open(path).map_err(explain)?, guard)?;
    if file.metadata()?.len() == 0 {
        // A file is lost in a crash unless its name is on the disk.
        File::open(folder)?.sync_all()?;
    }
    for folder in changed {
        File::open(folder)?.sync_all()?;
    }
    Ok(file)
}

/// Opens a log, whose lines may be lost, for appending. Creates a missing file for its owner only.
/// Also accepts a terminal, a device or a FIFO with a reader; output that it cannot take at once is
/// lost.
pub fn append_log(path: &Path) -> Result<File, FileError> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(flags(OFlags::empty()));
    options.open(path).map_err(explain)
}

/// Creates a file that only its owner may read. Fails if anything exists at the path, even a link.
pub fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).custom_flags(flags(OFlags::NOFOLLOW)).open(path)
}

/// Lets the file's group read one of our files. Does nothing if the file does not exist.
pub fn let_group_read(path: &Path) -> Result<(), FileError> {
    let opened = OpenOptions::new().read(true).custom_flags(flags(OFlags::NOFOLLOW)).open(path).map_err(explain);
    match opened.and_then(|file| checked(file, Sensitivity::GroupSecret)) {
        Ok(file) => Ok(file.set_permissions(Permissions::from_mode(0o640))?),
        Err(error) if error.is_absent() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the folder above a file that everybody may write without the sticky bit: any user can
/// replace the file there. Returns `None` if there is none or the file does not exist. Nobody writes
/// on a file system that is mounted read-only, such as that of a `ConfigMap`, whatever the mode.
pub fn exposed_folder(path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    let is_fixed = |folder: &Path| statvfs(folder).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY));
    let exposed =
        |folder: &&Path| folder.metadata().is_ok_and(|found| found.mode() & 0o1002 == 0o0002) && !is_fixed(folder);
    real.ancestors().skip(1).find(exposed).map(Path::to_owned)
}

/// Creates the missing folders above a file for their owner only.
pub fn create_folders_above(path: &Path) -> io::Result<()> {
    make_folders(folder(path)).map(drop)
}

/// Creates the missing folders for their owner only. Returns the folders that got a new entry.
fn make_folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let missing: Vec<&Path> =
        folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
    let mut changed = Vec::new();
    for folder in missing.into_iter().rev() {
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            // Another process that created the folder may not have synced it yet.
            _ => changed.push(
                folder.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned(),
            ),
        }
    }
    Ok(changed)
}

/// Returns open flags that never wait for a FIFO's other end and never make a terminal the
/// controlling one.
fn flags(more: OFlags) -> i32 {
    (OFlags::NONBLOCK | OFlags::NOCTTY | more).bits().cast_signed()
}

fn explain(error: io::Error) -> FileError {
    match Errno::from_io_error(&error) {
        // FreeBSD returns the second.
        Some(Errno::LOOP | Errno::MLINK) => FileError::NotAFile("symbolic link"),
        Some(Errno::ISDIR) => FileError::NotAFile("directory"),
        // Returned for sockets, FIFOs without a reader and missing devices.
        Some(Errno::NXIO | Errno::OPNOTSUPP) => FileError::NotAFile("socket, FIFO or device"),
        _ => FileError::Io(error),
    }
}

fn checked(file: File, guard: Sensitivity) -> Result<File, FileError> {
    let found = file.metadata()?;
    if let Some(kind) = other_kind(&found) {
        return Err(FileError::NotAFile(kind));
    }
    let access = FileAccess { uid: found.uid(), gid: found.gid(), mode: found.mode() & 0o7777 };
    judge(access, &FileReader::of_process()?, guard)?;
    Ok(file)
}

/// The owner, the group and the permission bits of a file.
#[derive(Clone, Copy, Debug)]
struct FileAccess {
    uid: u32,
    gid: u32,
    mode: u32,
}

/// The user and the groups of a process.
#[derive(Clone, Debug)]
struct FileReader {
    uid: u32,
    groups: Vec<u32>,
}

impl FileReader {
    fn of_process() -> io::Result<Self> {
        let others = getgroups()?.into_iter().map(Gid::as_raw);
        Ok(Self { uid: geteuid().as_raw(), groups: others.chain([getegid().as_raw()]).collect() })
    }
}

fn other_kind(found: &Metadata) -> Option<&'static str> {
    let kind = found.file_type();
    match () {
        () if kind.is_file() => None,
        () if kind.is_dir() => Some("directory"),
        () if kind.is_fifo() => Some("FIFO"),
        () if kind.is_socket() => Some("socket"),
        () => Some("device"),
    }
}

/// Checks whether a process may use a file with this owner and mode.
fn judge(FileAccess { uid, gid, mode }: FileAccess, reader: &FileReader, guard: Sensitivity) -> Result<(), FileError> {
    let (readable, writable) = match guard {
        Sensitivity::Secret if uid == 0 && reader.uid != 0 && reader.groups.contains(&gid) => (0o037, 0),
        Sensitivity::Secret => (0o077, 0),
        Sensitivity::GroupSecret => (0o027, 0),
        Sensitivity::Steering => (0, 0o022),
        Sensitivity::Evidence => (0, 0o002),
        Sensitivity::Public => return Ok(()),
    };
    if uid != reader.uid && uid != 0 {
        return Err(FileError::ForeignOwner { uid });
    }
    if mode & readable != 0 {
        return Err(FileError::Exposed { mode });
    }
    if mode & writable != 0 {
        return Err(FileError::Writable { mode });
    }
    Ok(())
}

/// The mode of a public file, before the umask.
const USUAL_MODE: u32 = 0o666;

/// Checks that [`replace`] can write a file there. Leaves nothing behind.
pub fn can_replace(path: &Path) -> Result<(), FileError> {
    Temporary::beside(path, USUAL_MODE).map(drop)
}

/// The users besides root that may read a file. The owner may also write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// The owner only.
    Owner,
    /// The owner and the group.
    Group,
    /// Every user.
    Everyone,
}

impl Readers {
    fn mode(self) -> u32 {
        match self {
            Self::Owner => 0o600,
            Self::Group => 0o640,
            Self::Everyone => 0o644,
        }
    }
}

/// Replaces the file at the path atomically and keeps its permissions. A concurrent reader sees the
/// old or the new content. Only files are replaced; a link is not followed.
///
/// Blocks the thread during disk I/O.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let mut temporary = Temporary::beside(path, USUAL_MODE)?;
    if let Ok(old) = fs::symlink_metadata(path) {
        temporary.file.set_permissions(old.permissions())?;
    }
    temporary.file.write_all(content)?;
    temporary.put(path)
}

/// Replaces a file like [`replace`], but with these readers instead of the old permissions.
pub fn replace_for(path: &Path, content: &[u8], readers: Readers) -> Result<(), FileError> {
    // Others cannot open the file before it is complete.
    let mut temporary = Temporary::beside(path, Readers::Owner.mode())?;
    temporary.file.write_all(content)?;
    temporary.file.set_permissions(Permissions::from_mode(readers.mode()))?;
    temporary.put(path)
}

/// A new file for its owner only. It appears at its path complete, when it is [put](Self::put)
/// there, or not at all. It never replaces another file.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    scratch: ScratchFile,
}

impl NewFile {
    /// Creates an empty temporary file in the folder of `path`. Dropping the value deletes the file
    /// unless it was put there. Fails with [`AlreadyExists`](io::ErrorKind::AlreadyExists) if
    /// anything exists at `path`.
    ///
    /// The writer may create further files beside the temporary one whose names add one of the
    /// endings in `others`. They are deleted too.
    pub fn beside(path: &Path, others: &'static [&'static str]) -> Result<Self, FileError> {
        match fs::symlink_metadata(path) {
            Ok(_) => return Err(io::Error::from(io::ErrorKind::AlreadyExists).into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Self { path: path.to_owned(), scratch: ScratchFile::beside(path, others)? })
    }

    /// Returns the path of the temporary file, to which the caller writes.
    pub fn temporary(&self) -> &Path {
        self.scratch.path()
    }

    /// Syncs the file and moves it to its path. Fails with
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if another file was created there meanwhile.
    /// Blocks the thread during disk I/O.
    pub fn put(self) -> Result<(), FileError> {
        let temporary = self.scratch.path();
        File::open(temporary)?.sync_all()?;
        match fs::hard_link(temporary, &self.path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error.into()),
            // Not every file system has hard links. Here another process may take the name between
            // the check and the rename.
            Err(_) if fs::symlink_metadata(&self.path).is_err() => fs::rename(temporary, &self.path)?,
            Err(error) => return Err(error.into()),
            Ok(()) => {}
        }
        File::open(folder(&self.path))?.sync_all()?;
        Ok(())
    }
}

/// A temporary file for its owner only, in the folder of another one. Dropping the value deletes it.
#[derive(Debug)]
pub struct ScratchFile {
    path: PathBuf,
    beside: &'static [&'static str],
}

impl ScratchFile {
    /// Creates an empty temporary file in the folder of `path`.
    ///
    /// The writer may create further files beside it whose names add one of the endings in
    /// `others`. They are deleted too.
    pub fn beside(path: &Path, others: &'static [&'static str]) -> Result<Self, FileError> {
        let path = hidden_beside(path)?;
        create_new(&path)?;
        Ok(Self { path, beside: others })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        for end in [""].iter().chain(self.beside) {
            let mut path = self.path.as_os_str().to_owned();
            path.push(end);
            // A drop cannot report an error.
            let _ = fs::remove_file(path);
        }
    }
}

/// A temporary file in the folder of another one. Dropping the value deletes it.
struct Temporary {
    path: PathBuf,
    file: File,
}

impl Temporary {
    fn beside(path: &Path, mode: u32) -> Result<Self, FileError> {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => return Err(FileError::NotAFile("symbolic link")),
            Ok(found) => other_kind(&found).map_or(Ok(()), |kind| Err(FileError::NotAFile(kind)))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        let path = hidden_beside(path)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(mode).custom_flags(flags(OFlags::NOFOLLOW));
        let file = options.open(&path)?;
        Ok(Self { path, file })
    }

    /// Syncs the file and renames it to that path.
    fn put(mut self, path: &Path) -> Result<(), FileError> {
        self.file.sync_all()?;
        fs::rename(&self.path, path)?;
        // The temporary path no longer exists, so the drop must not delete it.
        self.path = PathBuf::new();
        File::open(folder(path))?.sync_all()?;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // A drop cannot report an error.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns a hidden path in the same folder that only this process uses.
fn hidden_beside(path: &Path) -> Result<PathBuf, FileError> {
    let name = path.file_name().ok_or(FileError::NotAFile("directory"))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    // The number of a process says little: processes of other containers and machines may have the
    // same, and share the folder.
    let random = RandomState::new().build_hasher().finish();
    hidden.push(format!(".{}-{random:x}.tmp", std::process::id()));
    Ok(folder(path).join(hidden))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
