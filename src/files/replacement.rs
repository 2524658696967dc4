//! Files that appear whole or not at all.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{FileError, create_new, flags, other_kind};

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
    hidden.push(format!(".{}.tmp", std::process::id()));
    Ok(folder(path).join(hidden))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_atomically_with_its_permissions_and_no_leftovers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plot.svg");
        can_replace(&path).unwrap();
        assert_eq!(names(folder.path()), [""; 0]);
        replace(&path, b"first").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        can_replace(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        replace(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
        assert_eq!(names(folder.path()), ["plot.svg"]);
    }

    #[test]
    fn replace_for_ignores_the_old_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        let (aside, link) = (folder.path().join("aside"), folder.path().join("link.html"));
        fs::write(&aside, "content").unwrap();
        symlink(&aside, &link).unwrap();
        for (readers, mode) in [(Readers::Owner, 0o600), (Readers::Group, 0o640), (Readers::Everyone, 0o644)] {
            for before in [0o666, 0o600] {
                fs::write(&path, "before").unwrap();
                fs::set_permissions(&path, Permissions::from_mode(before)).unwrap();
                replace_for(&path, b"after", readers).unwrap();
                assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode);
                assert_eq!(fs::read(&path).unwrap(), b"after");
            }
            assert!(matches!(replace_for(&link, b"x", readers), Err(FileError::NotAFile("symbolic link"))));
        }
        assert_eq!(fs::read(&aside).unwrap(), b"content");
        assert_eq!(names(folder.path()), ["aside", "link.html", "report.html"]);
    }

    #[test]
    fn a_new_file_appears_complete_for_its_owner_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("small.db");
        let dropped = NewFile::beside(&path, &["-wal"]).unwrap();
        fs::write(dropped.temporary(), "part").unwrap();
        fs::write(format!("{}-wal", dropped.temporary().display()), "part").unwrap();
        drop(dropped);
        assert_eq!(names(folder.path()), [""; 0]);

        let (first, exists) = (NewFile::beside(&path, &[]).unwrap(), io::ErrorKind::AlreadyExists);
        fs::write(first.temporary(), "whole").unwrap();
        assert!(!path.exists(), "it is not there before it is whole");
        let is_refused =
            |result: Result<(), FileError>| matches!(result, Err(FileError::Io(error)) if error.kind() == exists);
        first.put().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        assert!(is_refused(NewFile::beside(&path, &[]).map(drop)));
        symlink("nowhere", folder.path().join("link")).unwrap();
        assert!(is_refused(NewFile::beside(&folder.path().join("link"), &[]).map(drop)));
        let late = NewFile::beside(&folder.path().join("late"), &[]).unwrap();
        fs::write(folder.path().join("late"), "faster").unwrap();
        assert!(is_refused(late.put()));
        assert_eq!(fs::read(folder.path().join("late")).unwrap(), b"faster");
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(folder.path()), ["late", "link", "small.db"]);
    }

    #[test]
    fn anything_but_a_file_is_refused_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link.svg"));
        fs::write(&target, "content").unwrap();
        symlink(&target, &link).unwrap();
        assert!(matches!(replace(&link, b"x"), Err(FileError::NotAFile("symbolic link"))));
        assert!(matches!(can_replace(folder.path()), Err(FileError::NotAFile("directory"))));
        assert!(matches!(can_replace(Path::new("/dev/null")), Err(FileError::NotAFile("device"))));
        assert!(can_replace(&folder.path().join("none/plot.svg")).unwrap_err().is_absent());
        assert!(can_replace(&target.join("plot.svg")).is_err());
        assert_eq!(fs::read(&target).unwrap(), b"content");
        assert_eq!(names(folder.path()), ["link.svg", "target"]);
    }
}
