//! What a machine that allows too little is told.

use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_lockscope");

/// Runs the program under a limit of the shell, and returns its exit code and its words.
fn limited(limit: &str, arguments: &str) -> (Option<i32>, String) {
    let script = format!("ulimit {limit}; exec {PROGRAM} {arguments}");
    let ended = Command::new("sh").args(["-c", &script]).env("HOME", "/nonexistent").output().expect("it runs");
    (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
}

#[test]
fn too_few_files_or_too_little_memory_is_one_sentence() {
    for limit in [8, 10, 12, 14, 16, 20, 32, 63].map(|files| format!("-n {files}")) {
        let (code, said) = limited(&limit, "snapshot --connect 127.0.0.1:1");
        assert_eq!((code, said.lines().count()), (Some(2), 1), "{limit}: {said}");
        assert!(said.contains("ulimit -n"), "{limit}: {said}");
    }
    for limit in [100_000, 150_000, 200_000].map(|kilobytes| format!("-v {kilobytes}")) {
        let (code, said) = limited(&limit, "snapshot --connect 127.0.0.1:1");
        assert_eq!((code, said.lines().count()), (Some(2), 1), "{limit}: {said}");
        assert!(said.contains("ulimit -v"), "{limit}: {said}");
    }
}

#[test]
fn the_limit_of_open_files_is_raised_as_far_as_it_may_be() {
    let (code, said) = limited("-S -n 16", "snapshot --connect 127.0.0.1:1 --timeout 1s");
    assert!(code == Some(2) && said.contains("127.0.0.1:1 refused the connection"), "{said}");
}
