//! Names and data are printed escaped; their raw bytes reach no terminal.

use zookeeper_client::CreateMode;

use super::program::{Running, lockscope, run};
use crate::harness::zk;
use crate::observe::fixture::curator;

/// A name with wide characters and a right-to-left override, which every server accepts.
const PARENT: &str = "/倉庫\u{202e}kcol";

/// A window title, a cleared screen, and invalid UTF-8.
const DATA: &[u8] = b"\x1b]0;owned\x07\x1b[2J\x9b31m\xff\r\nx";

/// Asserts that a terminal would only print the text.
fn is_harmless(out: &str) {
    let bad = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!out.contains(bad), "{out:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_names_and_data_are_escaped_in_text_and_exact_in_json() {
    let at = zk::own_root("headless-hostile").await;
    let client = zk::connect(&at).await;
    zk::make(&client, [PARENT.to_owned(), "/large".to_owned()]).await;
    let large = vec![b'\x1b'; 1_000_000];
    let node = "/lock\u{200f}\u{301}錠-";
    let wishes = [(format!("{PARENT}{node}"), DATA.to_vec()), (format!("/large/{}", curator()), large)];
    let nodes = zk::create_all(&client, CreateMode::EphemeralSequential, wishes).await;

    let out = run(lockscope(&["snapshot", "--connect", &at, "--format", "table"])).await.done();
    is_harmless(&out);
    assert!(out.contains("/倉庫\\u{202e}kcol "), "{out}");
    assert_eq!(out.lines().count(), 3, "{out}");

    let ended = run(lockscope(&["snapshot", "--connect", &at])).await;
    is_harmless(&ended.out);
    assert!(ended.out.contains(r"/倉庫\u202ekcol") && ended.out.contains(r"\u200f"), "{}", ended.out);
    let shot = ended.json();
    let of = |path: &str| {
        let lock = shot["locks"].as_array().and_then(|locks| locks.iter().find(|lock| lock["path"] == path));
        lock.unwrap_or_else(|| panic!("no {path} in {shot}"))["contenders"][0].clone()
    };
    let contender = of(PARENT);
    assert_eq!(contender["path"], nodes[0]);
    assert_eq!(contender["data_encoding"], "base64");
    assert_eq!(contender["data"], "G10wO293bmVkBxtbMkqbMzFt/w0KeA==");
    let contender = of("/large");
    assert_eq!(
        (contender["data_length"].as_i64(), contender["data_truncated"].as_bool()),
        (Some(1_000_000), Some(true))
    );
    assert_eq!(contender["data"].as_str().map(str::len), Some(lockscope_base::znode::MAX_KEPT_DATA));

    let mut watch = Running::start(lockscope(&["watch", "--connect", &at, "--format", "table"]));
    let mut lines = String::new();
    while !(lines.contains("lock-found") && lines.contains("/倉庫\\u{202e}kcol")) {
        lines += &watch.line().await.expect("the lock comes");
    }
    is_harmless(&lines);
    watch.signal("INT");
    is_harmless(&watch.ended().await.done());
}
