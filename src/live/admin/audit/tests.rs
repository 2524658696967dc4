//! Tests of the audit log: written lines are read back, also after damage.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::*;
use crate::admin::{Action, Who};

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/lockscope/audit.jsonl");
    (folder, path)
}

fn intent(path: &str) -> AuditLine {
    let subject = Subject { path: path.to_owned(), czxid: Some(7), ..Subject::default() };
    AuditLine::intent(Action::Delete, subject, &Who::here("zk1:2181"), "yes")
}

fn history(path: &Path) -> AuditHistory {
    read(path, HistoryLimits::default()).unwrap()
}

fn spoil(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

#[tokio::test]
async fn an_intent_and_its_outcome_are_one_entry_and_an_intent_alone_says_so() {
    let (_folder, path) = folder();
    assert_eq!(history(&path), AuditHistory::default(), "there is no log yet");
    let audit = Audit::open(&path).unwrap();
    let (done, killed) = (intent("/a"), intent("/b\n\u{1b}[2J"));
    audit.write(&done).await.unwrap();
    audit.write(&killed).await.unwrap();
    audit.write(&done.clone().outcome("deleted", "/a is deleted".to_owned())).await.unwrap();
    let refused = Subject { path: "/c".to_owned(), ..Subject::default() };
    audit.not_tried(Action::Delete, refused, &Who::default(), "live", "it lives".to_owned()).await.unwrap();
    let read = history(&path);
    let found: Vec<_> = read
        .entries
        .iter()
        .map(|entry| (&*entry.subject.path, entry.intended, entry.outcome.as_ref().map(|outcome| &*outcome.result)))
        .collect();
    let expected = [("/a", true, Some("deleted")), ("/b\n\u{1b}[2J", true, None), ("/c", false, Some("live"))];
    assert_eq!((found, read.damaged, read.cut), (expected.to_vec(), 0, false));
    assert_eq!(read.entries[0].who, Who::here("zk1:2181"));
    assert_eq!(read.entries[0].confirmed_by.as_deref(), Some("yes"));
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 4, "one line each, whatever the names: {text}");
}

#[tokio::test]
async fn only_its_owner_reads_the_log_and_its_folder() {
    let (_folder, path) = folder();
    Audit::open(&path).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
}

#[tokio::test]
async fn a_torn_line_costs_itself_only() {
    let (_folder, path) = folder();
    let audit = Audit::open(&path).unwrap();
    let first = intent("/a");
    audit.write(&first).await.unwrap();
    let whole = fs::read(&path).unwrap();
    for torn in 1..whole.len() - 1 {
        fs::write(&path, &whole).unwrap();
        spoil(&path, &whole[..torn]);
        let read = history(&path);
        assert_eq!((read.entries.len(), read.damaged), (1, 1), "{torn}");
    }
    audit.write(&intent("/b")).await.unwrap();
    let read = history(&path);
    assert_eq!((read.entries.len(), read.damaged), (2, 1), "the next line is not glued to the torn one");
    spoil(&path, b"\xff\xfe\n{}\n[]\nnull\n\n{\"schema\":1}\n");
    assert_eq!((history(&path).entries.len(), history(&path).damaged), (2, 6));
}

#[tokio::test]
async fn of_a_long_log_the_end_is_read_and_no_more() {
    let (_folder, path) = folder();
    let audit = Audit::open(&path).unwrap();
    for number in 0..20 {
        audit.write(&intent(&format!("/{number}"))).await.unwrap();
    }
    let length = fs::metadata(&path).unwrap().len();
    let last = |limits| {
        let read = read(&path, limits).unwrap();
        assert_eq!(read.damaged, 0, "a line that is cut off is not damaged");
        (read.entries.first().map(|entry| entry.subject.path.clone()), read.entries.len(), read.cut)
    };
    assert_eq!(last(HistoryLimits { bytes: length, entries: 5 }), (Some("/15".to_owned()), 5, true));
    assert!(!last(HistoryLimits { bytes: length, entries: 20 }).2);
    let (first, count, cut) = last(HistoryLimits { bytes: length / 2, entries: 20 });
    assert!(cut && (9..=10).contains(&count) && first.is_some(), "{count}");
    assert_eq!(last(HistoryLimits { bytes: 3, entries: 20 }), (None, 0, true));
}

#[tokio::test]
async fn a_log_that_was_moved_away_is_made_again_and_one_that_cannot_be_is_an_error() {
    let (_folder, path) = folder();
    let audit = Audit::open(&path).unwrap();
    audit.write(&intent("/a")).await.unwrap();
    fs::rename(&path, path.with_extension("old")).unwrap();
    audit.write(&intent("/b")).await.unwrap();
    assert_eq!(history(&path).entries.len(), 1);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let error = audit.write(&intent("/c")).await.unwrap_err().to_string();
    assert!(error.contains("--audit-log") && error.contains("nothing is changed"), "{error}");
    assert!(read(&path, HistoryLimits::default()).is_err());
}
