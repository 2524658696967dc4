//! Files that are there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{FileError, flags, other_kind};

/// Whether a file can be put there by [`replace`]; leaves nothing behind.
pub fn can_replace(path: &Path) -> Result<(), FileError> {
    Temporary::beside(path).map(drop)
}

/// Puts a file with this content there, in place of the one that was there, whose permissions it gets. Whoever reads it meanwhile sees
/// the old one or the new one. A link is not followed: nothing but a file is replaced.
///
/// Blocks the thread as long as the disk does.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let mut temporary = Temporary::beside(path)?;
    if let Ok(old) = fs::symlink_metadata(path) {
        temporary.file.set_permissions(old.permissions())?;
    }
    temporary.file.write_all(content)?;
    temporary.file.sync_all()?;
    fs::rename(&temporary.path, path)?;
    // Its name is the other one's now.
    temporary.path = PathBuf::new();
    File::open(folder(path))?.sync_all()?;
    Ok(())
}

/// A new file in the folder of another; it is deleted with this value.
struct Temporary {
    path: PathBuf,
    file: File,
}

impl Temporary {
    fn beside(path: &Path) -> Result<Self, FileError> {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => return Err(FileError::NotAFile("symbolic link")),
            Ok(found) => other_kind(&found).map_or(Ok(()), |kind| Err(FileError::NotAFile(kind)))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
        let name = path.file_name().ok_or(FileError::NotAFile("directory"))?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.tmp", std::process::id()));
        let path = folder(path).join(hidden);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).custom_flags(flags(OFlags::NOFOLLOW));
        let file = options.open(&path)?;
        Ok(Self { path, file })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // Nobody is left to be told.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_with_its_permissions_and_nothing_else_stays() {
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
    fn what_is_no_file_or_has_no_folder_is_refused_and_stays() {
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
