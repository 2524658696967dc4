//! Tests of `follow`.

use std::fs::{self, OpenOptions};
use std::io::Write;

use super::*;

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn outcome(node: &str) -> String {
    format!(
        "{{\"schema\":1,\"entry\":\"outcome\",\"id\":\"{node}\",\"at\":\"2026-05-01T02:13:00.000Z\",\"action\":\"delete\",\
             \"lock\":\"/a\",\"path\":\"/a/{node}\",\"czxid\":7,\"result\":\"deleted\",\"reason\":\"It is gone.\"}}\n"
    )
}

fn next(follower: &mut AuditFollower) -> Vec<String> {
    follower.take_new().unwrap().into_iter().map(|entry| entry.subject.path).collect()
}

#[test]
fn each_complete_appended_outcome_is_returned_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let mut missing = AuditFollower::start(&path);
    assert!(next(&mut missing).is_empty());
    append(&path, &outcome("old"));
    let mut follower = AuditFollower::start(&path);
    assert_eq!(next(&mut missing), ["/a/old"]);
    assert!(next(&mut follower).is_empty());
    let torn = outcome("torn");
    append(
        &path,
        &(outcome("new") + "no line\n" + &outcome("intent").replace("\"outcome\"", "\"intent\"") + &torn[..20]),
    );
    assert_eq!(next(&mut follower), ["/a/new"]);
    append(&path, &torn[20..]);
    assert_eq!(next(&mut follower), ["/a/torn"]);
    assert!(next(&mut follower).is_empty());
    fs::remove_file(&path).unwrap();
    assert!(next(&mut follower).is_empty());
    append(&path, &outcome("another"));
    assert_eq!(next(&mut follower), ["/a/another"]);
}
