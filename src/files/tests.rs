//! Tests of `lockscope_files`.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;

use super::*;

const ALL: [Sensitivity; 5] =
    [Sensitivity::Secret, Sensitivity::GroupSecret, Sensitivity::Steering, Sensitivity::Evidence, Sensitivity::Public];

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
    let reader = FileReader { uid: me, groups: vec![me] };
    let used = |uid, mode| ALL.map(|guard| judge(FileAccess { uid, gid: 7, mode }, &reader, guard).is_ok());
    for owner in [me, 0] {
        assert_eq!(used(owner, 0o600), [true, true, true, true, true]);
        assert_eq!(used(owner, 0o640), [false, true, true, true, true]);
        assert_eq!(used(owner, 0o644), [false, false, true, true, true]);
        assert_eq!(used(owner, 0o620), [false, false, false, true, true]);
        assert_eq!(used(owner, 0o666), [false, false, false, false, true]);
    }
    assert_eq!(used(other, 0o600), [false, false, false, false, true]);
    // Root uses no other user's file either: that user could change it meanwhile.
    let root = FileReader { uid: 0, groups: vec![0] };
    let of_other = FileAccess { uid: other, gid: other, mode: 0o600 };
    assert!(judge(of_other, &root, Sensitivity::Secret).is_err());
}

#[test]
fn a_secret_of_root_may_be_read_by_one_of_our_groups_and_by_nobody_else() {
    let pod = FileReader { uid: 1000, groups: vec![1000, 2000] };
    let accepted = |uid, gid, mode| judge(FileAccess { uid, gid, mode }, &pod, Sensitivity::Secret).is_ok();
    for (uid, gid, mode, is_accepted) in [
        (0, 2000, 0o440, true),
        (0, 2000, 0o640, true),
        (0, 2000, 0o400, true),
        (0, 1000, 0o440, true),
        (0, 2000, 0o660, false),
        (0, 2000, 0o444, false),
        (0, 2000, 0o450, false),
        (0, 3000, 0o440, false),
        (0, 0, 0o640, false),
        (1000, 2000, 0o440, false),
        (1000, 2000, 0o400, true),
        (1001, 2000, 0o440, false),
    ] {
        assert_eq!(accepted(uid, gid, mode), is_accepted, "{uid}:{gid} {mode:04o}");
    }
    let root = FileReader { uid: 0, groups: vec![0] };
    assert!(judge(FileAccess { uid: 0, gid: 0, mode: 0o640 }, &root, Sensitivity::Secret).is_err(), "its own file");
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
