//! Tests of the file of a recording: its single writer, and files that are refused.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn a_recording_is_for_its_owner_only_and_for_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("locks.db");
    let store = Store::create(&path, false).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(Store::create(&path, false), Err(StoreError::InUse(_))));
    Store::open(&path).unwrap();
    drop(store);
    Store::create(&path, false).unwrap();
}

#[test]
fn a_permitted_group_reads_a_recording_and_the_files_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("locks.db");
    let parts = || [path.clone(), beside(&path, "-wal"), beside(&path, "-shm")];
    let modes = || parts().map(|part| fs::metadata(part).map_or(0, |found| found.permissions().mode() & 0o777));
    let written = |group_reads| {
        let mut store = Store::create(&path, group_reads).unwrap();
        store.sql(|sql| sql.pragma_update(None, "user_version", super::FORMAT)).unwrap();
        store
    };
    let store = written(false);
    assert_eq!(modes(), [0o600, 0o600, 0o600]);
    // The files left by a killed recorder.
    let left = parts().map(|part| fs::read(part).unwrap());
    drop(store);
    for (part, content) in parts().iter().zip(left) {
        fs::write(part, content).unwrap();
        fs::set_permissions(part, Permissions::from_mode(0o600)).unwrap();
    }
    for group_reads in [true, true, false] {
        let store = written(group_reads);
        assert_eq!(modes(), [0o640, 0o640, 0o640]);
        drop(store);
    }
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    assert!(Store::create(&path, true).unwrap_err().to_string().contains("chmod"), "others must not read it");
}

#[test]
fn files_that_are_no_recording_are_named_and_left_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let (text, other) = (folder.path().join("text"), folder.path().join("other.db"));
    fs::write(
        &text,
        "not a database, but long enough to be taken for one by who reads no more than the first line of it.",
    )
    .unwrap();
    fs::set_permissions(&text, Permissions::from_mode(0o600)).unwrap();
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE hold (id)").unwrap();
    fs::set_permissions(&other, Permissions::from_mode(0o600)).unwrap();
    for path in [&text, &other] {
        let before = fs::read(path).unwrap();
        assert!(matches!(Store::create(path, false), Err(StoreError::NotARecording(_))));
        assert!(matches!(Store::open(path), Err(StoreError::NotARecording(_))));
        assert_eq!(fs::read(path).unwrap(), before);
    }
    assert!(matches!(Store::open(&folder.path().join("none")), Err(StoreError::File { .. })));
}

#[test]
fn a_recording_of_another_version_is_refused_with_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("locks.db");
    drop(Store::create(&path, false).unwrap());
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 4711").unwrap();
    let sentence = Store::open(&path).unwrap_err().to_string();
    assert!(sentence.contains("has format 4711"), "{sentence}");
}

#[test]
fn an_older_recording_is_read_and_continued_in_the_current_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("locks.db");
    drop(Store::create(&path, false).unwrap());
    let set = format!("PRAGMA user_version = {}", super::OLDEST_FORMAT);
    Connection::open(&path).unwrap().execute_batch(&set).unwrap();
    drop(Store::open(&path).unwrap());
    let mut store = Store::create(&path, false).unwrap();
    assert_eq!(store.sql(|connection| super::format(connection)).unwrap(), Some(super::FORMAT));
}
