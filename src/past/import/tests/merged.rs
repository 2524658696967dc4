//! Imports into recordings that are there already.

use std::fs;
use std::path::Path;

use super::Folder;
use super::made_files::Log;
use crate::import::{ImportError, ImportOptions, Imported, ServerFiles, import};
use crate::record::Store;
use crate::record::history::{History, HistoryQuery};

fn node(number: i32) -> String {
    format!("/lock/_c_00000000-0000-4000-8000-00000000000{number}-lock-{number:010}")
}

fn import_into(files: &Folder, store: &Path, mut goes_on: impl FnMut() -> bool) -> Result<Imported, ImportError> {
    import(ServerFiles::find(&[files.0.path().to_owned()])?, store, &ImportOptions::default(), &mut |_| goes_on())
}

fn ends(store: &Path) -> Vec<(String, &'static str)> {
    let query = HistoryQuery { limit: 100, ..HistoryQuery::default() };
    let history = History::read(&mut Store::open(store).unwrap(), &query).unwrap();
    assert_eq!(history.gaps, []);
    history.holds.iter().chain(&history.waits).map(|row| (row.node[45..].to_owned(), row.end.id())).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn later_logs_complete_what_was_imported_and_leave_no_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("history.db");
    let earlier = Log::new().creates(1, "/lock", 1).creates(2, &node(0), 1).creates(3, &node(1), 2);
    let first = Folder::of(&[("log.1", &earlier.0)]);
    assert_eq!(import_into(&first, &store, || true).unwrap().merged, None);
    assert_eq!(ends(&store), [("0000000000".to_owned(), "open"), ("0000000001".to_owned(), "open")]);
    let later = Folder::of(&[("log.1", &earlier.deletes(4, &node(0)).expires(5).0)]);
    let merged = import_into(&later, &store, || true).unwrap().merged.expect("it was there");
    assert_eq!((merged.rows_both, merged.rows_added, merged.rows_contradicted), (0, 0, 0));
    assert_eq!(ends(&store), [("0000000000".to_owned(), "released"), ("0000000001".to_owned(), "expired")]);
    assert_eq!(names(folder.path()), ["history.db"]);
}

#[test]
fn an_interrupted_import_changes_nothing_and_leaves_no_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("history.db");
    let log = Log::new().creates(1, "/lock", 1).creates(2, &node(0), 1);
    import_into(&Folder::of(&[("log.1", &log.0)]), &store, || true).unwrap();
    let before = fs::read(&store).unwrap();
    let later = Folder::of(&[("log.1", &log.deletes(3, &node(0)).0)]);
    let mut polls = 0;
    let goes_on = || {
        polls += 1;
        polls < 3
    };
    let interrupted = import_into(&later, &store, goes_on).unwrap_err();
    assert_eq!(interrupted.to_string(), "interrupted: nothing was changed");
    assert!(fs::read(&store).unwrap() == before);
    assert_eq!(names(folder.path()), ["history.db"]);
}

#[test]
fn a_file_that_is_no_recording_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let log = Folder::of(&[("log.1", &Log::new().creates(1, "/lock", 1).0)]);
    for (name, content) in [("empty", &b""[..]), ("text", b"notes of last week, which nobody wants to lose")] {
        let store = folder.path().join(name);
        fs::write(&store, content).unwrap();
        let refused = import_into(&log, &store, || true).unwrap_err();
        assert!(matches!(refused, ImportError::Exists(_)), "{refused}");
        assert_eq!(fs::read(&store).unwrap(), content);
    }
    let refused = import_into(&log, folder.path(), || true).unwrap_err();
    assert!(matches!(refused, ImportError::Exists(_)), "{refused}");
}
