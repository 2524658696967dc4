//! Opens files that hold secrets, settings that steer deletions, or evidence of deletions. Checks
//! who owns them and who may change them.
//!
//! All checks look at the opened file rather than its path, which could mean another file by then.
//! Nothing here waits: FIFOs, devices and sockets are refused at once.
//!
//! # Symbolic links
//!
//! Files that are only read may be reached by links, since secrets are often mounted as links. The
//! owner and the mode of the link's target count.
//!
//! A file that is written is never reached through a link as the last part of its path: another
//! user could have put the link there to have one of our files overwritten. Folders above it may be
//! links.

mod replacement;

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::geteuid;

pub use replacement::{NewFile, Readers, ScratchFile, can_replace, replace, replace_for};

/// The use of a file, which decides who may own, read and change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitivity {
    /// A secret. The file belongs to the current user or root, and nobody else may read or change
    /// it.
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
    #[error("it can be read or changed by others (mode {mode:04o}): run chmod 600 on it")]
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
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
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
/// replace the file there. Returns `None` if there is none or the file does not exist.
pub fn exposed_folder(path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    let exposed = |folder: &&Path| folder.metadata().is_ok_and(|found| found.mode() & 0o1002 == 0o0002);
    real.ancestors().skip(1).find(exposed).map(Path::to_owned)
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
    judge(found.uid(), found.mode() & 0o7777, geteuid().as_raw(), guard)?;
    Ok(file)
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

/// Checks whether `user` may use a file with this owner and mode.
fn judge(uid: u32, mode: u32, user: u32, guard: Sensitivity) -> Result<(), FileError> {
    let (readable, writable) = match guard {
        Sensitivity::Secret => (0o077, 0),
        Sensitivity::GroupSecret => (0o027, 0),
        Sensitivity::Steering => (0, 0o022),
        Sensitivity::Evidence => (0, 0o002),
        Sensitivity::Public => return Ok(()),
    };
    if uid != user && uid != 0 {
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    const ALL: [Sensitivity; 5] = [
        Sensitivity::Secret,
        Sensitivity::GroupSecret,
        Sensitivity::Steering,
        Sensitivity::Evidence,
        Sensitivity::Public,
    ];

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn file(folder: &Path, name: &str, mode: u32) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, "content").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn allowed_owner_and_mode_depend_on_the_sensitivity() {
        let (me, other) = (1000, 1001);
        let used = |uid, mode| ALL.map(|guard| judge(uid, mode, me, guard).is_ok());
        for owner in [me, 0] {
            assert_eq!(used(owner, 0o600), [true, true, true, true, true]);
            assert_eq!(used(owner, 0o640), [false, true, true, true, true]);
            assert_eq!(used(owner, 0o644), [false, false, true, true, true]);
            assert_eq!(used(owner, 0o620), [false, false, false, true, true]);
            assert_eq!(used(owner, 0o666), [false, false, false, false, true]);
        }
        assert_eq!(used(other, 0o600), [false, false, false, false, true]);
        // Root uses no other user's file either: that user could change it meanwhile.
        assert!(judge(other, 0o600, 0, Sensitivity::Secret).is_err());
    }

    #[test]
    fn a_file_of_another_user_is_refused_and_one_of_root_is_not() {
        let folder = folder();
        let path = file(folder.path(), "steers", 0o644);
        let other = geteuid().as_raw() + 1;
        let given_away = std::os::unix::fs::chown(&path, Some(other), None).is_ok();
        assert_eq!(given_away, geteuid().is_root(), "only root gives files away");
        for guard in [Sensitivity::Steering, Sensitivity::Evidence] {
            assert_eq!(matches!(open(&path, guard), Err(FileError::ForeignOwner { uid }) if uid == other), given_away);
            open(Path::new("/etc/passwd"), guard).unwrap();
        }
    }

    #[test]
    fn anything_but_a_file_is_refused_at_once_with_its_kind() {
        let folder = folder();
        let (fifo, socket) = (folder.path().join("fifo"), folder.path().join("socket"));
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        for (path, kind) in [
            (folder.path(), "directory"),
            (&fifo, "FIFO"),
            (&socket, "socket"),
            (Path::new("/dev/null"), "device"),
            (Path::new("/dev/zero"), "device"),
        ] {
            for guard in ALL {
                let error = open(path, guard).unwrap_err().to_string();
                assert!(error.contains(kind) && error.contains("not a file"), "{error}");
            }
            let error = append(path, Sensitivity::Evidence).unwrap_err().to_string();
            assert!(error.contains(kind) && error.contains("not a file"), "{error}");
        }
    }

    #[test]
    fn links_are_followed_for_reading_and_never_for_writing() {
        let folder = folder();
        let (target, link) = (file(folder.path(), "target", 0o600), folder.path().join("link"));
        symlink(&target, &link).unwrap();
        assert_eq!(read(&link, Sensitivity::Secret, 100).unwrap(), b"content");
        fs::set_permissions(&target, Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(open(&link, Sensitivity::Secret), Err(FileError::Exposed { mode: 0o644 })), "its end counts");
        assert!(matches!(append(&link, Sensitivity::Evidence), Err(FileError::NotAFile("symbolic link"))));
        assert!(create_new(&link).is_err());
        let dangling = folder.path().join("dangling");
        symlink(folder.path().join("nothing"), &dangling).unwrap();
        assert!(append(&dangling, Sensitivity::Evidence).is_err() && create_new(&dangling).is_err());
        assert!(!folder.path().join("nothing").exists(), "nothing was made through it");
        assert_eq!(fs::read(&target).unwrap(), b"content");
    }

    #[test]
    fn new_files_are_their_owners_only_and_changed_folders_are_returned() {
        let folder = folder();
        let (a, b) = (folder.path().join("a"), folder.path().join("a/b"));
        assert_eq!(make_folders(&b).unwrap(), [folder.path().to_owned(), a.clone()]);
        assert!(make_folders(&b).unwrap().is_empty());
        let log = folder.path().join("c/d/log");
        append(&log, Sensitivity::Evidence).unwrap();
        let export = folder.path().join("export");
        create_new(&export).unwrap();
        assert_eq!([&a, &b, log.parent().unwrap(), &log, &export].map(mode), [0o700, 0o700, 0o700, 0o600, 0o600]);
    }

    #[test]
    fn a_file_beyond_the_limit_is_refused() {
        let folder = folder();
        let path = file(folder.path(), "file", 0o600);
        assert_eq!(read_text(&path, Sensitivity::Public, 7).unwrap(), "content");
        assert!(matches!(read(&path, Sensitivity::Public, 6), Err(FileError::TooLarge { most: 6 })));
        assert!(read(&folder.path().join("none"), Sensitivity::Public, 6).unwrap_err().is_absent());
    }

    #[test]
    fn a_folder_that_everybody_may_write_is_reported_unless_it_is_sticky() {
        let folder = folder();
        fs::create_dir(folder.path().join("open")).unwrap();
        let path = file(&folder.path().join("open"), "file", 0o600);
        let real = folder.path().join("open").canonicalize().unwrap();
        for (mode, exposed) in [(0o755, None), (0o777, Some(real.clone())), (0o1777, None)] {
            fs::set_permissions(&real, Permissions::from_mode(mode)).unwrap();
            assert_eq!(exposed_folder(&path), exposed, "{mode:o}");
        }
    }
}
